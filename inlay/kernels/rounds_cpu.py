"""Skip-gram and CBOW that come to the same bits for any number of workers: each owns some columns of both tables.

Workers that own words would send each other rows all the time. A worker that owns columns needs nothing from the others but scores,
thirty times fewer numbers: a word's score with another is the sum of what each part of the columns says. So the text is read in
rounds. Each worker scores, on its columns, all meetings of a round from the tables as they are; when all have, each adds up the parts
of every score, makes slopes of them, and moves its columns, one group of words after another. Whom words meet, and the slopes, every
worker finds for itself: that takes less time than being told. What the columns are cut into depends on their number alone, and so
does the order of every sum.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.meetings import OWN, PLACE, WORD, weigh_around, weigh_centers, weigh_contexts
from inlay.kernels.rows import GROUP, LANES, arrive, claim_row, dots, fetch_row, own_dots, own_pull, table_of
from inlay.kernels.sgns_cpu import draw_noise, no_words
from inlay.kernels.tile_cpu import CBOW_MEAN, LEARN, SKIPGRAM, give, learn_slopes, pull, scratch_for, take, turn

ROUND = 64
"""Words in a round, at most: more make for less waiting, and for older scores. With 256 analogies of skip-gram fell by .03."""


def parts_of(columns: int) -> int:
    """How many parts columns are cut into, and so how many workers there is work for: two for every eight vectors of 16."""
    vectors = columns // LANES
    return min(2 * -(-vectors // 8), vectors)


def desk_of(columns: int, sizes: tuple[int, int, int, int], tiles: int) -> np.ndarray:
    """What workers share besides the tables: each part of the scores of each group of a round, twice, for two rounds in turn."""
    _, tile, shared, window = sizes
    groups, room = tiles * tile // GROUP, shared + 2 * window + 3 * GROUP
    return table_of(2 * parts_of(columns) * groups, GROUP * room).reshape(2, parts_of(columns), groups, -1)


def notes_of(sizes: tuple[int, int, int, int], desk: np.ndarray) -> tuple[np.ndarray, ...]:
    """What a worker keeps for itself, for two rounds in turn.

    Of each group whom it meets, how much that counts, slopes, and how many are no negatives; of each tile its negatives.
    """
    (groups, room), (_, tile, shared, _) = desk.shape[2:], sizes
    weights, slopes = table_of(4 * groups, room).reshape(2, 2, groups, room)
    negatives = no_words(2 * groups * GROUP // tile, shared).reshape(2, groups * GROUP // tile, -1)
    return np.zeros((2, groups, room // GROUP), np.int32), weights, slopes, np.zeros((2, groups), np.int64), negatives


@part
def side(notes, now):
    # the notes of one round
    return notes[0][now % 2], notes[1][now % 2], notes[2][now % 2], notes[3][now % 2], notes[4][now % 2]


def train_rounds(stream, count, tables, desk, noise, pace, sizes, sums, party):
    """As `sgns_cpu.train`, called by each worker with the same arguments but for sums and its number.

    tables: both, and the rows of both, (A, D) f4, that the first A words keep; desk: from `desk_of`; party: flags (1,) i8 with 0 to start
    with; which worker this is; how many there are, at most `parts_of` the columns.
    """
    columns = tables[0].shape[1]
    hidden, notes = table_of(desk.shape[2] * GROUP, columns), notes_of(sizes, desk)
    rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, hidden, notes, scratch_for(sizes, columns))


@kernel
def rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, hidden, notes, scratch):
    # as `train_rounds`; hidden: room for what the contexts of each word of a round come to
    flags, me, workers = party
    parts, size = desk.shape[1], desk.shape[2] * GROUP
    begin, end = me * parts // workers, (me + 1) * parts // workers
    rounds = (count + size - 1) // size
    meet(stream, count, tables, side(notes, 0), 0, desk[1], noise, pace, sizes, scratch)
    for now in range(rounds):
        for p in range(begin, end):
            _score(stream, count, tables, desk[now % 2, p], side(notes, now), now * size, (p, parts), hidden, sizes, scratch)
        arrive(flags, (now + 1) * workers)
        meet(stream, count, tables, side(notes, now + 1), (now + 1) * size, desk[now % 2], noise, pace, sizes, scratch)
        make_slopes(count, desk[now % 2], side(notes, now), now * size, pace, sizes, scratch, sums, me == 0)
        for p in range(begin, end):
            _move(stream, count, tables, desk[(now + 1) % 2, p], side(notes, now), now * size, (p, parts), hidden, sizes, scratch)
    arrive(flags, (rounds + 1) * workers)  # nobody writes on the desk while another still reads there


@part
def bounds(columns, parts, p):
    # the first column of part p and the last plus one, a whole number of vectors apart
    vectors = columns // LANES
    return vectors * p // parts * LANES, vectors * (p + 1) // parts * LANES


@kernel
def meet(stream, count, tables, notes, begin, scores, noise, pace, sizes, scratch):
    # notes, filled but for the slopes: whom the words of the round from `begin` meet; meanwhile the scores of the last one come over
    near, all_negatives = notes[3], notes[4]
    objective, tile, shared, _ = sizes
    for first in range(begin, min(begin + near.shape[0] * GROUP, count), GROUP):
        for p in range(scores.shape[0]):
            fetch_row(scores[p], (first - begin) // GROUP)
        g, negatives = (first - begin) // GROUP, all_negatives[(first - begin) // tile]
        if first % tile == 0:
            draw_noise(stream[PLACE, first], noise, negatives[:shared])
        group, _ = turn(first, count, count, pace, sizes)
        near[g] = OWN
        if objective == SKIPGRAM:
            near[g] = weigh_around(
                stream, group, negatives, (tables[0], tables[1], stream[WORD], stream[WORD], negatives), _noted(notes, g, scratch)
            )
        else:
            weigh_centers(stream, group, negatives, _noted(notes, g, scratch))


@kernel
def make_slopes(count, scores, notes, begin, pace, sizes, scratch, sums, measures):
    # scores (parts, groups, ...): their sums become slopes; one worker measures for all
    for g in range(min((count - begin + GROUP - 1) // GROUP, scores.shape[1])):
        group, task = turn(begin + g * GROUP, count, count, pace, sizes)
        slopes, near = notes[2][g], notes[3][g]
        for k in range(GROUP * (near + sizes[2])):
            slopes[k] = scores[0, g, k]
        for p in range(1, scores.shape[0]):
            for k in range(GROUP * (near + sizes[2])):
                slopes[k] += scores[p, g, k]
        learn_slopes(group, _noted(notes, g, scratch), near, task if measures else LEARN, sums)


@part
def _noted(notes, g, scratch):
    # the scratch of one group whose meetings, weights and slopes are noted
    _, _, _, labels, two, four, gives, gets, fours = scratch
    return notes[0][g], notes[1][g], notes[2][g], labels, two, four, gives, gets, fours


@kernel
def _score(stream, count, tables, scores, notes, begin, which, hidden, sizes, scratch):
    # the scores of a round in the columns of part `which`; hidden, its columns, filled with CBOW
    objective, tile, shared, window = sizes
    low, high = bounds(tables[0].shape[1], which[1], which[0])
    table, contexts, old, negatives, words = tables[0][:, low:high], tables[1][:, low:high], hidden[:, low:high], notes[4], stream[WORD]
    for first in range(begin, min(begin + hidden.shape[0], count), GROUP):
        n, place = (first - begin) // tile, first - begin
        for i in range(GROUP):  # ask for what the group one tile further on will need
            fetch_row(table, words[first + tile + i])
            fetch_row(contexts, words[first + tile + i + window])
        for k in range(place % tile * shared // tile, (place % tile + GROUP) * shared // tile):
            fetch_row(contexts, max(negatives[min(n + 1, negatives.shape[0] - 1), k], 0))
        if objective == SKIPGRAM:
            score_words(table, words, first, contexts, scores, notes, place // GROUP, shared)
        else:
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            take(table, old[place:], scratch[5], table, words[head:], near, scratch[6])
            score_hidden(stream, contexts, scores, notes, first, place, old, sizes, scratch[5])


@kernel
def _move(stream, count, tables, coming, notes, begin, which, hidden, sizes, scratch):
    # all slopes are there: one group after another moves, in the columns of part `which`; coming: where the next scores will be written
    objective, _, shared, window = sizes
    low, high = bounds(tables[0].shape[1], which[1], which[0])
    table, contexts, old, words = tables[0][:, low:high], tables[1][:, low:high], hidden[:, low:high], stream[WORD]
    end, moved = min(begin + hidden.shape[0], count), scratch[4][1, :, low:high]
    for first in range(begin, end, GROUP):
        claim_row(coming, (first - begin) // GROUP)
        if objective == SKIPGRAM:
            move_words(table, words, first, contexts, notes, (first - begin) // GROUP, shared)
        else:
            move_hidden(stream, contexts, notes, first, first - begin, old, moved, sizes, scratch[5])
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            give(moved, moved, scratch[5], table, words[head:], near, scratch[7])
    if tables[2].shape[0]:
        for q in range(max(begin - window, 0), min(end + window, count)):
            _put_back(words[q], table, contexts, tables[2][:, low:high], tables[3][:, low:high])
        for g in range((end - begin + GROUP - 1) // GROUP):
            for k in range(shared):
                _put_back(notes[4][g * GROUP // sizes[1], k], table, contexts, tables[2][:, low:high], tables[3][:, low:high])


@part
def _put_back(word, table, contexts, kept, kept_contexts):
    # what a round may have moved, and must not have, is as it was
    if word < kept.shape[0]:
        for column in range(table.shape[1]):
            table[word, column], contexts[word, column] = kept[word, column], kept_contexts[word, column]


@part
def score_words(table, places, first, contexts, scores, notes, g, shared):
    # what four words say, in these columns, of those they meet
    for q in range(0, notes[3][g] + shared, GROUP):
        dots(table, places, first, contexts, notes[0][g], q, scores[g])


@part
def move_words(table, places, first, contexts, notes, g, shared):
    pull(table, table, places, first, contexts, notes[0][g], notes[3][g] + shared, notes[2][g])


@part
def score_hidden(stream, contexts, scores, notes, first, place, old, sizes, four):
    # what the contexts of four centers, in the rows of `old` from `place` on, say of the centers and the negatives
    rows, negatives, g = old[place:], notes[4][place // sizes[1]], place // GROUP
    own_dots(rows, four, contexts, stream[WORD], first, scores[g])
    for q in range(0, sizes[2], GROUP):
        dots(rows, four, 0, contexts, negatives, q, scores[g, GROUP * OWN :])


@part
def move_hidden(stream, contexts, notes, first, place, old, moved, sizes, four):
    # moved (GROUP, D) f4, filled: how what they come to should move
    rows, negatives, slopes = old[place:], notes[4][place // sizes[1]], notes[2][place // GROUP]
    own_pull(rows, moved, four, contexts, stream[WORD], first, slopes)
    pull(rows, moved, four, 0, contexts, negatives, sizes[2], slopes[GROUP * OWN :])
