"""What the kernels of skip-gram and CBOW mean, in plain NumPy: the specification.

One pair at a time, for a reader; the kernels draw the same random numbers and must come to the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inlaid.kernels import random

GROUP = 4
"""Centers that learn from the same tables; the next four see what these have changed."""


@dataclass(frozen=True)
class Stream:
    """The tokens that stay, in their order; the contexts of number n are numbers low[n] to high[n] - 1,
    without n itself."""

    words: np.ndarray
    low: np.ndarray
    high: np.ndarray
    positions: np.ndarray

    def contexts(self, center: int) -> list[int]:
        return [q for q in range(self.low[center], self.high[center]) if q != center]


@dataclass(frozen=True)
class Sampling:
    """Where negatives come from: `shared` words drawn for each tile of centers stand for `negatives` words a
    pair."""

    key: np.uint64
    noise: np.ndarray
    tile: int
    shared: int
    negatives: int


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def keep_share(counts: np.ndarray, threshold: float) -> np.ndarray:
    """How many of a word's tokens stay: all of a rare word, fewer of a frequent one (Mikolov's word2vec; 0
    keeps all)."""
    if threshold == 0:
        return np.ones(len(counts))
    share = counts / counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.minimum(1, (np.sqrt(share / threshold) + 1) * threshold / share), 1)


def thin(
    ids: np.ndarray, offsets: np.ndarray, held: int, key: np.uint64, keep: np.ndarray, window: int
) -> Stream:
    """Leave out every held-th sentence and some of the frequent words; draw each center's window, which stays
    in its sentence."""
    words = []
    low = []
    high = []
    positions = []
    for sentence, (start, stop) in enumerate(pairwise(offsets.tolist())):
        if held and sentence % held == held - 1:
            continue
        place = np.arange(start, stop)
        stay = place[random.draws(key, place, random.KEEP) <= keep[ids[start:stop]]]
        first = len(words)
        last = len(words) + len(stay)
        width = 1 + random.below_of(random.draws(key, stay, random.WINDOW), window)
        for n, (position, b) in enumerate(zip(stay.tolist(), width.tolist(), strict=True), first):
            words.append(ids[position])
            low.append(max(n - b, first))
            high.append(min(n + b + 1, last))
            positions.append(position)
    return Stream(np.array(words, int), np.array(low, int), np.array(high, int), np.array(positions, int))


def skipgram(
    stream: Stream, tables: list[np.ndarray], sampling: Sampling, rates: tuple[float, float], frozen: int = 0
) -> None:
    """Pass over the stream; the tables (words, contexts) change in place after each group, but for the first
    `frozen` rows."""
    share = sampling.negatives / sampling.shared
    kept = [table[:frozen].copy() for table in tables]
    for groups, negatives, rate in tiles(stream, sampling, rates):
        for group in groups:
            others, labels, weights = skipgram_meetings(stream, group, negatives, share)
            learn(tables, stream.words[group], others, labels, rate * weights)
            for table, rows in zip(tables, kept, strict=True):
                table[:frozen] = rows


def tiles(
    stream: Stream, sampling: Sampling, rates: tuple[float, float]
) -> Iterator[tuple[list[range], np.ndarray, float]]:
    """Of each tile: its groups of centers, its negatives, its rate."""
    count = len(stream.words)
    for start in range(0, count, sampling.tile):
        stop = min(start + sampling.tile, count)
        negatives = random.noise_words(
            sampling.key, int(stream.positions[start]), sampling.shared, sampling.noise
        )
        groups = [range(first, min(first + GROUP, stop)) for first in range(start, stop, GROUP)]
        yield groups, negatives, rates[0] + (rates[1] - rates[0]) * start / count


def skipgram_meetings(
    stream: Stream, group: range, negatives: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whom the words of a group meet: the centers around them and the negatives; label 1 or 0; how much it
    counts (other, word).

    As in word2vec's own code, every word of a window predicts its center. It counts once, and each negative
    `share` times for every center it has; a negative that is the center itself is passed over.
    """
    around = _around(stream, group)
    others = np.concatenate([stream.words[around], negatives]).astype(int)
    labels = np.repeat([1, 0], [len(around), len(negatives)])
    weights = np.zeros((len(others), len(group)))
    for n, center in enumerate(around):
        for i, word in enumerate(group):
            if word in stream.contexts(center):
                weights[n, i] = 1
                weights[len(around) :, i] += share * (negatives != stream.words[center])
    return others, labels, weights


