"""Attention as a picture: all heads as a grid, one matrix, lines between words, rollout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Language, said
from inlaid.report import Report, silent
from inlaid.study.attend.attend import Attended, without_special
from inlaid.study.attend.weights import PART_NAMES
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, Drawing, drawing, language_of

PALETTE = ("#ffffff", "#d0e2f5", "#74a9d8", "#1864ab", "#0b2f57")
"""Weights from 0 to 1, light to dark."""
LINE = "#1864ab"
FEW = 14
"""Words up to which the cells of a matrix have numbers, and colors are in proportion to the weights; the
script of the page has the same number."""
LARGE_INCH = 0.44
"""Height of a word in a matrix of few."""
INCH = 0.27
SMALL_INCH = 0.14
"""The same where there are many."""
MANY = 60
GRID_WIDTH = 15.0
"""Most inches of a grid: more heads are drawn smaller."""
FAINT = 0.02
"""Weights below this have no line."""
STRONGEST = 3
"""Lines of each word where words are many; the script has the same number."""


def draw(made: Attended, report: Report = silent) -> bytes:
    """The bytes of a PNG, in the language of the text."""
    language = language_of([made.found.text])
    view = made.settings.view or ("lines" if made.settings.head is not None else "grid")
    drawers = {"grid": _grid, "matrix": _matrix, "lines": _lines, "rollout": _rollout}
    return drawers[view](made, language, report)


def _shown_text(made: Attended, *more: str) -> str:
    """All characters that a picture may show."""
    labels = [word for part in made.found.parts.values() for word in (*part.queries.words, *part.keys.words)]
    return "".join([*labels, *more, "0123456789.,-L H…"])


def _below(made: Attended, language: Language) -> str:
    return made.model.in_language(language)


# --- one matrix ---------------------------------------------------------------------------------------------


def _matrix(made: Attended, language: Language, report: Report) -> bytes:
    shown = made.shown
    title = made.shown.title().in_language(language)
    return matrix_picture(made, shown.weights, shown.queries, shown.keys, (title, language), report)


def _rollout(made: Attended, language: Language, report: Report) -> bytes:
    part = made.found.part(made.shown.part)
    rolled = part.rollout()
    if rolled is None:
        raise SettingError(
            "Rollout is for self-attention, where layers follow each other. Add --part encoder or decoder."
        )
    queries = part.queries.words
    keys = part.keys.words
    if not made.settings.special:
        rolled, queries, keys = without_special(part, rolled)
    name = PART_NAMES[part.part]
    title = said(language, "{part}: attention rollout over all layers", part=name)
    return matrix_picture(made, rolled, queries, keys, (title, language), report)


def matrix_picture(
    made: Attended,
    weights: np.ndarray,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
    titled: tuple[str, Language],
    report: Report,
) -> bytes:
    """A matrix with a label for each word; many words make a large picture, not small letters."""
    title, language = titled
    inch = _cell_inch(max(weights.shape))
    longest = max(map(_width, (*queries, *keys)))
    margin = 1.1 + 0.085 * longest * (1 if inch > SMALL_INCH else 0.6)
    size = (max(4.5, inch * len(keys) + margin + 0.8), max(3.2, inch * len(queries) + margin))
    texts = [
        said(language, "attends"),
        said(language, "is attended to"),
        said(language, "attention weight"),
    ]
    with drawing(
        _shown_text(made, title, *texts), size=size, below=_below(made, language), report=report
    ) as made_figure:
        axes = made_figure.figure.subplots()
        axes.set_title(title, fontsize=11)
        image = _cells(made_figure, axes, weights, queries, keys, fontsize=9.5 if inch > SMALL_INCH else 5.5)
        axes.set_ylabel(texts[0], color=TEXT_COLOR)
        axes.set_xlabel(texts[1], color=TEXT_COLOR)
        axes.xaxis.set_label_position("top")
        _color_bar(made_figure, image, axes, texts[2])
        if max(weights.shape) <= FEW:
            _write_numbers(axes, weights)
        return made_figure.png()


def _cell_inch(words: int) -> float:
    if words <= FEW:
        return LARGE_INCH
    return INCH if words <= MANY else SMALL_INCH


def _scale(largest: float, words: int) -> Any:
    """Weights to colors. Many words share a weight of 1, so most are small: there colors grow with the square
    root, up to the largest."""
    from matplotlib.colors import Normalize, PowerNorm

    if words <= FEW:
        return Normalize(0, largest)
    return PowerNorm(0.5, 0, largest)


def _cells(
    made: Drawing,
    axes: Any,
    weights: np.ndarray,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
    *,
    fontsize: float,
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("weights", PALETTE)
    scale = _scale(max(1e-9, float(weights.max())), len(keys))
    image = axes.imshow(weights, cmap=colors, norm=scale, aspect="equal")
    upright = max(map(_width, keys)) * 0.075 > _cell_inch(max(weights.shape))
    axes.set_xticks(
        range(len(keys)), [made.label(word) for word in keys], fontsize=fontsize, rotation=90 * upright
    )
    axes.set_yticks(range(len(queries)), [made.label(word) for word in queries], fontsize=fontsize)
    axes.tick_params(length=0, labeltop=True, labelbottom=len(queries) > MANY, labelright=len(keys) > MANY)
    for side in axes.spines.values():
        side.set_color(LINE_COLOR)
    return image


def _write_numbers(axes: Any, weights: np.ndarray) -> None:
    dark = 0.6 * weights.max()
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= 0.005:
            color = "white" if weight > dark else TEXT_COLOR
            shown = f"{weight:.2f}".lstrip("0") if weight < 0.995 else "1"
            axes.text(column, row, shown, ha="center", va="center", fontsize=7, color=color)


# --- all heads ----------------------------------------------------------------------------------------------


def _grid(made: Attended, language: Language, report: Report) -> bytes:
    part = made.found.part(made.shown.part)
    weights = part.words()
    queries = part.queries.words
    keys = part.keys.words
    if not made.settings.special:
        weights, queries, keys = without_special(part, weights)
    layers, heads = weights.shape[:2]
    title = said(language, "{part}: all heads, one row per layer", part=PART_NAMES[part.part])
    names = [said(language, "layer"), said(language, "head"), said(language, "attention weight")]
    scale = _scale(1.0 if len(keys) <= FEW else max(1e-9, float(weights.max())), len(keys))
    side = min(2.2, max(1.2, 0.17 * max(len(queries), len(keys))), GRID_WIDTH / heads)
    labelled = side >= 0.15 * max(len(queries), len(keys))
    margin = 0.6 + 0.07 * max(map(_width, (*queries, *keys))) * labelled
    size = (
        side * heads + margin + 0.7,
        side * layers * min(2.0, max(0.5, len(queries) / len(keys))) + margin + 0.6,
    )
    with drawing(
        _shown_text(made, title, *names), size=size, below=_below(made, language), report=report
    ) as made_figure:
        axes = made_figure.figure.subplots(layers, heads, squeeze=False)
        made_figure.figure.suptitle(title, fontsize=11)
        image: Any = None
        for (layer, head), axis in np.ndenumerate(axes):
            image = _small(axis, weights[layer, head], scale)
            if layer == 0:
                axis.set_title(f"{names[1]} {head}", fontsize=8.5, color=TEXT_COLOR)
            if head == 0:
                axis.set_ylabel(f"{names[0]} {layer}", fontsize=8.5, color=TEXT_COLOR)
            if labelled and head == 0:
                axis.set_yticks(
                    range(len(queries)), [made_figure.label(word) for word in queries], fontsize=7
                )
            if labelled and layer == layers - 1:
                rotation = 90 if max(map(_width, keys)) * 0.06 > side / len(keys) else 0
                labels = [made_figure.label(word) for word in keys]
                axis.set_xticks(range(len(keys)), labels, fontsize=7, rotation=rotation)
        _color_bar(made_figure, image, axes.ravel().tolist(), names[2])
        return made_figure.png()


def _color_bar(made: Drawing, image: Any, axes: Any, name: str) -> None:
    bar = made.figure.colorbar(image, ax=axes, shrink=0.6, aspect=25, pad=0.02)
    bar.set_label(name, fontsize=8.5, color=TEXT_COLOR)
    bar.outline.set_visible(False)


def _small(axis: Any, weights: np.ndarray, scale: Any) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("weights", PALETTE)
    image = axis.imshow(weights, cmap=colors, norm=scale, aspect="auto", interpolation="nearest")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_color(LINE_COLOR)
    return image


# --- lines --------------------------------------------------------------------------------------------------


def _lines(made: Attended, language: Language, report: Report) -> bytes:
    """Words that attend on the left, words that are attended to on the right; stronger lines weigh more."""
    shown = made.shown
    rows = max(len(shown.queries), len(shown.keys))
    title = made.shown.title().in_language(language)
    texts = [said(language, "attends"), said(language, "is attended to")]
    widest = max(map(_width, (*shown.queries, *shown.keys)))
    size = (2.6 + 0.19 * widest, 0.26 * rows + 1.0)
    with drawing(
        _shown_text(made, title, *texts), size=size, below=_below(made, language), report=report
    ) as made_figure:
        axes = made_figure.figure.subplots()
        axes.set_title(title, fontsize=10.5)
        axes.axis("off")
        axes.set(xlim=(-0.1, 1.1), ylim=(rows - 0.5, -1.6))
        for row, column, share, width in _strokes(shown.weights):
            axes.plot([0, 1], [row, column], color=LINE, alpha=min(1, share), linewidth=width)
        for x, words, side in ((-0.03, shown.queries, "right"), (1.03, shown.keys, "left")):
            for row, word in enumerate(words):
                axes.text(x, row, made_figure.label(word), ha=side, va="center", fontsize=11)
        axes.text(-0.03, -1.1, texts[0], ha="right", va="center", fontsize=8.5, color=TEXT_COLOR)
        axes.text(1.03, -1.1, texts[1], ha="left", va="center", fontsize=8.5, color=TEXT_COLOR)
        return made_figure.png()


def _strokes(weights: np.ndarray) -> Iterator[tuple[int, int, float, float]]:
    """Row, column, strength and width of the lines; where words are many, the strongest of each word, because
    all lines would be a solid block."""
    keys = weights.shape[1]
    if keys <= FEW:
        for (row, column), weight in np.ndenumerate(weights):
            if weight >= FAINT:
                yield row, column, float(weight), 0.4 + 4 * float(weight)
        return
    largest = max(1e-9, float(weights.max()))
    for row, places in enumerate(np.argsort(-weights, axis=1, kind="stable")[:, :STRONGEST]):
        for place in places.tolist():
            share = float(weights[row, place]) / largest
            if share > 0:
                yield row, place, share, 0.4 + 2 * share


def _width(word: str) -> int:
    """How wide a word is drawn, in half characters of Chinese."""
    return sum(2 if ord(each) > 0x2E7F else 1 for each in word)
