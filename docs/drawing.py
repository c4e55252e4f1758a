"""What the pictures of the docs share: two languages, colors, fonts, and a few shapes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

import inlaid
from inlaid.messages import Language
from inlaid.study.draw import shapes
from inlaid.study.draw.picture import Say
from inlaid.study.draw.shapes import BLUE, DARK, GREY, ORANGE, cells, curves
from inlaid.study.figures import FONTS, PLAIN

__all__ = ["BLUE", "DARK", "GREY", "ORANGE", "Say", "cells", "curves"]
Picture = Callable[[Figure, Say], None]
SHADES = shapes.shades()
SIGNS = shapes.signs()


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
    save_small(path, buffer.getvalue())


def draw_registered(path: Path, language: Language, name: str) -> None:
    """A picture of `inlaid draw`."""
    save_small(path, inlaid.draw(name, lang=language).png())


def save_small(path: Path, png: bytes) -> None:
    """With a palette: half the bytes, no visible difference."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(96).save(path, optimize=True)


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
