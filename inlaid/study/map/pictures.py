"""A map as a picture: a figure of matplotlib, or a file in pixels (PNG) or vectors (SVG, PDF)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inlaid.errors import MissingExtra, need
from inlaid.messages import Language, Message
from inlaid.notebook import html_of, picture
from inlaid.report import Note, Report, silent
from inlaid.study import figures
from inlaid.study.figures import LINE_COLOR, PICTURES, TEXT_COLOR, drawing
from inlaid.study.map import captions
from inlaid.study.map.captions import caption, grey_name, group_name, legend
from inlaid.study.map.colors import UNKNOWN, Coloring
from inlaid.study.map.page import EMBEDDED, page
from inlaid.study.use.texts import shortened

if TYPE_CHECKING:
    from inlaid.study.map.map import Map

SMALL = 60
"""Up to this many points are drawn large."""
LABELLED = 2_000
"""Words that get a label if there is space: the first ones; a picture has space for a few hundred."""
LABEL_LENGTH = 24
"""Characters of a label; longer words and texts are cut."""
MARKERS = {"circle": "o", "triangle": "^", "square": "s", "diamond": "D"}
"""The shapes of groups as matplotlib calls them."""
SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where a label may be placed beside its dot, best first: right (1) or left (-1), above or below."""


def draw_map(
    map: Map, path: str | Path, *, title: str = "", overwrite: bool = False, report: Report = silent
) -> None:
    """Write the map to a .png, .svg, .pdf or .html file, with its quality below, in the language of most of
    its words. `map.figure()` is the picture as matplotlib's Figure.

    An earlier map is replaced; any other file only with `overwrite`.
    """
    path = writable(Path(path), overwrite=overwrite)
    suffix = path.suffix.lower()
    if suffix == ".html":
        figures.write(path, page(map, title, report))
    else:
        figures.write(path, figures.saved(figure(map, title, report=report), suffix))


def writable(path: Path, *, overwrite: bool = False) -> Path:
    """The path, if a map can be written there."""
    return figures.writable(path, Message("A map"), suffixes=(*PICTURES, ".html"), overwrite=overwrite)


def shown_in_notebook(map: Map) -> str:
    """The picture where matplotlib is installed, and what the map says about itself."""
    try:
        png = figures.saved(figure(map), ".png")
    except MissingExtra:  # also: no font has the characters
        return html_of(map.rows())
    return picture(png, " ".join(caption(map, captions.language(map))))


def figure(map: Map, title: str = "", *, report: Report = silent) -> Any:
    """matplotlib's Figure: a dot for each point in the color that the map gives it, a legend, and as many
    labels as fit."""
    language = captions.language(map)
    names = [shortened(name, LABEL_LENGTH) for name in map.names]
    with drawing(_text(map, names, title, language), report=report) as made:
        axes = made.figure.subplots()
        axes.set_title(made.label(title))
        _draw_frame(axes, map, language)
        if map.coloring.groups:
            _draw_groups(made, axes, map, language)
        else:
            _draw_scale(made, axes, map, language)
        labels = [made.label(name) for name in names]
        if map.kind == "text" and len(labels) > SMALL:
            labels = []  # parts of sentences over each other help nobody
        unlabelled = len(names) - _draw_labels(made.canvas, axes, labels, map.places)
        if unlabelled:
            report(
                Note(
                    "{unlabelled:,} of {points:,} points have no label, for lack of space. "
                    "The .html form shows each under the pointer.",
                    unlabelled=unlabelled,
                    points=len(names),
                )
            )
        return made.figure


def _text(map: Map, names: list[str], title: str, language: Language) -> str:
    """Everything the picture shows."""
    coloring = map.coloring
    groups = [group_name(each, language) for each in coloring.groups]
    ticks = [each.text for each in coloring.ticks()]
    legends = [legend(map, language), grey_name(map, language), *groups, *coloring.ends, *ticks]
    return "".join((*names, title, *caption(map, language), *legends))


