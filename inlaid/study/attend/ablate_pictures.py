"""What leaving out each head and layer does to the loss, as a picture or a page."""

from __future__ import annotations

from pathlib import Path

from inlaid.messages import Language, spoken_language
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.ablate import Ablation, Ablations
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.pages import Picture, Table, Text, page

MOST = 40
"""Bars of a picture: the largest changes."""
BLUE = "#1864ab"
ORANGE = "#d9480f"
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "Change of the loss without each head and layer",
        "axis": "change of the loss in nats per token, with 95 % intervals (bootstrap over {sentences} "
        "sentences)",
        "head": "{part} {layer}.{head}",
        "layer": "{part}, layer {layer}",
        "whole": "Whole network: loss {loss:.3f}, accuracy {accuracy:.3f}, {tokens:,} tokens. Blue: heads; "
        "orange: whole layers.",
        "most": "The {most} largest of {count}.",
        "warning": "Other heads can take over, so a small change does not say that a head does nothing; and "
        "a network without a part of it is one that was never trained. The intervals are of each bar by "
        "itself: among many bars some lie off zero by chance.",
    },
    "zh": {
        "title": "去掉各个注意力头和各层后损失的变化",
        "axis": "每个词元的损失变化（nats），误差线为 95% 置信区间（对 {sentences} 个句子自助抽样）",
        "head": "{part} {layer}.{head}",
        "layer": "{part} 第 {layer} 层",
        "whole": "完整网络：损失 {loss:.3f}，准确率 {accuracy:.3f}，共 {tokens:,} 个词元。蓝色为注意力头，"
        "橙色为整层。",
        "most": "共 {count} 个，只画变化最大的 {most} 个。",
        "warning": "其他头可能接替它的作用，所以变化小并不说明这个头什么也没做；"
        "去掉一部分的网络也不是训练出来的"
        "网络。区间是逐条给出的：条数多时，总有一些会因偶然而偏离零。",
    },
}


def write_ablations(made: Ablations, output: Path, report: Report) -> None:
    """Write the changes to a .png or .html file, in the language of the texts that were asked, or of the
    locale."""
    asked = [each.text for each in made.parts[0].answers] if made.parts else []
    language = language_of(asked) if asked else spoken_language()
    texts = TEXTS[language]
    png = ablations_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    whole = texts["whole"].format(loss=made.loss, accuracy=made.accuracy, tokens=made.tokens)
    rows = [row for row in made.rows() if isinstance(row, tuple) and len(row) == 7]
    answers = [
        (_name(each, language), one.text, one.before, one.after)
        for each in made.parts
        for one in each.answers
        if one.before != one.after
    ]
    blocks = [Text(whole), Picture(png, texts["title"]), Table(rows)]
    if answers:
        blocks.append(Table([("", "", "→", "→"), *answers]))
    blocks.append(Text(texts["warning"], note=True))
    figures.write(output, page(texts["title"], blocks, language=language))


def _name(each: Ablation, language: Language) -> str:
    texts = TEXTS[language]
    name = "layer" if each.head is None else "head"
    return texts[name].format(part=each.part, layer=each.layer, head=each.head)


def ablations_picture(made: Ablations, language: Language, report: Report) -> bytes:
    texts = TEXTS[language]
    shown = sorted(made.parts, key=lambda each: -abs(each.change))[:MOST]
    shown.sort(key=lambda each: -each.change)
    names = [_name(each, language) for each in shown]
    axis_name = texts["axis"].format(sentences=made.sentences)
    cut = texts["most"].format(most=MOST, count=len(made.parts)) if len(made.parts) > MOST else ""
    whole = texts["whole"].format(loss=made.loss, accuracy=made.accuracy, tokens=made.tokens)
    everything = "".join([*names, *texts.values(), axis_name, cut, whole, "0123456789.+-−"])
    size = (8.5, 0.24 * len(names) + 1.7)
    with drawing(everything, size=size, report=report) as drawn:
        axes = drawn.figure.subplots()
        axes.set_title("\n".join(filter(None, [texts["title"], whole, cut])), fontsize=9.5)
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
