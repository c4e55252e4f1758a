"""Skip-gram and CBOW with negative sampling: the text thinned to a stream of words, and a pass over it.

`train` goes through a stream tile by tile and changes the tables as it goes; what happens in a tile is in
`tile_cpu`.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.random import at, below, draw, noise_word
from inlaid.kernels.sgns.pairs import HIGH, LOW, PLACE, WORD
from inlaid.kernels.sgns.tile import SKIPGRAM, group, scratch_for
from inlaid.kernels.simd.rows import GROUP, fetch_row, row_width

SPARE = 64
"""Entries of a stream behind its last word, and a window more; a tile and a group must fit in."""


@kernel
def thin(ids, offsets, start, stop, sentence, held, key, keep, window, stream):
    # ids (T,) i4; offsets (S+1,) i8; sentence: the one of `start`; every held-th sentence is left out (0:
    # none)
    # keep (V,) u4: a word stays where its draw is not above; stream (4, stop - start + SPARE + window) i4,
    # filled; returns how many stay
    kept = 0
    while start < stop:
        end = min(offsets[sentence + 1], stop)
        if held == 0 or sentence % held != held - 1:
            first = kept
            for position in range(start, end):
                place = at(key, position)
                stream[WORD, kept] = ids[position]
                stream[LOW, kept] = 1 + below(draw(place, 1), window)
                stream[PLACE, kept] = np.int32(place)
                kept += (
                    draw(place, 0) <= keep[ids[position]]
                )  # not a branch, which would be guessed wrong: the next word is written over it
            for center in range(first, kept):
                width = stream[LOW, center]
                stream[LOW, center] = max(center - width, first)
                stream[HIGH, center] = min(center + width + 1, kept)
        start = end
        sentence = sentence + 1
    for center in range(
        kept, kept + SPARE + window
    ):  # what looks beyond the end finds centers without contexts
        stream[WORD, center] = stream[WORD, 0]
        stream[LOW, center] = kept
        stream[HIGH, center] = kept
        stream[PLACE, center] = 0
    return kept


def train(stream, count, table, contexts, frozen, noise, pace, sizes, sums):
    """Learn from a stream, or with rate 0 measure it.

    stream (4, count + SPARE + window) i4 from `thin`; table and contexts (V, D) f4, in place; frozen: the rows
    of both that the first words keep, (F, D) f4 each; noise from
    `noise_table`; pace (3,) f8: rate at the first and the last word, negatives / shared; sizes: objective,
    words in a tile and shared (multiples of GROUP), window; sums (2,) f8: loss and pairs of the measured
    tiles are added; with rate 0 all are, and nothing changes.
    """
    scratch = scratch_for(sizes, table.shape[1])
    negatives = no_words(2, sizes[2])
    train_kernel(stream, count, table, contexts, frozen, noise, pace, sizes, sums, scratch, negatives)


def no_words(tiles, shared):
    """Room for negatives, in whole vectors; what is beyond them is no word."""
    return np.full((tiles, row_width(shared)), -1, np.int32)


@kernel
def train_kernel(stream, count, table, contexts, frozen, noise, pace, sizes, sums, scratch, room):
    # as `train`; room (2, shared) i4: the negatives of a tile and of the next
    _, tile, shared, window = sizes
    words = stream[WORD]
    negatives = room[0]
    coming = room[1]
    near, far = (
        (table, contexts) if sizes[0] == SKIPGRAM else (contexts, table)
    )  # where a group's own rows are, and those around it
    draw_noise(stream[PLACE, 0], noise, coming[:shared])
    for start in range(0, count, tile):
        stop = min(start + tile, count)
        negatives, coming = coming, negatives
        draw_noise(stream[PLACE, stop], noise, coming[:shared])
        rows = (table, contexts, words, words, negatives)
        for first in range(start, stop, GROUP):
            _fetch(near, far, words, first + tile, window)
            fetch_noise(contexts, coming[:shared], (first - start) * shared // tile, shared * GROUP // tile)
            group(stream, first, stop, count, negatives, rows, pace, sizes, scratch, sums)
            if frozen[0].shape[0] > 0:
                restore(words[max(first - window, 0) : min(first + GROUP + window, count)], table, frozen[0])
                restore(
                    words[max(first - window, 0) : min(first + GROUP + window, count)], contexts, frozen[1]
                )
                restore(negatives[:shared], contexts, frozen[1])


@kernel
def restore(ids, table, frozen):
    # Rows of the first words, which a group may have changed, become what they were. Also with several workers
    # the last write of a frozen row is a restore: each worker restores what it has written.
    for id in ids:
        if id < frozen.shape[0]:
            for column in range(table.shape[1]):
                table[id, column] = frozen[id, column]


@part
def _fetch(near, far, words, center, window):
    # ask for the rows that the group one tile further on will need
    for i in range(GROUP):
        fetch_row(near, words[center + i])
        fetch_row(far, words[center + i + window])


@part
def fetch_noise(contexts, negatives, begin, some):
    # and for a part of its negatives; too much at once would be waited for
    for n in range(begin, min(begin + some, negatives.shape[0])):
        fetch_row(contexts, negatives[n])


@kernel
def draw_noise(place, noise, negatives):
    for n in range(negatives.shape[0]):
        negatives[n] = noise_word(np.uint32(place), n, negatives.shape[0], noise)
