"""A tile of words, and the negatives it shares: what skip-gram and CBOW do with four words at a time.

A word and its context are pulled together, a word and noise pushed apart. One pair at a time is slow: each number loaded is
used once. So four words form a group and meet what is around them, and the negatives, as small matrix products; weights,
mostly nought or one, say which meetings count. The groups of a tile share `shared` drawn words, each weighing as much as
negatives / shared of them, which leaves the expected gradient what it is with `negatives` words drawn for each pair.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.rows import (
    GROUP,
    dots,
    give_one,
    give_three,
    pull_one,
    pull_three,
    same,
    slopes,
    take_one,
    take_three,
)
from inlay.kernels.vector import lowest_bit

WORD, LOW, HIGH, PLACE = range(4)
"""Rows of a stream, the words that stay: word, first and last plus one of its contexts (itself not counted), where its draws begin."""
SKIPGRAM, CBOW_MEAN, CBOW_SUM = range(3)
LEARN, LEARN_AND_MEASURE, MEASURE = range(3)
MEASURED = 16
"""The loss is added up on one tile in so many."""


@part
def scratch_for(shared, window, columns):
    # others, weights and scores of a group; labels: ones, then as many zeros; for CBOW what contexts come to and how that should
    # move, the rows of the contexts and their shares
    room = shared + 2 * window + 2 * GROUP
    labels = np.zeros(2 * GROUP * room, np.float32)
    labels[: GROUP * room] = 1
    others, weights, scores = np.zeros(room, np.int32), np.zeros(GROUP * room, np.float32), np.zeros(GROUP * room, np.float32)
    raw, around = np.zeros(2 * GROUP * columns + 16, np.float32), np.zeros(room, np.int32)
    begin = (64 - raw.ctypes.data % 64) // 4 % 16  # rows that begin with a cache line are read soon after they are written
    two = raw[begin : begin + 2 * GROUP * columns].reshape(2, GROUP, columns)
    gives, gets = np.zeros(GROUP * room, np.float32), np.zeros(GROUP * room, np.float32)
    return others, weights, scores, labels, two, around, gives, gets, np.arange(GROUP).astype(np.int32)


@part
def group(stream, first, stop, count, negatives, rows, pace, sizes, scratch, sums):
    # rows: two tables, the row of each word of the stream in the first and in the second, the rows of the negatives
    objective = sizes[0]
    four, task = turn(first, stop, count, pace, sizes)
    if objective == SKIPGRAM:
        skipgram(stream, four, negatives, rows, scratch, task, sums)
    else:
        _cbow(stream, four, negatives, rows, scratch, task, sums, objective == CBOW_MEAN)


@part
def turn(first, stop, count, pace, sizes):
    # the group that begins with `first`, and what is to be done with it
    _, tile, shared, window = sizes
    rate = np.float32(pace[0] + (pace[1] - pace[0]) * (first // tile * tile) / count)
    task = LEARN if first // tile % MEASURED else LEARN_AND_MEASURE
    if rate == 0:
        rate, task = np.float32(1), MEASURE
    return (first, min(first + GROUP, stop), rate, np.float32(rate * pace[2]), window, shared), task


@part
def skipgram(stream, group, negatives, rows, scratch, task, sums):
    # group: first word, last plus one, what a pair weighs, what a negative weighs for each pair, window, shared negatives
    # As in word2vec's own code, every word of a window predicts its center: four words meet the centers whose windows they are in.
    first, _, rate, _, _, shared = group
    table, contexts, places, context_places, noise_places = rows
    others, weights, scores, labels, _, _, _, _, _ = scratch
    near = _weigh_around(stream, group, negatives, context_places, others, weights)
    count = near + shared
    for n in range(shared):
        others[near + n] = noise_places[n]
    for q in range(0, count, GROUP):
        dots(table, places, first, contexts, others, q, scores)
    if task != LEARN:
        _measure(scores, weights, near, count, rate, sums)
    if task != MEASURE:
        _slopes(scores, weights, labels, near, count)
        _pull(table, table, places, first, contexts, others, count, scores)


@part
def _cbow(stream, group, negatives, rows, scratch, task, sums, mean):
    # the mean or sum of each center's contexts meets the center and the negatives, and what it learns goes back to the contexts
    table, places = rows[0], rows[2]
    _, _, _, _, two, around, gives, gets, four = scratch
    _, near = weigh_contexts(stream, group, mean, places, around, gives, gets)
    take(table, two[0], four, table, around, near, gives)
    meet_centers(stream, group, negatives, rows, scratch, task, sums)
    if task != MEASURE:
        give(two[1], two[1], four, table, around, near, gets)


@part
def meet_centers(stream, group, negatives, rows, scratch, task, sums):
    # what each center's contexts come to, two[0], meets the center and the negatives; two[1], filled: how it should move
    first, last, rate, push, _, shared = group
    _, contexts, _, context_places, noise_places = rows
    others, weights, scores, labels, two, _, _, _, four = scratch
    hidden, moved, count = two[0], two[1], 1 + shared
    _weigh_centers(stream, first, last, rate, push, negatives, shared, weights)
    for n in range(shared):
        others[1 + n] = noise_places[n]
    own_dots(hidden, contexts, context_places, first, last, scores)
    for q in range(1, count, GROUP):
        dots(hidden, four, 0, contexts, others, q, scores)
    if task != LEARN:
        _measure(scores, weights, 1, count, rate, sums)
    if task != MEASURE:
        _slopes(scores, weights, labels, 1, count)
        own_pull(hidden, moved, contexts, context_places, first, last, scores)
        _pull(hidden, moved, four, 0, contexts, others[1:], shared, scores[GROUP:])


@part
def _weigh_around(stream, group, negatives, places, others, weights):
    # others, filled: the rows of the centers around four words; weights[4 q + i], filled: what other q is to word i, and behind
    # them what the negatives are; returns how many are around
    first, last, rate, push, window, shared = group
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
def _weigh_centers(stream, first, last, rate, push, negatives, shared, weights):
    # weights, filled: at i what center i is to its contexts, at 4 (1 + n) + i what negative n is to them
    words, lows, highs = stream[WORD], stream[LOW], stream[HIGH]
    for i in range(GROUP):
        counts = first + i < last and highs[first + i] - lows[first + i] > 1
        weights[i] = rate if counts else np.float32(0)
        weights[GROUP + i] = push if counts else np.float32(0)
    for n in range(1, shared):
        for i in range(GROUP):
            weights[GROUP * (1 + n) + i] = weights[GROUP + i]
    for i in range(GROUP):
        for begin in range(0, shared, 16):
            hits = same(negatives, begin, words[first + i])
            while hits != 0:
                weights[GROUP * (1 + begin + lowest_bit(hits)) + i] = 0
                hits &= hits - 1


@part
def own_dots(hidden, contexts, places, first, last, scores):
    # scores[i]: what the contexts of center i come to, with the center
    for i in range(GROUP):
        row, score = places[min(first + i, last - 1)], np.float32(0)
        for column in range(contexts.shape[1]):
            score += hidden[i, column] * contexts[row, column]
        scores[i] = score


@part
def own_pull(hidden, moved, contexts, places, first, last, slopes):
    # each center moves towards its contexts; how they should move is kept in `moved`
    for i in range(GROUP):
        row, slope = places[min(first + i, last - 1)], slopes[i]
        for column in range(contexts.shape[1]):
            old = contexts[row, column]
            moved[i, column] = slope * old
            contexts[row, column] = old + slope * hidden[i, column]


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


@part
def take(table, moved, ids, other, others, count, shares):
    column, columns = 0, table.shape[1]
    while column + 48 <= columns:
        take_three(table, moved, ids, 0, other, others, count, shares, column)
        column += 48
    while column < columns:
        take_one(table, moved, ids, 0, other, others, count, shares, column)
        column += 16


@part
def give(table, moved, ids, other, others, count, shares):
    column, columns = 0, table.shape[1]
    while column + 48 <= columns:
        give_three(table, moved, ids, 0, other, others, count, shares, column)
        column += 48
    while column < columns:
        give_one(table, moved, ids, 0, other, others, count, shares, column)
        column += 16


@part
def _slopes(scores, weights, labels, near, rows):
    # how far each meeting is from its label, as much as it counts
    shift = labels.shape[0] // 2 - GROUP * near
    for k in range(0, GROUP * rows, 16):
        slopes(scores, weights, labels, shift, k)


@part
def _pull(table, moved, ids, first, other, others, count, slopes):
    # all others move, and the four rows: in `moved`, which is the table itself or one like it
    column, columns = 0, table.shape[1]
    while column + 48 <= columns:
        pull_three(table, moved, ids, first, other, others, count, slopes, column)
        column += 48
    while column < columns:
        pull_one(table, moved, ids, first, other, others, count, slopes, column)
        column += 16


@kernel
def _measure(scores, weights, near, rows, rate, sums):
    # -log sigmoid(score) of pairs, -log sigmoid(-score) of negatives, each as often as it counts
    loss, pairs = 0.0, 0.0
    for k in range(GROUP * rows):
        if weights[k] > 0:
            score = scores[k] if k < GROUP * near else -scores[k]
            loss += weights[k] / rate * (np.log1p(np.exp(-abs(score))) + max(-score, np.float32(0)))
            pairs += k < GROUP * near
    sums[0] += loss
    sums[1] += pairs
