"""Skip-gram and CBOW that come to the same bits for any number of workers: each owns some columns of both tables.

Workers that own words would send each other rows all the time. A worker that owns columns needs nothing from the others but scores,
thirty times fewer numbers: a word's score with another is the sum of what each part of the columns says. So the text is read in
rounds. All scores of a round are taken from the tables as they are at its beginning, each worker on its columns; the tiles of the
round are dealt out, to add up the parts of each score and make slopes of them; then, with all slopes known, each worker moves its
columns, group by group. What the columns are cut into depends on their number alone, and so does every sum.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.meetings import PLACE, WORD
from inlay.kernels.rows import GROUP, LANES, arrive, fetch_row
from inlay.kernels.sgns_cpu import draw_noise
from inlay.kernels.tile_cpu import learn_slopes, move, score, scratch_for, turn, weigh

ROUND = 16
"""Tiles in a round, at most: more make for less waiting, and for older scores."""


def parts_of(columns: int) -> int:
    """How many parts columns are cut into, and so how many workers there is work for: two for every eight vectors of 16."""
    vectors = columns // LANES
    return min(2 * -(-vectors // 8), vectors)


def desk_of(columns: int, sizes: tuple[int, int, int, int], tiles: int = ROUND) -> tuple[np.ndarray, ...]:
    """What workers share besides the tables, each twice, for the round that learns and the one that comes.

    For each group of a round whom it meets, how much that counts, each part of the scores, and how many are no negatives; and the
    negatives of each tile.
    """
    _, tile, shared, window = sizes
    groups, room = tiles * tile // GROUP, shared + 2 * window + 2 * GROUP
    others, near = np.zeros((2, groups, room), np.int32), np.zeros((2, groups), np.int64)
    weights, scores = np.zeros((2, groups, GROUP * room), np.float32), np.zeros((2, parts_of(columns), groups, GROUP * room), np.float32)
    return others, weights, scores, near, np.full((2, tiles, -(-shared // 16) * 16), -1, np.int32)


@kernel
def train_rounds(stream, count, tables, desk, noise, pace, sizes, sums, party):
    # as `sgns_cpu.train`, called by each worker with the same arguments but for sums and its number
    # tables: both, and the rows of both, (A, D) f4, that the first A words never leave; desk: from `desk_of`
    # party: flags (1,) i8 with 0 to start with; which worker this is; how many there are, at most `parts_of` the columns
    flags, me, workers = party
    _, tile, shared, window = sizes
    tiles, parts, columns = desk[4].shape[1], desk[2].shape[1], tables[0].shape[1]
    scratch, arrived = scratch_for(shared, window, columns), 0
    rounds = (count + tiles * tile - 1) // (tiles * tile)
    for now in range(rounds + 1):
        for n in range(me, tiles, workers):  # by tiles: slopes for the round before, and whom the words of this one meet
            if now > 0:
                make_slopes(stream, count, desk, now - 1, n, pace, sizes, scratch, sums)
            if now < rounds:
                meet(stream, count, tables, desk, now, n, noise, pace, sizes, scratch)
        arrived += workers
        arrive(flags, arrived)
        begin, end = me * parts // workers, (me + 1) * parts // workers  # by columns: the round before moves, this one scores
        for p in range(begin, end if now > 0 else begin):
            _move_columns(stream, count, tables, desk, now - 1, p, pace, sizes, scratch)
        for p in range(begin, end if now < rounds else begin):
            _score_columns(stream, count, tables, desk, now, p, pace, sizes, scratch)
        arrived += workers
        arrive(flags, arrived)


@part
def bounds(columns, parts, p):
    # the first column of part p and the last plus one, a whole number of vectors apart
    vectors = columns // LANES
    return vectors * p // parts * LANES, vectors * (p + 1) // parts * LANES


@part
def at_desk(desk, side, g, p, scratch, low, high):
    # the scratch of one group whose meetings, weights and scores lie on the desk
    others, weights, scores, _, _ = desk
    _, _, _, labels, two, around, gives, gets, four = scratch
    return others[side, g], weights[side, g], scores[side, p, g], labels, two[:, :, low:high], around, gives, gets, four


@kernel
def meet(stream, count, tables, desk, now, n, noise, pace, sizes, scratch):
    near, negatives = desk[3][now % 2], desk[4][now % 2, n]
    objective, tile, shared, _ = sizes
    start = (now * desk[4].shape[1] + n) * tile
    if start < count:
        draw_noise(stream[PLACE, start], noise, negatives[:shared])
    for first in range(start, min(start + tile, count), GROUP):
        group, _ = turn(first, count, count, pace, sizes)
        g = (n * tile + first - start) // GROUP
        rows, mine = (tables[0], tables[1], stream[WORD], stream[WORD], negatives), at_desk(desk, now % 2, g, 0, scratch, 0, 1)
        near[g] = weigh(stream, group, negatives, rows, mine, objective)


@kernel
def make_slopes(stream, count, desk, now, n, pace, sizes, scratch, sums):
    scores, near = desk[2][now % 2], desk[3][now % 2]
    _, tile, shared, _ = sizes
    start = (now * desk[4].shape[1] + n) * tile
    for first in range(start, min(start + tile, count), GROUP):
        group, task = turn(first, count, count, pace, sizes)
        g = (n * tile + first - start) // GROUP
        for p in range(1, scores.shape[0]):
            for k in range(GROUP * (near[g] + shared)):
                scores[0, g, k] += scores[p, g, k]
        learn_slopes(group, at_desk(desk, now % 2, g, 0, scratch, 0, 1), near[g], task, sums)


@kernel
def _score_columns(stream, count, tables, desk, now, p, pace, sizes, scratch):
    objective, tile, shared, window = sizes
    near, negatives, words = desk[3][now % 2], desk[4][now % 2], stream[WORD]
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, tiles = tables[0][:, low:high], tables[1][:, low:high], negatives.shape[0]
    begin = now * tiles * tile
    for first in range(begin, min(begin + tiles * tile, count), GROUP):
        group, _ = turn(first, count, count, pace, sizes)
        n, g = (first - begin) // tile, (first - begin) // GROUP
        rows = (table, contexts, words, words, negatives[n])
        for i in range(GROUP):  # ask for what the group one tile further on will need
            fetch_row(table, words[first + tile + i])
            fetch_row(contexts, words[first + tile + i + window])
        for k in range((first - begin) % tile * shared // tile, ((first - begin) % tile + GROUP) * shared // tile):
            fetch_row(contexts, max(negatives[min(n + 1, tiles - 1), k], 0))
        score(stream, group, rows, at_desk(desk, now % 2, g, p, scratch, low, high), near[g], objective)


@kernel
def _move_columns(stream, count, tables, desk, now, p, pace, sizes, scratch):
    objective, tile, _, _ = sizes
    near, negatives, words = desk[3][now % 2], desk[4][now % 2], stream[WORD]
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, begin = tables[0][:, low:high], tables[1][:, low:high], now * negatives.shape[0] * tile
    for first in range(begin, min(begin + negatives.shape[0] * tile, count), GROUP):
        group, _ = turn(first, count, count, pace, sizes)
        n, g = (first - begin) // tile, (first - begin) // GROUP
        rows = (table, contexts, words, words, negatives[n])
        move(stream, group, rows, at_desk(desk, now % 2, g, 0, scratch, low, high), near[g], objective)
        if tables[2].shape[0]:
            _put_back(stream, count, group, negatives[n], rows, tables[2][:, low:high], tables[3][:, low:high])


@part
def _put_back(stream, count, group, negatives, rows, table, contexts):
    # what a group may have moved, and must not have, is as it was
    first, last, _, _, window, shared = group
    for q in range(max(first - window, 0), min(last + window, count)):
        word = stream[WORD, q]
        if word < table.shape[0]:
            rows[0][word], rows[1][word] = table[word], contexts[word]
    for k in range(shared):
        if negatives[k] < table.shape[0]:
            rows[1][negatives[k]] = contexts[negatives[k]]
