"""What the colors of a map show: trust, clusters, counts, labels, or the position on an axis.

Groups have a color and a shape each, numbers a scale. All are told apart by the color-blind, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Advice, Message
from inlaid.study.evaluate.categorization import kmeans
from inlaid.study.explain.word_lists import Side, Weights, WordLists
from inlaid.study.figures import COLORS

ColorBy = Literal["trust", "cluster", "count", "label", "axis"]
UNKNOWN = "#adb5bd"
"""Of points without a value, and of groups without a color of their own."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of groups: the colors of Okabe and Ito (2008), without yellow and black, which vanish on one of the two
backgrounds."""
SHAPES = ("circle", "triangle", "square", "diamond")
"""When all colors are taken, they come again with the next shape."""
MOST_GROUPS = len(PALETTE) * len(SHAPES)
"""Groups with a color and a shape of their own; the smaller ones share the grey."""
COUNTS = ("#7ad151", "#22a884", "#2a788e", "#414487")
"""Rare to frequent: viridis without its ends, which vanish on one of the two backgrounds."""
RESTARTS = 3
"""Runs of k-means, of which the tightest counts."""
NAMED_BY = 3
"""Words that name a cluster: those nearest to its center."""


class Member(NamedTuple):
    """A point of the map that is a word of one of the lists of an axis."""

    point: int
    side: Side
    number: int
    """Its place in the list."""


class Tick(NamedTuple):
    """A mark on a scale."""

    share: float
    """Where: from 0 to 1."""
    text: str


@dataclass(frozen=True)
class Group:
    """Points of one color and shape."""

    name: str
    """Empty for a cluster of texts, which has only a number."""
    count: int
    number: int

    @property
    def color(self) -> str:
        return PALETTE[self.number % len(PALETTE)]

    @property
    def shape(self) -> str:
        return SHAPES[self.number // len(PALETTE)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Coloring:
    """What the color of each point shows."""

    by: ColorBy
    values: np.ndarray
    """(point,): a number, or the number of its group; NaN where there is none: such points are grey."""
    groups: tuple[Group, ...] = ()
    """Empty where the values are numbers."""
    others: int = 0
    """Labels beyond the groups: their points are grey."""
    ends: tuple[str, str] = ("", "")
    """The words at the two ends of an axis."""

    @property
    def colors(self) -> tuple[str, ...]:
        """The colors of the scale, from low to high."""
        return COUNTS if self.by == "count" else COLORS

    def shares(self) -> np.ndarray:
        """(point,): the position of each number on the scale, from 0 to 1. Counts are on a logarithmic
        scale, an axis has 0 in the middle."""
        if self.by == "count":
            low, high = self._span()
            return np.clip((np.log(self.values) - np.log(low)) / max(np.log(high / low), 1e-12), 0, 1)
        if self.by == "axis":
            return 0.5 + self.values / (2 * self._span()[1])
        return self.values

    def ticks(self) -> list[Tick]:
        """Marks of the scale; the first and the last are its ends."""
        low, high = self._span()
        if self.by == "count":
            powers = [10.0**power for power in range(12) if 1.5 * low < 10**power < high / 1.5]
            marks = [low, *powers, high] if high > low else [low]
            width = max(float(np.log(high / low)), 1e-12)
            return [Tick(float(np.log(mark / low)) / width, f"{mark:,.0f}") for mark in marks]
        if self.by == "axis":
            return [Tick(0, f"{low:+.2f}"), Tick(0.5, "0"), Tick(1, f"{high:+.2f}")]
        return [Tick(step / 5, f"{step / 5:.0%}") for step in range(6)]

    def _span(self) -> tuple[float, float]:
        known = self.values[np.isfinite(self.values)]
        if self.by == "axis":
            furthest = max(float(np.abs(known).max(initial=0)), 1e-12)
            return -furthest, furthest
        if self.by == "count" and len(known):
            return float(known.min()), float(known.max())
        return 0.0, 1.0

    def to_dict(self) -> dict[str, Any]:
        groups = [{"name": each.name, "count": each.count, "color": each.color} for each in self.groups]
        return {"by": self.by, "groups": groups, "ends": list(self.ends)}


def by_trust(true: np.ndarray) -> Coloring:
    """The share of true neighbors of each point."""
    return Coloring(by="trust", values=true)


def by_cluster(unit: np.ndarray, names: Sequence[str], clusters: int, *, seed: int) -> Coloring:
    """k-means of unit vectors. A cluster is named by the words nearest to its center; where no names are
    given, it has only its number."""
    found = kmeans(unit, min(clusters, len(unit)), seed=seed, restarts=RESTARTS)
    numbers, values, counts = np.unique(found, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    values = np.argsort(order, kind="stable")[values]
    groups = tuple(
        Group(_central(unit, names, values == number), int(counts[order[number]]), number)
        for number in range(len(numbers))
    )
    return Coloring(by="cluster", values=values.astype(float), groups=groups)


def _central(unit: np.ndarray, names: Sequence[str], inside: np.ndarray) -> str:
    """The names nearest to the mean of some points."""
    if not names:
        return ""
    ids = np.flatnonzero(inside)
    nearest = np.argsort(-(unit[ids] @ unit[ids].mean(axis=0)), kind="stable")[:NAMED_BY]
    chosen: list[int] = ids[nearest].tolist()
    return ", ".join(names[id] for id in chosen)


def by_count(counts: np.ndarray | None) -> Coloring:
    """How often each word occurred."""
    if counts is None:
        raise SettingError(
            "These vectors have no counts, so words cannot be colored by count. Vectors trained here have "
            "them; so have .inlaid files made of these."
        )
    return Coloring(by="count", values=np.where(counts > 0, counts, np.nan).astype(float))


def by_label(labels: Sequence[str]) -> Coloring:
    """The label of each point. Numbers are listed by size, other labels in alphabetical order."""
    if not labels:
        raise SettingError(
            "To color by label, each point needs a label. {advice}",
            advice=Advice(
                typed=Message(
                    "Name words and --labels, or texts in a table and the column of their labels with "
                    "--label-field."
                ),
                called=Message("Give labels=[...], one for each."),
            ),
        )
    counted = Counter(labels)
    largest = sorted(counted, key=lambda label: (-counted[label], label))[:MOST_GROUPS]
    numbers = {label: number for number, label in enumerate(sorted(largest, key=_label_order(largest)))}
    values = np.array([numbers.get(label, np.nan) for label in labels])
    groups = tuple(Group(label, counted[label], number) for label, number in numbers.items())
    return Coloring(by="label", values=values, groups=groups, others=len(counted) - len(groups))


def _label_order(labels: Sequence[str]) -> Any:
    try:
        values = {label: float(label) for label in labels}
    except ValueError:
        return str
    return values.__getitem__


def by_axis(
    unit: np.ndarray, start: np.ndarray, end: np.ndarray, ends: tuple[str, str], members: Sequence[Member]
) -> Coloring:
    """The position of each point on the axis between two lists of unit vectors; 0 is half way.

    Points that are words of the lists are placed on the axis of the other words: on their own they would be
    drawn to their end.
    """
    lists = WordLists.of(start.astype(np.float64), end.astype(np.float64), paired=False)
    rows = unit.astype(np.float64)
    values = _projected(lists, rows, lists.full_weights())
    if lists.testable:
        for each in members:
            weights = lists.weights_without(each.side, each.number)
            values[each.point] = _projected(lists, rows[each.point : each.point + 1], weights)[0]
    return Coloring(by="axis", values=values, ends=ends)


def _projected(lists: WordLists, rows: np.ndarray, weights: Weights) -> np.ndarray:
    axes = lists.axes(weights)
    return (rows - axes.midpoints[0]) @ axes.directions[0]
