"""Co-occurrence counts of a few words in a corpus, and the sentences in which they occur.

One scan in blocks; only the windows of the given words are opened, so the full co-occurrence matrix is never
built. Counts are those of `inlaid.feed.cooccurrence`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.report import Progress, Report, silent

TOKEN_BLOCK = 1 << 20
"""Tokens scanned together."""
SHOWN = 40
"""Tokens of a sentence that are shown, around the word."""


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """How often each word of the vocabulary is a context of some given words."""

    counts: np.ndarray
    """(given, word): pairs of tokens at most a window apart."""
    sums: np.ndarray
    """(word,): pairs that each word of the vocabulary is part of, with any other."""

    def positive_pmi(self, smoothing: float) -> np.ndarray:
        """(given, word): positive pointwise mutual information, with context distribution smoothing."""
        smoothed = self.sums**smoothing
        own = self.counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            pmi = np.log(self.counts / own) - np.log(smoothed / smoothed.sum())
        return np.where(self.counts > 0, np.maximum(pmi, 0), 0)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the corpus as it was encoded: words outside the vocabulary are missing, and a long one is
    cut around the word."""

    text: str
    weight: float
    """Sum of the weights of the contexts in it."""


def count_contexts(
    corpus: Corpus, ids: Sequence[int], *, window: int, report: Report = silent
) -> ContextCounts:
    """Count the contexts of some ids, at most `window` tokens away in the same sentence."""
    size = len(corpus.vocabulary)
    counts = np.zeros((len(ids), size))
    sums = np.zeros(size)
    for block in _blocks(corpus, report, "counting contexts"):
        sums += _pair_sums(block, window, size)
        for row, id in enumerate(ids):
            for near in block.contexts(np.flatnonzero(block.ids == id), window):
                counts[row] += np.bincount(near[near >= 0], minlength=size)
    return ContextCounts(counts, sums)


def heaviest_sentences(
    corpus: Corpus, id: int, weights: np.ndarray, *, window: int, n: int, report: Report = silent
) -> tuple[Sentence, ...]:
    """The `n` distinct sentences of a word with the largest sum of context weights; weights (word,)."""
    best: list[tuple[float, int]] = []
    seen: set[bytes] = set()
    padded = np.append(weights, 0.0)  # positions outside the sentence have id -1 and weight 0
    for block in _blocks(corpus, report, "reading sentences"):
        positions = np.flatnonzero(block.ids == id)
        contexts = block.contexts(positions, window)
        weight = sum((padded[near] for near in contexts), np.zeros(len(positions)))
        for order in np.argsort(-weight, kind="stable").tolist():
            if weight[order] <= 0 or (len(best) == n and weight[order] <= best[0][0]):
                break
            position = int(positions[order]) + block.start
            text = _excerpt(corpus, position).tobytes()
            if text not in seen:
                seen.add(text)
                heapq.heappush(best, (float(weight[order]), -position))
                best = heapq.nlargest(n, best)[::-1]  # n is small; the lightest comes first
    return tuple(Sentence(_text(corpus, -at), weight) for weight, at in sorted(best, reverse=True))


def cooccurring_sentences(
    corpus: Corpus, first: int, second: int, *, n: int, report: Report = silent
) -> tuple[int, tuple[Sentence, ...]]:
    """How many sentences contain both words, and the first `n` distinct ones."""
    total = 0
    found = dict[bytes, int]()
    for block in _blocks(corpus, report, "finding co-occurrences"):
        positions = np.flatnonzero(block.ids == first)
        sentences = block.sentence[positions]
        if first == second:
            with_both = np.unique(sentences)
        else:
            with_both = np.intersect1d(sentences, block.sentence[block.ids == second])
        total += len(with_both)
        if len(found) < n:
            first_positions = positions[np.searchsorted(sentences, with_both)]
            for position in (first_positions + block.start).tolist():
                found.setdefault(_excerpt(corpus, position).tobytes(), position)
                if len(found) >= n:
                    break
    return total, tuple(Sentence(_text(corpus, position), 0.0) for position in found.values())


# --- blocks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _SentenceBlock:
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


def _blocks(corpus: Corpus, report: Report, stage: str) -> Iterator[_SentenceBlock]:
    offsets = corpus.offsets
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + TOKEN_BLOCK, "right")) - 1)
        start = int(offsets[first])
        stop = int(offsets[last])
        lengths = np.diff(offsets[first : last + 1])
        low = np.repeat(offsets[first:last] - start, lengths)
        yield _SentenceBlock(
            start=start,
            ids=corpus.ids[start:stop],
            sentence=np.repeat(np.arange(first, last), lengths),
            low=low,
            high=low + np.repeat(lengths, lengths),
        )
        report(Progress(stage, stop, len(corpus.ids), "words"))
        first = last


def _pair_sums(block: _SentenceBlock, window: int, size: int) -> np.ndarray:
    """(word,): pairs that each word of the vocabulary is part of."""
    position = np.arange(len(block.ids))
    before = np.minimum(position - block.low, window)
    after = np.minimum(block.high - 1 - position, window)
    return np.bincount(block.ids, before + after, size)


def _excerpt(corpus: Corpus, position: int) -> np.ndarray:
    """The ids of the sentence at a position; of a long one, those around the position."""
    number = int(np.searchsorted(corpus.offsets, position, "right")) - 1
    low = int(corpus.offsets[number])
    high = int(corpus.offsets[number + 1])
    if high - low <= SHOWN:
        return corpus.ids[low:high]
    return corpus.ids[max(low, position - SHOWN // 2) : min(high, position + SHOWN // 2)]


def _text(corpus: Corpus, position: int) -> str:
    return " ".join(corpus.vocabulary.words[id] for id in _excerpt(corpus, position).tolist())
