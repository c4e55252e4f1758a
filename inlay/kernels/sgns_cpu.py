"""Skip-gram and CBOW with negative sampling: the text thinned to a stream of words, and passes over it.

`train` goes through a stream tile by tile and changes the tables as it goes. `train_rounds` comes to the same bits for any number
of workers: all tiles of a round start from the same tables, on copies of the rows they need, and then their changes are added in
order. What happens in a tile is in `tile_cpu`.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.draw import at, below, draw, noise_word
from inlay.kernels.rows import GROUP, arrive, fetch_row, table_of
from inlay.kernels.tile_cpu import HIGH, LOW, PLACE, SKIPGRAM, WORD, group, scratch_for

SPARE = 64
"""Entries of a stream behind its last word, and a window more; a tile and a group must fit in."""
ROUND = 32
"""Tiles that start from the same tables in `train_rounds`: more make for less waiting, and for older numbers."""


@kernel
def thin(ids, offsets, start, stop, sentence, held, key, keep, window, stream):
    # ids (T,) i4; offsets (S+1,) i8; sentence: the one of `start`; every held-th sentence is left out (0: none)
    # keep (V,) u4: a word stays where its draw is not above; stream (4, stop - start + SPARE + window) i4, filled; returns how many stay
    kept = 0
    while start < stop:
        end = min(offsets[sentence + 1], stop)
        if held == 0 or sentence % held != held - 1:
            first = kept
            for position in range(start, end):
                place = at(key, position)
                if draw(place, 0) <= keep[ids[position]]:
                    stream[WORD, kept] = ids[position]
                    stream[LOW, kept] = 1 + below(draw(place, 1), window)
                    stream[PLACE, kept] = np.int32(place)
                    kept += 1
            for center in range(first, kept):
                width = stream[LOW, center]
                stream[LOW, center], stream[HIGH, center] = max(center - width, first), min(center + width + 1, kept)
        start, sentence = end, sentence + 1
    for center in range(kept, kept + SPARE + window):  # what looks beyond the end finds centers without contexts
        stream[WORD, center], stream[LOW, center], stream[HIGH, center], stream[PLACE, center] = stream[WORD, 0], kept, kept, 0
    return kept


@kernel
def train(stream, count, table, contexts, noise, pace, sizes, sums):
    # stream (4, count + SPARE + window) i4 from `thin`; table and contexts (V, D) f4, in place; noise: bounds and guide from `noise_table`
    # pace (3,) f8: rate at the first and the last word, negatives / shared
    # sizes: objective, words in a tile (a multiple of GROUP), shared (a multiple of 16), window
    # sums (2,) f8: loss and pairs of the measured tiles are added; with rate 0 all tiles are measured, and nothing changes
    _, tile, shared, window = sizes
    words, scratch = stream[WORD], scratch_for(shared, window, table.shape[1])
    negatives, coming = _no_words(shared), _no_words(shared)
    draw_noise(stream[PLACE, 0], noise, coming[:shared])
    for start in range(0, count, tile):
        stop = min(start + tile, count)
        negatives, coming = coming, negatives
        draw_noise(stream[PLACE, stop], noise, coming[:shared])
        rows = (table, contexts, words, words, negatives)
        for first in range(start, stop, GROUP):
            _fetch(table, contexts, words, first + tile, window, coming[:shared], (first - start) * shared // tile, shared * GROUP // tile)
            group(stream, first, stop, count, negatives, rows, pace, sizes, scratch, sums)


@kernel
def train_rounds(stream, count, tables, noise, pace, sizes, sums, party):
    # as `train`, called by each worker; tables: both, room for copies, (2, R, rows, D) f4, and for negatives, (R, N) i4 of -1,
    # N a multiple of 16, and shares (V,) f4: how much of its changes a word takes; R tiles start from the same tables
    # all but sums is the same for all workers; party: flags (1,) i8 with 0 to start with; which worker this is; how many there are
    flags, me, workers = party
    _, tile, shared, window = sizes
    copies, negatives, near = tables[2], tables[3], tile + 2 * window
    scratch, turn, size = scratch_for(shared, window, tables[0].shape[1]), 0, copies.shape[1] * tile
    ring = (np.arange(count + SPARE + window) % near).astype(np.int32)  # where a tile's copies keep the row of a word
    places = np.arange(near, near + shared).astype(np.int32)
    for begin in range(0, count, size):
        end = min(begin + size, count)
        for start in range(begin + me * tile, end, workers * tile):
            n, stop = (start - begin) // tile, min(start + tile, end)
            draw_noise(stream[PLACE, start], noise, negatives[n, :shared])
            rows = (copies[0, n], copies[1, n], ring, ring, places)
            _copy_rows(sizes, stream, start, stop, count, negatives[n], tables, ring, n, False)
            for first in range(start, stop, GROUP):
                ahead = min(first + workers * tile, count)  # the next tile of this worker
                _fetch(tables[0], tables[1], stream[WORD], ahead, window, negatives[n], 0, 0)
                group(stream, first, stop, count, negatives[n], rows, pace, sizes, scratch, sums)
            _copy_rows(sizes, stream, start, stop, count, negatives[n], tables, ring, n, True)
        turn += workers
        arrive(flags, turn)
        for start in range(begin, end, tile):
            n, stop = (start - begin) // tile, min(start + tile, end)
            _add_rows(sizes, stream, start, stop, count, negatives[n], tables, ring, n, me, workers)
        turn += workers
        arrive(flags, turn)


@part
def _fetch(table, contexts, words, center, window, negatives, begin, some):
    # ask for what the group one tile further on will need, and for a part of its negatives; too much at once would be waited for
    for i in range(GROUP):
        fetch_row(table, words[center + i])
        fetch_row(contexts, words[center + i + window])
    for n in range(begin, min(begin + some, negatives.shape[0])):
        fetch_row(contexts, negatives[n])


@part
def _no_words(shared):
    # room for negatives, in whole vectors; what is beyond them is no word
    return np.full((shared + 15) // 16 * 16, -1, np.int32)


def rounds_room(columns: int, sizes: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """What the workers of `train_rounds` share besides the tables: room for copies of rows and for negatives."""
    _, tile, shared, window = sizes
    rows = tile + 2 * window + shared
    return table_of(2 * ROUND * rows, columns).reshape(2, ROUND, rows, columns), np.full((ROUND, -(-shared // 16) * 16), -1, np.int32)


@kernel
def draw_noise(place, noise, negatives):
    bounds, guide = noise
    for n in range(negatives.shape[0]):
        negatives[n] = noise_word(np.uint32(place), n, negatives.shape[0], bounds, guide)


@kernel
def _copy_rows(sizes, stream, start, stop, count, negatives, tables, ring, n, changed):
    # not changed: copies of number n become the rows that a tile needs; changed: they become what the tile has changed in them
    table, contexts, copies, _, _ = tables
    objective, _, shared, window = sizes
    low, high = max(start - window, 0), min(stop + window, count)
    for q in range(low, high):
        if objective != SKIPGRAM or start <= q < stop:
            copy_row(table, stream[WORD, q], copies[0, n], ring[q], changed)
        if objective == SKIPGRAM or start <= q < stop:
            copy_row(contexts, stream[WORD, q], copies[1, n], ring[q], changed)
    for k in range(shared):
        copy_row(contexts, negatives[k], copies[1, n], copies.shape[2] - shared + k, changed)


@part
def copy_row(table, row, copies, place, changed):
    if changed:
        for column in range(table.shape[1]):
            copies[place, column] -= table[row, column]
    else:
        for column in range(table.shape[1]):
            copies[place, column] = table[row, column]


@kernel
def _add_rows(sizes, stream, start, stop, count, negatives, tables, ring, n, me, workers):
    # the changes of a tile are added to the rows that are this worker's
    table, contexts, copies, _, shares = tables
    objective, _, shared, window = sizes
    low, high = max(start - window, 0), min(stop + window, count)
    for q in range(low, high):
        word = stream[WORD, q]
        if shares[word] > 0 and _owner(word, workers) == me:
            if objective != SKIPGRAM or start <= q < stop:
                add_row(table, word, copies[0, n], ring[q], shares[word])
            if objective == SKIPGRAM or start <= q < stop:
                add_row(contexts, word, copies[1, n], ring[q], shares[word])
    for k in range(shared):
        if shares[negatives[k]] > 0 and _owner(negatives[k], workers) == me:
            add_row(contexts, negatives[k], copies[1, n], copies.shape[2] - shared + k, shares[negatives[k]])


@part
def _owner(word, workers):
    # the worker that adds to the rows of a word; a division would take longer than to add a row
    return below(np.uint32(np.uint32(word) * np.uint32(0x9E3779B1)), workers)


@part
def add_row(table, row, copies, place, share):
    for column in range(table.shape[1]):
        table[row, column] += share * copies[place, column]
