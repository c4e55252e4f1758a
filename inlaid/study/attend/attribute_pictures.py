"""Attributions as a picture or a page: attention beside gradients beside measured effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inlaid.messages import Language
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
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "What “{answer}” depends on (probability {probability:.3f})",
        "attention": "attention,\nlast layer",
        "rollout": "attention\nrollout",
        "gradient_x_input": "gradient\nx input",
        "integrated_gradients": "integrated\ngradients",
        "effect": "effect of\nleaving it out",
        "most": "The {most} words with the largest effects, of {count}.",
        "error": "Completeness error of integrated gradients {error:.2%}; baseline: {baseline}. Rank "
        "correlation of the sizes with the effect, over {words} words: attention {attention:+.2f}, "
        "integrated "
        "gradients {integrated:+.2f}; chance is 0.",
        "warning": "Attention is no explanation by itself. It says how values are mixed; the last column is "
        "measured: what the log probability of the answer loses when the word alone is replaced by the "
        "baseline. Words that matter only together show no effect there, and gradients depend on the "
        "baseline.",
    },
    "zh": {
        "title": "预测“{answer}”（概率 {probability:.3f}）取决于哪些词",
        "attention": "注意力\n（最后一层）",
        "rollout": "attention\nrollout",
        "gradient_x_input": "梯度 × 输入",
        "integrated_gradients": "积分梯度",
        "effect": "去掉该词\n的影响",
        "most": "共 {count} 个词，只画影响最大的 {most} 个。",
        "error": "积分梯度的完备性误差为 {error:.2%}，基线：{baseline}。各指标的绝对值与实际影响的秩相关"
        "（{words} 个词）：注意力 {attention:+.2f}，积分梯度 {integrated:+.2f}；随机水平为 0。",
        "warning": "注意力本身不是解释：它只说明各个 value 如何混合。最后一列是实测：只把这个词换成基线，"
        "答案的"
        "对数概率下降多少。只有共同出现才起作用的词在这里看不出影响；梯度类方法的结果还取决于所选的基线。",
    },
}
COLUMNS = ("attention", "rollout", "gradient_x_input", "integrated_gradients", "effect")


def write_attributions(made: Attributions, output: Path, report: Report) -> None:
    """Write them to a .png or .html file, in the language of the text."""
    language = language_of([made.text])
    png = attributions_picture(made, language, report)
    if output.suffix.lower() != ".html":
        figures.write(output, png)
        return
    texts = TEXTS[language]
    rows = [row for row in made.rows() if isinstance(row, tuple)]
    shown = made.text if made.target is None else f"{made.text} → {made.target}"
    blocks = [
        Text(shown),
        Picture(png, _title(made, language)),
        Table(rows),
        Text(_error(made, language)),
        Text(texts["warning"], note=True),
    ]
    figures.write(output, page(_title(made, language), blocks, language=language))


def _title(made: Attributions, language: Language) -> str:
    return TEXTS[language]["title"].format(answer=made.answer, probability=made.probability)


def _error(made: Attributions, language: Language) -> str:
    return TEXTS[language]["error"].format(
        error=made.completeness_error,
        baseline=made.baseline,
        words=made.agreement.words,
        attention=made.agreement.attention,
        integrated=made.agreement.integrated_gradients,
    )


def attributions_picture(made: Attributions, language: Language, report: Report) -> bytes:
    """A column of bars for each instrument, a row for each word."""
    texts = TEXTS[language]
    order = np.argsort([-abs(each.effect) for each in made.words], kind="stable")
    words = [made.words[place] for place in np.sort(order[:MOST])]
    columns = [each for each in COLUMNS if getattr(words[0], each) is not None]
    cut = texts["most"].format(most=MOST, count=len(made.words)) if len(made.words) > MOST else ""
    title = f"{_title(made, language)}\n{cut}".strip()
    everything = "".join([title, *(each.word for each in words), *texts.values(), "0123456789.+-−"])
    with drawing(everything, size=(2.0 * len(columns) + 1.0, 0.3 * len(words) + 1.6), report=report) as drawn:
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
            axis.set_title(texts[column], fontsize=9.5)
            axis.set_xticks([])
            axis.tick_params(length=0)
            axis.axvline(0, color=LINE_COLOR, linewidth=0.8)
            for edge in axis.spines.values():
                edge.set_color(LINE_COLOR)
        axes[0].set_yticks(range(len(words)), [drawn.label(each.word) for each in words], fontsize=10)
        axes[0].set_ylim(len(words) - 0.5, -0.5)
        return drawn.png()
