"""Skip-gram and CBOW with negative sampling, tile by tile.

word2vec takes one pair at a time: a dot product of two rows, the gradient of its logistic loss, an update of
both. Every number it loads is used once, so it waits for memory. Here the same gradients are computed by
small matrix products:

- Four consecutive words of the stream form a *group* X (4 rows). Its *targets* Y are the rows of the context
  table that its words are scored with: the centers around them, then the negatives.
- Scores are X Y^T, 4 at a time. Not every cell is a pair: a weight for each (see `pairs`) says which count, 0
  for those that do not, and the learning rate for positive pairs.
- Gradients are G = weight * (label - sigmoid(score)). The updates X += G^T Y and Y += G X are two more
  products, done in one pass over Y.
- The groups of a *tile* of 4 to 16 words share their negatives. A tile draws `shared_negatives` words from
  the noise distribution, each weighted so that the expected gradient is that of word2vec, which draws
  `negatives` for every pair.

CBOW is the same with hidden vectors, the means or sums of the contexts of four centers, in place of X: they
are gathered before and their updates scattered to the contexts after.

The rows that the next tile needs are prefetched while this one is trained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.random import noise_word
from inlaid.kernels.sgns.pairs import NEGATIVES_FROM, cbow_pairs, context_weights, skipgram_pairs
from inlaid.kernels.simd.llvm import GROUP
from inlaid.kernels.simd.rows import (
    aligned_table,
    dots,
    gather,
    paired_dots,
    paired_update,
    prefetch_row,
    row_width,
    scatter,
    update,
)
from inlaid.kernels.simd.tiles import gradients

SKIPGRAM, CBOW_MEAN, CBOW_SUM = range(3)
TRAIN, TRAIN_AND_MEASURE, MEASURE = range(3)
LOSS, PAIRS = range(2)
"""Entries of `sums`."""
MEASURE_EVERY = 256
"""The loss is summed over every n-th tile: logarithms take longer than all the rest."""


class Config(NamedTuple):
    """What is the same for all tiles."""

    objective: int
    """SKIPGRAM, CBOW_MEAN or CBOW_SUM; fastText has its own."""
    tile: int
    """Words in a tile, a multiple of GROUP."""
    shared_negatives: int
    """Negatives of a tile, a multiple of GROUP."""
    negative_weight: float
    """Negatives of a pair / negatives of a tile: how much a shared one counts."""
    window: int


class Group(NamedTuple):
    """Four words of the stream that are trained together."""

    start: int
    stop: int
    """Fewer than four words at the end of a stream."""
    learning_rate: np.float32
    negative_learning_rate: np.float32
    """The learning rate times the weight of a negative."""
    window: int
    shared_negatives: int
    task: int
    """TRAIN, TRAIN_AND_MEASURE or MEASURE."""


class Scratch(NamedTuple):
    """Buffers of one worker."""

    negatives: np.ndarray
    """(2, shared_negatives) i4: of this tile and of the next, in whole vectors; -1 after them."""
    targets: np.ndarray
    """Rows of the context table that a group is scored with: centers, then negatives."""
    weights: np.ndarray
    scores: np.ndarray
    """[4 q + i] of target q and word i; the scores become gradients."""
    labels: np.ndarray
    """Ones, then as many zeros."""
    hidden: np.ndarray
    hidden_updates: np.ndarray
    """(4, D) f4, for CBOW: the combined contexts of four centers, and their updates."""
    hidden_rows: np.ndarray
    """0, 1, 2, 3: the rows of `hidden`."""
    context_weights: np.ndarray
    error_weights: np.ndarray
    first_four: np.ndarray
    second_four: np.ndarray
    """One number for each word of a group."""


def scratch_for(config: Config, columns: int) -> Scratch:
    targets = config.shared_negatives + 2 * config.window + 3 * GROUP
    weights, scores, context_weights, error_weights = aligned_table(4, GROUP * targets)
    hidden = aligned_table(2 * GROUP, columns)
    four = aligned_table(2, GROUP)
    return Scratch(
        negatives=np.full((2, row_width(config.shared_negatives)), -1, np.int32),
        targets=np.zeros(targets, np.int32),
        weights=weights,
        scores=scores,
        labels=np.repeat(np.array([1, 0], np.float32), GROUP * targets),
        hidden=hidden[:GROUP],
        hidden_updates=hidden[GROUP:],
        hidden_rows=np.arange(GROUP, dtype=np.int32),
        context_weights=context_weights,
        error_weights=error_weights,
        first_four=four[0],
        second_four=four[1],
    )


def train_stream(stream, tables, frozen, noise, schedule, config, sums):
    """Train on a stream, or with learning rate 0 measure it.

    tables: (V, D) f4, D a multiple of 16. They change in place, but for the rows of the first words that are
    in `frozen` (Tables of F rows). noise: from `alias_table`. sums (2,) f8: loss and positive pairs of the
    measured tiles are added; of all of them, if the learning rate is 0.
    """
    scratch = scratch_for(config, tables.vectors.shape[1])
    train_kernel(stream, tables, frozen, noise, schedule, config, scratch, sums)


@kernel
def train_kernel(stream, tables, frozen, noise, schedule, config, scratch, sums):
    words = stream.words
    count = stream.length
    negatives = scratch.negatives[0]
    next_negatives = scratch.negatives[1]
    # the table of a group's own rows, and the table of those around it
    own, around = tables.vectors, tables.contexts
    if config.objective != SKIPGRAM:
        own, around = tables.contexts, tables.vectors
    draw_negatives(stream.draws[0], noise, next_negatives[: config.shared_negatives])
    for start in range(0, count, config.tile):
        stop = min(start + config.tile, count)
        negatives, next_negatives = next_negatives, negatives
        draw_negatives(stream.draws[stop], noise, next_negatives[: config.shared_negatives])
        for first in range(start, stop, GROUP):
            for i in range(first + config.tile, first + config.tile + GROUP):
                prefetch_row(own, words[i])
                prefetch_row(around, words[i + config.window])
            prefetch_negatives(tables.contexts, next_negatives, first - start, config)
            group = group_at(first, stop, count, schedule, config)
            if config.objective == SKIPGRAM:
                skipgram(stream, group, negatives, tables, words, scratch, sums)
            else:
                cbow(stream, group, negatives, tables, config.objective == CBOW_MEAN, scratch, sums)
            if frozen.vectors.shape[0] > 0:
                changed = words[max(first - config.window, 0) : min(first + GROUP + config.window, count)]
                restore_rows(changed, tables.vectors, frozen.vectors)
                restore_rows(changed, tables.contexts, frozen.contexts)
                restore_rows(negatives[: config.shared_negatives], tables.contexts, frozen.contexts)


@part
def learning_rate_at(schedule, word, words):
    # as Schedule.at of the reference
    first = schedule.first_learning_rate
    return np.float32(first + (schedule.last_learning_rate - first) * word / words)


@part
def group_at(first, stop, count, schedule, config):
    # the group that begins with word `first`; all groups of a tile have the same learning rate
    tile = first // config.tile
    start = tile * config.tile
    learning_rate = learning_rate_at(schedule, start, count)
    task = TRAIN if tile % MEASURE_EVERY else TRAIN_AND_MEASURE
    if learning_rate == 0:
        learning_rate = np.float32(1)
        task = MEASURE
    negative_learning_rate = np.float32(learning_rate * config.negative_weight)
    return Group(
        start=first,
        stop=min(first + GROUP, stop),
        learning_rate=learning_rate,
        negative_learning_rate=negative_learning_rate,
        window=config.window,
        shared_negatives=config.shared_negatives,
        task=task,
    )


@part
def skipgram(stream, group, negatives, tables, rows, scratch, sums):
    # rows: the row of each word of the stream in tables.vectors
    centers = skipgram_pairs(stream, group, negatives, scratch)
    count = centers + group.shared_negatives
    for q in range(0, count, GROUP):
        dots(tables.vectors, rows, group.start, tables.contexts, scratch.targets, q, scratch.scores)
    scores_to_gradients(group, centers, scratch, sums)
    if group.task != MEASURE:
        update(
            tables.vectors,
            tables.vectors,
            rows,
            group.start,
            tables.contexts,
            scratch.targets,
            count,
            scratch.scores,
        )


@part
def cbow(stream, group, negatives, tables, mean, scratch, sums):
    low, contexts = context_weights(stream, group.start, mean, scratch)
    around = stream.words[low:]
    gather(scratch.hidden, scratch.hidden_rows, tables.vectors, around, contexts, scratch.context_weights)
    predict_centers(stream, group, negatives, tables.contexts, scratch, sums)
    if group.task != MEASURE:
        scatter(
            scratch.hidden_updates,
            scratch.hidden_rows,
            tables.vectors,
            around,
            contexts,
            scratch.error_weights,
        )


@part
def predict_centers(stream, group, negatives, contexts, scratch, sums):
    # each hidden vector is scored with its center and the negatives; scratch.hidden_updates, filled
    hidden = scratch.hidden
    rows = scratch.hidden_rows
    negative_scores = scratch.scores[GROUP * NEGATIVES_FROM :]
    cbow_pairs(stream, group, negatives, scratch)
    paired_dots(hidden, rows, contexts, stream.words, group.start, scratch.scores)
    for q in range(0, group.shared_negatives, GROUP):
        dots(hidden, rows, 0, contexts, negatives, q, negative_scores)
    scores_to_gradients(group, NEGATIVES_FROM, scratch, sums)
    if group.task != MEASURE:
        updates = scratch.hidden_updates
        paired_update(hidden, updates, rows, contexts, stream.words, group.start, scratch.scores)
        update(hidden, updates, rows, 0, contexts, negatives, group.shared_negatives, negative_scores)


@part
def scores_to_gradients(group, positives, scratch, sums):
    # the first `positives` targets have label 1, the negatives after them 0
    count = positives + group.shared_negatives
    if group.task != TRAIN:
        add_loss(scratch.scores, scratch.weights, positives, count, group.learning_rate, sums)
    if group.task != MEASURE:
        shift = scratch.labels.shape[0] // 2 - GROUP * positives
        for k in range(0, GROUP * count, 16):
            gradients(scratch.scores, scratch.weights, scratch.labels, shift, k)


@kernel
def add_loss(scores, weights, positives, count, learning_rate, sums):
    # -log sigmoid(score) of positive pairs, -log sigmoid(-score) of negatives, each times its weight
    loss = 0.0
    pairs = 0.0
    for k in range(GROUP * count):
        if weights[k] > 0:
            score = scores[k] if k < GROUP * positives else -scores[k]
            softplus = np.log1p(np.exp(-abs(score))) + max(-score, np.float32(0))
            loss += weights[k] / learning_rate * softplus
            pairs += k < GROUP * positives
    sums[LOSS] += loss
    sums[PAIRS] += pairs


@kernel
def draw_negatives(draws, noise, negatives):
    for n in range(negatives.shape[0]):
        negatives[n] = noise_word(np.uint32(draws), n, negatives.shape[0], noise)


@part
def prefetch_negatives(contexts, negatives, done, config):
    # each group of a tile prefetches its part of the next tile's negatives: all at once would be waited for
    begin = done * config.shared_negatives // config.tile
    end = begin + config.shared_negatives * GROUP // config.tile
    for n in range(begin, min(end, config.shared_negatives)):
        prefetch_row(contexts, negatives[n])


@kernel
def restore_rows(ids, table, frozen):
    # Frozen rows, which a group may have changed, become what they were. It holds with several workers, too:
    # each restores what it has written after writing it, so the last write of a row is always a restore.
    for id in ids:
        if id < frozen.shape[0]:
            for column in range(table.shape[1]):
                table[id, column] = frozen[id, column]
