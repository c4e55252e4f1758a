"""Heads and their names as a picture or a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.messages import Language, catalogue, said, spoken_language
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.named_heads import CLOSEST, HEADER, Heads, NamedHead, example_row, shown_name
from inlaid.study.attend.patterns import Measured
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing
from inlaid.study.pages import Block, Heading, Picture, Table, Text, page

PALETTE = ("#ffffff", "#d0e2f5", "#74a9d8", "#1864ab")
FRAME = "#d9480f"
ACROSS = 3
"""Panels in a row."""
PANEL = 3.1
"""Their width in inches."""


def write_heads(made: Heads, output: Path, report: Report) -> None:
    """Write them to a .png or .html file; in the language that was asked, or in that of the locale where both
    were."""
    asked = made.settings.language
    language: Language = spoken_language() if asked == "both" else asked
    png = heads_picture(made, language, report)
    if output.suffix.lower() == ".html":
        figures.write(output, _page(made, png, language))
    else:
        figures.write(output, png)


def _page(made: Heads, png: bytes, language: Language) -> str:
    title = said(language, "What heads do")
    chance = said(
        language,
        "Chance: for places, a head that attends uniformly; for links between words, what the same head "
        "gives to these distances and places in other sentences (the larger). {tests:,} tests, false "
        "discovery rate {rate:g} (Benjamini and Hochberg); {sentences} sentences a pattern at most, seed "
        "{seed}.",
        tests=made.tests,
        rate=made.settings.false_discovery,
        sentences=made.settings.sentences,
        seed=made.settings.seed,
    )
    blocks: list[Block] = [Text(made.model), Picture(png, title), Text(chance)]
    if made.named:
        named = [each for found in made.by_name() for each in found]
        blocks.append(Table([HEADER, *(each.row() for each in named)]))
        blocks.append(Heading(said(language, "Sentences that show it")))
        header = (said(language, "head"), said(language, "name"), said(language, "words"), "")
        blocks.append(Table([header, *(example_row(each, one) for each in named for one in each.examples)]))
    if made.closest:
        blocks += [Text(CLOSEST), Table([HEADER, *(each.row() for each in made.closest)])]
    warning = said(
        language,
        "A name says what a head attends to in these sentences, not what it is for. A head without a name "
        "may do something that was not asked.",
    )
    blocks.append(Text(warning, note=True))
    return page(title, blocks, language=language)


def heads_picture(made: Heads, language: Language, report: Report) -> bytes:
    """A panel for each pattern: layers down, heads across; heads with the name are framed."""
    rows = math.ceil(len(made.measured) / ACROSS)
    height = min(PANEL, 0.9 + PANEL * made.layers / max(made.heads, 4))
    about = said(
        language,
        "share of the way from chance (0) to 1; framed where it is at least {at_least:g} and significant",
        at_least=made.settings.at_least,
    )
    letters = "".join(catalogue(language).values())
    size = (ACROSS * PANEL, rows * height + 0.8)
    below = made.model.in_language(language)
    with drawing(letters, size=size, below=below, report=report) as drawn:
        panels = drawn.figure.subplots(rows, ACROSS, squeeze=False).ravel()
        drawn.figure.suptitle(f"{said(language, 'What heads do')}\n{about}", fontsize=10)
        image: Any = None
        for axes, measured in zip(panels, made.measured, strict=False):
            named = [
                each
                for each in made.named
                if (each.name, each.language) == (measured.pattern, measured.language)
            ]
            image = _panel(axes, measured, named, language)
        for axes in panels[len(made.measured) :]:
            axes.set_axis_off()
        for axes in panels[::ACROSS]:
            axes.set_ylabel(said(language, "layer"), fontsize=8, color=TEXT_COLOR)
        bar = drawn.figure.colorbar(image, ax=panels.tolist(), shrink=0.5, aspect=30, pad=0.01)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7.5)
        return drawn.png()


def _panel(axes: Any, measured: Measured, named: Sequence[NamedHead], language: Language) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    above = np.clip(measured.above, 0, 1)
    layers, heads = above.shape
    colors = LinearSegmentedColormap.from_list("above", PALETTE)
    image = axes.imshow(above, cmap=colors, vmin=0, vmax=1, aspect="auto")
    name = shown_name(measured.pattern, measured.language).in_language(language)
    axes.set_title(name, fontsize=9)
    axes.set_yticks(range(layers))
    axes.set_xticks(range(heads))
    axes.tick_params(length=0, labelsize=6.5, labelcolor=TEXT_COLOR)
    axes.set_xlabel(said(language, "head"), fontsize=7.5, color=TEXT_COLOR, labelpad=1)
    for each in named:
        value = above[each.layer, each.head]
        color = "white" if value > 0.55 else TEXT_COLOR
        shown = f"{value:.2f}".lstrip("0") if heads <= 8 else f"{value:.1f}".lstrip("0")
        axes.text(each.head, each.layer, shown, ha="center", va="center", fontsize=6, color=color)
        place = (each.head - 0.47, each.layer - 0.47)
        axes.add_patch(Rectangle(place, 0.94, 0.94, fill=False, edgecolor=FRAME, linewidth=1.1))
    for side in axes.spines.values():
        side.set_color(LINE_COLOR)
    return image
