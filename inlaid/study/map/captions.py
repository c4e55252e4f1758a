"""What a map says about itself, in English and Chinese: what it shows, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inlaid.messages import Language
from inlaid.study.figures import language_of
from inlaid.study.map.colors import Group
from inlaid.study.use.texts import shortened

if TYPE_CHECKING:
    from inlaid.study.map.map import Map

METHOD_NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
NAME_LENGTH = 28
"""Characters of a group's name in a legend."""
UNITS: dict[Language, dict[str, dict[str, str]]] = {
    "en": {
        "word": {"point": "word", "points": "words"},
        "text": {"point": "text", "points": "texts"},
    },
    "zh": {
        "word": {"point": "词", "points": "个词", "measure": "个"},
        "text": {"point": "文本", "points": "条文本", "measure": "条"},
    },
}
"""What a point is called."""
CAPTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "named": "{count:,} {points}, {method}",
        "first": "The first {count:,} of {total:,} {points}, {method}",
        "sample": "{count:,} of {total:,} {points}, drawn with seed {seed}, {method}",
        "few": "Too few {points} to measure neighbors.",
        "false": "False neighbors: {false:.0f} % of the {k} nearest on the map are not among the {k} "
        "nearest in the vector space.",
        "missing": "Missing neighbors: {missing:.0f} % of the {closest} nearest in the vector space are "
        "not among the {k} nearest on the map.",
        "missing_one": "Missing neighbors: for {missing:.0f} % of the {points}, the nearest in the vector "
        "space is not among the {k} nearest on the map.",
        "figures": "Trustworthiness {trustworthiness:.2f}, continuity {continuity:.2f} "
        "(1: perfect; about 0.5: chance).",
        "sampled": "Measured on {sampled:,} {points} drawn at random; the others are grey.",
        "sampled_colored": "Measured on {sampled:,} {points} drawn at random.",
        "trust": "Share of a {point}'s {k} nearest on the map that are true neighbors",
        "count": "How often a word occurred (logarithmic)",
        "axis": "Between two lists of words",
        "cluster": "Clusters (k-means)",
        "label": "Labels",
        "group": "{name} ({size:,})",
        "numbered": "cluster {number} ({size:,})",
        "others": "{others:,} more labels",
    },
    "zh": {
        "named": "{count:,} {points}，{method}",
        "first": "{total:,} {points}中的前 {count:,} {measure}，{method}",
        "sample": "从 {total:,} {points}中随机抽取 {count:,} {measure}（种子 {seed}），{method}",
        "few": "{point}太少，无法衡量近邻。",
        "false": "假近邻：图上最近的 {k} {points}中，{false:.0f}% 不在向量空间中最近的 {k} {points}之列。",
        "missing": "漏掉的近邻：向量空间中最近的 {closest} {points}中，"
        "{missing:.0f}% 不在图上最近的 {k} {points}之列。",
        "missing_one": "漏掉的近邻：{missing:.0f}% 的{point}，其向量空间中的最近邻"
        "不在图上最近的 {k} {points}之列。",
        "figures": "可信度（trustworthiness）{trustworthiness:.2f}，连续性（continuity）{continuity:.2f}"
        "（1 为完美，随机约为 0.5）。",
        "sampled": "以上指标在随机抽取的 {sampled:,} {points}上测得，其余的{point}为灰色。",
        "sampled_colored": "以上指标在随机抽取的 {sampled:,} {points}上测得。",
        "trust": "图上最近的 {k} {points}中真近邻的比例",
        "count": "词频（对数刻度）",
        "axis": "在两组词之间的位置",
        "cluster": "聚类（k-means）",
        "label": "标签",
        "group": "{name}（{size:,}）",
        "numbered": "第 {number} 类（{size:,}）",
        "others": "其余 {others:,} 种标签",
    },
}
"""Every sentence of a map, in both languages."""


def language(map: Map) -> Language:
    """That of most of its words or texts."""
    return language_of(map.names)


def caption(map: Map, language: Language = "en") -> list[str]:
    """What the map shows, which share of its neighbors is false, and which is missing."""
    texts = CAPTIONS[language]
    units = UNITS[language][map.kind]
    quality = map.quality
    chosen = "named" if len(map.names) == map.total else map.chosen
    method = METHOD_NAMES[map.settings.method or "pca"]
    title = texts[chosen].format(
        count=len(map.names), total=map.total, method=method, seed=map.settings.seed, **units
    )
    if quality is None:
        return [title, texts["few"].format(**units)]
    names = ["false", "missing" if quality.closest > 1 else "missing_one", "figures"]
    if quality.sampled < len(map.names):
        names.append("sampled" if map.coloring.by == "trust" else "sampled_colored")
    values = vars(quality) | {"false": 100 * quality.false, "missing": 100 * quality.missing}
    return [title, *(texts[name].format(**values, **units) for name in names)]


def legend(map: Map, language: Language = "en") -> str:
    """What the colors mean."""
    units = UNITS[language][map.kind]
    return CAPTIONS[language][map.coloring.by].format(k=map.nearest.shape[1], **units)


def group_name(group: Group, language: Language = "en") -> str:
    """A line of the legend: the name and the number of points."""
    texts = CAPTIONS[language]
    if not group.name:
        return texts["numbered"].format(number=group.number + 1, size=group.count)
    return texts["group"].format(name=shortened(group.name, NAME_LENGTH), size=group.count)


def grey_name(map: Map, language: Language = "en") -> str:
    """What the grey points are; empty where there are none that need a name."""
    texts = CAPTIONS[language]
    if map.coloring.others:
        return texts["others"].format(others=map.coloring.others)
    return ""
