"""What a map says about itself, in English and Chinese: what it shows, and how far to trust it."""

from __future__ import annotations

from inlaid.messages import Language
from inlaid.study.map.layout import Map

METHOD_NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
CAPTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "named": "{words:,} words, {method}",
        "first": "The first {words:,} of {total:,} words, {method}",
        "sample": "{words:,} of {total:,} words, drawn with seed {seed}, {method}",
        "few": "Too few words to measure neighbors.",
        "false": "False neighbors: {false:.0f} % of the {k} nearest on the map are not among the {k} "
        "nearest in the "
        "vector space.",
        "missing": "Missing neighbors: {missing:.0f} % of the {closest} nearest in the vector space are "
        "not among the "
        "{k} nearest on the map.",
        "missing_one": "Missing neighbors: for {missing:.0f} % of the words, the nearest in the vector "
        "space is not "
        "among the {k} nearest on the map.",
        "figures": "Trustworthiness {trustworthiness:.2f}, continuity {continuity:.2f} "
        "(1: perfect; about 0.5: chance).",
        "sampled": "Measured on {sampled:,} words drawn at random; the others are grey.",
        "legend": "Share of a word's {k} nearest on the map that are true neighbors",
    },
    "zh": {
        "named": "{words:,} 个词，{method}",
        "first": "{total:,} 个词中的前 {words:,} 个，{method}",
        "sample": "从 {total:,} 个词中随机抽取 {words:,} 个（种子 {seed}），{method}",
        "few": "词太少，无法衡量近邻。",
        "false": "假近邻：图上最近的 {k} 个词中，{false:.0f}% 不在向量空间中最近的 {k} 个词之列。",
        "missing": "漏掉的近邻：向量空间中最近的 {closest} 个词中，"
        "{missing:.0f}% 不在图上最近的 {k} 个词之列。",
        "missing_one": "漏掉的近邻：{missing:.0f}% 的词，其向量空间中的最近邻不在图上最近的 {k} 个词之列。",
        "figures": "可信度（trustworthiness）{trustworthiness:.2f}，连续性（continuity）{continuity:.2f}"
        "（1 为完美，随机约为 0.5）。",
        "sampled": "以上指标在随机抽取的 {sampled:,} 个词上测得，其余的词为灰色。",
        "legend": "图上最近的 {k} 个词中真近邻的比例",
    },
}
"""Every sentence of a map, in both languages."""


def caption(map: Map, language: Language = "en") -> list[str]:
    """What the map shows, which share of its neighbors is false, and which is missing."""
    texts = CAPTIONS[language]
    quality = map.quality
    chosen = "named" if len(map.words) == map.total else map.chosen
    title = texts[chosen].format(
        words=len(map.words),
        total=map.total,
        method=METHOD_NAMES[map.settings.method],
        seed=map.settings.seed,
    )
    if quality is None:
        return [title, texts["few"]]
    names = ["false", "missing" if quality.closest > 1 else "missing_one", "figures"]
    if quality.sampled < len(map.words):
        names.append("sampled")
    values = vars(quality) | {"false": 100 * quality.false, "missing": 100 * quality.missing}
    return [title, *(texts[name].format(**values) for name in names)]


def legend(map: Map, language: Language = "en") -> str:
    """What the colours mean."""
    return CAPTIONS[language]["legend"].format(k=map.nearest.shape[1])
