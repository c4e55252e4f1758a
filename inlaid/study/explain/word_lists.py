"""Two lists of unit vectors: the axes between them, for whole, resampled and relabelled lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from inlaid.errors import SettingError

NUMBERS_HELD = 1 << 22
"""Numbers in memory at a time, over draws."""
ROUNDING = 1e-9
"""Shorter differences of unit vectors are rounding error."""
Side = Literal["from", "to"]


class Weights(NamedTuple):
    """How much each word counts, in each draw."""

    start: np.ndarray
    """(draw, word of the first list)"""
    end: np.ndarray
    """(draw, word of the second list)"""


class Axes(NamedTuple):
    """One axis for each draw."""

    directions: np.ndarray
    """(draw, dim), of length 1; NaN where the lists have the same mean."""
    midpoints: np.ndarray
    """(draw, dim): half way between the two means."""


@dataclass(frozen=True, eq=False)
class WordLists:
    """The unit rows of both lists as one matrix."""

    rows: np.ndarray
    """(word, dim) f8: first list, then second."""
    sizes: tuple[int, int]
    labels: np.ndarray
    """(member,): -1 and 1 for the words of the lists; 1 for every pair, where paired."""
    differences: np.ndarray | None
    """(pair, dim): unit differences of pairs; None for lists that are not paired."""

    @classmethod
    def of(cls, start: np.ndarray, end: np.ndarray, *, paired: bool) -> WordLists:
        rows = np.concatenate([start, end])
        sizes = (len(start), len(end))
        if not paired:
            return cls(rows, sizes, np.repeat([-1.0, 1.0], sizes), None)
        differences = end - start
        lengths = np.linalg.norm(differences, axis=1, keepdims=True)
        if (lengths < ROUNDING).any():
            raise SettingError(
                "A pair of the lists has the same vector twice, so it has no direction. Leave that pair out."
            )
        return cls(rows, sizes, np.ones(len(start)), differences / lengths)

    @property
    def paired(self) -> bool:
        return self.differences is not None

    @property
    def testable(self) -> bool:
        """Whether a word can be left out of either list."""
        return min(self.sizes) > 1

    @property
    def draws_held(self) -> int:
        """Draws computed together, within the memory limit."""
        return max(1, NUMBERS_HELD // self.rows.size)

    def row(self, side: Side, number: int) -> np.ndarray:
        return self.rows[number + (self.sizes[0] if side == "to" else 0)]

    def full_weights(self) -> Weights:
        """One draw in which every word counts once."""
        return Weights(np.ones((1, self.sizes[0])), np.ones((1, self.sizes[1])))

    def weights_without(self, side: Side, number: int) -> Weights:
        """One draw without a word; of pairs, without the pair."""
        weights = self.full_weights()
        if side == "from" or self.paired:
            weights.start[0, number] = 0
        if side == "to" or self.paired:
            weights.end[0, number] = 0
        return weights

    def axes(self, weights: Weights) -> Axes:
        """The axis of each draw."""
        start_means = weights.start @ self.rows[: self.sizes[0]] / weights.start.sum(axis=1, keepdims=True)
        end_means = weights.end @ self.rows[self.sizes[0] :] / weights.end.sum(axis=1, keepdims=True)
        steps = end_means - start_means if self.differences is None else weights.start @ self.differences
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        undefined = lengths < ROUNDING
        if undefined.all():
            raise SettingError(
                "Both lists have the same mean: there is no axis between them. Choose words that differ."
            )
        directions = np.where(undefined, np.nan, steps / np.where(undefined, 1, lengths))
        return Axes(directions, (start_means + end_means) / 2)

    def resampled(self, draws: int, seed: int, without: tuple[Side, int] | None = None) -> Iterator[Weights]:
        """Bootstrap weights, some draws at a time; pairs are drawn as pairs, and the word left out is never
        drawn."""
        random = np.random.Generator(np.random.Philox(seed))
        start_kept = self._kept("from", without)
        end_kept = self._kept("to", without)
        for first in range(0, draws, self.draws_held):
            count = min(self.draws_held, draws - first)
            start = _bootstrap(start_kept, self.sizes[0], count, random)
            end = start if self.paired else _bootstrap(end_kept, self.sizes[1], count, random)
            yield Weights(start, end)

    def _kept(self, side: Side, without: tuple[Side, int] | None) -> np.ndarray:
        """The words of a list that may be drawn."""
        words = np.arange(self.sizes[0] if side == "from" else self.sizes[1])
        if without and (side == without[0] or self.paired):
            return np.delete(words, without[1])
        return words

    def leave_one_out_margins(self, labels: np.ndarray) -> np.ndarray:
        """(draw, member): how far each word, or pair, is on the side of its label, by the axis of all the
        others."""
        if self.differences is not None:
            return _pair_margins(self.differences, labels)
        return self._word_margins(labels)

    def _word_margins(self, labels: np.ndarray) -> np.ndarray:
        # Means of a list without one word: all dot products follow from those with the two whole sums.
        squared = (self.rows**2).sum(axis=1)
        start = _Side.of(self.rows, labels == -1, self.sizes[0], squared)
        end = _Side.of(self.rows, labels == 1, self.sizes[1], squared)
        both = (start.sums * end.sums).sum(axis=1)[:, None]
        both = both - start.inside * end.products - end.inside * start.products
        both = both / (start.sizes * end.sizes)
        length = np.sqrt(np.maximum(start.squares + end.squares - 2 * both, ROUNDING**2))
        return labels * (end.to_mean - start.to_mean - (end.squares - start.squares) / 2) / length


class _Side(NamedTuple):
    """One list of each labelling, with each word left out in turn."""

    inside: np.ndarray
    """(draw, word): whether the word is in this list."""
    sums: np.ndarray
    """(draw, dim): of the whole list."""
    products: np.ndarray
    """(draw, word): of each word with the whole sum."""
    sizes: np.ndarray
    """(draw, word): words in the list without this one."""
    to_mean: np.ndarray
    """(draw, word): of each word with the mean of the others."""
    squares: np.ndarray
    """(draw, word): squared length of that mean."""

    @classmethod
    def of(cls, rows: np.ndarray, inside: np.ndarray, size: int, squared: np.ndarray) -> _Side:
        sums = inside.astype(float) @ rows
        products = sums @ rows.T
        sizes = size - inside
        to_mean = (products - inside * squared) / sizes
        squares = (sums**2).sum(axis=1)[:, None] - 2 * inside * products + inside * squared
        return cls(inside, sums, products, sizes, to_mean, squares / sizes**2)


def _pair_margins(differences: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """A label of -1 reverses a pair."""
    signed = labels[:, :, None] * differences
    others = signed.sum(axis=1, keepdims=True) - signed
    lengths = np.maximum(np.linalg.norm(others, axis=2), ROUNDING)
    return np.einsum("dpx,dpx->dp", signed, others) / lengths


def _bootstrap(kept: np.ndarray, size: int, draws: int, random: np.random.Generator) -> np.ndarray:
    """(draw, word): how often each word was drawn."""
    drawn = kept[random.integers(0, len(kept), (draws, len(kept)))] + np.arange(draws)[:, None] * size
    return np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(float)
