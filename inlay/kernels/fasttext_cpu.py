"""fastText: skip-gram and CBOW over bags of rows, a word's own and those of its n-grams.

A word has twenty rows, not one, and reading them is most of the work. So each word of the stream is made into the mean of its
rows once, when the tiles reach it; in a tile, `tile_cpu`, it learns as any word does; when the tiles have passed, what its mean
has learned is added to all its rows. As in fastText all of it goes to each of them: the mean then moves by just that.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.bags import add_to_rows, mean_rows
from inlay.kernels.compile import kernel, part
from inlay.kernels.rows import GROUP, arrive, fetch_row
from inlay.kernels.sgns_cpu import SPARE, add_row, copy_row, draw_noise
from inlay.kernels.tile_cpu import MEASURE, PLACE, SKIPGRAM, WORD, give, meet_centers, scratch_for, skipgram, take, turn, weigh_contexts

PLAIN, WEIGHTED = 1, 2
"""CBOW whose contexts all weigh alike, and CBOW that learns how much, number by number, each place of the window weighs."""
AHEAD = 8
"""Words whose rows are asked for before they are needed."""
ROUND = 8
"""Tiles that start from the same tables in `train_rounds`: fewer than in word2vec, as words share n-grams."""


@kernel
def train(stream, count, tables, bags, noise, pace, sizes, sums):
    # stream, noise, pace, sizes and sums as in `sgns_cpu.train`; the objective is SKIPGRAM, PLAIN or WEIGHTED
    # tables: rows (R, D) f4, contexts (V, D) f4 and weights of places (2 window + 1, D) f4, in place
    # bags: bounds (V+1,) i8 and ids (N,) i4: the rows of word w are ids[bounds[w]:bounds[w+1]], its own first
    objective, tile, shared, window = sizes
    table, contexts, _ = tables
    words, scratch, reach = stream[WORD], scratch_for(shared, window, table.shape[1]), 0 if objective == SKIPGRAM else window
    length = 2 * reach + GROUP
    ring = (np.arange(count + SPARE + window) % length).astype(np.int32)  # where the mean of a word is kept while it is needed
    means, olds, hefts = _rows(length, table.shape[1]), _rows(length, table.shape[1]), np.zeros(length, np.float32)
    negatives, coming = np.empty(shared, np.int32), np.empty(shared, np.int32)
    draw_noise(stream[PLACE, 0], noise, coming)
    entered, left, learns = 0, 0, pace[0] > 0
    for start in range(0, count, tile):
        stop = min(start + tile, count)
        negatives, coming = coming, negatives
        draw_noise(stream[PLACE, stop], noise, coming)
        rows = (means, contexts, ring, words, negatives)
        for first in range(start, stop, GROUP):
            last = min(first + GROUP, stop)
            _fetch(contexts, words, first + tile, window, coming, (first - start) * shared // tile, shared * GROUP // tile)
            while entered < min(last + reach, count):
                _fetch_bag(table, bags, words[min(entered + AHEAD, count)])
                _enter(table, bags, words[entered], means, olds, hefts, ring[entered])
                entered += 1
            _group(stream, first, stop, count, negatives, rows, tables[2], hefts, pace, sizes, scratch, sums)
            while left < (last - reach if stop < count or last < stop else count) and learns:
                begin, end = bags[0][words[left]], bags[0][words[left] + 1]
                add_to_rows(table, bags[1], begin, end - begin, means, olds, ring[left])
                left += 1


@kernel
def train_rounds(stream, count, tables, bags, noise, pace, sizes, sums, party):
    # as `train`, but not WEIGHTED, and the same bits for any number of workers: each calls it with its own stream, all alike
    # tables: rows, contexts and room for copies (3, ROUND, tile + 2 window + shared, D) f4: means, the same unchanged, contexts
    # party: flags (1,) i8 with 0 to start with, the same for all; which worker this is; how many there are
    flags, me, workers = party
    objective, tile, shared, window = sizes
    table, contexts, copies = tables
    words, scratch, near = stream[WORD], scratch_for(shared, window, table.shape[1]), tile + 2 * window
    ring, hefts = (np.arange(count + SPARE + window) % near).astype(np.int32), np.zeros(near, np.float32)
    negatives, places = np.empty((ROUND, shared), np.int32), np.arange(near, near + shared).astype(np.int32)
    reach, turns = 0 if objective == SKIPGRAM else window, 0
    for begin in range(0, count, ROUND * tile):
        end = min(begin + ROUND * tile, count)
        for start in range(begin, end, tile):
            draw_noise(stream[PLACE, start], noise, negatives[(start - begin) // tile])
        for start in range(begin + me * tile, end, workers * tile):
            n, stop = (start - begin) // tile, min(start + tile, end)
            for q in range(max(start - reach, 0), min(stop + reach, count)):
                _enter(table, bags, words[q], copies[0, n], copies[1, n], hefts, ring[q])
            _copy_contexts(sizes, stream, start, stop, count, negatives[n], contexts, copies[2, n], ring, False)
            rows = (copies[0, n], copies[2, n], ring, ring, places)
            for first in range(start, stop, GROUP):
                _group(stream, first, stop, count, negatives[n], rows, table, hefts, pace, sizes, scratch, sums)
            _copy_contexts(sizes, stream, start, stop, count, negatives[n], contexts, copies[2, n], ring, True)
            for q in range(max(start - reach, 0), min(stop + reach, count)):
                for column in range(table.shape[1]):
                    copies[0, n, ring[q], column] -= copies[1, n, ring[q], column]
        turns += workers
        arrive(flags, turns)
        for start in range(begin, end, tile):
            n, stop = (start - begin) // tile, min(start + tile, end)
            _add_contexts(sizes, stream, start, stop, count, negatives[n], contexts, copies[2, n], ring, me, workers)
            for q in range(max(start - reach, 0), min(stop + reach, count)):
                for k in range(bags[0][words[q]], bags[0][words[q] + 1]):
                    if bags[1][k] % workers == me:
                        add_row(table, bags[1][k], copies[0, n], ring[q], np.float32(1))
        turns += workers
        arrive(flags, turns)


@part
def _rows(rows, columns):
    raw = np.zeros(rows * columns + 16, np.float32)
    begin = (64 - raw.ctypes.data % 64) // 4 % 16  # rows that begin with a cache line are read soon after they are written
    return raw[begin : begin + rows * columns].reshape(rows, columns)


@part
def _enter(table, bags, word, means, olds, hefts, place):
    begin, end = bags[0][word], bags[0][word + 1]
    mean_rows(table, bags[1], begin, end - begin, means, olds, place)
    hefts[place] = np.float32(end - begin)


@part
def _group(stream, first, stop, count, negatives, rows, weights, hefts, pace, sizes, scratch, sums):
    four, task = turn(first, stop, count, pace, sizes)
    if sizes[0] == SKIPGRAM:
        skipgram(stream, four, negatives, rows, scratch, task, sums)
    else:
        _cbow(stream, four, negatives, rows, weights, hefts, scratch, task, sums, sizes[0] == WEIGHTED)


@part
def _cbow(stream, group, negatives, rows, weights, hefts, scratch, task, sums, weighted):
    # as in `tile_cpu`, but contexts are bags, and weigh as much as they have rows: the mean is that of all rows of all contexts
    means, ring, window = rows[0], rows[2], group[4]
    _, _, _, _, two, around, gives, gets, four = scratch
    low, near = weigh_contexts(stream, group, True, ring, around, gives, gets)
    for i in range(GROUP):
        whole = np.float32(0)
        for q in range(near):
            whole += gets[GROUP * q + i] * hefts[around[q]]
        for q in range(near):
            gives[GROUP * q + i] = gets[GROUP * q + i] * hefts[around[q]] / max(whole, np.float32(1))
    shift = low - group[0] + window
    if weighted:
        _take_weighted(means, two[0], weights, around, near, gives, shift)
    else:
        take(means, two[0], four, means, around, near, gives)
    meet_centers(stream, group, negatives, rows, scratch, task, sums)
    if task != MEASURE:
        if weighted:
            _give_weighted(means, two[1], weights, around, near, gives, shift)
        else:
            give(two[1], two[1], four, means, around, near, gets)


@part
def _take_weighted(means, hidden, weights, around, near, gives, shift):
    # hidden (GROUP, D) f4, filled; weights (2 window + 1, D) f4: row q + shift - i is that of context q as center i sees it
    for i in range(GROUP):
        out = hidden[i]
        out[:] = 0
        for q in range(near):
            share = gives[GROUP * q + i]
            if share > 0:
                row, weight = means[around[q]], weights[q + shift - i]
                for d in range(out.shape[0]):
                    out[d] += share * row[d] * weight[d]


@part
def _give_weighted(means, moved, weights, around, near, gives, shift):
    for i in range(GROUP):
        move = moved[i]
        for q in range(near):
            share = gives[GROUP * q + i]
            if share > 0:
                row, weight = means[around[q]], weights[q + shift - i]
                for d in range(move.shape[0]):
                    old = row[d]
                    row[d] += weight[d] * move[d]
                    weight[d] += share * old * move[d]


@part
def _fetch(contexts, words, center, window, negatives, begin, some):
    # as in `sgns_cpu`: what the group one tile further on will need
    for i in range(GROUP):
        fetch_row(contexts, words[center + i + window])
    for n in range(begin, min(begin + some, negatives.shape[0])):
        fetch_row(contexts, negatives[n])


@part
def _fetch_bag(table, bags, word):
    for n in range(bags[0][word], bags[0][word + 1]):
        fetch_row(table, bags[1][n])


@kernel
def _copy_contexts(sizes, stream, start, stop, count, negatives, contexts, copies, ring, changed):
    # not changed: copies become the contexts that a tile needs; changed: they become what the tile has changed in them
    reach = sizes[3] if sizes[0] == SKIPGRAM else 0
    for q in range(max(start - reach, 0), min(stop + reach, count)):
        copy_row(contexts, stream[WORD, q], copies, ring[q], changed)
    for k in range(negatives.shape[0]):
        copy_row(contexts, negatives[k], copies, copies.shape[0] - negatives.shape[0] + k, changed)


@kernel
def _add_contexts(sizes, stream, start, stop, count, negatives, contexts, copies, ring, me, workers):
    # the changes of a tile are added to the contexts that are this worker's
    reach = sizes[3] if sizes[0] == SKIPGRAM else 0
    for q in range(max(start - reach, 0), min(stop + reach, count)):
        if stream[WORD, q] % workers == me:
            add_row(contexts, stream[WORD, q], copies, ring[q], np.float32(1))
    for k in range(negatives.shape[0]):
        if negatives[k] % workers == me:
            add_row(contexts, negatives[k], copies, copies.shape[0] - negatives.shape[0] + k, np.float32(1))
