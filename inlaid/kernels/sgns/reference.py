"""Skip-gram and CBOW in plain NumPy, one pair at a time: the specification of the kernels.

The kernels draw the same random numbers and must compute the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from inlaid.kernels import random

GROUP = 4
"""Words that are trained together: the next four see what these have changed."""


class Tables(NamedTuple):
    """The two tables of word2vec, (V, D)."""

    vectors: np.ndarray
    contexts: np.ndarray


class Schedule(NamedTuple):
    """The learning rate over a stream: linear from its first word to its end."""

    first_learning_rate: float
    """0 measures the loss and changes nothing."""
    last_learning_rate: float

    def at(self, word: int, words: int) -> float:
        """The learning rate at one of the words of the stream."""
        first = self.first_learning_rate
        return first + (self.last_learning_rate - first) * word / words


@dataclass(frozen=True)
class Stream:
    """The words that subsampling keeps, in their order; the contexts of word n are words low[n] to high[n] -
    1 without n."""

    words: np.ndarray
    low: np.ndarray
    high: np.ndarray
    positions: np.ndarray
    """The position of each in the text."""

    def contexts(self, center: int) -> list[int]:
        return [q for q in range(self.low[center], self.high[center]) if q != center]


@dataclass(frozen=True)
class Sampling:
    """Negative sampling: each tile of `tile` words draws `shared_negatives`, in place of `negatives` for each
    pair."""

    key: np.uint64
    noise: np.ndarray
    tile: int
    shared_negatives: int
    negatives: int

    @property
    def negative_weight(self) -> float:
        """It leaves the expected gradient what it is with `negatives` drawn for each pair."""
        return self.negatives / self.shared_negatives


class Tile(NamedTuple):
    """Words that share their negatives."""

    groups: list[range]
    negatives: np.ndarray
    learning_rate: float


class Pairs(NamedTuple):
    """What a group is trained on."""

    targets: np.ndarray
    """Rows of the context table: the words to predict, then the negatives."""
    labels: np.ndarray
    """1 for a positive pair, 0 for a negative."""
    weights: np.ndarray
    """(target, word): how much each pair counts, 0 where there is none."""


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def keep_probability(counts: np.ndarray, subsample: float) -> np.ndarray:
    """The probability that subsampling keeps an occurrence of a word, as in word2vec's own code; 0 keeps
    all."""
    if subsample == 0:
        return np.ones(len(counts))
    share = counts / counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.minimum(1, (np.sqrt(share / subsample) + 1) * subsample / share), 1)


def subsample(
    ids: np.ndarray, offsets: np.ndarray, held_out_every: int, key: np.uint64, keep: np.ndarray, window: int
) -> Stream:
    """Leave out every n-th sentence and some of the frequent words; draw each center's window, which stays in
    its sentence."""
    words: list[int] = []
    low: list[int] = []
    high: list[int] = []
    positions: list[int] = []
    for sentence, (start, stop) in enumerate(pairwise(offsets.tolist())):
        if held_out_every and sentence % held_out_every == held_out_every - 1:
            continue
        position = np.arange(start, stop)
        kept = position[random.draws(key, position, random.KEEP) <= keep[ids[start:stop]]]
        width = 1 + random.below_each(random.draws(key, kept, random.WINDOW), window)
        first = len(words)
        last = len(words) + len(kept)
        words += ids[kept].tolist()
        low += [max(n - b, first) for n, b in enumerate(width.tolist(), first)]
        high += [min(n + b + 1, last) for n, b in enumerate(width.tolist(), first)]
        positions += kept.tolist()
    return Stream(np.array(words, int), np.array(low, int), np.array(high, int), np.array(positions, int))


def tiles(stream: Stream, sampling: Sampling, schedule: Schedule) -> Iterator[Tile]:
    count = len(stream.words)
    for start in range(0, count, sampling.tile):
        stop = min(start + sampling.tile, count)
        position = int(stream.positions[start])
        negatives = random.noise_words(sampling.key, position, sampling.shared_negatives, sampling.noise)
        groups = [range(first, min(first + GROUP, stop)) for first in range(start, stop, GROUP)]
        yield Tile(groups, negatives, schedule.at(start, count))


def skipgram(
    stream: Stream, tables: Tables, sampling: Sampling, schedule: Schedule, frozen: Tables | None = None
) -> None:
    """Train on the stream; the tables change in place after each group, but for the rows of the first words
    that are in `frozen`."""
    for tile in tiles(stream, sampling, schedule):
        for group in tile.groups:
            pairs = skipgram_pairs(stream, group, tile.negatives, sampling.negative_weight)
            gradient_step(tables, stream.words[group], pairs, tile.learning_rate)
            _restore(tables, frozen)


def skipgram_pairs(stream: Stream, group: range, negatives: np.ndarray, negative_weight: float) -> Pairs:
    """The pairs of a group with the centers around it, and with the negatives.

    As in word2vec's own code, every word of a window predicts its center. A positive pair counts once, and
    each negative `negative_weight` times for every positive pair; a negative that is the center itself does
    not.
    """
    centers = [center for center in range(len(stream.words)) if set(stream.contexts(center)) & set(group)]
    targets = np.concatenate([stream.words[centers], negatives]).astype(int)
    labels = np.repeat([1, 0], [len(centers), len(negatives)])
    weights = np.zeros((len(targets), len(group)))
    for n, center in enumerate(centers):
        for i, word in enumerate(group):
            if word in stream.contexts(center):
                weights[n, i] = 1
                weights[len(centers) :, i] += negative_weight * (negatives != stream.words[center])
    return Pairs(targets, labels, weights)


def gradients_of(tables: Tables, rows: np.ndarray, pairs: Pairs) -> np.ndarray:
    """The gradient (target, word) of the logistic loss by each score, times the weight of the pair."""
    vectors, contexts = tables
    predicted = sigmoid(contexts[pairs.targets] @ vectors[rows].T)
    return pairs.weights * (pairs.labels[:, None] - predicted)


def gradient_step(tables: Tables, rows: np.ndarray, pairs: Pairs, learning_rate: float) -> None:
    """One step of gradient descent: all gradients first, then one target after another is updated and adds
    to the update of the rows."""
    vectors, contexts = tables
    gradients = learning_rate * gradients_of(tables, rows, pairs)
    old = vectors[rows]
    updates = np.zeros_like(old)
    for target, gradient in zip(pairs.targets, gradients, strict=True):
        updates += gradient[:, None] * contexts[target]
        contexts[target] += gradient @ old
    np.add.at(vectors, rows, updates)


def cbow(
    stream: Stream,
    tables: Tables,
    sampling: Sampling,
    schedule: Schedule,
    mean: bool,
    frozen: Tables | None = None,
) -> None:
    """As `skipgram`, but the mean, or sum, of the contexts of a center predicts it.

    Every context is updated by the update of that hidden vector: by all of it for the mean, by an equal share
    for the sum, as in word2vec's own code.
    """
    vectors, contexts = tables
    for tile in tiles(stream, sampling, schedule):
        for group in tile.groups:
            around = [stream.words[stream.contexts(center)] for center in group]
            shares = np.array([1 / max(len(each), 1) for each in around])
            hidden = np.array([vectors[each].sum(axis=0) for each in around])
            if mean:
                hidden *= shares[:, None]
            pairs = cbow_pairs(stream, group, tile.negatives, sampling.negative_weight)
            updated = hidden.copy()
            gradient_step(Tables(updated, contexts), np.arange(len(group)), pairs, tile.learning_rate)
            updates = updated - hidden
            if not mean:
                updates *= shares[:, None]
            for each, change in zip(around, updates, strict=True):
                np.add.at(vectors, each, change)
            _restore(tables, frozen)


def cbow_pairs(stream: Stream, group: range, negatives: np.ndarray, negative_weight: float) -> Pairs:
    """Each center once, each negative `negative_weight` times unless it is that center; none for a center
    without contexts."""
    targets = np.concatenate([stream.words[group], negatives])
    labels = np.repeat([1, 0], [len(group), len(negatives)])
    weights = np.zeros((len(targets), len(group)))
    for i, center in enumerate(group):
        if stream.contexts(center):
            weights[i, i] = 1
            weights[len(group) :, i] = negative_weight * (negatives != stream.words[center])
    return Pairs(targets, labels, weights)


def sampled_loss(stream: Stream, tables: Tables, sampling: Sampling) -> tuple[float, float]:
    """The loss of skip-gram, summed over positive pairs, and their number."""
    vectors, contexts = tables
    loss = 0.0
    count = 0.0
    for tile in tiles(stream, sampling, Schedule(0.0, 0.0)):
        for group in tile.groups:
            pairs = skipgram_pairs(stream, group, tile.negatives, sampling.negative_weight)
            scores = contexts[pairs.targets] @ vectors[stream.words[group]].T
            right = np.where(pairs.labels[:, None] == 1, scores, -scores)
            loss -= float((pairs.weights * np.log(sigmoid(right))).sum())
            count += float(pairs.weights[pairs.labels == 1].sum())
    return loss, count


def softmax(stream: Stream, tables: Tables, schedule: Schedule) -> tuple[float, int]:
    """Skip-gram by the book: each center predicts its contexts among all words; returns the loss and the
    number of pairs.

    The gradient of a word is how often it was a context, less how often it was expected to be.
    """
    vectors, contexts = tables
    loss = 0.0
    pairs = 0
    for n, center in enumerate(stream.words):
        around = stream.words[stream.contexts(n)]
        learning_rate = schedule.at(n, len(stream.words))
        expected = _softmax(contexts @ vectors[center])
        gradients = np.bincount(around, minlength=len(vectors)) - len(around) * expected
        loss -= float(np.log(expected[around]).sum())
        pairs += len(around)
        old = vectors[center].copy()
        vectors[center] += learning_rate * gradients @ contexts
        contexts += learning_rate * np.outer(gradients, old)
    return loss, pairs


def softmax_cbow(stream: Stream, tables: Tables, schedule: Schedule, mean: bool) -> tuple[float, int]:
    """CBOW by the book: the mean, or sum, of the contexts predicts the center among all words; returns the
    loss and the number of predictions. Contexts are updated as in `cbow`."""
    vectors, contexts = tables
    loss = 0.0
    predictions = 0
    for n, center in enumerate(stream.words):
        around = stream.words[stream.contexts(n)]
        if not len(around):
            continue
        hidden = vectors[around].mean(axis=0) if mean else vectors[around].sum(axis=0)
        expected = _softmax(contexts @ hidden)
        gradients = -expected
        gradients[center] += 1
        loss -= float(np.log(expected[center]))
        predictions += 1
        learning_rate = schedule.at(n, len(stream.words))
        update = learning_rate * gradients @ contexts
        contexts += learning_rate * np.outer(gradients, hidden)
        np.add.at(vectors, around, update if mean else update / len(around))
    return loss, predictions


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def _restore(tables: Tables, frozen: Tables | None) -> None:
    if frozen is None:
        return
    for table, rows in zip(tables, frozen, strict=True):
        table[: len(rows)] = rows
