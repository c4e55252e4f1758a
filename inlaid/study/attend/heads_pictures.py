"""Heads and their names as a picture or a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inlaid.messages import Language, Message, said, spoken_language, word
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.heads import Heads, NamedHead, name_of
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing
from inlaid.study.pages import Block, Heading, Picture, Table, Text, page

PALETTE = ("#ffffff", "#d0e2f5", "#74a9d8", "#1864ab")
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "What heads do",
        "axis": "share of the way from chance (0) to 1; names only where it is at least {at_least:g} and "
        "significant",
        "layer": "layer",
        "head": "head",
        "examples": "Sentences that show it",
        "null": "Chance: for places, a head that attends uniformly; for links between words, what the "
        "same head "
        "gives to these distances and places in other sentences (the larger). {tests:,} tests, false "
        "discovery "
        "rate {rate:g} (Benjamini and Hochberg); {sentences} sentences a pattern at most, seed {seed}.",
        "warning": "A name says what a head attends to in these sentences, not what it is for. A head "
        "without a "
        "name may do something that was not asked.",
    },
    "zh": {
        "title": "注意力头的分工",
        "axis": "得分在随机水平（0）与 1 之间的位置；只有不低于 {at_least:g} 且显著时才命名",
        "layer": "层",
        "head": "头",
        "examples": "例句",
        "null": "随机水平：对位置类模式，是均匀分配注意力的头；对词与词的联系，"
        "是同一个头在其他句子的距离和位置上的"
        "得分（取较大者）。共 {tests:,} 次检验，错误发现率 {rate:g}（Benjamini–Hochberg）；每种模式最多"
        " {sentences} 个句子，种子 {seed}。",
        "warning": "名称只说明一个头在这些句子里关注什么，并不说明它的用途；"
        "没有名称的头可能在做没有问到的事。",
    },
}


def write_heads(made: Heads, output: Path, report: Report) -> None:
    """Write them to a .png or .html file; in the language that was asked, or in that of the locale where both
    were."""
    asked = made.settings.language
    language: Language = spoken_language() if asked == "both" else asked
    png = heads_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    texts = TEXTS[language]
    values = {
        "tests": sum(each.p.size for each in made.measured),
        "rate": made.settings.false_discovery,
        "sentences": made.settings.sentences,
        "seed": made.settings.seed,
    }
    rows = [row for row in made.rows() if isinstance(row, tuple) and len(row) == 7]
    blocks: list[Block] = [Picture(png, texts["title"]), Text(texts["null"].format(**values))]
    if rows:
        blocks.append(Table(rows))
        blocks.append(Heading(texts["examples"]))
        blocks.append(Table([(texts["layer"], texts["head"], "", "", "", ""), *_examples(made)]))
    blocks.append(Text(texts["warning"], note=True))
    figures.write(output, page(texts["title"], blocks, language=language))


def _examples(made: Heads) -> list[tuple[str | Message, ...]]:
    return [
        (str(each.layer), str(each.head), word(each.name), one.words, f"{one.weight:.2f}", one.text)
        for each in made.named
        for one in each.examples
    ]


def heads_picture(made: Heads, language: Language, report: Report) -> bytes:
    """A row for each pattern, a column for each head; names are framed."""
    from matplotlib.colors import LinearSegmentedColormap

    texts = TEXTS[language]
    names = [f"{said(language, name_of(each.pattern))} {each.language}".strip() for each in made.measured]
    above = np.stack([each.above.ravel() for each in made.measured])
    columns = [f"{layer}.{head}" for layer in range(made.layers) for head in range(made.heads)]
    axis_name = texts["axis"].format(at_least=made.settings.at_least)
    everything = "".join([*names, *texts.values(), axis_name, "0123456789.−-"])
    size = (max(7.0, 0.3 * len(columns) + 2.6), 0.32 * len(names) + 1.7)
    with drawing(everything, size=size, report=report) as drawn:
        axes = drawn.figure.subplots()
        axes.set_title(f"{texts['title']}\n{axis_name}", fontsize=9.5)
        colors = LinearSegmentedColormap.from_list("above", PALETTE)
        image = axes.imshow(np.clip(above, 0, 1), cmap=colors, vmin=0, vmax=1, aspect="auto")
        axes.set_yticks(range(len(names)), names, fontsize=9)
        axes.set_xticks(range(len(columns)), columns, fontsize=7.5, rotation=90 if len(columns) > 14 else 0)
        axes.set_xlabel(f"{texts['layer']}.{texts['head']}", fontsize=9, color=TEXT_COLOR)
        for each in made.named:
            row, column = _cell(made, each)
            axes.text(
                column,
                row,
                f"{above[row, column]:.1f}".lstrip("0"),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if above[row, column] > 0.55 else TEXT_COLOR,
            )
            axes.add_patch(_frame(column, row))
        for layer in range(1, made.layers):
            axes.axvline(layer * made.heads - 0.5, color=LINE_COLOR, linewidth=1.5)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_color(LINE_COLOR)
        bar = drawn.figure.colorbar(image, ax=axes, shrink=0.7, aspect=20, pad=0.02)
        bar.outline.set_visible(False)
        return drawn.png()


def _frame(column: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, fill=False, edgecolor="#d9480f", linewidth=1.6)


def _cell(made: Heads, named: NamedHead) -> tuple[int, int]:
    row = next(
        number
        for number, each in enumerate(made.measured)
        if (name_of(each.pattern), each.language) == (named.name, named.language)
    )
    return row, named.layer * made.heads + named.head
