"""Scores against dimensions left, rotated or not, as a picture and a page."""

# ruff: noqa: E501, Chinese characters count twice

from __future__ import annotations

from typing import TYPE_CHECKING

from inlaid.messages import Language
from inlaid.report import Report, silent
from inlaid.study import figures, pages

if TYPE_CHECKING:
    from inlaid.study.explain.dimensions import Dimensions

COLORS: dict[str, str] = {"most": figures.COLORS[0], "least": figures.COLORS[2], "random": "#2b8a3e"}
TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "What is left without some dimensions",
        "most": "most variance removed first",
        "least": "least variance removed first",
        "random": "removed at random",
        "rotated": "{order}, rotated",
        "left": "dimensions left",
        "caption": "Dotted: the same space after a random rotation. Bars: 95 % intervals. Where solid and "
        "dotted lines of a random order agree, no dimension is special.",
        "held": "trait|best dimension|after rotation|all dimensions",
        "note": "A correlation of one dimension is the best of many, so some of it is chance. That all "
        "dimensions together tell more is what distributed means.",
    },
    "zh": {
        "title": "去掉一些维度之后还剩什么",
        "most": "先去掉方差最大的维度",
        "least": "先去掉方差最小的维度",
        "random": "随机去掉",
        "rotated": "{order}（旋转后）",
        "left": "剩余维度",
        "caption": "点线：同一空间随机旋转之后。误差线：95% 区间。随机顺序的实线与点线一致，说明没有特殊的维度。",
        "held": "性质|最相关的单个维度|旋转之后|全部维度",
        "note": "单个维度的相关是从许多维度中挑出的最大值，其中有随机成分。全部维度合起来说明得更多，这就是“分布式”的含义。",
    },
}


def drawn(found: Dimensions, suffix: str, report: Report = silent) -> str | bytes:
    language: Language = "zh" if all(each.language == "zh" for each in found.ablation) else "en"
    texts = TEXTS[language]
    png = _picture(found, language, report)
    if suffix == ".png":
        return png
    blocks: list[pages.Block] = [pages.Picture(png, texts["caption"]), pages.Text(texts["note"], note=True)]
    if found.held:
        rows = [
            (each.trait, f"{each.single:.3f}", f"{each.rotated:.3f}", f"{each.together:.3f}")
            for each in found.held
        ]
        blocks.append(pages.Table([texts["held"].split("|"), *rows]))
    return pages.page(texts["title"], blocks, language=language)


def _picture(found: Dimensions, language: Language, report: Report) -> bytes:
    texts = TEXTS[language]
    panels = list(dict.fromkeys((each.task, each.language, each.metric) for each in found.ablation))
    shown = "".join(texts.values()) + "".join("".join(each) for each in panels)
    with figures.drawing(shown, size=(max(5.5 * len(panels), 6.5), 4.8), report=report) as made:
        for axes, panel in zip(made.figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            points = [each for each in found.ablation if (each.task, each.language, each.metric) == panel]
            for order, turned in dict.fromkeys((each.order, each.rotated) for each in points):
                held = [each for each in points if (each.order, each.rotated) == (order, turned)]
                name = texts["rotated"].format(order=texts[order]) if turned else texts[order]
                errors = [
                    [max(0.0, each.value - each.low) if each.low == each.low else 0 for each in held],
                    [max(0.0, each.high - each.value) if each.high == each.high else 0 for each in held],
                ]
                axes.errorbar(
                    [each.left for each in held],
                    [each.value for each in held],
                    yerr=errors,
                    color=COLORS[order],
                    ls=":" if turned else "-",
                    marker="s" if turned else "o",
                    ms=4,
                    capsize=2,
                    lw=1.4,
                    elinewidth=0.8,
                    label=name,
                )
            axes.set_title(" ".join(panel), fontsize=10)
            axes.set_xlabel(texts["left"])
            axes.grid(axis="y", color=figures.LINE_COLOR, lw=0.6)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
        handles, labels = made.figure.axes[0].get_legend_handles_labels()
        made.figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
        made.figure.suptitle(texts["title"], fontsize=13)
        return made.png()
