"""A tile of words, and the negatives it shares: what skip-gram and CBOW do with four words at a time.

A word and its context are pulled together, a word and noise pushed apart. One pair at a time is slow: each
number loaded is used once. So four words form a group and meet what is around them, and the negatives, as
small matrix products; weights, mostly nought or one, say which meetings count. The groups of a tile share
`shared` drawn words, each weighing as much as negatives / shared of them, which leaves the expected gradient
what it is with `negatives` words drawn for each pair.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.sgns.pairs import OWN, weigh_around, weigh_centers, weigh_contexts
from inlaid.kernels.simd.rows import (
    GROUP,
    dots,
    give_one,
    give_three,
    own_dots,
    own_pull,
    pull_one,
    pull_three,
    table_of,
    take_one,
    take_three,
)
from inlaid.kernels.simd.tiles import slopes

SKIPGRAM, CBOW_MEAN, CBOW_SUM = range(3)
LEARN, LEARN_AND_MEASURE, MEASURE = range(3)
MEASURED = 256
"""The loss is added up on one tile in so many: logarithms take longer than all the rest."""


def scratch_for(sizes: tuple[int, int, int, int], columns: int) -> tuple[np.ndarray, ...]:
    """What a group needs besides the tables.

    Others, weights and scores; labels: ones, then as many zeros; for CBOW what contexts come to and how that
    should move; the numbers of four rows; what contexts give and get; two times four weights.
    """
    _, _, shared, window = sizes
    room = shared + 2 * window + 3 * GROUP
    labels = np.repeat(np.array([1, 0], np.float32), GROUP * room)
    weights, scores, gives, gets = table_of(4, GROUP * room)
    two = table_of(2 * GROUP, columns).reshape(2, GROUP, columns)
    return (
        np.zeros(room, np.int32),
        weights,
        scores,
        labels,
        two,
        np.arange(GROUP, dtype=np.int32),
        gives,
        gets,
        table_of(2, GROUP),
    )


@part
def group(stream, first, stop, count, negatives, rows, pace, sizes, scratch, sums):
    # rows: two tables, the row of each word of the stream in the first and in the second, the rows of the
    # negatives
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
        rate = np.float32(1)
        task = MEASURE
    return (first, min(first + GROUP, stop), rate, np.float32(rate * pace[2]), window, shared), task


@part
def skipgram(stream, group, negatives, rows, scratch, task, sums):
    # group: first word, last plus one, what a pair weighs, what a negative weighs for each pair, window,
    # shared negatives
    # As in word2vec's own code, every word of a window predicts its center: four words meet the centers whose
    # windows they are in.
    first = group[0]
    shared = group[5]
    table, contexts, places, context_places, noise_places = rows
    others = scratch[0]
    scores = scratch[2]
    near = weigh_around(stream, group, negatives, context_places, noise_places, scratch)
    for q in range(0, near + shared, GROUP):
        dots(table, places, first, contexts, others, q, scores)
    learn_slopes(group, scratch, near, task, sums)
    if task != MEASURE:
        pull(table, table, places, first, contexts, others, near + shared, scores)


@part
def _cbow(stream, group, negatives, rows, scratch, task, sums, mean):
    # the mean or sum of each center's contexts meets the center and the negatives, and what it learns goes
    # back to the contexts
    table = rows[0]
    places = rows[2]
    _, _, _, _, two, four, gives, gets, _ = scratch
    low, near = weigh_contexts(stream, group[0], mean, scratch)
    take(table, two[0], four, table, places[low:], near, gives)
    meet_centers(stream, group, negatives, rows, scratch, task, sums)
    if task != MEASURE:
        give(two[1], two[1], four, table, places[low:], near, gets)


@part
def meet_centers(stream, group, negatives, rows, scratch, task, sums):
    # what each center's contexts come to, two[0], meets the center and the negatives; two[1], filled: how it
    # should move
    first = group[0]
    shared = group[5]
    _, contexts, _, context_places, noise_places = rows
    _, _, scores, _, two, four, _, _, _ = scratch
    weigh_centers(stream, group, negatives, scratch)
    own_dots(two[0], four, contexts, context_places, first, scores)
    for q in range(0, shared, GROUP):
        dots(two[0], four, 0, contexts, noise_places, q, scores[GROUP * OWN :])
    learn_slopes(group, scratch, OWN, task, sums)
    if task != MEASURE:
        own_pull(two[0], two[1], four, contexts, context_places, first, scores)
        pull(two[0], two[1], four, 0, contexts, noise_places, shared, scores[GROUP * OWN :])


@part
def learn_slopes(group, scratch, near, task, sums):
    # scores become slopes: how far each meeting is from its label, as much as it counts
    weights = scratch[1]
    scores = scratch[2]
    labels = scratch[3]
    count = near + group[5]
    if task != LEARN:
        _measure(scores, weights, near, count, group[2], sums)
    if task != MEASURE:
        shift = labels.shape[0] // 2 - GROUP * near
        for k in range(0, GROUP * count, 16):
            slopes(scores, weights, labels, shift, k)


@part
def take(table, moved, ids, other, others, count, shares):
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        take_three(table, moved, ids, 0, other, others, count, shares, column)
        column += 48
    while column < columns:
        take_one(table, moved, ids, 0, other, others, count, shares, column)
        column += 16


@part
def give(table, moved, ids, other, others, count, shares):
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        give_three(table, moved, ids, 0, other, others, count, shares, column)
        column += 48
    while column < columns:
        give_one(table, moved, ids, 0, other, others, count, shares, column)
        column += 16


@part
def pull(table, moved, ids, first, other, others, count, slopes):
    # all others move, and the four rows: in `moved`, which is the table itself or one like it
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        pull_three(table, moved, ids, first, other, others, count, slopes, column)
        column += 48
    while column < columns:
        pull_one(table, moved, ids, first, other, others, count, slopes, column)
        column += 16


@kernel
def _measure(scores, weights, near, rows, rate, sums):
    # -log sigmoid(score) of pairs, -log sigmoid(-score) of negatives, each as often as it counts
    loss = 0.0
    pairs = 0.0
    for k in range(GROUP * rows):
        if weights[k] > 0:
            score = scores[k] if k < GROUP * near else -scores[k]
            loss += weights[k] / rate * (np.log1p(np.exp(-abs(score))) + max(-score, np.float32(0)))
            pairs += k < GROUP * near
    sums[0] += loss
    sums[1] += pairs
