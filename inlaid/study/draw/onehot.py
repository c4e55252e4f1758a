"""One-hot vectors: every two words are equally far apart, and their product is 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, Numbers, Picture, Say
from inlaid.study.draw.shapes import cells, shades

WORDS = ("apple banana cherry date elder", "苹果 香蕉 樱桃 红枣 山楂")
MOST = 12


@dataclass(frozen=True, kw_only=True)
class OneHotDistances(Picture):
    """Ids put words in an order that means nothing. One-hot vectors put all of them at the same distance."""

    title: ClassVar = ("One-hot vectors are equidistant", "独热向量两两等距")
    size: ClassVar = (9.6, 3.4)

    words: tuple[str, ...] = ()
    """The words, from 2 to 12; by default five fruits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.words and not 2 <= len(self.words) <= MOST:
            raise SettingError("There are {found} words; expected from 2 to 12.", found=len(self.words))

    def numbers(self) -> Numbers:
        count = len(self.words) or len(WORDS[0].split())
        vectors = np.eye(count)
        ids = np.arange(1, count + 1)
        distances = np.linalg.norm(vectors[:, None] - vectors, axis=2)
        by_id = np.abs(ids[:, None] - ids).astype(float)
        apart = ~np.eye(count, dtype=bool)
        values = {
            "vectors": vectors,
            "distances": distances,
            "products": vectors @ vectors.T,
            "distances_of_ids": by_id,
            "smallest_distance": float(distances[apart].min()),
            "largest_distance": float(distances[apart].max()),
        }
        table = (
            Column("", "", ["id", "one-hot"]),
            Column("smallest distance", "最小距离", [by_id[apart].min(), distances[apart].min()]),
            Column("largest distance", "最大距离", [by_id[apart].max(), distances[apart].max()]),
            Column("dimensions", "维数", [1, count]),
        )
        return Numbers(values, table)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        return [
            say(
                "As ids the first word is {ids:.0f} away from the last and 1 from the second: an order that "
                "nobody meant.",
                "用编号表示时，第一个词与最后一个词相距 {ids:.0f}，与第二个词只相距 1：这个次序毫无意义。",
            ).format(ids=values["distances_of_ids"].max()),
            say(
                "As one-hot vectors all words are {low:.4f} (√2) apart and their dot products are 0: no word "
                "is nearer to one than to another. What is alike must be learned.",
                "用独热向量表示时，任意两个词都相距 {low:.4f}（√2），点积都是 0：没有哪两个词更近。"
                "相似性只能靠学习得到。",
            ).format(low=values["smallest_distance"]),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        words = list(self.words) or say(*WORDS).split()
        axes = figure.subplots(1, 3)
        panels = (
            (values["distances_of_ids"], "{:.0f}", say("distance of ids", "编号之间的距离")),
            (values["vectors"], "{:.0f}", say("one-hot vectors", "独热向量")),
            (values["distances"], "{:.2f}", say("distance of one-hot vectors", "独热向量之间的距离")),
        )
        for axis, (table, form, title) in zip(axes, panels, strict=True):
            columns = words if table is not values["vectors"] else [str(n) for n in range(1, len(words) + 1)]
            cells(axis, table, form, shades(), (0.0, 1.4 * float(table.max())), rows=words, columns=columns)
            axis.set_title(title, pad=8)
            axis.tick_params(axis="x", labelrotation=30 if max(map(len, columns)) > 4 else 0)
