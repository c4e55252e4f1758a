"""One token's attention, step by step, as a picture or a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inlaid.messages import Language, catalogue, said
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.step import Steps
from inlaid.study.attend.weights import PART_NAMES
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.pages import Picture, Table, Text, page

BLUE = "#1864ab"
GREY = "#adb5bd"
MOST = 60
"""Keys drawn: those with the largest weights."""


def write_steps(made: Steps, text: str, output: Path, report: Report) -> None:
    """Write the steps to a .png or .html file, in the language of the text."""
    language = language_of([text])
    png = steps_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    caption = said(
        language,
        "Scores are compared within this row alone: adding the same number to all of them changes nothing. "
        "The weighted sum of the values is the output of one head; the output matrix mixes those of all "
        "heads.",
    )
    blocks = [
        Text(text),
        Text(made.model),
        Picture(png, title_of(made, language)),
        *map(Text, made.query_lines()),
        Table(made.key_rows()),
        Text(made.total()),
        Text(made.checked()),
        Text(caption, note=True),
    ]
    figures.write(output, page(title_of(made, language), blocks, language=language))


def title_of(made: Steps, language: Language) -> str:
    return said(
        language,
        "{token} attends: {part}, layer {layer}, head {head}",
        token=made.token,
        part=PART_NAMES[made.part],
        layer=made.layer,
        head=made.head,
    )


def _columns(made: Steps, language: Language) -> list[tuple[str, np.ndarray]]:
    """The steps that have bars: titles and numbers."""
    scale = f"{made.scale:.4g}"
    scaled = said(language, "times {scale}", scale=scale)
    if made.bias is not None:
        scaled = said(language, "times {scale}, plus bias", scale=scale)
    return [("q·k", made.products), (scaled, made.scores), ("softmax", made.weights)]


def steps_picture(made: Steps, language: Language, report: Report) -> bytes:
    """Bars for every step, one row for each key; beside them the values, and below those their sum."""
    kept = np.sort(np.argsort(-made.weights, kind="stable")[:MOST])
    names = [made.keys[place] for place in kept]
    count = min(16, made.values.shape[1])
    title = title_of(made, language)
    cut = ""
    if len(made.keys) > MOST:
        cut = said(
            language, "The {most} keys with the largest weights of {count}.", most=MOST, count=len(made.keys)
        )
    shown = "".join([*made.keys, title, *catalogue(language).values()])
    size = (11.0, 0.3 * len(names) + 2.2)
    below = made.model.in_language(language)
    with drawing(shown, size=size, below=below, report=report) as drawn:
        axes = drawn.figure.subplots(1, 4, sharey=True, width_ratios=[1, 1, 1, 1.5])
        drawn.figure.suptitle(f"{drawn.label(title)}\n{cut}".strip(), fontsize=11)
        for axis, (name, numbers) in zip(axes, _columns(made, language), strict=False):
            axis.set_title(name, fontsize=9.5)
            values = np.where(made.visible, numbers, 0.0)[kept]
            axis.barh(
                range(len(names)), values, color=[BLUE if made.visible[each] else GREY for each in kept]
            )
            low, high = min(0.0, values.min()), max(0.0, values.max())
            axis.set_xlim(low - 0.32 * (high - low + 1e-9) * (low < 0), high + 0.32 * (high - low + 1e-9))
            for row, value in enumerate(values):
                label = f"{value:.2f}" if made.visible[kept[row]] else "–"
                side = "right" if value < 0 else "left"
                axis.text(value, row, f" {label} ", va="center", ha=side, fontsize=7.5, color=TEXT_COLOR)
            axis.set_xticks([])
        _values(axes[3], made, kept, count)
        axes[3].set_title(said(language, "value (first {count} components)", count=count), fontsize=9.5)
        labels = [*map(drawn.label, names), said(language, "weighted sum")]
        axes[0].set_yticks(range(len(labels)), labels, fontsize=10)
        axes[0].set_ylim(len(labels) - 0.5, -0.5)
        for axis in axes:
            axis.tick_params(length=0)
            for side in axis.spines.values():
                side.set_color(LINE_COLOR)
        return drawn.png()


def _values(axes: Any, made: Steps, kept: np.ndarray, count: int) -> None:
    """The values of the keys, and in a row of its own below them their sum weighted by the softmax."""
    limit = float(np.abs(made.values).max()) or 1.0
    table = np.vstack([made.values[kept], made.mixed])[:, :count]
    image = axes.imshow(table, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
    axes.axhline(len(kept) - 0.5, color=TEXT_COLOR, linewidth=1.2)
    axes.set_xticks([])
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7.5)
