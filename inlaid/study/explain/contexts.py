"""The company that a few words keep in a corpus: exact counts of their contexts, and the sentences that bring
them.

One scan in blocks; only the windows of the words asked about are opened, so no table of all pairs is ever
made. Counts are those of `inlaid.feed.cooccurrence`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.report import Progress, Report, silent

BLOCK = 1 << 20
"""Tokens looked at together."""
SHOWN = 40
"""Tokens of a sentence that are shown, around the word."""


@dataclass(frozen=True, eq=False)
class Company:
    """How often each word of the vocabulary stands near the words asked about."""

    counts: np.ndarray
    """(asked, word): pairs of tokens at most a window apart."""
    sums: np.ndarray
    """(word,): pairs that each word of the vocabulary is part of, with whatever other."""

    def positive_pmi(self, smoothing: float) -> np.ndarray:
        """(asked, word): how much more often they meet than chance would have it, on a log scale; below
        chance it is 0."""
        smoothed = self.sums**smoothing
        own = self.counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            pmi = np.log(self.counts / own) - np.log(smoothed / smoothed.sum())
        return np.where(self.counts > 0, np.maximum(pmi, 0), 0)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the corpus as it was encoded: rare words are missing, and of a long one only what stands
    around the word."""

    text: str
    weight: float
    """The weights of the contexts in it that were asked for, summed."""


def company(corpus: Corpus, asked: Sequence[int], *, window: int, report: Report = silent) -> Company:
    """Count the contexts of the ids `asked`, at most `window` tokens apart inside a sentence."""
    size = len(corpus.vocabulary)
    counts = np.zeros((len(asked), size))
    sums = np.zeros(size)
    for block in _blocks(corpus, report, "counting contexts"):
        sums += _sums(block, window, size)
        for row, id in enumerate(asked):
            for near in block.around(np.flatnonzero(block.ids == id), window):
                counts[row] += np.bincount(near[near >= 0], minlength=size)
    return Company(counts, sums)


def sentences_of(
    corpus: Corpus, id: int, weights: np.ndarray, *, window: int, n: int, report: Report = silent
) -> tuple[Sentence, ...]:
    """The `n` different sentences of a word whose contexts weigh most, heaviest first; weights has a number
    for each word."""
    best: list[tuple[float, int]] = []
    seen: set[bytes] = set()
    padded = np.append(weights, 0.0)  # what lies outside the sentence has id -1 and weighs nothing
    for block in _blocks(corpus, report, "reading sentences"):
        places = np.flatnonzero(block.ids == id)
        weight = sum((padded[near] for near in block.around(places, window)), np.zeros(len(places)))
        for order in np.argsort(-weight, kind="stable").tolist():
            if weight[order] <= 0 or (len(best) == n and weight[order] <= best[0][0]):
                break
            place = int(places[order]) + block.start
            text = _clip(corpus, place).tobytes()
            if text not in seen:
                seen.add(text)
                heapq.heappush(best, (float(weight[order]), -place))
                best = heapq.nlargest(n, best)[::-1]  # n is small; the least stands first
    return tuple(Sentence(_text(corpus, -place), weight) for weight, place in sorted(best, reverse=True))


def meetings(
    corpus: Corpus, first: int, second: int, *, n: int, report: Report = silent
) -> tuple[int, tuple[Sentence, ...]]:
    """In how many sentences two words stand together, and the first `n` different ones."""
    total = 0
    found = dict[bytes, int]()
    for block in _blocks(corpus, report, "looking for meetings"):
        ones = np.flatnonzero(block.ids == first)
        if first == second:
            held = np.unique(block.sentence[ones])
        else:
            held = np.intersect1d(block.sentence[ones], block.sentence[block.ids == second])
        total += len(held)
        if len(found) < n:
            at = ones[np.searchsorted(block.sentence[ones], held)]
            for place in (at + block.start).tolist():
                found.setdefault(_clip(corpus, place).tobytes(), place)
                if len(found) >= n:
                    break
    return total, tuple(Sentence(_text(corpus, place), 0.0) for place in found.values())


# --- blocks
# -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Block:
    """Whole sentences: their ids, and for each token its sentence and that sentence's bounds in this
    block."""

    start: int
    ids: np.ndarray
    sentence: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def around(self, places: np.ndarray, window: int) -> Iterator[np.ndarray]:
        """The ids at each distance before and behind some places; -1 where the sentence has ended."""
        for step in (*range(-window, 0), *range(1, window + 1)):
            near = places + step
            inside = (near >= self.low[places]) & (near < self.high[places])
            if inside.any():
                yield np.where(inside, self.ids[np.where(inside, near, 0)], -1)


def _blocks(corpus: Corpus, report: Report, stage: str) -> Iterator[_Block]:
    offsets = corpus.offsets
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + BLOCK, "right")) - 1)
        start = int(offsets[first])
        stop = int(offsets[last])
        lengths = np.diff(offsets[first : last + 1])
        starts = offsets[first:last] - start
        low = np.repeat(starts, lengths)
        yield _Block(
            start,
            corpus.ids[start:stop],
            np.repeat(np.arange(first, last), lengths),
            low,
            low + np.repeat(lengths, lengths),
        )
        report(Progress(stage, stop, len(corpus.ids), "words"))
        first = last


def _sums(block: _Block, window: int, size: int) -> np.ndarray:
    place = np.arange(len(block.ids))
    pairs = np.minimum(place - block.low, window) + np.minimum(block.high - 1 - place, window)
    return np.bincount(block.ids, pairs, size)


def _clip(corpus: Corpus, place: int) -> np.ndarray:
    """The ids of the sentence that holds a place; of a long one those around the place."""
    number = int(np.searchsorted(corpus.offsets, place, "right")) - 1
    low = int(corpus.offsets[number])
    high = int(corpus.offsets[number + 1])
    return (
        corpus.ids[low:high]
        if high - low <= SHOWN
        else corpus.ids[max(low, place - SHOWN // 2) : min(high, place + SHOWN // 2)]
    )


def _text(corpus: Corpus, place: int) -> str:
    return " ".join(corpus.vocabulary.words[id] for id in _clip(corpus, place).tolist())
