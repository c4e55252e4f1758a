"""Dot products grow with d: their variance is d, the softmax saturates, and 1/sqrt(d) prevents it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range, Seed
from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, Numbers, Picture, Say, percent
from inlaid.study.draw.shapes import BLUE, DARK, ORANGE, curves


@dataclass(frozen=True, kw_only=True)
class DotProducts(Picture):
    """Queries and keys of independent components with variance 1: scores, and the softmax over the keys, with
    and without the division by sqrt(d)."""

    title: ClassVar = ("Why scores are divided by √d", "注意力得分为什么要除以 √d")
    size: ClassVar = (9.6, 3.2)

    dims: tuple[Annotated[int, Range(1, 4096)], ...] = (4, 16, 64, 256, 1024)
    """Dimensions d."""
    keys: Annotated[int, Range(2, 256)] = 10
    """Keys of each query."""
    queries: Annotated[int, Range(10, 5000)] = 500
    """Queries drawn for each dimension."""
    seed: Seed = 1
    """Seed of the random numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.dims:
            raise SettingError("dims is empty; expected at least one.")

    def numbers(self) -> Numbers:
        random = np.random.Generator(np.random.Philox(self.seed))
        measured = [self._measured(dim, random) for dim in self.dims]
        columns = {name: np.array([each[name] for each in measured]) for name in measured[0]}
        table = (
            Column("d", "d", list(self.dims)),
            Column("variance of q·k", "q·k 的方差", columns["variance"]),
            Column("of q·k/√d", "q·k/√d 的方差", columns["variance_scaled"]),
            Column("largest weight", "最大权重", columns["largest_weight"]),
            Column("with 1/√d", "除以 √d 后", columns["largest_weight_scaled"]),
            Column("gradient", "梯度", columns["gradient"]),
            Column("with 1/√d", "除以 √d 后", columns["gradient_scaled"]),
        )
        return Numbers({"dims": np.array(self.dims), **columns}, table)

    def _measured(self, dim: int, random: np.random.Generator) -> dict[str, float]:
        query = random.standard_normal((self.queries, 1, dim))
        keys = random.standard_normal((self.queries, self.keys, dim))
        scores = (query * keys).sum(axis=2)
        raw = softmax(scores)
        scaled = softmax(scores / np.sqrt(dim))
        return {
            "variance": scores.var(),
            "variance_scaled": (scores / np.sqrt(dim)).var(),
            "largest_weight": raw.max(axis=1).mean(),
            "largest_weight_scaled": scaled.max(axis=1).mean(),
            # the derivative of a weight by its own score is p (1 - p): with weights of 0 and 1 nothing learns
            "gradient": (raw * (1 - raw)).mean(),
            "gradient_scaled": (scaled * (1 - scaled)).mean(),
        }

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        last = values["dims"][-1]
        return [
            say(
                "A dot product of d independent terms of variance 1 has variance d: measured {found:.0f} at "
                "d = {dim}. Divided by √d it is {scaled:.2f}.",
                "d 个方差为 1 的独立项之和，方差为 d：d = {dim} 时实测 {found:.0f}，除以 √d 后为 "
                "{scaled:.2f}。",
            ).format(dim=last, found=values["variance"][-1], scaled=values["variance_scaled"][-1]),
            say(
                "Without the division one of {keys} keys gets {raw} of the weight on average, and the "
                "gradient "
                "of the softmax is {gradient:.4f}; with it {scaled} and {kept:.4f}.",
                "不除时，{keys} 个键中最大的权重平均为 {raw}，softmax 的梯度只有 {gradient:.4f}；除以 √d "
                "后分别为 {scaled} 和 {kept:.4f}。",
            ).format(
                keys=self.keys,
                raw=percent(values["largest_weight"][-1], say),
                scaled=percent(values["largest_weight_scaled"][-1], say),
                gradient=values["gradient"][-1],
                kept=values["gradient_scaled"][-1],
            ),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        dims = values["dims"]
        spread, weight, gradient = figure.subplots(1, 3)
        names = {"": (ORANGE, "q·k"), "_scaled": (BLUE, "q·k / √d")}
        for ending, (color, name) in names.items():
            style = {"color": color, "marker": "o", "label": name}
            spread.plot(dims, np.sqrt(values[f"variance{ending}"]), **style)
            weight.plot(dims, values[f"largest_weight{ending}"], **style)
            gradient.plot(dims, values[f"gradient{ending}"], **style)
        spread.plot(dims, np.sqrt(dims), ":", color=DARK, label="√d")
        steps = [1, 2, 4, 8, 16, 32, 64]
        spread.set(yscale="log", title=say("standard deviation of the scores", "得分的标准差"))
        spread.set_yticks(steps[: int(np.log2(spread.get_ylim()[1])) + 1])
        spread.set_yticklabels([str(int(step)) for step in spread.get_yticks()])
        weight.axhline(1 / self.keys, color=DARK, linestyle=":", linewidth=1, label=f"1/{self.keys}")
        weight.set(ylim=(0, 1.05), title=say("largest softmax weight", "softmax 的最大权重"))
        gradient.set(
            ylim=(0, None), title=say("gradient of the softmax, p(1 − p)", "softmax 的梯度 p(1 − p)")
        )
        for axis in (spread, weight, gradient):
            axis.set_xscale("log")
            axis.set_xticks(dims, [str(dim) for dim in dims], minor=False)
            axis.minorticks_off()
            axis.set_xlabel("d")
            curves(axis)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
