"""Whom the words of a group meet, and how much each meeting counts: weights, mostly nought or one, for `tile_cpu`."""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import part
from inlay.kernels.rows import GROUP, same
from inlay.kernels.vector import lowest_bit

WORD, LOW, HIGH, PLACE = range(4)
"""Rows of a stream, the words that stay: word, first and last plus one of its contexts (itself not counted), where its draws begin."""
OWN = 4
"""In CBOW the negatives follow from this place on. Before them stands what four centers are to their contexts, one to each: numbers that
are written as vectors of 16 and read as such are there at once, others are waited for."""


@part
def weigh_around(stream, group, negatives, rows, scratch):
    # others, filled: the rows of the centers around four words, then of the negatives; weights[4 q + i], filled: what other q is to
    # word i; returns how many are around
    first, last, rate, push, window, shared = group
    others, weights, places, noise_places = scratch[0], scratch[1], rows[3], rows[4]
    words, lows, highs = stream[WORD], stream[LOW], stream[HIGH]
    low, high = max(first - window, 0), last + window
    while low < first and highs[low] <= first:  # its window ends before the group
        low += 1
    while high > last and lows[high - 1] >= last:
        high -= 1
    near = high - low
    behind = weights[GROUP * near : GROUP * (near + 1)]
    behind[:] = 0
    for q in range(near):
        center = low + q
        others[q] = places[center]
        for i in range(GROUP):
            counts = (lows[center] <= first + i) & (first + i < highs[center]) & (first + i != center)
            weights[GROUP * q + i] = rate if counts else np.float32(0)
            behind[i] += push if counts else np.float32(0)
    for n in range(shared):
        others[near + n] = noise_places[n]
    for n in range(1, shared):
        for i in range(GROUP):
            weights[GROUP * (near + n) + i] = behind[i]
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
def weigh_centers(stream, group, negatives, rows, scratch):
    # weights, filled: at i what center i is to its contexts, at 4 (OWN + n) + i what negative n is to them; others, from OWN on: its rows
    first, last, rate, push, _, shared = group
    others, weights, noise_places = scratch[0], scratch[1], rows[4]
    words, lows, highs = stream[WORD], stream[LOW], stream[HIGH]
    for i in range(GROUP):
        counts = first + i < last and highs[first + i] - lows[first + i] > 1
        weights[i] = rate if counts else np.float32(0)
        weights[GROUP * OWN + i] = push if counts else np.float32(0)
    weights[GROUP : GROUP * OWN] = 0
    one, two, three, four = weights[GROUP * OWN], weights[GROUP * OWN + 1], weights[GROUP * OWN + 2], weights[GROUP * OWN + 3]
    for n in range(OWN, OWN + shared):
        others[n] = noise_places[n - OWN]
        weights[GROUP * n], weights[GROUP * n + 1], weights[GROUP * n + 2], weights[GROUP * n + 3] = one, two, three, four
    for i in range(GROUP):
        for begin in range(0, shared, 16):
            hits = same(negatives, begin, words[first + i])
            while hits != 0:
                weights[GROUP * (OWN + begin + lowest_bit(hits)) + i] = 0
                hits &= hits - 1


@part
def weigh_contexts(stream, group, mean, places, around, gives, gets):
    # around, filled: the rows of the contexts of centers first..last; at 4 q + i what context q gives to center i, and what it
    # gets back: all of the error where the mean was taken, its share where the sum was; returns the first of them and how many there are
    first, last, _, _, _, _ = group
    lows, highs = stream[LOW], stream[HIGH]
    low, high = lows[first], highs[first]
    for center in range(first, last):
        low, high = min(low, lows[center]), max(high, highs[center])
    for q in range(high - low):
        around[q] = places[low + q]
    for k in range(GROUP * (high - low)):
        gives[k], gets[k] = 0, 0
    for center in range(first, last):
        share = np.float32(1) / np.float32(max(highs[center] - lows[center] - 1, 1))
        give, get = (share, np.float32(1)) if mean else (np.float32(1), share)
        for q in range(lows[center], highs[center]):
            gives[GROUP * (q - low) + center - first] = give
            gets[GROUP * (q - low) + center - first] = get
        own = GROUP * (center - low) + center - first
        gives[own], gets[own] = 0, 0
    return low, high - low
