"""A map as a picture (PNG), or as one HTML page that needs no network."""

from __future__ import annotations

from importlib.resources import files as resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid.errors import need
from inlaid.messages import Language, Message
from inlaid.report import Note, Report, silent
from inlaid.study import figures
from inlaid.study.figures import COLORS, LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.map.captions import CAPTIONS, caption, legend
from inlaid.study.map.layout import Map
from inlaid.study.pages import json_data

UNKNOWN = "#adb5bd"
"""Of words that were not sampled."""
SMALL = 60
"""Up to this many words are drawn large."""
LABELLED = 2_000
"""Words that get a label if there is space: the first ones; a picture has space for a few hundred."""
EMBEDDED = 5_000
"""Up to this many words, a page contains the true neighbors of each."""
SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where a label may be placed beside its dot, best first: right (1) or left (-1), above or below."""


def draw_map(
    map: Map, path: str | Path, *, title: str = "", overwrite: bool = False, report: Report = silent
) -> None:
    """Write the map to a .png or .html file, with its quality below, in the language of most of its words.

    An earlier map is replaced; any other file only with `overwrite`.
    """
    path = writable(Path(path), overwrite=overwrite)
    is_page = path.suffix.lower() == ".html"
    figures.write(path, page(map, title) if is_page else picture(map, title, report))


def writable(path: Path, *, overwrite: bool = False) -> Path:
    """The path, if a map can be written there."""
    return figures.writable(path, Message("A map"), overwrite=overwrite)


# --- the page -----------------------------------------------------------------------------------------------


def page(map: Map, title: str = "") -> str:
    """One self-contained HTML page: pan, zoom, search, and the neighbors of the word under the pointer."""
    low = map.places.min(axis=0)
    high = map.places.max(axis=0)
    extent = max(float((high - low).max()), 1e-12)
    places = (map.places.astype(np.float64) - (low + high) / 2) / extent
    content = {
        "title": title,
        "words": list(map.words),
        "k": map.nearest.shape[1],
        "colors": [*COLORS, UNKNOWN],
        "x": np.round(places[:, 0], 5).tolist(),
        "y": np.round(places[:, 1], 5).tolist(),
        "true": [None if np.isnan(share) else round(share, 3) for share in map.true.tolist()],
        "nearest": map.nearest.tolist() if len(map.words) <= EMBEDDED else None,
        "caption": {language: caption(map, language) for language in CAPTIONS},
        "legend": {language: legend(map, language) for language in CAPTIONS},
    }
    template = (resources("inlaid.study.map") / "map.html").read_text("utf-8")
    return template.replace("/*CONTENT*/", json_data(content))


# --- the picture --------------------------------------------------------------------------------------------


def picture(map: Map, title: str = "", report: Report = silent) -> bytes:
    """The bytes of a PNG: a dot for each word, coloured by its share of true neighbors, and as many labels
    as fit."""
    language = language_of(map.words)
    text = "".join((*map.words, title, *caption(map, language)))
    with drawing(text, report=report) as made:
        axes = made.figure.subplots()
        axes.set_title(made.label(title))
        _draw_dots(made.figure, axes, map, language)
        labels = [made.label(word) for word in map.words]
        unlabelled = _draw_labels(made.canvas, axes, labels, map.places)
        if unlabelled:
            report(
                Note(
                    "{unlabelled:,} of {words:,} words have no label, for lack of space. "
                    "The .html form shows each under the pointer.",
                    unlabelled=unlabelled,
                    words=len(map.words),
                )
            )
        return made.png()


def _draw_dots(figure: Any, axes: Any, map: Map, language: Language) -> None:
    """Frame, caption, a dot for each word, and the legend of the colours."""
    colors = need("matplotlib.colors", extra="explore")
    small = len(map.words) <= SMALL
    axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axes.margins(0.12 if small else 0.04)
    axes.set_xlabel("\n".join(caption(map, language)), fontsize=8.5, color=TEXT_COLOR, linespacing=1.5)
    for side in axes.spines.values():
        side.set_color(LINE_COLOR)
    scale = colors.LinearSegmentedColormap.from_list("true", COLORS)
    scale.set_bad(UNKNOWN)
    dots = axes.scatter(
        *map.places.T,
        s=_dot_size(len(map.words)),
        c=np.ma.masked_invalid(map.true),
        cmap=scale,
        vmin=0,
        vmax=1,
        linewidths=0,
        plotnonfinite=True,
    )
    if map.quality is not None:
        bar = figure.colorbar(dots, ax=axes, shrink=0.5, aspect=30, pad=0.02, format="{x:.0%}")
        bar.set_label(legend(map, language), fontsize=8.5, color=TEXT_COLOR)
        bar.ax.tick_params(labelsize=8, length=0)
        bar.outline.set_visible(False)


def _dot_size(words: int) -> int:
    if words <= SMALL:
        return 46
    return 9 if words <= EMBEDDED else 3


class _LabelStyle(NamedTuple):
    """How labels are drawn."""

    fontsize: float
    gap: int
    """Pixels between a label and its dot."""
    effects: list[Any]
    """A white outline, and the text on it."""


def _draw_labels(canvas: Any, axes: Any, words: list[str], places: np.ndarray) -> int:
    """Write labels in the order of the words where they cover no other label and, on a small map, no dot; how
    many did not fit."""
    small = len(words) <= SMALL
    canvas.draw()  # computes the layout,
    canvas.figure.set_layout_engine("none")  # which labels must not change
    effects = need("matplotlib.patheffects", extra="explore")
    # Outlines that are snapped to whole pixels lose strokes: 三 would be drawn as 二.
    outline = effects.Stroke(linewidth=1.5, foreground="white", snap=False)
    text = effects.Stroke(linewidth=0, snap=False)
    style = _LabelStyle(13 if small else 7.5, 9 if small else 4, [outline, text])
    dots = axes.transData.transform(places)
    taken = np.empty((0, 4))
    if small:
        taken = np.concatenate([dots - style.gap + 2, dots + style.gap - 2], axis=1)
    written = 0
    for word, dot in zip(words[:LABELLED], dots, strict=False):
        box = _draw_label(canvas, axes, word, dot, taken, style)
        if box is not None:
            taken = np.vstack([taken, box])
            written += 1
    return len(words) - written


def _draw_label(
    canvas: Any, axes: Any, word: str, dot: np.ndarray, taken: np.ndarray, style: _LabelStyle
) -> np.ndarray | None:
    """The box of the label, in pixels; None where it does not fit on any side of its dot."""
    label = axes.annotate(
        word,
        dot,
        xycoords="figure pixels",
        ha="center",
        va="center",
        fontsize=style.fontsize,
        path_effects=style.effects,
    )
    frame = axes.get_window_extent().extents
    extent = label.get_window_extent(canvas.get_renderer())
    half = np.array([extent.width, extent.height]) / 2
    centers = dot + np.array(SIDES) * (half + np.array([style.gap, style.gap / 2]))
    boxes = np.concatenate([centers - half, centers + half], axis=1)
    inside = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    overlaps = (boxes[:, None, :2] < taken[:, 2:]) & (taken[:, :2] < boxes[:, None, 2:])
    free = inside & ~overlaps.all(axis=2).any(axis=-1)
    if not free.any():
        label.remove()
        return None
    best = int(free.argmax())
    label.xy = centers[best]
    label.set_position(centers[best])
    return boxes[best]
