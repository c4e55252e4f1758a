"""Pair text: pairs of a source and a target sentence in batches, for models that turn one into the other.

A corpus of pairs has sentences that alternate: source, target, source, target. Pairs of similar length are in
one batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import xxhash

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.feed.length_buckets import LengthBuckets, padded
from inlaid.messages import Message
from inlaid.report import Note, Report

MOST_HELD_OUT = 64
"""Batches that the held-out loss is measured on, at most."""


class PairBatch(NamedTuple):
    """source and target (pair, token), each with its end token, and which tokens are real."""

    source: np.ndarray
    source_real: np.ndarray
    target: np.ndarray
    target_real: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PairText:
    """Batches of pairs. Pairs with a side of more than `max_length` tokens are left out."""

    one_shape: ClassVar[bool] = False
    where: ClassVar[Message] = Message(" on a side")
    """Where tokens are counted."""

    corpus: Corpus
    padding: int
    end: int
    max_length: int
    """Tokens of a side at most, its end token included."""
    tokens: int
    """Tokens of one side of a batch, padding included."""
    held_out_every: int = 0
    """About every n-th pair is not trained on; 0: all are."""
    source_end: int | None = None
    """The id that ends a source, if its vocabulary has another than the target's."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not len(self.training):
            raise SourceError(
                "No pair has at most {limit:,} tokens{where}. Raise max_length.",
                limit=self.max_length,
                where=self.where,
            )

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of both sides of each pair (pair, 2), with the end tokens."""
        return np.diff(np.asarray(self.corpus.offsets)).reshape(-1, 2) + 1

    @cached_property
    def fits(self) -> np.ndarray:
        """Whether each pair is short enough."""
        return self.lengths.max(1) <= self.max_length

    @cached_property
    def training(self) -> np.ndarray:
        """The pairs that are trained on, by their numbers."""
        return np.flatnonzero(self.fits & ~self._is_held_out)

    @cached_property
    def _is_held_out(self) -> np.ndarray:
        """Pairs with the same source are all held out, or none is."""
        if not self.held_out_every:
            return np.zeros(len(self.fits), np.bool_)
        hashes = [xxhash.xxh3_64_intdigest(self._side(pair, 0)) for pair in range(len(self.fits))]
        return np.array([hash % self.held_out_every == 0 for hash in hashes])

    @cached_property
    def buckets(self) -> LengthBuckets:
        return self._buckets(self.training)

    def note(self, report: Report) -> None:
        """Say how many pairs are left out."""
        count = len(self.fits) - int(self.fits.sum())
        if count:
            report(
                Note(
                    "{count:,} of {total:,} pairs have more than {limit:,} tokens{where} and are left out.",
                    count=count,
                    total=len(self.fits),
                    limit=self.max_length,
                    where=self.where,
                )
            )

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the longer sides of the epoch up to the end of each batch."""
        return self.buckets.ends(epoch)

    def batch(self, epoch: int, number: int) -> Any:
        return self._batch(self.training[self.buckets.texts(epoch, number)])

    def held_out(self) -> list[Any]:
        """Batches of the pairs that are held out."""
        numbers = np.flatnonzero(self.fits & self._is_held_out)
        if not len(numbers):
            return []
        buckets = self._buckets(numbers)
        count = len(buckets.bounds) - 1
        chosen = range(0, count, -(-count // MOST_HELD_OUT))
        return [self._batch(numbers[buckets.texts(0, each)]) for each in chosen]

    def _buckets(self, numbers: np.ndarray) -> LengthBuckets:
        return LengthBuckets(self.lengths[numbers].max(1), self.tokens, self.seed)

    def _side(self, pair: int, side: int) -> np.ndarray:
        start, stop = self.corpus.offsets[2 * pair + side : 2 * pair + side + 2]
        return np.ascontiguousarray(self.corpus.ids[start:stop])

    def _batch(self, pairs: np.ndarray) -> Any:
        """These pairs as a PairBatch; other kinds of training make other batches of them."""
        self.corpus.refuse_changed()
        sides: list[np.ndarray] = []
        for side in (0, 1):
            end = self.source_end if side == 0 and self.source_end is not None else self.end
            rows = [np.append(self._side(pair, side), end) for pair in pairs.tolist()]
            lengths = np.array([len(row) for row in rows])
            ids = padded(rows, self.padding)
            sides += [ids, np.arange(ids.shape[1]) < lengths[:, None]]
        return PairBatch(*sides)
