"""Skip-gram and CBOW that come to the same bits for any number of workers: each owns some columns of both tables.

Workers that own words would send each other rows all the time. A worker that owns columns needs nothing from the others but scores,
thirty times fewer numbers: a word's score with another is the sum of what each part of the columns says. So the text is read in
rounds, and a round is one step: all scores are taken from the tables as they are at its beginning, each worker on its columns; the
tiles of the round are dealt out, to add up the parts of each score and make slopes of them; then each worker adds to its columns
what they come to. What the columns are cut into depends on their number alone, and so does the order of every sum.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.meetings import OWN, PLACE, WORD, weigh_around, weigh_centers, weigh_contexts
from inlay.kernels.rows import GROUP, LANES, arrive, dots, fetch_row, own_dots, table_of
from inlay.kernels.sgns_cpu import draw_noise, no_words
from inlay.kernels.tile_cpu import CBOW_MEAN, SKIPGRAM, give, learn_slopes, scratch_for, take, turn

ROUND = 64
"""Words in a round, at most: more make for less waiting, and for older scores. With 256 analogies of skip-gram fell by .03."""


def parts_of(columns: int) -> int:
    """How many parts columns are cut into, and so how many workers there is work for: two for every eight vectors of 16."""
    vectors = columns // LANES
    return min(2 * -(-vectors // 8), vectors)


def desk_of(columns: int, sizes: tuple[int, int, int, int], tiles: int) -> tuple[np.ndarray, ...]:
    """What workers share besides the tables, each twice, for the round that learns and the one that comes.

    For each group of a round whom it meets, how much that counts, each part of the scores, and how many are no negatives; and the
    negatives of each tile.
    """
    _, tile, shared, window = sizes
    groups, room = tiles * tile // GROUP, shared + 2 * window + 3 * GROUP
    others, near = np.zeros((2, groups, room), np.int32), np.zeros((2, groups), np.int64)
    weights, scores = np.zeros((2, groups, GROUP * room), np.float32), np.zeros((2, parts_of(columns), groups, GROUP * room), np.float32)
    return others, weights, scores, near, no_words(2 * tiles, shared).reshape(2, tiles, -1)


def train_rounds(stream, count, tables, desk, noise, pace, sizes, sums, party):
    """As `sgns_cpu.train`, called by each worker with the same arguments but for sums and its number.

    tables: both, and the rows of both, (A, D) f4, that the first A words keep; desk: from `desk_of`; party: flags (1,) i8 with 0 to start
    with; which worker this is; how many there are, at most `parts_of` the columns.
    """
    columns, words = tables[0].shape[1], desk[4].shape[1] * sizes[1]
    rooms = table_of(words, columns), table_of(words, columns)
    rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, rooms, scratch_for(sizes, columns))


@kernel
def rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, rooms, scratch):
    # as `train_rounds`; rooms: two times a row for each word of a round
    flags, me, workers = party
    tile, tiles, parts = sizes[1], desk[4].shape[1], desk[2].shape[1]
    arrived, begin, end = 0, me * parts // workers, (me + 1) * parts // workers
    rounds = (count + tiles * tile - 1) // (tiles * tile)
    for now in range(rounds + 1):
        for n in range(me, tiles, workers):  # by tiles: slopes for the round before, and whom the words of this one meet
            if now > 0:
                make_slopes(stream, count, desk, now - 1, n, pace, sizes, scratch, sums)
            if now < rounds:
                meet(stream, count, tables, desk, now, n, noise, pace, sizes, scratch)
        arrived += workers
        arrive(flags, arrived)
        for p in range(begin, end if now > 0 else begin):  # by columns: the round before moves, this one scores
            _move(stream, count, tables, desk, now - 1, p, rooms, sizes, scratch)
        for p in range(begin, end if now < rounds else begin):
            _score(stream, count, tables, desk, now, p, rooms[0], sizes, scratch)
        arrived += workers
        arrive(flags, arrived)


@part
def bounds(columns, parts, p):
    # the first column of part p and the last plus one, a whole number of vectors apart
    vectors = columns // LANES
    return vectors * p // parts * LANES, vectors * (p + 1) // parts * LANES


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
        rows = (tables[0], tables[1], stream[WORD], stream[WORD], negatives)
        near[g] = OWN
        if objective == SKIPGRAM:
            near[g] = weigh_around(stream, group, negatives, rows, _at_desk(desk, now % 2, g, scratch))
        else:
            weigh_centers(stream, group, negatives, _at_desk(desk, now % 2, g, scratch))


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
        learn_slopes(group, _at_desk(desk, now % 2, g, scratch), near[g], task, sums)


@part
def _at_desk(desk, side, g, scratch):
    # the scratch of one group whose meetings, weights and scores lie on the desk
    _, _, _, labels, two, four, gives, gets, fours = scratch
    return desk[0][side, g], desk[1][side, g], desk[2][side, 0, g], labels, two, four, gives, gets, fours


@kernel
def _score(stream, count, tables, desk, now, p, olds, sizes, scratch):
    # olds, columns of part p, filled: the rows of the words of a round, or what the contexts of each come to; and what they score
    objective, tile, shared, window = sizes
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, old, negatives, words = (
        tables[0][:, low:high],
        tables[1][:, low:high],
        olds[:, low:high],
        desk[4][now % 2],
        stream[WORD],
    )
    begin = now * olds.shape[0]
    for first in range(begin, min(begin + olds.shape[0], count), GROUP):
        n, place = (first - begin) // tile, first - begin
        for i in range(GROUP):  # ask for what the group one tile further on will need
            fetch_row(table, words[first + tile + i])
            fetch_row(contexts, words[first + tile + i + window])
        for k in range(place % tile * shared // tile, (place % tile + GROUP) * shared // tile):
            fetch_row(contexts, max(negatives[min(n + 1, negatives.shape[0] - 1), k], 0))
        if objective == SKIPGRAM:
            for i in range(GROUP):
                _copy(table, words[first + i], old, place + i)
        else:
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            take(table, old[place:], scratch[5], table, words[head:], near, scratch[6])
        score_group(stream, count, contexts, desk, now, p, first, old, sizes, scratch[5])


@kernel
def _move(stream, count, tables, desk, now, p, rooms, sizes, scratch):
    objective, tile, shared, window = sizes
    low, high = bounds(tables[0].shape[1], desk[2].shape[1], p)
    table, contexts, words, begin = tables[0][:, low:high], tables[1][:, low:high], stream[WORD], now * rooms[0].shape[0]
    olds, news, end = rooms[0][:, low:high], rooms[1][:, low:high], min(begin + rooms[0].shape[0], count)
    move_groups(stream, count, contexts, desk, now, (olds, news), sizes, scratch[5])
    for first in range(begin, end, GROUP):
        if objective == SKIPGRAM:
            for i in range(first, min(first + GROUP, count)):
                for column in range(table.shape[1]):
                    table[words[i], column] += news[i - begin, column]
        else:
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            give(news[first - begin :], news, scratch[5], table, words[head:], near, scratch[7])
    if tables[2].shape[0]:
        for q in range(max(begin - window, 0), min(end + window, count)):
            _put_back(words[q], table, contexts, tables[2][:, low:high], tables[3][:, low:high])
        for n in range((end - begin + tile - 1) // tile):
            for k in range(shared):
                _put_back(desk[4][now % 2, n, k], table, contexts, tables[2][:, low:high], tables[3][:, low:high])


@part
def _put_back(word, table, contexts, kept, kept_contexts):
    # what a round may have moved, and must not have, is as it was
    if word < kept.shape[0]:
        _copy(kept, word, table, word)
        _copy(kept_contexts, word, contexts, word)


@part
def _copy(source, row, target, place):
    for column in range(source.shape[1]):
        target[place, column] = source[row, column]


@part
def score_group(stream, count, contexts, desk, now, p, first, old, sizes, four):
    # what four rows of `old` say, in these columns, of those they meet
    objective, tile, shared, _ = sizes
    place = first - now * old.shape[0]
    side, g = now % 2, place // GROUP
    others, scores, rows = desk[0][side, g], desk[2][side, p, g], old[place : place + GROUP]
    if objective == SKIPGRAM:
        for q in range(0, desk[3][side, g] + shared, GROUP):
            dots(rows, four, 0, contexts, others, q, scores)
    else:
        own_dots(rows, four, contexts, stream[WORD], first, scores)
        for q in range(0, shared, GROUP):
            dots(rows, four, 0, contexts, desk[4][side, place // tile], q, scores[GROUP * OWN :])


@part
def move_groups(stream, count, contexts, desk, now, rooms, sizes, four):
    # news, filled: by how much each row of olds should move; then the contexts move, all by what was there before
    (olds, news), (objective, tile, shared, _) = rooms, sizes
    begin, side, words = now * olds.shape[0], now % 2, stream[WORD]
    own, end = 0 if objective == SKIPGRAM else OWN, min(begin + olds.shape[0], count)
    for first in range(begin, end, GROUP):
        g, place = (first - begin) // GROUP, first - begin
        near, slopes = desk[3][side, g], desk[2][side, 0, g]
        others = desk[0][side, g] if objective == SKIPGRAM else desk[4][side, place // tile]
        take(olds, news[place:], four, contexts, others, near + shared - own, slopes[GROUP * own :])
        for i in range(first, min(first + own, count)):
            for column in range(contexts.shape[1]):
                news[i - begin, column] += slopes[i - first] * contexts[words[i], column]
    for first in range(begin, end, GROUP):
        g, place = (first - begin) // GROUP, first - begin
        near, slopes = desk[3][side, g], desk[2][side, 0, g]
        others = desk[0][side, g] if objective == SKIPGRAM else desk[4][side, place // tile]
        give(olds[place:], olds, four, contexts, others, near + shared - own, slopes[GROUP * own :])
        for i in range(first, min(first + own, count)):
            for column in range(contexts.shape[1]):
                contexts[words[i], column] += slopes[i - first] * olds[i - begin, column]
