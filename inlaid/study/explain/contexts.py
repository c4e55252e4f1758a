"""Co-occurrence counts of a few words in a corpus.

One scan in blocks; only the windows of the given words are opened, so the full co-occurrence matrix is never
built. Counts are those of `inlaid.feed.cooccurrence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.report import Progress, Report, silent

TOKEN_BLOCK = 1 << 20
"""Tokens scanned together."""


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """How often each word of the vocabulary is a context of some given words."""

    counts: np.ndarray
    """(given, word): pairs of tokens at most a window apart."""
    sums: np.ndarray
    """(word,): pairs that each word of the vocabulary is part of, with any other."""

    def positive_pmi(self, smoothing: float, discount: int = 0) -> np.ndarray:
        """(given, word): positive pointwise mutual information, with context distribution smoothing.

        PMI overrates what was seen once, so that of a context seen n times is multiplied by
        n / (n + discount), as Pantel and Lin (2002) do with a discount of 1.
        """
        smoothed = self.sums**smoothing
        own = self.counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            pmi = np.log(self.counts / own) - np.log(smoothed / smoothed.sum())
        shrunk = np.maximum(pmi, 0) * self.counts / np.maximum(self.counts + discount, 1)
        return np.where(self.counts > 0, shrunk, 0)


def count_contexts(
    corpus: Corpus, ids: Sequence[int], *, window: int, report: Report = silent
) -> ContextCounts:
    """Count the contexts of some ids, at most `window` tokens away in the same sentence."""
    size = len(corpus.vocabulary)
    counts = np.zeros((len(ids), size))
    sums = np.zeros(size)
    for block in sentence_blocks(corpus, report, "counting contexts"):
        sums += _pair_sums(block, window, size)
        for row, id in enumerate(ids):
            for near in block.contexts(np.flatnonzero(block.ids == id), window):
                counts[row] += np.bincount(near[near >= 0], minlength=size)
    return ContextCounts(counts, sums)


# --- blocks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SentenceBlock:
    """Whole sentences: their ids, and for each token its sentence and the bounds of that sentence in the
    block."""

    start: int
    ids: np.ndarray
    sentence: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def contexts(self, positions: np.ndarray, window: int) -> Iterator[np.ndarray]:
        """The ids at each offset of the window around some positions; -1 outside the sentence."""
        for offset in (*range(-window, 0), *range(1, window + 1)):
            near = positions + offset
            inside = (near >= self.low[positions]) & (near < self.high[positions])
            if inside.any():
                yield np.where(inside, self.ids[np.where(inside, near, 0)], -1)


def sentence_blocks(corpus: Corpus, report: Report, stage: str) -> Iterator[SentenceBlock]:
    offsets = corpus.offsets
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + TOKEN_BLOCK, "right")) - 1)
        start = int(offsets[first])
        stop = int(offsets[last])
        lengths = np.diff(offsets[first : last + 1])
        low = np.repeat(offsets[first:last] - start, lengths)
        yield SentenceBlock(
            start=start,
            ids=corpus.ids[start:stop],
            sentence=np.repeat(np.arange(first, last), lengths),
            low=low,
            high=low + np.repeat(lengths, lengths),
        )
        report(Progress(stage, stop, len(corpus.ids), "words"))
        first = last


def _pair_sums(block: SentenceBlock, window: int, size: int) -> np.ndarray:
    """(word,): pairs that each word of the vocabulary is part of."""
    position = np.arange(len(block.ids))
    before = np.minimum(position - block.low, window)
    after = np.minimum(block.high - 1 - position, window)
    return np.bincount(block.ids, before + after, size)
