"""fastText: skip-gram and CBOW over bags of rows, a word's own and those of its n-grams.

A word has twenty rows, not one, and reading them is most of the work. So each word of the stream is made into the mean of its
rows once, when the tiles reach it; in a tile, `tile_cpu`, it learns as any word does; when the tiles have passed, what its mean
has learned is added to all its rows. As in fastText all of it goes to each of them: the mean then moves by just that.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.bags import add_to_rows, mean_rows
from inlay.kernels.compile import kernel, part
from inlay.kernels.meetings import PLACE, WORD, weigh_contexts
from inlay.kernels.rounds_cpu import at_desk, bounds, make_slopes, meet
from inlay.kernels.rows import GROUP, arrive, fetch_row
from inlay.kernels.sgns_cpu import SPARE, draw_noise
from inlay.kernels.tile_cpu import (
    MEASURE,
    SKIPGRAM,
    give,
    meet_centers,
    move_around,
    move_centers,
    score_around,
    score_centers,
    scratch_for,
    skipgram,
    take,
    turn,
)

PLAIN, WEIGHTED = 1, 2
"""CBOW whose contexts all weigh alike, and CBOW that learns how much, number by number, each place of the window weighs."""
AHEAD = 8
"""Words whose rows are asked for before they are needed."""
ROUND = 8
"""Tiles in a round of `train_rounds`, at most: fewer than in word2vec, as words share n-grams."""


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
def train_rounds(stream, count, tables, bags, desk, noise, pace, sizes, sums, party):
    # as `train`, and the same bits for any number of workers, each on its columns: see `rounds_cpu`, also for desk and party
    flags, me, workers = party
    objective, tile, shared, window = sizes
    tiles, parts, columns = desk[4].shape[1], desk[2].shape[1], tables[0].shape[1]
    scratch, arrived, rounds = scratch_for(shared, window, columns), 0, (count + tiles * tile - 1) // (tiles * tile)
    length = tiles * tile + (0 if objective == SKIPGRAM else 2 * window)
    ring = (np.arange(count + SPARE + window) % length).astype(np.int32)  # where the mean of a word is kept during its round
    kept = ring, _rows(length, columns), _rows(length, columns), np.zeros(length, np.float32)
    for now in range(rounds + 1):
        for n in range(me, tiles, workers):
            if now > 0:
                make_slopes(stream, count, desk, now - 1, n, pace, sizes, scratch, sums)
            if now < rounds:
                meet(stream, count, tables, desk, now, n, noise, pace, sizes, scratch)
        arrived += workers
        arrive(flags, arrived)
        begin, end = me * parts // workers, (me + 1) * parts // workers
        for p in range(begin, end if now > 0 else begin):
            _move_columns(stream, count, tables, bags, desk, now - 1, p, kept, pace, sizes, scratch)
        for p in range(begin, end if now < rounds else begin):
            _score_columns(stream, count, tables, bags, desk, now, p, kept, pace, sizes, scratch)
        arrived += workers
        arrive(flags, arrived)


@part
def _span(objective, tile, tiles, window, now, count):
    # first word of a round and last plus one, and of those that its words have as contexts
    begin, end, reach = now * tiles * tile, min((now + 1) * tiles * tile, count), 0 if objective == SKIPGRAM else window
    return begin, end, max(begin - reach, 0), min(end + reach, count)


@kernel
def _score_columns(stream, count, tables, bags, desk, now, p, kept, pace, sizes, scratch):
    # each word of the round becomes the mean of its rows, and meets those it meets
    objective, tile, _, window = sizes
    near, negatives, words = desk[3][now % 2], desk[4][now % 2], stream[WORD]
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, weights = tables[0][:, low:high], tables[1][:, low:high], tables[2][:, low:high]
    ring, means, olds, hefts = kept[0], kept[1][:, low:high], kept[2][:, low:high], kept[3]
    begin, end, first_word, last_word = _span(objective, tile, negatives.shape[0], window, now, count)
    for q in range(first_word, last_word):
        _fetch_bag(table, bags, words[min(q + AHEAD, count)])
        fetch_row(contexts, words[q])
        _enter(table, bags, words[q], means, olds, hefts, ring[q])
    for first in range(begin, end, GROUP):
        four, _ = turn(first, count, count, pace, sizes)
        n, g = (first - begin) // tile, (first - begin) // GROUP
        rows, mine = (means, contexts, ring, words, negatives[n]), at_desk(desk, now % 2, g, p, scratch, low, high)
        if objective == SKIPGRAM:
            score_around(four, rows, mine, near[g])
        else:
            _gather(stream, four, rows, weights, hefts, mine, objective == WEIGHTED)
            score_centers(four, rows, mine)


@kernel
def _move_columns(stream, count, tables, bags, desk, now, p, kept, pace, sizes, scratch):
    # means and contexts move; then what each mean has learned is added to all rows of its word
    objective, tile, _, window = sizes
    near, negatives, words = desk[3][now % 2], desk[4][now % 2], stream[WORD]
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, weights = tables[0][:, low:high], tables[1][:, low:high], tables[2][:, low:high]
    ring, means, olds, hefts = kept[0], kept[1][:, low:high], kept[2][:, low:high], kept[3]
    begin, end, first_word, last_word = _span(objective, tile, negatives.shape[0], window, now, count)
    for first in range(begin, end, GROUP):
        four, _ = turn(first, count, count, pace, sizes)
        n, g = (first - begin) // tile, (first - begin) // GROUP
        rows, mine = (means, contexts, ring, words, negatives[n]), at_desk(desk, now % 2, g, 0, scratch, low, high)
        if objective == SKIPGRAM:
            move_around(four, rows, mine, near[g])
        else:
            shift, some = _gather(stream, four, rows, weights, hefts, mine, objective == WEIGHTED)
            move_centers(four, rows, mine)
            _give_back(rows, weights, mine, shift, some, objective == WEIGHTED)
    for q in range(first_word, last_word):
        start, stop = bags[0][words[q]], bags[0][words[q] + 1]
        add_to_rows(table, bags[1], start, stop - start, means, olds, ring[q])


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
    shift, near = _gather(stream, group, rows, weights, hefts, scratch, weighted)
    meet_centers(stream, group, negatives, rows, scratch, task, sums)
    if task != MEASURE:
        _give_back(rows, weights, scratch, shift, near, weighted)


@part
def _gather(stream, group, rows, weights, hefts, scratch, weighted):
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
    return shift, near


@part
def _give_back(rows, weights, scratch, shift, near, weighted):
    _, _, _, _, two, around, gives, gets, four = scratch
    if weighted:
        _give_weighted(rows[0], two[1], weights, around, near, gives, shift)
    else:
        give(two[1], two[1], four, rows[0], around, near, gets)


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
