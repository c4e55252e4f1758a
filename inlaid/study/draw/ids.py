"""Ids on one axis collide when they are added; one-hot vectors do not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.config import Range
from inlaid.study.draw.picture import Column, Numbers, Picture, Say
from inlaid.study.draw.shapes import BLUE, DARK, GREY, ORANGE

WORDS = ("apple banana pear", "苹果 香蕉 梨")
SLANT = np.array([0.45, 0.35])
"""Where the third axis of a cube goes on paper."""


@dataclass(frozen=True, kw_only=True)
class Ids(Picture):
    """A text as the sum of its words: on one axis different sets of words have the same sum; in one-hot
    vectors every set has its own."""

    title: ClassVar = ("Ids on one axis collide", "一条轴上的编号会相互冲突")
    size: ClassVar = (9.0, 3.3)

    words: Annotated[int, Range(2, 16)] = 3
    """Words in the vocabulary; the figure shows the first three."""

    def numbers(self) -> Numbers:
        sets = [
            chosen
            for size in range(1, self.words + 1)
            for chosen in itertools.combinations(range(1, self.words + 1), size)
        ]
        on_axis = {sum(chosen) for chosen in sets}
        hot = np.eye(self.words, dtype=int)
        as_vectors = {tuple(hot[np.array(chosen) - 1].sum(axis=0).tolist()) for chosen in sets}
        values = {
            "sets": len(sets),
            "sums_of_ids": len(on_axis),
            "sums_of_onehot": len(as_vectors),
            "collision": {"ids": [1, 2], "sum": 3, "same_as": [3]},
        }
        table = (
            Column("", "", ["id", "one-hot"]),
            Column("sets of words", "词的集合数", [len(sets)] * 2),
            Column("different sums", "不同的和", [len(on_axis), len(as_vectors)]),
        )
        return Numbers(values, table)

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        one, two, three = say(*WORDS).split()
        return [
            say(
                "{one} (1) + {two} (2) = {three} (3). The {sets} sets of {words} words have only {sums} "
                "sums.",
                "{one}（1）+ {two}（2）= {three}（3）。{words} 个词的 {sets} 个集合只有 {sums} 个不同的和。",
            ).format(
                one=one,
                two=two,
                three=three,
                words=self.words,
                sets=values["sets"],
                sums=values["sums_of_ids"],
            ),
            say(
                "One-hot vectors have an axis for each word: 001 + 010 = 011, and all {sums} sums differ.",
                "独热向量中每个词占一条轴：001 + 010 = 011，{sums} 个和各不相同。",
            ).format(sums=values["sums_of_onehot"]),
        ]

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        words = say(*WORDS).split()
        axis, cube = figure.subplots(1, 2, width_ratios=[1.1, 1])
        axis.plot([0, 3.6], [0, 0], color=DARK, linewidth=1.2)
        for id, word in enumerate(words, 1):
            axis.plot([id], [0], "o", color=ORANGE if id == 3 else BLUE, markersize=10)
            axis.text(id, -0.32, f"{word}\n{id}", ha="center", va="top", fontsize=11)
        for start, length, height in ((0, 1, 0.35), (1, 2, 0.35)):
            bend = {"arrowstyle": "-|>", "color": BLUE, "connectionstyle": f"arc3,rad=-{height}", "lw": 1.8}
            axis.annotate("", (start + length, 0.08), (start, 0.08), arrowprops=bend)
            axis.text(start + length / 2, 0.17 * length + 0.14, f"+{length}", ha="center", color=BLUE)
        axis.set(xlim=(-0.2, 3.7), ylim=(-1.1, 0.9), title=say("one axis: 1 + 2 = 3", "一条轴：1 + 2 = 3"))
        axis.axis("off")
        self._cube(cube, words)
        cube.set_title(say("an axis for each word: 001 + 010 = 011", "每个词一条轴：001 + 010 = 011"))

    def _cube(self, axis: Any, words: list[str]) -> None:
        """The corners of a cube are the sets of three words."""
        basis = np.array([[1.0, 0.0], [0.0, 1.0], SLANT])
        corners = np.array(list(itertools.product((0, 1), repeat=3)))
        places = corners @ basis
        for one, two in itertools.combinations(range(8), 2):
            if np.abs(corners[one] - corners[two]).sum() == 1:
                axis.plot(*places[[one, two]].T, color=GREY, linewidth=1, zorder=0)
        names = {(1, 0, 0): words[0], (0, 1, 0): words[1], (0, 0, 1): words[2]}
        names[1, 1, 0] = f"{words[0]} + {words[1]}"
        for corner, place in zip(corners.tolist(), places, strict=True):
            name = names.get(tuple(corner), "")
            axis.plot(*place, "o", color=BLUE if name else GREY, markersize=8)
            label = "".join(map(str, reversed(corner)))
            axis.annotate(f"{label}  {name}", place, (7, 5), textcoords="offset points", fontsize=9)
        axis.set(xlim=(-0.1, 2.2), ylim=(-0.1, 1.55), aspect="equal")
        axis.axis("off")
