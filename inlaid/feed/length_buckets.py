"""Length buckets: texts of similar length in one batch, so that little of a batch is padding.

The texts are sorted by length and cut into batches of at most `tokens` tokens with padding. The cuts are
the same in every epoch. Which of the texts of one length are in which batch, and the order of the batches,
are drawn anew.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np


class LengthBuckets:
    """Batches of texts, each a pure function of the seed, the epoch and its number."""

    def __init__(self, lengths: np.ndarray, tokens: int, seed: int) -> None:
        self.lengths = lengths
        """Tokens of each text."""
        self.tokens = tokens
        """Most tokens of a batch, padding included; a longer text is a batch of its own."""
        self.seed = seed
        self._epoch = lru_cache(maxsize=2)(self._drawn)

    @cached_property
    def bounds(self) -> np.ndarray:
        """Where the batches begin in the order of length, and the number of texts at the end.

        >>> LengthBuckets(np.array([3, 1, 2, 9]), 6, seed=1).bounds
        array([0, 2, 3, 4])
        """
        lengths = np.sort(self.lengths)
        found = [0]
        while found[-1] < len(lengths):
            found.append(found[-1] + self._size(lengths, found[-1]))
        return np.array(found)

    def _size(self, lengths: np.ndarray, first: int) -> int:
        """Texts of the batch that begins here: as many as fit."""
        low = 1
        high = min(len(lengths) - first, max(self.tokens // int(lengths[first]), 1))
        while low < high:
            middle = (low + high + 1) // 2
            if middle * int(lengths[first + middle - 1]) <= self.tokens:
                low = middle
            else:
                high = middle - 1
        return low

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch, without padding, up to the end of each batch."""
        _, batches = self._epoch(epoch)
        sizes = np.add.reduceat(np.sort(self.lengths), self.bounds[:-1])
        return sizes[batches].cumsum()

    def texts(self, epoch: int, number: int) -> np.ndarray:
        """The texts of a batch, by their places in `lengths`."""
        order, batches = self._epoch(epoch)
        batch = batches[number]
        return order[self.bounds[batch] : self.bounds[batch + 1]]

    def _drawn(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The texts in the order of length, and the batches in the order of the epoch."""
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        order = np.lexsort((random.random(len(self.lengths)), self.lengths))
        return order, random.permutation(len(self.bounds) - 1)


def split_long(offsets: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the parts of sentences start and stop, if none may have more than `limit` tokens: longer
    sentences are cut into parts of about equal length.

    >>> split_long(np.array([0, 3, 10]), 4)
    (array([0, 3, 6]), array([ 3,  6, 10]))
    """
    lengths = np.diff(offsets)
    parts = -(-lengths // limit)
    sentence = np.repeat(np.arange(len(lengths)), parts)
    part = np.arange(len(sentence)) - np.repeat(parts.cumsum() - parts, parts)
    starts = offsets[sentence] + lengths[sentence] * part // parts[sentence]
    stops = offsets[sentence] + lengths[sentence] * (part + 1) // parts[sentence]
    return starts, stops


def padded(rows: list[np.ndarray], padding: int) -> np.ndarray:
    """Rows of different lengths as one array (row, token)."""
    longest = max(map(len, rows))
    found = np.full((len(rows), longest), padding, np.int64)
    for row, ids in zip(found, rows, strict=True):
        row[: len(ids)] = ids
    return found