def _around(stream: Stream, group: range) -> list[int]:
    """The centers that have a word of the group among their contexts."""
    return [center for center in range(len(stream.words)) if set(stream.contexts(center)) & set(group)]


def learn(
    tables: list[np.ndarray], centers: np.ndarray, others: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> None:
    """One step down the logistic loss: all slopes are taken first, then one other after another moves and
    moves the centers."""
    words, contexts = tables
    slopes = slopes_of(tables, centers, others, labels, weights)
    old = words[centers]
    moved = np.zeros_like(words[centers])
    for other, slope in zip(others, slopes, strict=True):
        moved += slope[:, None] * contexts[other]
        contexts[other] += slope @ old
    np.add.at(words, centers, moved)


def slopes_of(
    tables: list[np.ndarray], centers: np.ndarray, others: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """How far each meeting (other, center) is from its label, as much as it counts."""
    words, contexts = tables
    return weights * (labels[:, None] - sigmoid(contexts[others] @ words[centers].T))


def cbow(
    stream: Stream,
    tables: list[np.ndarray],
    sampling: Sampling,
    rates: tuple[float, float],
    mean: bool,
    frozen: int = 0,
) -> None:
    """As `skipgram`, but the contexts of a center together guess it: their mean, or sum, meets the center and
    the negatives.

    The error goes back to every context: whole with the mean, in equal shares with the sum, as word2vec does
    it.
    """
    words, contexts = tables
    kept = [table[:frozen].copy() for table in tables]
    for groups, negatives, rate in tiles(stream, sampling, rates):
        for group in groups:
            shares = [1 / max(len(stream.contexts(center)), 1) for center in group]
            sums = np.array([words[stream.words[stream.contexts(center)]].sum(axis=0) for center in group])
            hidden = sums * np.array(shares)[:, None] if mean else sums
            others, labels, weights = cbow_meetings(
                stream, group, negatives, sampling.negatives / sampling.shared
            )
            error = hidden.copy()
            learn([error, contexts], np.arange(len(group)), others, labels, rate * weights)
            error -= hidden
            for i, center in enumerate(group):
                np.add.at(
                    words, stream.words[stream.contexts(center)], error[i] if mean else error[i] * shares[i]
                )
            for table, rows in zip(tables, kept, strict=True):
                table[:frozen] = rows


def cbow_meetings(
    stream: Stream, group: range, negatives: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each center once, each negative `share` times unless it is that center; nothing where a center has no
    contexts."""
    others = np.concatenate([stream.words[group], negatives])
    labels = np.repeat([1, 0], [len(group), len(negatives)])
    weights = np.zeros((len(others), len(group)))
    for i, center in enumerate(group):
        if stream.contexts(center):
            weights[i, i] = 1
            weights[len(group) :, i] = share * (negatives != stream.words[center])
    return others, labels, weights


def sampled_loss(stream: Stream, tables: list[np.ndarray], sampling: Sampling) -> tuple[float, float]:
    """The loss that skip-gram descends, summed over pairs, and the number of pairs; the tables stay as they
    are."""
    words, contexts = tables
    loss = 0.0
    pairs = 0.0
    for groups, negatives, _ in tiles(stream, sampling, (0.0, 0.0)):
        for group in groups:
            others, labels, weights = skipgram_meetings(
                stream, group, negatives, sampling.negatives / sampling.shared
            )
            scores = contexts[others] @ words[stream.words[group]].T
            loss -= float((weights * np.log(sigmoid(np.where(labels[:, None] == 1, scores, -scores)))).sum())
            pairs += float(weights[labels == 1].sum())
    return loss, pairs


def softmax(stream: Stream, tables: list[np.ndarray], rates: tuple[float, float]) -> tuple[float, int]:
    """Skip-gram by the book: each center predicts its contexts among all words; returns the loss and the
    number of pairs.

    The slope of a word is how often it was a context, less how often it was expected to be.
    """
    words, contexts = tables
    loss = 0.0
    pairs = 0
    for n, center in enumerate(stream.words):
        around = stream.words[stream.contexts(n)]
        rate = rates[0] + (rates[1] - rates[0]) * n / len(stream.words)
        scores = contexts @ words[center]
        expected = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        slopes = np.bincount(around, minlength=len(words)) - len(around) * expected
        loss = loss - float(np.log(expected[around]).sum())
        pairs = pairs + len(around)
        old = words[center].copy()
        words[center] += rate * slopes @ contexts
        contexts += rate * np.outer(slopes, old)
    return loss, pairs
