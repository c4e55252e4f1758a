"""fastText: skip-gram and CBOW over bags of rows, a word's own row and those of its n-grams.

A word has about twenty rows, and reading them is most of the work. So each word of the stream becomes the
mean of its rows once, before the first group that needs it. The mean is kept in a ring buffer and trained in
tiles as any word is (see `sgns/cpu.py`). After the last group that needs it, what it has changed by is added
to all its rows. As in fastText, each row changes by all of it: the mean then changes by just that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.sgns.cpu import (
    MEASURE,
    SKIPGRAM,
    Scratch,
    draw_negatives,
    group_at,
    predict_centers,
    prefetch_negatives,
    restore_rows,
    scratch_for,
    skipgram,
)
from inlaid.kernels.sgns.pairs import context_weights
from inlaid.kernels.sgns.reference import Tables
from inlaid.kernels.sgns.stream import PADDING
from inlaid.kernels.simd.bags import add_to_rows, mean_rows
from inlaid.kernels.simd.llvm import GROUP
from inlaid.kernels.simd.rows import aligned_table, gather, prefetch_row, scatter

CBOW = 1
CBOW_POSITIONS = 2
"""Objectives other than SKIPGRAM: CBOW, and CBOW that learns a weight, component by component, for each
position of the window."""
PREFETCH_AHEAD = 8
"""Words whose rows are prefetched before they are needed."""


class SubwordTables(NamedTuple):
    """The tables, D columns each, a multiple of 16."""

    rows: np.ndarray
    """(R, D) f4: of words, then of n-grams."""
    contexts: np.ndarray
    """(V, D) f4."""
    position_weights: np.ndarray
    """(2 window + 1, D) f4."""
    frozen_contexts: np.ndarray
    """(F, D) f4: the contexts of the first words, which do not change."""


class Bags(NamedTuple):
    """The rows of each word."""

    bounds: np.ndarray
    """(V+1,) i8."""
    ids: np.ndarray
    """(N,) i4: the rows of word w are ids[bounds[w]:bounds[w + 1]], its own first."""
    trained_bounds: np.ndarray
    trained_ids: np.ndarray
    """The same without frozen rows."""


class Ring(NamedTuple):
    """The means of the words near the group, in a ring buffer of L slots."""

    slots: np.ndarray
    """(length + PADDING + window,) i4: the slot of each word of the stream."""
    means: np.ndarray
    initial: np.ndarray
    """(L, D) f4: as they are now, and as they were at first."""
    sizes: np.ndarray
    """(L,) f4: how many rows each is the mean of."""


class SubwordScratch(NamedTuple):
    """Buffers of one worker."""

    tile: Scratch
    ring: Ring


def train_stream(stream, tables, bags, noise, schedule, config, sums):
    """Train on a stream, or with learning rate 0 measure it: as `sgns.cpu.train_stream`, with SubwordTables
    and Bags; the objective is SKIPGRAM, CBOW or CBOW_POSITIONS."""
    columns = tables.rows.shape[1]
    reach = 0 if config.objective == SKIPGRAM else config.window
    length = GROUP + 2 * reach
    ring = Ring(
        slots=(np.arange(stream.length + PADDING + config.window) % length).astype(np.int32),
        means=aligned_table(length, columns),
        initial=aligned_table(length, columns),
        sizes=np.zeros(length, np.float32),
    )
    scratch = SubwordScratch(scratch_for(config, columns), ring)
    train_kernel(stream, tables, bags, noise, schedule, config, scratch, sums)


@kernel
def train_kernel(stream, tables, bags, noise, schedule, config, scratch, sums):
    words = stream.words
    count = stream.length
    ring = scratch.ring
    negatives = scratch.tile.negatives[0]
    next_negatives = scratch.tile.negatives[1]
    means = Tables(ring.means, tables.contexts)
    reach = 0 if config.objective == SKIPGRAM else config.window  # of CBOW's contexts around a group
    entered = 0
    left = 0
    draw_negatives(stream.draws[0], noise, next_negatives[: config.shared_negatives])
    for start in range(0, count, config.tile):
        stop = min(start + config.tile, count)
        negatives, next_negatives = next_negatives, negatives
        draw_negatives(stream.draws[stop], noise, next_negatives[: config.shared_negatives])
        for first in range(start, stop, GROUP):
            last = min(first + GROUP, stop)
            for i in range(first + config.tile, first + config.tile + GROUP):
                prefetch_row(tables.contexts, words[i + config.window - reach])
            prefetch_negatives(tables.contexts, next_negatives, first - start, config)
            while entered < min(last + reach, count):
                _prefetch_bag(tables.rows, bags, words[min(entered + PREFETCH_AHEAD, count)])
                _enter(tables.rows, bags, words[entered], ring, ring.slots[entered])
                entered += 1
            group = group_at(first, stop, count, schedule, config)
            if config.objective == SKIPGRAM:
                skipgram(stream, group, negatives, means, ring.slots, scratch.tile, sums)
            else:
                _cbow(stream, group, negatives, tables, config.objective == CBOW_POSITIONS, scratch, sums)
            if tables.frozen_contexts.shape[0] > 0:
                changed = words[max(first - config.window, 0) : min(first + GROUP + config.window, count)]
                restore_rows(changed, tables.contexts, tables.frozen_contexts)
                restore_rows(negatives[: config.shared_negatives], tables.contexts, tables.frozen_contexts)
            done = last - reach if stop < count or last < stop else count
            while left < done and schedule.first_learning_rate > 0:
                _leave(tables.rows, bags, words[left], ring, ring.slots[left])
                left += 1


@part
def _enter(rows, bags, word, ring, slot):
    # the slot becomes the mean of the rows of the word
    begin = bags.bounds[word]
    end = bags.bounds[word + 1]
    mean_rows(rows, bags.ids, begin, end - begin, ring.means, ring.initial, slot)
    ring.sizes[slot] = np.float32(end - begin)


@part
def _leave(rows, bags, word, ring, slot):
    # what the mean has changed by is added to the rows of the word that are not frozen
    begin = bags.trained_bounds[word]
    end = bags.trained_bounds[word + 1]
    if begin < end:
        add_to_rows(rows, bags.trained_ids, begin, end - begin, ring.means, ring.initial, slot)


@part
def _cbow(stream, group, negatives, tables, weighted, scratch, sums):
    tile = scratch.tile
    ring = scratch.ring
    low, contexts = context_weights(stream, group.start, True, tile)
    around = ring.slots[low:]
    _weigh_by_rows(around, contexts, ring.sizes, tile)
    # row q + shift - i of the position weights is that of context q as center i sees it
    shift = low - group.start + group.window
    if weighted:
        _gather_weighted(ring.means, around, contexts, tables.position_weights, shift, tile)
    else:
        gather(tile.hidden, tile.hidden_rows, ring.means, around, contexts, tile.context_weights)
    predict_centers(stream, group, negatives, tables.contexts, tile, sums)
    if group.task != MEASURE:
        if weighted:
            _scatter_weighted(ring.means, around, contexts, tables.position_weights, shift, tile)
        else:
            scatter(tile.hidden_updates, tile.hidden_rows, ring.means, around, contexts, tile.error_weights)


@part
def _weigh_by_rows(around, contexts, sizes, tile):
    # the weight of a context is its number of rows: the hidden vector is the mean of all rows of all contexts
    weights = tile.context_weights
    present = tile.error_weights
    total = tile.first_four
    total[:] = 0
    for q in range(contexts):
        for i in range(GROUP):
            weights[GROUP * q + i] = present[GROUP * q + i] * sizes[around[q]]
            total[i] += weights[GROUP * q + i]
    for q in range(contexts):
        for i in range(GROUP):
            weights[GROUP * q + i] /= max(total[i], np.float32(1))


@part
def _gather_weighted(means, around, contexts, position_weights, shift, tile):
    for i in range(GROUP):
        hidden = tile.hidden[i]
        hidden[:] = 0
        for q in range(contexts):
            share = tile.context_weights[GROUP * q + i]
            if share > 0:
                mean = means[around[q]]
                weight = position_weights[q + shift - i]
                for d in range(hidden.shape[0]):
                    hidden[d] += share * mean[d] * weight[d]


@part
def _scatter_weighted(means, around, contexts, position_weights, shift, tile):
    for i in range(GROUP):
        change = tile.hidden_updates[i]
        for q in range(contexts):
            share = tile.context_weights[GROUP * q + i]
            if share > 0:
                mean = means[around[q]]
                weight = position_weights[q + shift - i]
                for d in range(change.shape[0]):
                    old = mean[d]
                    mean[d] += weight[d] * change[d]
                    weight[d] += share * old * change[d]


@part
def _prefetch_bag(rows, bags, word):
    for n in range(bags.bounds[word], bags.bounds[word + 1]):
        prefetch_row(rows, bags.ids[n])
