"""fastText: skip-gram and CBOW over bags of rows, a word's own and those of its n-grams.

A word has twenty rows, not one, and reading them is most of the work. So each word of the stream is made into
the mean of its rows once, when the tiles reach it; in a tile, `tile_cpu`, it learns as any word does; when
the tiles have passed, what its mean has learned is added to all its rows. As in fastText all of it goes to
each of them: the mean then moves by just that.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.sgns.cpu import SPARE, draw_noise, fetch_noise, no_words, restore
from inlaid.kernels.sgns.pairs import PLACE, WORD, weigh_contexts
from inlaid.kernels.sgns.tile import MEASURE, SKIPGRAM, give, meet_centers, scratch_for, skipgram, take, turn
from inlaid.kernels.simd.bags import add_to_rows, mean_rows
from inlaid.kernels.simd.rows import GROUP, fetch_row, table_of

PLAIN = 1
WEIGHTED = 2
"""CBOW whose contexts all weigh alike, and CBOW that learns how much, number by number, each place of the
window weighs."""
AHEAD = 8
"""Words whose rows are asked for before they are needed."""


def train(stream, count, tables, bags, frozen, noise, pace, sizes, sums):
    """Learn from a stream; stream, noise, pace, sizes and sums as in `sgns_cpu.train`; the objective is
    SKIPGRAM, PLAIN or WEIGHTED.

    tables: rows (R, D) f4, contexts (V, D) f4 and weights of places (2 window + 1, D) f4, in place; bags:
    bounds (V+1,) i8 and ids (N,) i4: the rows of word w are ids[bounds[w]:bounds[w+1]], its own first; then
    bounds and ids of those among them that change (the others are frozen); frozen: the rows of contexts that
    the first words keep, (F, D) f4.
    """
    objective, _, shared, window = sizes
    columns = tables[0].shape[1]
    length = GROUP + (0 if objective == SKIPGRAM else 2 * window)
    train_kernel(
        stream,
        count,
        tables,
        bags,
        frozen,
        noise,
        pace,
        sizes,
        sums,
        _ring(count, window, length, columns),
        scratch_for(sizes, columns),
        no_words(2, shared),
    )


def _ring(count, window, length, columns):
    """The means of as many words as are needed at once: where each word's is kept; two times the means; how
    many rows they are of."""
    places = (np.arange(count + SPARE + window) % length).astype(np.int32)
    return places, table_of(length, columns), table_of(length, columns), np.zeros(length, np.float32)


@kernel
def train_kernel(stream, count, tables, bags, frozen, noise, pace, sizes, sums, means_of, scratch, room):
    # as `train`; room (2, shared) i4: the negatives of a tile and of the next
    objective, tile, shared, window = sizes
    table, contexts, _ = tables
    words = stream[WORD]
    reach = 0 if objective == SKIPGRAM else window
    (ring, means, olds, hefts) = means_of
    negatives = room[0]
    coming = room[1]
    draw_noise(stream[PLACE, 0], noise, coming[:shared])
    entered = 0
    left = 0
    learns = pace[0] > 0
    for start in range(0, count, tile):
        stop = min(start + tile, count)
        negatives, coming = coming, negatives
        draw_noise(stream[PLACE, stop], noise, coming[:shared])
        rows = (means, contexts, ring, words, negatives)
        for first in range(start, stop, GROUP):
            last = min(first + GROUP, stop)
            for i in range(GROUP):  # as in `sgns_cpu`: what the group one tile further on will need
                fetch_row(contexts, words[first + tile + i + window - reach])
            fetch_noise(contexts, coming[:shared], (first - start) * shared // tile, shared * GROUP // tile)
            while entered < min(last + reach, count):
                _fetch_bag(table, bags, words[min(entered + AHEAD, count)])
                _enter(table, bags, words[entered], means, olds, hefts, ring[entered])
                entered += 1
            _group(stream, first, stop, count, negatives, rows, tables[2], hefts, pace, sizes, scratch, sums)
            if frozen.shape[0] > 0:
                restore(words[max(first - window, 0) : min(first + GROUP + window, count)], contexts, frozen)
                restore(negatives[:shared], contexts, frozen)
            while left < (last - reach if stop < count or last < stop else count) and learns:
                begin = bags[2][words[left]]
                end = bags[2][words[left] + 1]
                if begin < end:
                    add_to_rows(table, bags[3], begin, end - begin, means, olds, ring[left])
                left += 1


@part
def _enter(table, bags, word, means, olds, hefts, place):
    begin = bags[0][word]
    end = bags[0][word + 1]
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
    two = scratch[4]
    first = group[0]
    window = group[4]
    low, near = _gather(stream, first, rows, weights, hefts, two[0], window, scratch, weighted)
    meet_centers(stream, group, negatives, rows, scratch, task, sums)
    if task != MEASURE:
        _give_back(first, rows, weights, two[1], window, scratch, low, near, weighted)


@part
def _gather(stream, first, rows, weights, hefts, hidden, window, scratch, weighted):
    # as in `tile_cpu`, but contexts are bags, and weigh as much as they have rows: the mean is that of all
    # rows of all contexts
    means = rows[0]
    ring = rows[2]
    gives = scratch[6]
    gets = scratch[7]
    whole = scratch[8][0]
    low, near = weigh_contexts(stream, first, True, scratch)
    around = ring[low:]
    whole[:] = 0
    for q in range(near):
        for i in range(GROUP):
            gives[GROUP * q + i] = gets[GROUP * q + i] * hefts[around[q]]
            whole[i] += gives[GROUP * q + i]
    for q in range(near):
        for i in range(GROUP):
            gives[GROUP * q + i] /= max(whole[i], np.float32(1))
    if weighted:
        _take_weighted(means, hidden, weights, around, near, gives, low - first + window)
    else:
        take(means, hidden, scratch[5], means, around, near, gives)
    return low, near


@part
def _give_back(first, rows, weights, moved, window, scratch, low, near, weighted):
    around = rows[2][low:]
    if weighted:
        _give_weighted(rows[0], moved, weights, around, near, scratch[6], low - first + window)
    else:
        give(moved, moved, scratch[5], rows[0], around, near, scratch[7])


@part
def _take_weighted(means, hidden, weights, around, near, gives, shift):
    # hidden (GROUP, D) f4, filled; weights (2 window + 1, D) f4: row q + shift - i is that of context q as
    # center i sees it
    for i in range(GROUP):
        out = hidden[i]
        out[:] = 0
        for q in range(near):
            share = gives[GROUP * q + i]
            if share > 0:
                row = means[around[q]]
                weight = weights[q + shift - i]
                for d in range(out.shape[0]):
                    out[d] += share * row[d] * weight[d]


@part
def _give_weighted(means, moved, weights, around, near, gives, shift):
    for i in range(GROUP):
        move = moved[i]
        for q in range(near):
            share = gives[GROUP * q + i]
            if share > 0:
                row = means[around[q]]
                weight = weights[q + shift - i]
                for d in range(move.shape[0]):
                    old = row[d]
                    row[d] += weight[d] * move[d]
                    weight[d] += share * old * move[d]


@part
def _fetch_bag(table, bags, word):
    for n in range(bags[0][word], bags[0][word + 1]):
        fetch_row(table, bags[1][n])