def _draw_frame(axes: Any, map: Map, language: Language) -> None:
    """The frame and the caption."""
    axes.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    axes.margins(0.12 if len(map.names) <= SMALL else 0.04)
    axes.set_xlabel("\n".join(caption(map, language)), fontsize=8.5, color=TEXT_COLOR, linespacing=1.5)
    for side in axes.spines.values():
        side.set_color(LINE_COLOR)


def _draw_groups(made: figures.Drawing, axes: Any, map: Map, language: Language) -> None:
    """A dot for each point in the color and shape of its group, and the groups beside the frame."""
    coloring = map.coloring
    size = _dot_size(len(map.names))
    grey = np.isnan(coloring.values)
    if grey.any():
        axes.scatter(*map.places[grey].T, s=size, c=UNKNOWN, linewidths=0)
    for group in coloring.groups:
        inside = coloring.values == group.number
        axes.scatter(*map.places[inside].T, s=size, c=group.color, marker=MARKERS[group.shape], linewidths=0)
    lines = need("matplotlib.lines", extra="explore")
    looks = [(group.color, MARKERS[group.shape]) for group in coloring.groups]
    texts = [group_name(group, language) for group in coloring.groups]
    if coloring.others:
        looks.append((UNKNOWN, "o"))
        texts.append(grey_name(map, language))
    handles = [
        lines.Line2D([], [], color=color, marker=marker, linestyle="", markersize=6)
        for color, marker in looks
    ]
    shown = made.figure.legend(
        handles,
        [made.label(text) for text in texts],
        title=legend(map, language),
        loc="outside right upper",
        fontsize=8.5,
        title_fontsize=8.5,
        frameon=False,
        handletextpad=0.2,
    )
    shown.get_title().set_color(TEXT_COLOR)


def _draw_scale(made: figures.Drawing, axes: Any, map: Map, language: Language) -> None:
    """A dot for each point in the color of its number, and the scale beside the frame."""
    coloring = map.coloring
    colors = need("matplotlib.colors", extra="explore")
    scale = colors.LinearSegmentedColormap.from_list(coloring.by, coloring.colors)
    scale.set_bad(UNKNOWN)
    dots = axes.scatter(
        *map.places.T,
        s=_dot_size(len(map.names)),
        c=np.ma.masked_invalid(coloring.shares()),
        cmap=scale,
        vmin=0,
        vmax=1,
        linewidths=0,
        plotnonfinite=True,
    )
    if coloring.by == "trust" and map.quality is None:
        return
    bar = made.figure.colorbar(dots, ax=axes, shrink=0.5, aspect=30, pad=0.02)
    ticks = coloring.ticks()
    bar.set_ticks([each.share for each in ticks], labels=_tick_texts(made, coloring))
    bar.set_label(legend(map, language), fontsize=8.5, color=TEXT_COLOR)
    bar.ax.tick_params(labelsize=8, length=0)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)


def _tick_texts(made: figures.Drawing, coloring: Coloring) -> list[str]:
    """The numbers; at the ends of an axis, also its words."""
    texts = [each.text for each in coloring.ticks()]
    if coloring.by != "axis":
        return texts
    start, end = (made.label(shortened(words, 16)) for words in coloring.ends)
    return [f"{texts[0]}\n{start}", *texts[1:-1], f"{end}\n{texts[-1]}"]


def _dot_size(points: int) -> int:
    if points <= SMALL:
        return 46
    return 9 if points <= EMBEDDED else 3


class _LabelStyle(NamedTuple):
    """How labels are drawn."""

    fontsize: float
    gap: int
    """Pixels between a label and its dot."""
    effects: list[Any]
    """A white outline, and the text on it."""


def _draw_labels(canvas: Any, axes: Any, words: list[str], places: np.ndarray) -> int:
    """Write labels in the order of the words where they cover no other label and, on a small map, no dot; how
    many did fit."""
    small = len(places) <= SMALL
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
    return written


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
    # Fractions of the frame, not pixels: a picture in vectors has another resolution.
    label.xycoords = "axes fraction"
    label.anncoords = "axes fraction"
    label.xy = axes.transAxes.inverted().transform(centers[best])
    label.set_position(label.xy)
    return boxes[best]
