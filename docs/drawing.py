"""What the pictures of the docs share: two languages, colors, fonts, and a few shapes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import font_manager, rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from inlaid.study.figures import COLORS, FONTS, PLAIN

Say = Callable[[str, str], str]
"""Which of two texts to write: the English one or the Chinese one."""
Picture = Callable[[Figure, Say], None]
ORANGE, _, BLUE = COLORS
GREY = "#ced4da"
DARK = "#343a40"
SHADES = LinearSegmentedColormap.from_list("shades", ["#ffffff", "#d0ebff", "#4dabf7", "#1864ab"])
SIGNS = LinearSegmentedColormap.from_list("signs", [ORANGE, "#ffffff", BLUE])


def draw(path: Path, language: str, size: tuple[float, float], picture: Picture) -> None:
    """Make one picture, `size` inches."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    look = {
        "font.family": [PLAIN, *(font for font in FONTS if font in installed)],
        "font.size": 9,
        "axes.titlesize": 10,
    }
    look |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), DARK) | {
        "axes.edgecolor": GREY
    }
    with rc_context(look):
        figure = Figure(figsize=size, dpi=110, layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.08))
        picture(figure, lambda english, chinese: chinese if language == "zh" else english)
        buffer = io.BytesIO()
        figure.savefig(buffer)
    Image.open(buffer).convert("RGB").quantize(96).save(
        path, optimize=True
    )  # a palette: half the bytes, no visible difference


def cells(
    axis: Any,
    values: torch.Tensor,
    form: str,
    shades: Any,
    span: tuple[float, float],
    *,
    rows: list[str],
    columns: list[str] | None = None,
) -> None:
    """A matrix as coloured cells with its numbers written in; NaN is left empty."""
    axis.imshow(values.numpy(), cmap=shades, vmin=span[0], vmax=span[1])
    for (row, column), value in np.ndenumerate(values.numpy()):
        if not np.isnan(value):
            dark = sum(shades((value - span[0]) / (span[1] - span[0]))[:3]) < 1.6
            axis.text(
                column,
                row,
                form.format(value),
                ha="center",
                va="center",
                fontsize=8.5,
                color="white" if dark else DARK,
            )
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xticks(range(len(columns or [])), columns or [])
    axis.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axis.spines[:].set_visible(False)


def curves(axis: Any, legend: bool = True) -> None:
    """The frame of a plot of curves: two sides only."""
    axis.spines[["top", "right"]].set_visible(False)
    if legend:
        axis.legend(frameon=False, fontsize=8)


def box(axis: Any, x: float, y: float, text: str, color: str, size: float = 8.5) -> None:
    axis.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=size,
        bbox={"boxstyle": "round,pad=0.35", "fc": "white", "ec": color},
    )


def dot(axis: Any, x: float, y: float, color: str) -> None:
    axis.plot([x], [y], "o", color=color, markersize=9, zorder=3)
