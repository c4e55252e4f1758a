"""What figures share: colors, frames, and matrices as colored cells with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inlaid.errors import need
from inlaid.study.figures import COLORS

ORANGE, _, BLUE = COLORS
GREY = "#ced4da"
DARK = "#343a40"
LIGHT = "#74c0fc"


def shades() -> Any:
    """White to dark blue, for numbers from 0."""
    return _scale("shades", ["#ffffff", "#d0ebff", "#4dabf7", "#1864ab"])


def signs() -> Any:
    """Orange for negative numbers, white for 0, blue for positive ones."""
    return _scale("signs", [ORANGE, "#ffffff", BLUE])


def _scale(name: str, colors: Sequence[str]) -> Any:
    return need("matplotlib.colors", extra="explore").LinearSegmentedColormap.from_list(name, colors)


def cells(
    axis: Any,
    values: Any,
    form: str,
    scale: Any,
    span: tuple[float, float],
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> None:
    """A matrix as colored cells with its numbers written in; NaN is left empty."""
    table = np.asarray(values, float)
    axis.imshow(table, cmap=scale, vmin=span[0], vmax=span[1], aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        if not np.isnan(value):
            dark = sum(scale((value - span[0]) / (span[1] - span[0]))[:3]) < 1.6
            color = "white" if dark else DARK
            text = form.format(value)
            axis.text(column, row, text, ha="center", va="center", fontsize=8.5, color=color)
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xticks(range(len(columns)), columns)
    axis.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axis.spines[:].set_visible(False)


def curves(axis: Any, *, legend: bool = True) -> None:
    """The frame of a plot of curves: two sides only."""
    axis.spines[["top", "right"]].set_visible(False)
    if legend:
        axis.legend(frameon=False, fontsize=8)


def plane(axis: Any, limit: float) -> None:
    """A square part of the plane around the origin, without ticks."""
    axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xticks=[], yticks=[])
    axis.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    axis.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    axis.spines[:].set_visible(False)


def arrow(axis: Any, end: np.ndarray, color: str) -> None:
    """From the origin."""
    style = {"arrowstyle": "-|>", "color": color, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", tuple(end), (0, 0), arrowprops=style)
