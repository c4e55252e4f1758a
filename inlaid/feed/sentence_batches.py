"""Sentence batches: the sentences of a corpus in batches of similar length, some of them held out.

A kind of training says what it makes of the sentences of a batch (`make`); which sentences are in a batch is
decided here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, SourceError
from inlaid.feed.length_buckets import LengthBuckets, padded, split_long
from inlaid.feed.pairs import need_pairs

AROUND = 2
"""Tokens around a sentence: one before it and one after it."""
HELD_OUT_EPOCH = (1 << 32) - 1
"""What is drawn for held-out text is drawn as in an epoch that is never trained."""
MOST_HELD_OUT = 64
"""Batches that the held-out loss is measured on, at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SentenceBatches(ABC):
    """Batches of the sentences of a corpus; longer ones than `max_length` are cut into parts."""

    one_shape: ClassVar[bool] = False
    corpus: Corpus
    max_length: int
    """Tokens of a sentence at most, with one before it and one after it."""
    tokens: int
    """Tokens of a batch, padding included."""
    held_out_every: int = 0
    """Every n-th sentence is not trained on; 0: all are."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.max_length <= AROUND:
            raise SettingError(
                "max_length is {found}; a sentence has one token before it, one after it and its "
                "own, at least 3 in all.",
                found=self.max_length,
            )
        need_pairs(self.corpus)
        if not len(self.training):
            raise SourceError("The text has no sentences to train on. Add more text, or lower held_out.")

    @abstractmethod
    def make(self, rows: list[np.ndarray], epoch: int, number: int) -> Any:
        """The batch of this number, of these sentences."""

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the sentences, or their parts, start and stop in the corpus."""
        return split_long(np.asarray(self.corpus.offsets), self.max_length - AROUND)

    @cached_property
    def _is_held_out(self) -> np.ndarray:
        numbers = np.arange(len(self.parts[0]))
        if not self.held_out_every:
            return np.zeros(len(numbers), np.bool_)
        return numbers % self.held_out_every == self.held_out_every - 1

    @cached_property
    def training(self) -> np.ndarray:
        """The sentences that are trained on, by their numbers."""
        return np.flatnonzero(~self._is_held_out)

    @cached_property
    def buckets(self) -> LengthBuckets:
        return self._buckets(self.training)

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch up to the end of each batch."""
        return self.buckets.ends(epoch)

    def batch(self, epoch: int, number: int) -> Any:
        return self.make(self._rows(self.training[self.buckets.texts(epoch, number)]), epoch, number)

    def held_out(self) -> list[Any]:
        """Batches of the sentences that are held out, the same each time."""
        numbers = np.flatnonzero(self._is_held_out)
        if not len(numbers):
            return []
        buckets = self._buckets(numbers)
        count = len(buckets.bounds) - 1
        chosen = range(0, count, -(-count // MOST_HELD_OUT))
        return [
            self.make(self._rows(numbers[buckets.texts(0, each)]), HELD_OUT_EPOCH, each) for each in chosen
        ]

    def _buckets(self, numbers: np.ndarray) -> LengthBuckets:
        starts, stops = self.parts
        return LengthBuckets((stops - starts)[numbers] + AROUND, self.tokens, self.seed)

    def _rows(self, numbers: np.ndarray) -> list[np.ndarray]:
        """The ids of these sentences."""
        self.corpus.refuse_changed()
        starts, stops = self.parts
        return [np.asarray(self.corpus.ids[starts[each] : stops[each]]) for each in numbers.tolist()]


def bounded(rows: list[np.ndarray], start: int, end: int, padding: int) -> tuple[np.ndarray, np.ndarray]:
    """Sentences between a token before and a token after them, padded, and which tokens are real.

    >>> bounded([np.array([5]), np.array([6, 7])], 1, 2, 0)[0]
    array([[1, 5, 2, 0],
           [1, 6, 7, 2]])
    """
    ids = padded([np.concatenate(([start], row, [end])) for row in rows], padding)
    lengths = np.array([len(row) + AROUND for row in rows])
    return ids, np.arange(ids.shape[1]) < lengths[:, None]
