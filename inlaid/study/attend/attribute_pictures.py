"""Attributions as a picture or a page: attention beside gradients beside measured effects."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from inlaid.messages import Language, Message, catalogue, said
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.attribute import Attributions
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.pages import Picture, Table, Text, page

MOST = 60
"""Words drawn: those with the largest effects."""
BLUE = "#1864ab"
ORANGE = "#d9480f"
GREY = "#868e96"
COLUMNS: Mapping[str, Message] = {
    "attention": Message("attention, last layer"),
    "rollout": Message("attention rollout"),
    "gradient_x_input": Message("gradient x input"),
    "integrated_gradients": Message("integrated gradients"),
    "effect": Message("effect of leaving it out"),
}


def write_attributions(made: Attributions, output: Path, report: Report) -> None:
    """Write them to a .png or .html file, in the language of the text."""
    language = language_of([made.text])
    png = attributions_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    rows = [row for row in made.rows() if isinstance(row, tuple)]
    shown = made.text if made.target is None else f"{made.text} → {made.target}"
    warning = said(
        language,
        "Attention is no explanation by itself. It says how values are mixed; the last column is measured: "
        "what the log probability of the answer loses when the word alone is replaced by the baseline. Words "
        "that matter only together show no effect there, and gradients depend on the baseline. The rank "
        "correlation is over {words} words; chance is 0.",
        words=made.agreement.words,
    )
    blocks = [
        Text(shown),
        Text(made.model),
        Picture(png, _title(made, language)),
        Table(rows),
        Text(made.completeness()),
        Text(warning, note=True),
    ]
    figures.write(output, page(_title(made, language), blocks, language=language))


def _title(made: Attributions, language: Language) -> str:
    return said(
        language,
        "What “{answer}” depends on (probability {probability:.3f})",
        answer=made.answer,
        probability=made.probability,
    )


def attributions_picture(made: Attributions, language: Language, report: Report) -> bytes:
    """A column of bars for each instrument, a row for each word."""
    order = np.argsort([-abs(each.effect) for each in made.words], kind="stable")
    words = [made.words[place] for place in np.sort(order[:MOST])]
    columns = [each for each in COLUMNS if getattr(words[0], each) is not None]
    title = _title(made, language)
    if len(made.words) > MOST:
        cut = said(
            language,
            "The {most} words with the largest effects, of {count}.",
            most=MOST,
            count=len(made.words),
        )
        title = f"{title}\n{cut}"
    everything = "".join([title, *(each.word for each in words), *catalogue(language).values()])
    size = (2.0 * len(columns) + 1.0, 0.3 * len(words) + 1.8)
    below = made.model.in_language(language)
    with drawing(everything, size=size, below=below, report=report) as drawn:
        axes = drawn.figure.subplots(1, len(columns), sharey=True)
        drawn.figure.suptitle(drawn.label(title), fontsize=11)
        for axis, column in zip(axes, columns, strict=True):
            values = np.array([getattr(each, column) for each in words])
            color = GREY if column in ("attention", "rollout") else BLUE
            color = ORANGE if column == "effect" else color
            axis.barh(range(len(words)), values, color=color, height=0.7)
            largest = float(np.abs(values).max()) or 1.0
            low = -1.45 * largest if values.min() < -0.02 * largest else 0.0
            axis.set_xlim(low, 1.45 * largest)
            for row, value in enumerate(values):
                side = "right" if value < -0.02 * largest else "left"
                axis.text(value, row, f" {value:.2f} ", va="center", ha=side, fontsize=7.5, color=TEXT_COLOR)
            axis.set_title(textwrap.fill(COLUMNS[column].in_language(language), 14), fontsize=9.5)
            axis.set_xticks([])
            axis.tick_params(length=0)
            axis.axvline(0, color=LINE_COLOR, linewidth=0.8)
            for edge in axis.spines.values():
                edge.set_color(LINE_COLOR)
        axes[0].set_yticks(range(len(words)), [drawn.label(each.word) for each in words], fontsize=10)
        axes[0].set_ylim(len(words) - 0.5, -0.5)
        return drawn.png()
