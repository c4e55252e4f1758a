"""Whom the words of a group meet, and how much each meeting counts: weights, mostly nought or one, for
`tile_cpu`."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import part
from inlaid.kernels.simd.byte_vectors import lowest_bit
from inlaid.kernels.simd.rows import GROUP
from inlaid.kernels.simd.tiles import centers_around, places_inside, repeat_four, same

WORD, LOW, HIGH, PLACE = range(4)
"""Rows of a stream, the words that stay: word, first and last plus one of its contexts (itself not counted),
where its draws begin."""
OWN = 4
"""In CBOW the negatives follow from this place on. Before them stands what four centers are to their
contexts, one to each: numbers that are written as vectors of 16 and read as such are there at once, others
are waited for."""


@part
def weigh_around(stream, group, negatives, places, noise_places, scratch):
    # places, noise_places: the rows of the words of the stream and of the negatives
    # others, filled: the rows of the centers around four words, then of the negatives; weights[4 q + i],
    # filled: what other q is to
    # word i; returns how many are around
    first, last, rate, push, window, shared = group
    others = scratch[0]
    weights = scratch[1]
    fours = scratch[8]
    words = stream[WORD]
    lows = stream[LOW]
    highs = stream[HIGH]
    low = max(first - window, 0)
    high = last + window
    while low < first and highs[low] <= first:  # its window ends before the group
        low += 1
    while high > last and lows[high - 1] >= last:
        high -= 1
    near = high - low
    for q in range(near):
        others[q] = places[low + q]
    for n in range(shared):
        others[near + n] = noise_places[n]
    for i in range(GROUP):
        fours[0, i] = rate
        fours[1, i] = 0
    for q in range(0, near, GROUP):
        centers_around(lows, highs, first, low + q, fours[0], weights, GROUP * q)
    for q in range(near):
        for i in range(GROUP):
            fours[1, i] += push if weights[GROUP * q + i] > 0 else np.float32(0)
    for n in range(near, near + shared, GROUP):
        repeat_four(fours[1], weights, GROUP * n)
    for q in range(near):  # a noise word that is the center itself is no noise: the pair does without it
        for begin in range(0, shared, 16):
            hits = same(negatives, begin, words[low + q])
            while hits != 0:
                n = near + begin + lowest_bit(hits)
                hits &= hits - 1
                for i in range(GROUP):
                    weights[GROUP * n + i] -= push if weights[GROUP * q + i] > 0 else np.float32(0)
    return near


@part
def weigh_centers(stream, group, negatives, scratch):
    # weights, filled: at i what center i is to its contexts, at 4 (OWN + n) + i what negative n is to them
    first, _, rate, push, _, shared = group
    weights = scratch[1]
    pushes = scratch[8][0]
    words = stream[WORD]
    lows = stream[LOW]
    highs = stream[HIGH]
    weights[GROUP : GROUP * OWN] = 0
    for i in range(GROUP):
        counts = highs[first + i] - lows[first + i] > 1
        weights[i] = rate if counts else np.float32(0)
        pushes[i] = push if counts else np.float32(0)
    for n in range(OWN, OWN + shared, GROUP):
        repeat_four(pushes, weights, GROUP * n)
    for i in range(GROUP):
        for begin in range(0, shared, 16):
            hits = same(negatives, begin, words[first + i])
            while hits != 0:
                weights[GROUP * (OWN + begin + lowest_bit(hits)) + i] = 0
                hits &= hits - 1


@part
def weigh_contexts(stream, first, mean, scratch):
    # gives and gets, filled: at 4 q + i what context q, counted from the first, gives to center first + i,
    # and what it gets back:
    # all of the error where the mean was taken, its share where the sum was; returns the first context and
    # how many there are
    gives = scratch[6]
    gets = scratch[7]
    fours = scratch[8]
    lows = stream[LOW]
    highs = stream[HIGH]
    low = lows[first]
    high = highs[first]
    for i in range(GROUP):
        low = min(low, lows[first + i])
        high = max(high, highs[first + i])
        share = np.float32(1) / np.float32(max(highs[first + i] - lows[first + i] - 1, 1))
        fours[0, i] = share if mean else np.float32(1)
        fours[1, i] = np.float32(1) if mean else share
    for q in range(0, high - low, GROUP):
        places_inside(lows, highs, first, low + q, fours[0], gives, GROUP * q)
        places_inside(lows, highs, first, low + q, fours[1], gets, GROUP * q)
    return low, high - low
