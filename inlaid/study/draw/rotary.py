"""Rotary positions: queries and keys are rotated, and their product depends on the distance alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range, Seed
from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, EvenDim, Numbers, Picture, Say
from inlaid.study.draw.shapes import BLUE, ORANGE, arrow, curves, plane, signs

SHOWN = 5
"""Positions whose rotation is drawn."""


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Picture):
    """Each pair of components turns by an angle in proportion to the position, fast in the first pair and
    slow in the last (Su et al. 2021)."""

    title: ClassVar = ("Rotary positions: scores by distance", "旋转位置编码：得分只取决于距离")
    size: ClassVar = (9.8, 3.3)

    dim: EvenDim = 16
    """Dimension of a query or key; even."""
    base: Annotated[float, Range(1.01, 1e12)] = 10_000.0
    """The wavelengths go from 2 pi to almost 2 pi times this base."""
    length: Annotated[int, Range(6, 512)] = 48
    """Positions."""
    seed: Seed = 1
    """Seed of the query and the key."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % 2:
            raise SettingError("dim is {dim}, and rotations need pairs. Use an even dim.", dim=self.dim)

    def numbers(self) -> Numbers:
        frequencies = self.base ** (-np.arange(0, self.dim, 2) / self.dim)
        random = np.random.Generator(np.random.Philox(self.seed))
        query = random.standard_normal(self.dim)
        key = query + 0.5 * random.standard_normal(self.dim)
        positions = np.arange(self.length)
        queries = rotated(query, positions, frequencies)
        keys = rotated(key, positions, frequencies)
        scores = queries @ keys.T
        spread = max(
            float(np.ptp(np.diagonal(scores, offset))) for offset in range(1 - self.length, self.length)
        )
        values = {
            "query": query,
            "key": key,
            "frequencies": frequencies,
            "scores": scores,
            "scores_by_distance": scores[:, 0],
            "norm_before": float(np.linalg.norm(query)),
            "norm_after": float(np.linalg.norm(queries[-1])),
            "spread_at_one_distance": spread,
        }
        table = (
            Column("pair", "分量对", list(range(1, len(frequencies) + 1))),
            Column("degrees per position", "每个位置转过的角度", np.degrees(frequencies)),
            Column("positions per turn", "转一圈所需的位置数", 2 * np.pi / frequencies),
        )
        return Numbers(values, table)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        return [
            say(
                "Pair 1 turns by {first:.1f} degrees from one position to the next, pair {pairs} by "
                "{last:.2g}. "
                "Lengths stay: {before:.3f} before, {after:.3f} at the last position.",
                "相邻位置之间，第 1 对分量转 {first:.1f} 度，第 {pairs} 对转 {last:.2g} 度。长度不变："
                "旋转前 {before:.3f}，最后一个位置 {after:.3f}。",
            ).format(
                first=np.degrees(values["frequencies"][0]),
                last=np.degrees(values["frequencies"][-1]),
                pairs=len(values["frequencies"]),
                before=values["norm_before"],
                after=values["norm_after"],
            ),
            say(
                "The score of one query and one key is the same wherever their distance is the same: over "
                "all "
                "{length} positions it differs by {spread:.1e} at most, which is rounding.",
                "只要距离相同，同一对查询和键的得分就相同：在全部 {length} 个位置上最多相差 {spread:.1e}，"
                "即舍入误差。",
            ).format(length=self.length, spread=values["spread_at_one_distance"]),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        turns, matrix, curve = figure.subplots(1, 3)
        plane(turns, 1.35)
        for pair, radius, color in ((0, 1.0, BLUE), (1, 0.6, ORANGE)):
            for position in range(SHOWN):
                angle = position * values["frequencies"][pair]
                end = radius * np.array([np.cos(angle), np.sin(angle)])
                arrow(turns, end, color)
                if pair == 0 or position == SHOWN - 1:  # slow pairs are too close together for more
                    place = end * (radius + 0.15) / radius
                    turns.text(*place, str(position), ha="center", va="center", color=color)
        turns.set_title(say("positions 0 to 4: pair 1 (blue), pair 2", "位置 0 到 4：第 1 对（蓝）与第 2 对"))
        limit = float(np.abs(values["scores"]).max())
        matrix.imshow(values["scores"], cmap=signs(), vmin=-limit, vmax=limit)
        matrix.set(
            title=say("score of q and k by position", "各位置上 q 与 k 的得分"),
            xlabel=say("position of the key", "键的位置"),
            ylabel=say("position of the query", "查询的位置"),
        )
        curve.plot(values["scores_by_distance"], color=BLUE)
        curve.axhline(0, color="#ced4da", linewidth=0.8)
        curve.set(
            title=say("the same by distance", "同样的得分，按距离"),
            xlabel=say("distance", "距离"),
        )
        curves(curve, legend=False)


def rotated(vector: np.ndarray, positions: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The vector at each position: its components 2i and 2i + 1 rotated by position times frequency i."""
    angles = positions[:, None] * frequencies
    even = vector[0::2]
    odd = vector[1::2]
    turned = np.empty((len(positions), len(vector)))
    turned[:, 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    turned[:, 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return turned
