"""Sinusoidal positions: the product of two position vectors depends on their distance alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range
from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, EvenDim, Numbers, Picture, Say
from inlaid.study.draw.shapes import BLUE, ORANGE, curves, signs


@dataclass(frozen=True, kw_only=True)
class SinusoidalPositions(Picture):
    """The table of sines and cosines (Vaswani et al. 2017), the products of its rows, and these products by
    distance."""

    title: ClassVar = ("Sinusoidal positions: products by distance", "正弦位置编码：点积只取决于距离")
    size: ClassVar = (9.8, 3.3)

    dim: EvenDim = 64
    """Dimension of a position vector; even."""
    base: Annotated[float, Range(1.01, 1e12)] = 10_000.0
    """The wavelengths go from 2 pi to almost 2 pi times this base."""
    length: Annotated[int, Range(4, 1024)] = 100
    """Positions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % 2:
            raise SettingError("dim is {dim}, and sines need cosines. Use an even dim.", dim=self.dim)

    def numbers(self) -> Numbers:
        frequencies = self.base ** (-np.arange(0, self.dim, 2) / self.dim)
        angles = np.arange(self.length)[:, None] * frequencies
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        products = table @ table.T
        by_distance = products[0]
        far = max(float(np.ptp(np.diagonal(products, offset))) for offset in range(self.length))
        shown = [distance for distance in (0, 1, 2, 5, 10, 20, 50) if distance < self.length]
        values = {
            "table": table,
            "products": products,
            "products_by_distance": by_distance,
            "spread_at_one_distance": far,
            "largest": float(by_distance[0]),
        }
        columns = (
            Column("distance", "距离", shown),
            Column("product", "点积", by_distance[shown]),
            Column("cosine", "余弦", by_distance[shown] / by_distance[0]),
        )
        return Numbers(values, columns)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        return [
            say(
                "The product of two rows is the sum of cos(distance × frequency): at distance 0 it is dim / "
                "2 = "
                "{largest:.0f}, at equal distances it differs by {spread:.1e} at most, which is rounding.",
                "两行的点积等于各频率的 cos(距离 × 频率) 之和：距离为 0 时是 dim / 2 = {largest:.0f}；"
                "距离相同时最多相差 {spread:.1e}，即舍入误差。",
            ).format(largest=values["largest"], spread=values["spread_at_one_distance"]),
            say(
                "It is the same for +k and -k: by this product alone, before and after cannot be told "
                "apart. A "
                "learned matrix between the two rows can tell.",
                "+k 与 -k 的点积相同：仅凭点积分不清前后。两行之间若有可学习的矩阵，就能分清。",
            ),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        table, matrix, curve = figure.subplots(1, 3)
        table.imshow(values["table"].T, cmap=signs(), aspect="auto", interpolation="nearest")
        table.set(
            title=say("the table: sines, then cosines", "编码表：先正弦，后余弦"),
            xlabel=say("position", "位置"),
            ylabel=say("component", "分量"),
        )
        largest = values["largest"]
        matrix.imshow(values["products"], cmap=signs(), vmin=-largest, vmax=largest)
        matrix.set(
            title=say("products of two positions", "两个位置的点积"),
            xlabel=say("position", "位置"),
            ylabel=say("position", "位置"),
        )
        middle = self.length // 2
        distances = np.arange(self.length) - middle
        curve.plot(distances, values["products"][middle], color=BLUE)
        curve.axhline(largest, color=ORANGE, linestyle=":", linewidth=1, label="dim / 2")
        curve.set(
            title=say("seen from position {middle}", "从位置 {middle} 看").format(middle=middle),
            xlabel=say("distance", "距离"),
        )
        curves(curve)
