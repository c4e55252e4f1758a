"""One token's attention, step by step, as a picture or a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inlaid.messages import Language
from inlaid.report import Report
from inlaid.study import figures
from inlaid.study.attend.step import Steps
from inlaid.study.figures import LINE_COLOR, TEXT_COLOR, drawing, language_of
from inlaid.study.pages import Picture, Table, Text, page

BLUE = "#1864ab"
GREY = "#adb5bd"
MOST = 60
"""Keys drawn: those with the largest weights."""
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "{token} attends: {part}, layer {layer}, head {head}",
        "encoder": "encoder",
        "decoder": "decoder",
        "cross": "cross-attention",
        "products": "q·k",
        "scaled": "times {scale:.4g}",
        "scores": "times {scale:.4g}, plus bias",
        "weights": "softmax",
        "values": "value (first {count} components)",
        "most": "The {most} keys with the largest weights of {count}.",
        "checked": "Largest difference from the network's own weights and output: {error:.1e}.",
        "caption": "Scores are compared within this row alone: adding the same number to all of them changes "
        "nothing. The weighted sum of the values is one of {heads} that the output matrix mixes.",
    },
    "zh": {
        "title": "{token} 的注意力：{part}，第 {layer} 层，第 {head} 个头",
        "encoder": "编码器",
        "decoder": "解码器",
        "cross": "交叉注意力",
        "products": "q·k",
        "scaled": "乘以 {scale:.4g}",
        "scores": "乘以 {scale:.4g}，加偏置",
        "weights": "softmax",
        "values": "value（前 {count} 个分量）",
        "most": "共 {count} 个键，只画权重最大的 {most} 个。",
        "checked": "与网络自身的权重和输出相比，最大误差为 {error:.1e}。",
        "caption": "分数只能在这一行内部比较：全部加上同一个数，结果不变。value 的加权和只是各头结果之一，"
        "之后由输出矩阵混合。",
    },
}


def write_steps(made: Steps, text: str, output: Path, report: Report) -> None:
    """Write the steps to a .png or .html file, in the language of the text."""
    language = language_of([text])
    png = steps_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    texts = TEXTS[language]
    rows = [row for row in made.rows() if isinstance(row, tuple)]
    blocks = [
        Text(text),
        Picture(png, title_of(made, language)),
        Table(rows),
        Text(texts["checked"].format(error=made.error)),
        Text(texts["caption"].format(heads="…"), note=True),
    ]
    figures.write(output, page(title_of(made, language), blocks, language=language))


def title_of(made: Steps, language: Language) -> str:
    texts = TEXTS[language]
    part = texts[made.part]
    return texts["title"].format(token=made.token, part=part, layer=made.layer, head=made.head)


def steps_picture(made: Steps, language: Language, report: Report) -> bytes:
    """Bars for every step, one row for each key, and the values that are summed."""
    texts = TEXTS[language]
    kept = np.sort(np.argsort(-made.weights, kind="stable")[:MOST])
    names = [made.keys[place] for place in kept]
    columns = [
        ("products", made.products),
        ("scaled" if made.bias is None else "scores", made.scores),
        ("weights", made.weights),
    ]
    count = min(16, made.values.shape[1])
    title = title_of(made, language)
    cut = texts["most"].format(most=MOST, count=len(made.keys)) if len(made.keys) > MOST else ""
    shown = "".join([*made.keys, title, cut, *texts.values(), "0123456789.+-e−"])
    size = (10.5, 0.3 * len(names) + 1.7)
    with drawing(shown, size=size, report=report) as drawn:
        axes = drawn.figure.subplots(1, 4, sharey=True, width_ratios=[1, 1, 1, 1.5])
        drawn.figure.suptitle(f"{drawn.label(title)}\n{cut}".strip(), fontsize=11)
        for axis, (name, numbers) in zip(axes, columns, strict=False):
            axis.set_title(texts[name].format(scale=made.scale), fontsize=9.5)
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
        limit = float(np.abs(made.values).max()) or 1.0
        axes[3].imshow(made.values[kept][:, :count], cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        axes[3].set_title(texts["values"].format(count=count), fontsize=9.5)
        axes[3].set_xticks([])
        axes[0].set_yticks(range(len(names)), [drawn.label(name) for name in names], fontsize=10)
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        for axis in axes:
            axis.tick_params(length=0)
            for side in axis.spines.values():
                side.set_color(LINE_COLOR)
        return drawn.png()
