"""Contrastive text: pairs of texts that belong together in batches, whose other pairs are the negatives.

A corpus of pairs has sentences that alternate: source, target, source, target. Each epoch the pairs are drawn
anew into pools, and within a pool those of similar length are in one batch: little of it is padding, and a
pair meets other negatives in every epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import xxhash

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.feed.length_buckets import padded
from inlaid.report import Note, Report

POOL = 16
"""Batches of a pool."""
MOST_HELD_OUT = 64
"""Batches that the held-out loss is measured on, at most."""
UNKNOWN = -1
"""In `rows`: a word of the corpus that has no id in the network."""


class TextBatch(NamedTuple):
    """ids (text, token) with padding at the end, and which tokens are real."""

    ids: np.ndarray
    real: np.ndarray


class ContrastiveBatch(NamedTuple):
    """Sources and targets, of which row i belongs to row i."""

    source: TextBatch
    target: TextBatch
    same: np.ndarray
    """(pair, pair): whether the target of a column is no negative of the source of a row, as the two pairs
    have a text in common; false on the diagonal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ContrastiveText:
    """Batches of about as many pairs each. Longer texts are cut to `max_length` tokens."""

    one_shape: ClassVar[bool] = False
    corpus: Corpus
    padding: int
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    """Special tokens around every text."""
    rows: np.ndarray | None = None
    """The id in the network of each word of the corpus, or UNKNOWN; None: they are the same."""
    max_length: int
    """Tokens of a text at most, special tokens included."""
    cut: Literal["left", "right"] = "right"
    """Where longer texts are cut."""
    pairs: int
    """Pairs of a batch."""
    held_out_every: int = 0
    """About every n-th pair is not trained on; 0: all are."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.max_length <= self._special:
            raise SourceError(
                "max_length is {limit}, and {special} special tokens are around every text. Raise it.",
                limit=self.max_length,
                special=self._special,
            )
        if len(self.training) < 2:
            raise SourceError(
                "There is {count:,} pair of texts to train on; the negatives of a pair are the other pairs "
                "of its batch. Give two pairs or more.",
                count=len(self.training),
            )
        object.__setattr__(self, "_epoch", lru_cache(maxsize=2)(self._drawn))

    @property
    def _special(self) -> int:
        return len(self.before) + len(self.after)

    @cached_property
    def _kept(self) -> np.ndarray | None:
        """Which tokens of the corpus have an id in the network; None: all."""
        if self.rows is None or (self.rows >= 0).all():
            return None
        return self.rows[np.asarray(self.corpus.ids)] >= 0

    @cached_property
    def full_lengths(self) -> np.ndarray:
        """Tokens of both sides of each pair (pair, 2), special tokens not included."""
        offsets = np.asarray(self.corpus.offsets)
        if self._kept is not None:
            offsets = np.concatenate([[0], self._kept.cumsum()])[offsets]
        return np.diff(offsets).reshape(-1, 2)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of both sides of each pair (pair, 2), as they are in a batch."""
        return np.minimum(self.full_lengths + self._special, self.max_length)

    @cached_property
    def _usable(self) -> np.ndarray:
        """Whether both sides of each pair have tokens."""
        return self.full_lengths.min(1) > 0

    @cached_property
    def hashes(self) -> np.ndarray:
        """Of both sides of each pair (pair, 2): equal for equal texts."""
        found = [
            [xxhash.xxh3_64_intdigest(self._text(pair, side)) for side in (0, 1)]
            for pair in range(len(self.lengths))
        ]
        return np.array(found, np.uint64).reshape(-1, 2)

    @cached_property
    def _is_held_out(self) -> np.ndarray:
        """Pairs with the same source are all held out, or none is."""
        if not self.held_out_every:
            return np.zeros(len(self.lengths), np.bool_)
        return self.hashes[:, 0] % np.uint64(self.held_out_every) == 0

    @cached_property
    def training(self) -> np.ndarray:
        """The pairs that are trained on, by their numbers."""
        return np.flatnonzero(self._usable & ~self._is_held_out)

    @cached_property
    def bounds(self) -> np.ndarray:
        """Where the batches of an epoch begin, and the number of pairs at the end."""
        return even_bounds(len(self.training), self.pairs)

    def note(self, report: Report) -> None:
        """Say how many texts are cut, and how many pairs are left out."""
        unknown = int((~self._usable).sum())
        if unknown:
            report(
                Note(
                    "{count:,} of {total:,} pairs have a side without a known word and are left out.",
                    count=unknown,
                    total=len(self._usable),
                )
            )
        long = int((self.full_lengths + self._special > self.max_length).sum())
        if long:
            report(
                Note(
                    "{count:,} of {total:,} texts have more than {limit:,} tokens and are cut.",
                    count=long,
                    total=self.lengths.size,
                    limit=self.max_length,
                )
            )

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch, without padding, up to the end of each batch."""
        order, batches = self._epoch(epoch)  # pyright: ignore[reportAttributeAccessIssue]
        sizes = np.add.reduceat(self.lengths[order].sum(1), self.bounds[:-1])
        return sizes[batches].cumsum()

    def batch(self, epoch: int, number: int) -> ContrastiveBatch:
        order, batches = self._epoch(epoch)  # pyright: ignore[reportAttributeAccessIssue]
        batch = batches[number]
        return self.of(order[self.bounds[batch] : self.bounds[batch + 1]])

    def held_out(self) -> list[ContrastiveBatch]:
        """Batches of the pairs that are held out."""
        numbers = np.flatnonzero(self._usable & self._is_held_out)
        if len(numbers) < 2:
            return []
        bounds = even_bounds(len(numbers), self.pairs)
        chosen = range(0, len(bounds) - 1, -(-(len(bounds) - 1) // MOST_HELD_OUT))
        return [self.of(numbers[bounds[each] : bounds[each + 1]]) for each in chosen]

    def of(self, pairs: np.ndarray) -> ContrastiveBatch:
        """The batch of these pairs."""
        self.corpus.refuse_changed()
        sides = [self._side(pairs, side) for side in (0, 1)]
        source, target = self.hashes[pairs].T
        common = source[:, None] == source
        common |= target[:, None] == target
        common |= source[:, None] == target
        np.fill_diagonal(common, False)
        return ContrastiveBatch(sides[0], sides[1], common)

    def _drawn(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The pairs in the order of the batches, and the batches in the order of the epoch."""
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        order = random.permutation(self.training)
        batch = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        order = order[np.lexsort((self.lengths[order].max(1), batch // POOL))]
        return order, random.permutation(len(self.bounds) - 1)

    def _text(self, pair: int, side: int) -> np.ndarray:
        """The ids of a text in the network, without special tokens, cut to what fits."""
        start, stop = self.corpus.offsets[2 * pair + side : 2 * pair + side + 2]
        ids = np.asarray(self.corpus.ids[start:stop])
        if self.rows is not None:
            ids = self.rows[ids]
            ids = ids[ids >= 0]
        room = self.max_length - self._special
        return np.ascontiguousarray(ids[:room] if self.cut == "right" else ids[-room:])

    def _side(self, pairs: np.ndarray, side: int) -> TextBatch:
        texts = [
            np.concatenate([self.before, self._text(pair, side), self.after]).astype(np.int64)
            for pair in pairs.tolist()
        ]
        ids = padded(texts, self.padding)
        lengths = np.array([len(each) for each in texts])
        return TextBatch(ids, np.arange(ids.shape[1]) < lengths[:, None])


def even_bounds(count: int, size: int) -> np.ndarray:
    """Where batches of about equal size begin, at most `size` each if that leaves none with one alone.

    >>> even_bounds(7, 3)
    array([0, 2, 4, 7])
    """
    batches = max(min(-(-count // size), count // 2), 1)
    return np.arange(batches + 1) * count // batches
