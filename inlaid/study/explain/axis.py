"""Semantic axes from two word lists: where words project on them, with intervals, and a permutation test.

An axis leads from the mean of the unit vectors of one list to that of the other. In many dimensions any two
lists have such an axis, random ones too, so it is tested: each word of the lists is projected on the axis of
the others alone (leave-one-out), and the same is done with permuted labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.shapes import Vector
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.explain.permutation import permutation_test
from inlaid.study.explain.word_lists import Side, Weights, WordLists
from inlaid.vectors import Vectors

FEWEST_PAIRS = 6
"""Of fewer pairs, no permutation test can give a p-value below 0.05, so `auto` leaves them unpaired."""
INTERVAL = (0.025, 0.975)
"""Quantiles of the 95 % confidence interval."""


@dataclass(frozen=True, kw_only=True)
class AxisSettings:
    """How an axis is computed and tested."""

    paired: Literal["auto", "yes", "no"] = "auto"
    """Whether the lists are pairs, word by word (man woman, king queen): the axis is then the mean of their
    unit differences. auto: where words are nearer to their partners than to the other words of that list."""
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


@dataclass(frozen=True)
class Pairing:
    """Whether two lists of the same length are pairs: how much higher the cosine of partners is than that of
    words that are not partners, with its 95 % confidence interval (bootstrap over pairs)."""

    closer: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """A direction between two lists, words along it, and whether it is more than chance."""

    start: tuple[str, ...]
    """The words at the negative end."""
    end: tuple[str, ...]
    """The words at the positive end."""
    direction: Vector
    """Of length 1, from `start` to `end`."""
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
    """Whether the lists were taken as pairs."""
    pairing: Pairing | None
    """By what that was decided; None where it was not in question."""
    draws: int
    seed: int

    def rows(self) -> list[Row]:
        ends = Message(
            "negative: {start}   positive: {end}", start=" ".join(self.start), end=" ".join(self.end)
        )
        rows: list[Row] = [
            ends,
            "",
            (Message("projection"), Message("95 %"), Message("word"), Message("nearer to")),
        ]
        for each in self.words:
            interval = Message("none")
            if not math.isnan(each.low):
                interval = Message("{low:+.3f} to {high:+.3f}", low=each.low, high=each.high)
            rows.append((f"{each.value:+.3f}", interval, each.word, self._nearer_end(each)))
        rows += self._pairing_rows()
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

    def _nearer_end(self, found: Projection) -> Message:
        """The end a word is nearer to, named by its first word; the interval may leave that open."""
        end = self.start[0] if found.value < 0 else self.end[0]
        if found.low <= 0 <= found.high:
            return Message("uncertain")
        if found.member:
            return Message("{end} (in the list {list})", end=end, list=found.member)
        return Message("{end}", end=end)

    def _pairing_rows(self) -> list[Row]:
        if self.pairing is None:
            return []
        difference = Message(
            "{closer:.3f} ({low:.3f} to {high:.3f})",
            closer=self.pairing.closer,
            low=self.pairing.low,
            high=self.pairing.high,
        )
        sentence = Message(
            "The lists are taken as pairs: the cosine of partners is higher than that of others by "
            "{difference}.",
            difference=difference,
        )
        if not self.paired:
            sentence = Message(
                "The lists are not taken as pairs: the cosine of partners differs from that of others by "
                "{difference}.",
                difference=difference,
            )
        return ["", sentence]

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

    Examples:
        inlaid axis vectors.inlaid --from man king --to woman queen --words nurse
        inlaid axis vectors.inlaid --from 男 国王 --to 女 女王 --paired yes
    """
    settings = settings or AxisSettings()
    start = tuple(from_ or ())
    end = tuple(to or ())
    start_ids, end_ids = _checked_ids(vectors, start, end, settings)
    start_rows = _unit(vectors, start_ids, start)
    end_rows = _unit(vectors, end_ids, end)
    pairing = _pairing(start_rows, end_rows, settings)
    paired = settings.paired == "yes" or (pairing is not None and pairing.low > 0)
    lists = WordLists.of(start_rows, end_rows, paired=paired)
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
        start=start,
        end=end,
        direction=axes.directions[0].astype(np.float32),
        words=tuple(sorted(projections, key=lambda each: (each.value, each.word))),
        accuracy=test.accuracy,
        margin=test.margin,
        p=test.p,
        smallest_p=test.smallest_p,
        paired=paired,
        pairing=pairing,
        draws=settings.draws,
        seed=settings.seed,
    )


def _pairing(start: np.ndarray, end: np.ndarray, settings: AxisSettings) -> Pairing | None:
    """Whether the lists look like pairs. This does not look at the direction of the differences, so it does
    not favor either test of the axis."""
    size = len(start)
    if settings.paired != "auto" or len(end) != size or size < FEWEST_PAIRS:
        return None
    cosines = start @ end.T
    own = np.diag(cosines)
    others = (cosines.sum(axis=0) + cosines.sum(axis=1) - 2 * own) / (2 * (size - 1))
    closer = own - others
    random = np.random.Generator(np.random.Philox(settings.seed))
    means = closer[random.integers(0, size, (settings.draws, size))].mean(axis=1)
    low, high = np.quantile(means, INTERVAL)
    return Pairing(float(closer.mean()), float(low), float(high))


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
    if settings.paired == "yes" and len(start) != len(end):
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
