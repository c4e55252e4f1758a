"""What leaving out each head and layer does to the loss, as a picture or a page."""

from __future__ import annotations

from pathlib import Path

from inlaid.messages import Language, catalogue, said, spoken_language, word
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.ablate import Ablation, Ablations
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.pages import Block, Picture, Table, Text, page

MOST = 40
"""Bars of a picture: the largest changes."""
BLUE = "#1864ab"
ORANGE = "#d9480f"


def write_ablations(made: Ablations, output: Path, report: Report) -> None:
    """Write the changes to a .png or .html file, in the language of the texts that were asked, or of the
    locale."""
    asked = [each.text for each in made.parts[0].answers] if made.parts else []
    language = language_of(asked) if asked else spoken_language()
    png = ablations_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    title = said(language, "Change of the loss without each head and layer")
    rows = [row for row in made.rows() if isinstance(row, tuple) and len(row) == 7]
    answers = [
        (_name(each, language), one.text, one.before, one.after)
        for each in made.parts
        for one in each.answers
        if one.before != one.after
    ]
    blocks: list[Block] = [Text(made.model), Text(made.whole()), Picture(png, title), Table(rows)]
    if answers:
        header = (said(language, "without"), said(language, "text"), said(language, "before"))
        blocks.append(Table([(*header, said(language, "after")), *answers]))
    warning = said(
        language,
        "Other heads can take over, so a small change does not say that a head does nothing; and a network "
        "without a part of it is one that was never trained. The intervals are of each bar by itself: among "
        "many bars some lie off zero by chance.",
    )
    blocks.append(Text(warning, note=True))
    figures.write(output, page(title, blocks, language=language))


def _name(each: Ablation, language: Language) -> str:
    part = word(each.part)
    if each.head is None:
        return said(language, "{part}, layer {layer}", part=part, layer=each.layer)
    return said(language, "{part} {layer}.{head}", part=part, layer=each.layer, head=each.head)


def ablations_picture(made: Ablations, language: Language, report: Report) -> bytes:
    shown = sorted(made.parts, key=lambda each: -abs(each.change))[:MOST]
    shown.sort(key=lambda each: -each.change)
    names = [_name(each, language) for each in shown]
    axis_name = said(
        language,
        "change of the loss in nats per token, with 95 % intervals (bootstrap over {sentences} sentences)",
        sentences=made.sentences,
    )
    titles = [
        said(language, "Change of the loss without each head and layer"),
        made.whole().in_language(language),
        said(language, "Blue: heads; orange: whole layers."),
    ]
    if len(made.parts) > MOST:
        titles.append(
            said(language, "The {most} largest changes of {count}.", most=MOST, count=len(made.parts))
        )
    everything = "".join([*names, *titles, *catalogue(language).values()])
    size = (8.5, 0.24 * len(names) + 1.7)
    with drawing(everything, size=size, below=made.model.in_language(language), report=report) as drawn:
        axes = drawn.figure.subplots()
        axes.set_title("\n".join(titles), fontsize=9.5)
        values = [each.change for each in shown]
        spread = [
            [each.change - each.interval.low for each in shown],
            [each.interval.high - each.change for each in shown],
        ]
        colors = [ORANGE if each.head is None else BLUE for each in shown]
        axes.barh(range(len(names)), values, color=colors, xerr=spread, ecolor=TEXT_COLOR, height=0.72)
        axes.set_yticks(range(len(names)), names, fontsize=8.5)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.axvline(0, color=TEXT_COLOR, linewidth=0.8)
        axes.set_xlabel(axis_name, fontsize=8.5, color=TEXT_COLOR)
        axes.tick_params(length=0, labelsize=8.5)
        for side in axes.spines.values():
            side.set_color(LINE_COLOR)
        return drawn.png()
