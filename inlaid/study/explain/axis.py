"""Semantic axes from two word lists: where words project on them, with intervals, and a permutation test.

An axis leads from the mean of the unit vectors of one list to that of the other. In many dimensions any two
lists have such an axis, random ones too, so it is tested: each word of the lists is projected on the axis of
the others alone (leave-one-out), and the same is done with permuted labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.config import Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Message, word
from inlaid.report import Report, silent
from inlaid.shapes import Vector
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.explain.permutation import permutation_test
from inlaid.study.explain.word_lists import Side, Weights, WordLists
from inlaid.vectors import Vectors

INTERVAL = (0.025, 0.975)
"""Quantiles of the 95 % confidence interval."""


@dataclass(frozen=True, kw_only=True)
class AxisSettings:
    """How an axis is computed and tested."""

    paired: bool = False
    """The lists are pairs, word by word (man woman, king queen): the axis is the mean of their unit
    differences."""
    draws: Positive = 1000
    """Bootstrap samples of the lists for the intervals, and permutations for the test."""
    seed: Seed = 1
    """Seed of the draws."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Projection:
    """A word on the axis: 0 is half way between the lists, negative the side of the first, positive that of
    the second."""

    word: str
    value: float
    low: float
    """95 % confidence interval over resampled lists; NaN where a list has one word only."""
    high: float
    member: str = ""
    """`from` or `to` for words of the lists, which are projected on the axis of the other words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """A direction between two lists, words along it, and whether it is more than chance."""

    direction: Vector
    """Of length 1."""
    words: tuple[Projection, ...]
    """Lowest value first."""
    accuracy: float
    """Leave-one-out accuracy: share of list words (or pairs) on their own side; NaN where it cannot be
    tested."""
    margin: float
    """How far on their own side they are on average."""
    p: float
    """p-value of the permutation test: share of label permutations with a margin as large."""
    smallest_p: float
    """The smallest p-value possible with so few words."""
    paired: bool
    draws: int
    seed: int

    def rows(self) -> list[Row]:
        rows: list[Row] = [(Message("projection"), "95 %", Message("word"), "")]
        for each in self.words:
            interval = Message("none")
            if not math.isnan(each.low):
                interval = Message("{low:+.3f} to {high:+.3f}", low=each.low, high=each.high)
            member = Message("({side})", side=word(each.member)) if each.member else ""
            rows.append((f"{each.value:+.3f}", interval, each.word, member))
        if math.isnan(self.p):
            untested = Message(
                "One word on a side cannot be left out: whether the lists differ was not tested."
            )
            return [*rows, "", untested]
        test = Message(
            "leave-one-out: {accuracy:.0%} of the lists are on their own side; permutation test p = {p:.3g} "
            "(smallest possible with so few words: {smallest:.2g})",
            accuracy=self.accuracy,
            p=self.p,
            smallest=self.smallest_p,
        )
        return [*rows, "", test]

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def axis(
    vectors: Vectors,
    from_: Sequence[str] | None = None,
    to: Sequence[str] | None = None,
    settings: AxisSettings | None = None,
    *,
    words: Sequence[str] = (),
    report: Report = silent,
) -> Axis:
    """The positions of words between two lists of words.

    >>> axis(vectors, ["man", "boy", "king"], ["woman", "girl", "queen"], words=["doctor", "nurse"])

    Args:
        vectors: a file of vectors
        from_: words at one end
        to: words at the other end
        words: words to place between them
    """
    settings = settings or AxisSettings()
    start = tuple(from_ or ())
    end = tuple(to or ())
    start_ids, end_ids = _checked_ids(vectors, start, end, settings)
    lists = WordLists.of(
        _unit(vectors, start_ids, start), _unit(vectors, end_ids, end), paired=settings.paired
    )
    axes = lists.axes(lists.full_weights())
    listed = {*start_ids, *end_ids}
    others = [word for word in dict.fromkeys(words) if vectors.id(word) not in listed]
    other_rows = _unit(vectors, [vectors.id(word) for word in others], others)
    projections = _project(lists, others, other_rows, settings)
    projections += [_project_member(lists, "from", n, word, settings) for n, word in enumerate(start)]
    projections += [_project_member(lists, "to", n, word, settings) for n, word in enumerate(end)]
    test = _Test()
    if lists.testable:
        test = _tested(lists, settings)
    return Axis(
        direction=axes.directions[0].astype(np.float32),
        words=tuple(sorted(projections, key=lambda each: (each.value, each.word))),
        accuracy=test.accuracy,
        margin=test.margin,
        p=test.p,
        smallest_p=test.smallest_p,
        paired=settings.paired,
        draws=settings.draws,
        seed=settings.seed,
    )


@dataclass(frozen=True)
class _Test:
    """Whether the lists differ; NaN where it cannot be tested."""

    accuracy: float = math.nan
    margin: float = math.nan
    p: float = math.nan
    smallest_p: float = math.nan


def _tested(lists: WordLists, settings: AxisSettings) -> _Test:
    margins = lists.leave_one_out_margins(lists.labels[None])[0]
    margin = float(margins.mean())
    p, smallest_p = permutation_test(lists, margin, draws=settings.draws, seed=settings.seed)
    return _Test(float((margins > 0).mean()), margin, p, smallest_p)


def _project(
    lists: WordLists, words: list[str], rows: np.ndarray, settings: AxisSettings
) -> list[Projection]:
    """Words that are not in the lists, on the axis of the whole lists."""
    if not words:
        return []
    axes = lists.axes(lists.full_weights())
    values = (rows @ axes.directions[0] - axes.midpoints[0] @ axes.directions[0]).tolist()
    if not lists.testable:
        return [
            Projection(word, value, math.nan, math.nan) for word, value in zip(words, values, strict=True)
        ]
    resampled = lists.resampled(settings.draws, settings.seed)
    drawn = np.concatenate([_projected(lists, rows, weights) for weights in resampled])
    low, high = np.nanquantile(drawn, INTERVAL, axis=0)
    columns = zip(words, values, low.tolist(), high.tolist(), strict=True)
    return [Projection(*each) for each in columns]


def _project_member(
    lists: WordLists, side: Side, number: int, word: str, settings: AxisSettings
) -> Projection:
    """A word of the lists, on the axis of the others; on the axis of all, which is biased towards it, where
    no others are left."""
    row = lists.row(side, number)[None]
    if not lists.testable:
        value = float(_projected(lists, row, lists.full_weights())[0, 0])
        return Projection(word, value, math.nan, math.nan, side)
    value = float(_projected(lists, row, lists.weights_without(side, number))[0, 0])
    resampled = lists.resampled(settings.draws, settings.seed, without=(side, number))
    drawn = np.concatenate([_projected(lists, row, weights) for weights in resampled])
    low, high = np.nanquantile(drawn, INTERVAL)
    return Projection(word, value, float(low), float(high), side)


def _projected(lists: WordLists, rows: np.ndarray, weights: Weights) -> np.ndarray:
    """(draw, row): the positions of rows on the axis of each draw."""
    axes = lists.axes(weights)
    return axes.directions @ rows.T - (axes.directions * axes.midpoints).sum(axis=1, keepdims=True)


def _checked_ids(
    vectors: Vectors, start: Sequence[str], end: Sequence[str], settings: AxisSettings
) -> tuple[list[int], list[int]]:
    for name, words in (("from", start), ("to", end)):
        if not words:
            raise SettingError(
                "The list '{name}' is empty. An axis leads from some words to others: name at least one of "
                "each.",
                name=name,
            )
    start_ids = [vectors.id(word) for word in start]
    end_ids = [vectors.id(word) for word in end]
    for words, ids in ((start, start_ids), (end, end_ids)):
        if len(set(ids)) < len(ids):
            raise SettingError("A list names a word twice: {words}. Name each once.", words=" ".join(words))
    both = set(start_ids) & set(end_ids)
    if both:
        raise SettingError(
            "'{word}' is in both lists. A word can be on one side only.", word=vectors.words[min(both)]
        )
    if settings.paired and len(start) != len(end):
        raise SettingError(
            "Pairs need two lists of the same length; found {start} and {end} words.",
            start=len(start),
            end=len(end),
        )
    return start_ids, end_ids


def _unit(vectors: Vectors, ids: list[int], words: Sequence[str]) -> np.ndarray:
    rows = vectors.rows(np.array(ids, np.int64)).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    if (lengths == 0).any():
        raise SettingError(
            "'{word}' has a zero vector, which has no place on an axis. Leave it out.",
            word=words[int(lengths.argmin())],
        )
    return rows / lengths[:, None]
