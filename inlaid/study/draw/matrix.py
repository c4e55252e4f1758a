"""A matrix as a change of space: areas, orientation, and what a lower rank loses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range
from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, Numbers, Picture, Say
from inlaid.study.draw.shapes import BLUE, DARK, GREY, LIGHT, ORANGE, arrow, plane

SHAPE = np.array([[0, 0], [1, 0], [1, 0.25], [0.3, 0.25], [0.3, 1], [0, 1]])
"""An L: it shows when the plane is turned over."""


@dataclass(frozen=True, kw_only=True)
class Matrix(Picture):
    """A 2 x 2 matrix moves every point of the plane. The determinant is the factor of all areas, the rank is
    the number of dimensions that are left."""

    title: ClassVar = ("A matrix is a change of space", "矩阵是对空间的变换")
    size: ClassVar = (9.2, 3.7)

    matrix: tuple[Annotated[float, Range(-1e6, 1e6)], ...] = (1.5, 0.5, -0.5, 1.0)
    """Its four numbers, row by row."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.matrix) != 4:
            raise SettingError(
                "matrix has {found} numbers; expected 4, row by row: 1.5 0.5 -0.5 1.", found=len(self.matrix)
            )

    def numbers(self) -> Numbers:
        matrix = np.array(self.matrix, float).reshape(2, 2)
        left, singular, right = np.linalg.svd(matrix)
        flat = singular[0] * np.outer(left[:, 0], right[0])
        image = SHAPE @ matrix.T
        lost = right[1]
        values = {
            "matrix": matrix,
            "determinant": float(np.linalg.det(matrix)),
            "rank": int(np.linalg.matrix_rank(matrix)),
            "singular_values": singular,
            "area_before": area(SHAPE),
            "area_after": area(image),
            "rank_1": flat,
            "rank_1_determinant": float(np.linalg.det(flat)),
            "lost_direction": lost,
            "lost_direction_after_rank_1": flat @ lost,
        }
        table = (
            Column("", "", ["M", "σ₁u₁v₁ᵀ"]),
            Column("determinant", "行列式", [values["determinant"], values["rank_1_determinant"]]),
            Column("rank", "秩", [values["rank"], int(np.linalg.matrix_rank(flat))]),
            Column("area of the shape", "图形面积", [values["area_after"], area(SHAPE @ flat.T)]),
        )
        return Numbers(values, table)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        determinant = values["determinant"]
        turned = determinant < 0
        found = [
            say(
                "The columns of M are where the two axes go. All areas are multiplied by |det M| = "
                "{found:.3g}: "
                "here {before:.3g} becomes {after:.3g}.",
                "M 的两列就是两条坐标轴的像。所有面积都乘以 |det M| = {found:.3g}：图中面积由 {before:.3g} "
                "变为 {after:.3g}。",
            ).format(found=abs(determinant), before=values["area_before"], after=values["area_after"])
        ]
        if turned:
            found.append(say("det M is negative: the plane is turned over.", "det M 为负：平面被翻转。"))
        if values["rank"] < 2:
            found.append(
                say(
                    "M has rank {rank}: different points become one, and no inverse can part them.",
                    "M 的秩为 {rank}：不同的点会重合，任何逆映射都无法再分开。",
                ).format(rank=values["rank"])
            )
            return found
        found.append(
            say(
                "M has rank {rank}. Its best approximation of rank 1 puts the plane onto a line: points that "
                "differ only in the dashed direction become one point, and no inverse can part them.",
                "M 的秩为 {rank}。它的最佳秩 1 近似把平面压成一条直线：只在虚线方向上不同的点会重合，"
                "任何逆映射都无法再分开。",
            ).format(rank=values["rank"])
        )
        return found

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        panels = (
            (np.eye(2), say("before", "变换前")),
            (
                values["matrix"],
                say("after M, rank {rank}", "经过 M，秩为 {rank}").format(rank=values["rank"]),
            ),
            (values["rank_1"], say("after its rank-1 part", "经过其秩 1 近似")),
        )
        limit = 1.15 * max(1.6, *(float(np.abs(SHAPE @ each.T).max()) for each, _ in panels))
        for axis, (matrix, title) in zip(figure.subplots(1, 3), panels, strict=True):
            plane(axis, limit)
            grid(axis, matrix, limit)
            image = SHAPE @ matrix.T
            axis.fill(*image.T, facecolor=LIGHT, edgecolor=BLUE, alpha=0.55, linewidth=1.5)
            lost = np.outer([-1, 1], values["lost_direction"]) * limit / 2
            axis.plot(*(lost @ matrix.T).T, "--", color=DARK, linewidth=1.2)
            axis.plot(*(lost @ matrix.T).T, "o", color=DARK, markersize=5)
            arrow(axis, matrix[:, 0], ORANGE)
            arrow(axis, matrix[:, 1], BLUE)
            axis.set_title(title)


def grid(axis: Any, matrix: np.ndarray, limit: float) -> None:
    """The lines of a square grid after a matrix."""
    far = 3 * limit
    for step in np.arange(-6, 7) / 2:
        for ends in ([[step, -far], [step, far]], [[-far, step], [far, step]]):
            axis.plot(*(np.array(ends) @ matrix.T).T, color=GREY, linewidth=0.6, zorder=0)


def area(corners: np.ndarray) -> float:
    """Of a polygon, by the shoelace formula."""
    x, y = corners.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)
