"""LayerNorm: each token over its own features, not the sentence as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range, Seed
from inlaid.study.draw.picture import Column, Numbers, Picture, Say
from inlaid.study.draw.shapes import cells, signs

WORDS = ("I like to eat apples", "我 喜欢 吃 甜 苹果")


@dataclass(frozen=True, kw_only=True)
class LayerNormFeatures(Picture):
    """Hidden states of a few tokens before and after. One token is then made ten times as large: after
    LayerNorm the others stay as they were; normalized as a whole they would all change."""

    title: ClassVar = ("LayerNorm works on each token's features", "LayerNorm 对每个词元的特征做归一化")
    size: ClassVar = (10.0, 3.2)

    dim: Annotated[int, Range(2, 64)] = 6
    """Features of a token."""
    factor: Annotated[float, Range(1e-3, 1e6)] = 10.0
    """What the last token is multiplied by."""
    seed: Seed = 1
    """Seed of the hidden states."""

    def numbers(self) -> Numbers:
        random = np.random.Generator(np.random.Philox(self.seed))
        tokens = len(WORDS[0].split())
        scales = random.uniform(0.4, 2.5, (tokens, 1))
        x = scales * random.standard_normal((tokens, self.dim)) + random.standard_normal((tokens, 1))
        larger = x.copy()
        larger[-1] *= self.factor
        by_token = normalized(x, axis=1)
        as_a_whole = normalized(x, axis=None)
        values = {
            "x": x,
            "layer_norm": by_token,
            "over_the_sentence": as_a_whole,
            "change_by_layer_norm": np.abs(normalized(larger, axis=1) - by_token)[:-1].max(axis=1),
            "change_over_the_sentence": np.abs(normalized(larger, axis=None) - as_a_whole)[:-1].max(axis=1),
        }
        numbers = [str(number) for number in range(1, tokens + 1)]
        table = (
            Column("token", "词元", numbers),
            Column("mean", "均值", x.mean(axis=1)),
            Column("std", "标准差", x.std(axis=1)),
            Column("mean after", "之后的均值", np.round(by_token.mean(axis=1), 12) + 0.0),
            Column("std after", "之后的标准差", by_token.std(axis=1)),
            Column("change", "变化", [*values["change_by_layer_norm"], "-"]),
            Column("change, as a whole", "整句归一化的变化", [*values["change_over_the_sentence"], "-"]),
        )
        return Numbers(values, table)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        return [
            say(
                "After LayerNorm every token has mean 0 and standard deviation 1 by itself.",
                "LayerNorm 之后，每个词元自身的均值为 0，标准差为 1。",
            ),
            say(
                "With the last token {factor:g} times as large, the others change by {own:.1g}; normalized "
                "over "
                "the sentence they would change by up to {whole:.2f}.",
                "把最后一个词元放大到 {factor:g} 倍，其余词元变化 {own:.1g}；如果对整句归一化，"
                "它们的变化可达 {whole:.2f}。",
            ).format(
                factor=self.factor,
                own=values["change_by_layer_norm"].max(),
                whole=values["change_over_the_sentence"].max(),
            ),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        words = say(*WORDS).split()
        panels = (
            ("x", say("hidden states", "隐藏状态")),
            ("layer_norm", say("LayerNorm: by row", "LayerNorm：逐行")),
            ("over_the_sentence", say("not LayerNorm: all together", "不是 LayerNorm：整句一起")),
        )
        for axis, (name, title) in zip(figure.subplots(1, 3), panels, strict=True):
            cells(axis, values[name], "{:.1f}" if self.dim <= 10 else "", signs(), (-3.0, 3.0), rows=words)
            axis.set_title(title)


def normalized(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Mean 0 and standard deviation 1 over the axis, or over everything."""
    return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)
