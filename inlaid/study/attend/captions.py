"""What pictures and pages of attention say, in English and Chinese."""

from __future__ import annotations

from typing import Any

from inlaid.messages import Language

CAPTIONS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "Attention",
        "head": "{part}, layer {layer}, head {head}",
        "layer": "{part}, layer {layer}, mean over heads",
        "all": "{part}, mean over all layers and heads",
        "grid": "{part}: all heads, one row per layer",
        "rollout": "{part}: attention rollout over all layers",
        "encoder": "encoder self-attention",
        "decoder": "decoder self-attention",
        "cross": "cross-attention",
        "query": "attends",
        "key": "is attended to",
        "weight": "attention weight",
        "mean": "mean",
        "part": "part",
        "layer_name": "layer",
        "head_name": "head",
        "lines": "Lines",
        "matrix": "Matrix",
        "heads": "Heads",
        "entropy": "entropy in bits",
        "distance": "mean distance in tokens",
        "uniform": "uniform",
        "hover": "Point at a word to see what it attends to (from the left) or what attends to it (from the "
        "right). Click on a small matrix to choose its head.",
        "rollout_text": "Rollout multiplies the weights of all layers, half of each mixed with the token's "
        "own state (Abnar and Zuidema 2020). It ignores values, norms and feed-forward networks.",
        "warning": "Attention weights alone are not an explanation. They say how values are mixed, not how "
        "large these values are nor what later layers make of them. Quite different weights can give the "
        "same prediction (Jain and Wallace 2019). `inlaid attribute` and `inlaid ablate` measure effects.",
        "merged": "{tokens} tokens, merged into {words} words: summed over the tokens attended to, averaged "
        "over those that attend.",
        "unmerged": "{tokens} tokens.",
        "target": "The decoder has read: {target}",
        "generated": "The decoder has read the model's own answer: {target}",
        "next": "A row of the decoder is the state after the token named there was read; it predicts the "
        "next one.",
    },
    "zh": {
        "title": "注意力",
        "head": "{part}，第 {layer} 层，第 {head} 个头",
        "layer": "{part}，第 {layer} 层，各头平均",
        "all": "{part}，所有层与头的平均",
        "grid": "{part}：所有注意力头，每行一层",
        "rollout": "{part}：各层的 attention rollout",
        "encoder": "编码器自注意力",
        "decoder": "解码器自注意力",
        "cross": "交叉注意力",
        "query": "查询",
        "key": "被关注的词",
        "weight": "注意力权重",
        "mean": "平均",
        "part": "部分",
        "layer_name": "层",
        "head_name": "头",
        "lines": "连线",
        "matrix": "矩阵",
        "heads": "注意力头",
        "entropy": "熵（比特）",
        "distance": "平均距离（词元）",
        "uniform": "均匀分布",
        "hover": "指向左侧的词，显示它关注谁；指向右侧的词，显示谁关注它。点击小矩阵可选中对应的头。",
        "rollout_text": "rollout 把各层权重相乘，每层各取一半权重与一半自身状态（残差连接；Abnar 和 Zuidema"
        " 2020）。它不考虑 value、归一化和前馈网络。",
        "warning": "注意力权重本身并不是解释：它只说明各个 value 按什么比例混合，既不说明这些 value 有多大，"
        "也不说明后面的层如何使用它们。差别很大的权重可以得到相同的预测（Jain 和 Wallace 2019）。要衡量"
        "实际影响，请用 `inlaid attribute` 和 `inlaid ablate`。",
        "merged": "{tokens} 个词元合并为 {words} 个词：对被关注的词元求和，对发出查询的词元取平均。",
        "unmerged": "{tokens} 个词元。",
        "target": "解码器已读入：{target}",
        "generated": "解码器读入的是模型自己生成的结果：{target}",
        "next": "解码器的一行表示读完该词元之后的状态，它用来预测下一个词元。",
    },
}
"""Every sentence of a picture or page, in both languages."""


def say(language: Language, name: str, **values: Any) -> str:
    return CAPTIONS[language][name].format(**values)
