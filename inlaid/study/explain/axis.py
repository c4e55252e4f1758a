"""Axes from two word lists: where words lie between them, how sure that is, and whether the lists are apart
at all.

An axis leads from the mean of the unit vectors of one list to that of the other. In many dimensions any two
lists have such an axis, random ones too, so it is tested: each word of the lists is placed by the axis of the
others alone, and the same is done with the labels shuffled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.config import Count, Positive, check
from inlaid.errors import SettingError
from inlaid.shapes import Vector
from inlaid.vectors import Vectors

HELD = 1 << 22
"""Numbers held at a time."""
TINY = 1e-9
"""Shorter differences of unit vectors are rounding."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an axis is made and tested."""

    paired: bool = False
    """The lists are pairs, word by word (man woman, king queen): the axis is the mean of their unit
    differences."""
    draws: Positive = 1000
    """Resamples of the lists for the bands, and shufflings for the test."""
    seed: Count = 1

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Placed:
    """A word on the axis: 0 lies half way between the lists, below it the side of the first, above it that of
    the second."""

    word: str
    value: float
    low: float
    """95 % band over resampled lists; NaN where a list has but one word."""
    high: float
    member: str = ""
    """`from` or `to` for words of the lists, which are placed by the axis of the other words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Axis:
    """A direction between two lists, words along it, and whether it is more than chance."""

    direction: Vector
    """Of length 1."""
    words: tuple[Placed, ...]
    """Lowest value first."""
    accuracy: float
    """Share of list words (or pairs) that the axis of the others puts on their side; NaN where it cannot be
    asked."""
    margin: float
    """How far on their side they are on average."""
    p: float
    """Share of shuffled labels with a margin as large."""
    smallest_p: float
    """No p below this is possible with so few words."""
    paired: bool
    draws: int
    seed: int


def axis(
    vectors: Vectors,
    start: Sequence[str],
    end: Sequence[str],
    *,
    words: Sequence[str] = (),
    settings: Settings | None = None,
) -> Axis:
    """The axis from the list `start` to the list `end`, and where `words` and the lists lie on it.

    >>> axis(vectors, ["man", "boy", "king"], ["woman", "girl", "queen"], words=["doctor", "nurse"])
    """
    settings = settings or Settings()
    ids = _checked(vectors, start, end, settings)
    lists = _Lists(_unit(vectors, ids[0], start), _unit(vectors, ids[1], end), settings)
    direction, _ = lists.axis(*lists.everyone())
    others = [word for word in dict.fromkeys(words) if vectors.id(word) not in {*ids[0], *ids[1]}]
    placed = _placed(lists, others, _unit(vectors, [vectors.id(word) for word in others], others))
    placed += [_member(lists, "from", number, word) for number, word in enumerate(start)]
    placed += [_member(lists, "to", number, word) for number, word in enumerate(end)]
    margins = lists.margins(lists.labels[None])[0] if lists.testable else np.array([np.nan])
    margin = float(margins.mean())
    p, smallest = _tested(lists, margin)
    return Axis(
        direction=direction[0].astype(np.float32),
        words=tuple(sorted(placed, key=lambda each: (each.value, each.word))),
        accuracy=float((margins > 0).mean()) if lists.testable else math.nan,
        margin=margin,
        p=p,
        smallest_p=smallest,
        paired=settings.paired,
        draws=settings.draws,
        seed=settings.seed,
    )


class _Lists:
    """The unit rows of both lists, as one matrix, and the axes that weights over them make."""

    def __init__(self, start: np.ndarray, end: np.ndarray, settings: Settings) -> None:
        self.rows = np.concatenate([start, end])
        self.settings = settings
        self.sizes = (len(start), len(end))
        self.labels = np.repeat([-1.0, 1.0], [len(start), len(end)])
        self.testable = min(self.sizes) > 1
        if settings.paired:
            steps = end - start
            lengths = np.linalg.norm(steps, axis=1, keepdims=True)
            if (lengths < TINY).any():
                raise SettingError(
                    "A pair of the lists has the same vector twice: it shows no direction. Leave that pair out."
                )
            self.steps = steps / lengths
            self.labels = np.ones(len(start))

    def everyone(self) -> tuple[np.ndarray, np.ndarray]:
        return np.ones((1, self.sizes[0])), np.ones((1, self.sizes[1]))

    def axis(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Directions of length 1 and the half-way points, for weights (draw, word) on each list; no direction
        is NaN."""
        means = [
            weights @ rows / weights.sum(axis=1, keepdims=True)
            for weights, rows in ((start, self.rows[: self.sizes[0]]), (end, self.rows[self.sizes[0] :]))
        ]
        steps = start @ self.steps if self.settings.paired else means[1] - means[0]
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        if (lengths < TINY).all():
            raise SettingError(
                "Both lists have the same mean: there is no axis between them. Choose words that differ."
            )
        return np.where(lengths < TINY, np.nan, steps / np.where(lengths < TINY, 1, lengths)), (
            means[0] + means[1]
        ) / 2

    def resampled(self, without: tuple[str, int] | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights of the bootstrap, some draws at a time; pairs are drawn as pairs, and the word left out is
        never drawn."""
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        step = max(1, HELD // self.rows.size)
        kept = [np.arange(size) for size in self.sizes]
        for side, name in enumerate(("from", "to")):
            if without and (name == without[0] or self.settings.paired):
                kept[side] = np.delete(kept[side], without[1])
        for first in range(0, self.settings.draws, step):
            draws = min(step, self.settings.draws - first)
            start = _weights(kept[0], self.sizes[0], draws, random)
            yield start, start if self.settings.paired else _weights(kept[1], self.sizes[1], draws, random)

    def margins(self, labels: np.ndarray) -> np.ndarray:
        """(draw, word): how far each word, or pair, lies on the side its label says, by the axis of all the
        others."""
        if self.settings.paired:  # a label of -1 turns a pair round
            steps = labels[:, :, None] * self.steps
            others = steps.sum(axis=1, keepdims=True) - steps
            return np.einsum("dpx,dpx->dp", steps, others) / np.maximum(np.linalg.norm(others, axis=2), TINY)
        # Sums over a list with one word taken out: all dot products needed follow from those with the two
        # whole sums.
        rows = self.rows
        own = (self.rows**2).sum(axis=1)
        sums = [(labels == side).astype(float) @ rows for side in (-1, 1)]
        products = [each @ rows.T for each in sums]
        mine = [labels == side for side in (-1, 1)]
        sizes = [size - own_side for size, own_side in zip(self.sizes, mine, strict=True)]
        to_mean = [
            (product - held * own) / size for product, held, size in zip(products, mine, sizes, strict=True)
        ]
        squares = [
            ((each**2).sum(axis=1)[:, None] - 2 * held * product + held * own) / size**2
            for each, held, product, size in zip(sums, mine, products, sizes, strict=True)
        ]
        both = (sums[0] * sums[1]).sum(axis=1)[:, None] - mine[0] * products[1] - mine[1] * products[0]
        both = both / (sizes[0] * sizes[1])
        length = np.sqrt(np.maximum(squares[0] + squares[1] - 2 * both, TINY**2))
        return labels * (to_mean[1] - to_mean[0] - (squares[1] - squares[0]) / 2) / length


def _placed(lists: _Lists, words: list[str], rows: np.ndarray) -> list[Placed]:
    if not words:
        return []
    direction, middle = lists.axis(*lists.everyone())
    values = rows @ direction[0] - middle[0] @ direction[0]
    if not lists.testable:
        return [
            Placed(word, value, math.nan, math.nan)
            for word, value in zip(words, values.tolist(), strict=True)
        ]
    drawn = np.concatenate([_values(lists, rows, weights) for weights in lists.resampled()])
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    return [Placed(*each) for each in zip(words, values.tolist(), low.tolist(), high.tolist(), strict=True)]


def _member(lists: _Lists, name: str, number: int, word: str) -> Placed:
    """A word of the lists, by the axis of the others; by that of all, which is partial to it, where none are
    left."""
    row = lists.rows[number + (lists.sizes[0] if name == "to" else 0)]
    start, end = lists.everyone()
    if not lists.testable:
        return Placed(word, float(_values(lists, row[None], (start, end))[0, 0]), math.nan, math.nan, name)
    for side, weights in (("from", start), ("to", end)):
        if side == name or lists.settings.paired:
            weights[0, number] = 0
    drawn = np.concatenate(
        [_values(lists, row[None], weights) for weights in lists.resampled((name, number))]
    )
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Placed(word, float(_values(lists, row[None], (start, end))[0, 0]), float(low), float(high), name)


def _values(lists: _Lists, rows: np.ndarray, weights: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(draw, row): where rows lie on the axis of each draw."""
    direction, middle = lists.axis(*weights)
    return direction @ rows.T - (direction * middle).sum(axis=1, keepdims=True)


def _tested(lists: _Lists, margin: float) -> tuple[float, float]:
    """p by shuffling, all ways there are where those are few; and the smallest p that so many words can
    have."""
    if not lists.testable:
        return math.nan, math.nan
    members = len(lists.labels)
    ways = 2**members if lists.settings.paired else math.comb(members, lists.sizes[0])
    twice = (
        2 if lists.settings.paired or lists.sizes[0] == lists.sizes[1] else 1
    )  # both lists exchanged are as far apart
    step = max(1, HELD // lists.rows.size)
    if ways <= lists.settings.draws:
        everything = np.array(list(_all_labels(lists)))
        drawn = np.concatenate(
            [lists.margins(everything[at : at + step]).mean(axis=1) for at in range(0, ways, step)]
        )
        return float((drawn >= margin - TINY).mean()), twice / ways
    random = np.random.Generator(np.random.Philox(lists.settings.seed))
    reached = 0
    draws = lists.settings.draws
    for at in range(0, draws, step):
        some = min(step, draws - at)
        if lists.settings.paired:
            labels = random.choice([-1.0, 1.0], (some, members))
        else:
            labels = random.permuted(np.tile(lists.labels, (some, 1)), axis=1)
        reached += int((lists.margins(labels).mean(axis=1) >= margin - TINY).sum())
    return (reached + 1) / (draws + 1), 1 / (draws + 1)


def _all_labels(lists: _Lists) -> Iterator[np.ndarray]:
    members = len(lists.labels)
    if lists.settings.paired:
        yield from (np.array(each) for each in itertools.product((-1.0, 1.0), repeat=members))
        return
    for chosen in itertools.combinations(range(members), lists.sizes[0]):
        labels = np.ones(members)
        labels[list(chosen)] = -1
        yield labels


def _weights(kept: np.ndarray, size: int, draws: int, random: np.random.Generator) -> np.ndarray:
    drawn = kept[random.integers(0, len(kept), (draws, len(kept)))] + np.arange(draws)[:, None] * size
    return np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def _checked(
    vectors: Vectors, start: Sequence[str], end: Sequence[str], settings: Settings
) -> tuple[list[int], list[int]]:
    for name, words in (("from", start), ("to", end)):
        if not words:
            raise SettingError(
                f"The list '{name}' is empty. An axis leads from some words to others: name at least one of each."
            )
    ids = [vectors.id(word) for word in start], [vectors.id(word) for word in end]
    for words, some in zip((start, end), ids, strict=True):
        if len(set(some)) < len(some):
            raise SettingError(f"A list names a word twice: {' '.join(words)}. Name each once.")
    both = set(ids[0]) & set(ids[1])
    if both:
        raise SettingError(
            f"'{vectors.words[min(both)]}' stands in both lists. A word can be on one side only."
        )
    if settings.paired and len(start) != len(end):
        raise SettingError(f"Pairs take two lists of one length; found {len(start)} and {len(end)} words.")
    return ids


def _unit(vectors: Vectors, ids: list[int], words: Sequence[str]) -> np.ndarray:
    rows = vectors.rows(np.array(ids, np.int64)).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    if (lengths == 0).any():
        raise SettingError(
            f"'{words[int(lengths.argmin())]}' is a vector of zeros: it lies nowhere on an axis. Leave it out."
        )
    return rows / lengths[:, None]
