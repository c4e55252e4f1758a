"""Skip-gram and CBOW that come to the same bits for any number of workers: each owns some columns of both tables.

Workers that own words would send each other rows all the time. A worker that owns columns needs nothing from the others but scores,
thirty times fewer numbers: a word's score with another is the sum of what each part of the columns says. So the text is read in
rounds. Each worker scores, on its columns, all meetings of a round from the tables as they are; when all have, each adds up the parts
of every score, makes slopes of them, and moves its columns: a round is one step. Whom the words of the next round meet is found out by
tiles, mostly by those who have fewer columns. What the columns are cut into depends on their number alone, and so does the order of
every sum.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.meetings import OWN, PLACE, WORD, weigh_around, weigh_centers, weigh_contexts
from inlay.kernels.rows import GROUP, LANES, add_row, arrive, claim_row, dots, fetch_row, own_dots, row_width, table_of
from inlay.kernels.sgns_cpu import draw_noise, no_words
from inlay.kernels.tile_cpu import CBOW_MEAN, LEARN, SKIPGRAM, give, learn_slopes, scratch_for, take, turn

MEETING = 1.75
"""What it takes to find out whom words meet, in vectors of 16 columns to be scored and moved."""
ROUND = 64
"""Words in a round, at most: more make for less waiting, and for older scores. With 256 analogies of skip-gram fell by .03."""


def parts_of(columns: int) -> int:
    """How many parts columns are cut into, and so how many workers there is work for: two for every eight vectors of 16."""
    vectors = columns // LANES
    return min(2 * -(-vectors // 8), vectors)


def desk_of(columns: int, sizes: tuple[int, int, int, int], tiles: int) -> tuple[np.ndarray, ...]:
    """What workers share besides the tables, for three rounds in turn: one is written while two may still be read.

    Each part of the scores of each group; whom it meets, how much that counts, and how many are no negatives; the negatives of each tile.
    """
    _, tile, shared, window = sizes
    groups, room, parts = tiles * tile // GROUP, row_width(GROUP * (shared + 2 * window + 3 * GROUP)), parts_of(columns)
    scores, weights = table_of(3 * parts * groups, room), table_of(3 * groups, room).reshape(3, groups, room)
    others, near = np.zeros((3, groups, room // GROUP), np.int32), np.zeros((3, groups), np.int64)
    return scores.reshape(3, parts, groups, room), others, weights, near, no_words(3 * tiles, shared).reshape(3, tiles, -1)


def owners_of(columns: int, workers: int, tiles: int) -> np.ndarray:
    """Which worker finds out whom the words of each tile meet: each in turn the one that has least to do until then."""
    edges = [columns // LANES * (me * parts_of(columns) // workers) // parts_of(columns) for me in range(workers + 1)]
    work, owners = np.diff(edges).astype(float), np.empty(tiles, np.int64)
    for n in range(tiles):
        owners[n] = work.argmin()
        work[owners[n]] += MEETING / tiles
    return owners


def train_rounds(stream, count, tables, desk, noise, pace, sizes, sums, party):
    """As `sgns_cpu.train`, called by each worker with the same arguments but for sums and its number.

    tables: both, and the rows of both, (A, D) f4, that the first A words keep; desk: from `desk_of`; party: flags (1,) i8 with 0 to start
    with; which worker this is; how many there are, at most `parts_of` the columns.
    """
    columns, (groups, room) = tables[0].shape[1], desk[0].shape[2:]
    owners, slopes = owners_of(columns, party[2], desk[4].shape[1]), table_of(groups, room)
    rooms = table_of(groups * GROUP, columns), table_of(groups * GROUP, columns), slopes
    rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, owners, rooms, scratch_for(sizes, columns))


@kernel
def rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, owners, rooms, scratch):
    # as `train_rounds`; rooms: what the contexts of each word of a round come to, how each should move, the slopes of each group
    flags, me, workers = party
    (hidden, news, slopes), parts, size = rooms, desk[0].shape[1], desk[0].shape[2] * GROUP
    begin, end = me * parts // workers, (me + 1) * parts // workers
    rounds = (count + size - 1) // size
    meet(stream, count, tables, side(desk, 0, slopes), 0, owners, me, noise, pace, sizes, scratch)
    arrive(flags, workers)
    for now in range(rounds):
        notes, coming = side(desk, now, slopes), side(desk, now + 1, slopes)
        for p in range(begin, end):
            _score(stream, count, tables, notes, now * size, (p, parts), hidden, sizes, scratch)
        meet(stream, count, tables, coming, (now + 1) * size, owners, me, noise, pace, sizes, scratch)
        arrive(flags, (now + 2) * workers)
        make_slopes(count, notes, now * size, pace, sizes, scratch, sums, me == 0)
        for p in range(begin, end):
            _move(stream, count, tables, notes, coming, now * size, (p, parts), (hidden, news), sizes, scratch)
    arrive(flags, (rounds + 2) * workers)  # nobody writes on the desk while another still reads there


@part
def side(desk, now, slopes):
    # what is noted of one round: others, weights, slopes, how many are no negatives, negatives, parts of scores
    return desk[1][now % 3], desk[2][now % 3], slopes, desk[3][now % 3], desk[4][now % 3], desk[0][now % 3]


@part
def bounds(columns, parts, p):
    # the first column of part p and the last plus one, a whole number of vectors apart
    vectors = columns // LANES
    return vectors * p // parts * LANES, vectors * (p + 1) // parts * LANES


@kernel
def meet(stream, count, tables, notes, begin, owners, me, noise, pace, sizes, scratch):
    # notes, filled but for slopes and scores: whom the words meet that are in this worker's tiles of the round from `begin`
    near, all_negatives = notes[3], notes[4]
    objective, tile, shared, _ = sizes
    for first in range(begin, min(begin + near.shape[0] * GROUP, count), GROUP):
        g, n = (first - begin) // GROUP, (first - begin) // tile
        if owners[n] != me:
            continue
        negatives = all_negatives[n]
        if first % tile == 0:
            draw_noise(stream[PLACE, first], noise, negatives[:shared])
        group, _ = turn(first, count, count, pace, sizes)
        near[g] = OWN
        if objective == SKIPGRAM:
            rows = tables[0], tables[1], stream[WORD], stream[WORD], negatives
            near[g] = weigh_around(stream, group, negatives, rows, _noted(notes, g, scratch))
        else:
            weigh_centers(stream, group, negatives, _noted(notes, g, scratch))


@kernel
def make_slopes(count, notes, begin, pace, sizes, scratch, sums, measures):
    # the sums of the parts of scores become slopes; one worker measures for all
    scores = notes[5]
    groups = min((count - begin + GROUP - 1) // GROUP, scores.shape[1])
    for g in range(groups):  # what others have written comes over while it is added up
        for p in range(scores.shape[0]):
            fetch_row(scores[p], g)
        fetch_row(notes[1], g)
    for g in range(groups):
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
def _score(stream, count, tables, notes, begin, which, hidden, sizes, scratch):
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
            score_words(table, words, first, contexts, notes, which[0], place // GROUP, shared)
        else:
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            take(table, old[place:], scratch[5], table, words[head:], near, scratch[6])
            score_hidden(stream, contexts, notes, which[0], first, place, old, sizes, scratch[5])


@kernel
def _move(stream, count, tables, notes, coming, begin, which, rooms, sizes, scratch):
    # all slopes are there: the columns of part `which` move, all by what was there before; coming: the notes of the next round
    objective, _, shared, window = sizes
    low, high = bounds(tables[0].shape[1], which[1], which[0])
    table, contexts, words, four = tables[0][:, low:high], tables[1][:, low:high], stream[WORD], scratch[5]
    hidden, news, end = rooms[0][:, low:high], rooms[1][:, low:high], min(begin + rooms[0].shape[0], count)
    for g in range((end - begin + GROUP - 1) // GROUP):
        claim_row(coming[5][which[0]], g)
    if objective == SKIPGRAM:
        move_words(table, words, contexts, notes, begin, end, news, shared, four)
    else:
        move_hidden(stream, contexts, notes, begin, end, hidden, news, sizes, four)
        for first in range(begin, end, GROUP):
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            give(news[first - begin :], news, four, table, words[head:], near, scratch[7])
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
def score_words(table, places, first, contexts, notes, p, g, shared):
    # what four words say, in these columns, of those they meet
    for q in range(0, notes[3][g] + shared, GROUP):
        dots(table, places, first, contexts, notes[0][g], q, notes[5][p, g])


@part
def move_words(table, places, contexts, notes, begin, end, news, shared, four):
    # news, filled: by how much each word should move; then the contexts move, then the words
    others, slopes, near = notes[0], notes[2], notes[3]
    for first in range(begin, end, GROUP):
        g = (first - begin) // GROUP
        take(table, news[first - begin :], four, contexts, others[g], near[g] + shared, slopes[g])
    for first in range(begin, end, GROUP):
        g = (first - begin) // GROUP
        give(table, table, places[first:], contexts, others[g], near[g] + shared, slopes[g])
    for q in range(begin, end):
        add_row(news, q - begin, table, places[q])


@part
def score_hidden(stream, contexts, notes, p, first, place, old, sizes, four):
    # what the contexts of four centers, in the rows of `old` from `place` on, say of the centers and the negatives
    rows, negatives, g = old[place:], notes[4][place // sizes[1]], place // GROUP
    own_dots(rows, four, contexts, stream[WORD], first, notes[5][p, g])
    for q in range(0, sizes[2], GROUP):
        dots(rows, four, 0, contexts, negatives, q, notes[5][p, g, GROUP * OWN :])


@part
def move_hidden(stream, contexts, notes, begin, end, hidden, news, sizes, four):
    # news, filled: by how much what the contexts of each center come to should move; then centers and negatives move
    words, tile, shared = stream[WORD], sizes[1], sizes[2]
    for first in range(begin, end, GROUP):
        place, slopes = first - begin, notes[2][(first - begin) // GROUP]
        take(hidden, news[place:], four, contexts, notes[4][place // tile], shared, slopes[GROUP * OWN :])
        for i in range(first, min(first + GROUP, end)):
            for column in range(contexts.shape[1]):
                news[i - begin, column] += slopes[i - first] * contexts[words[i], column]
    for first in range(begin, end, GROUP):
        place, slopes = first - begin, notes[2][(first - begin) // GROUP]
        give(hidden[place:], hidden, four, contexts, notes[4][place // tile], shared, slopes[GROUP * OWN :])
        for i in range(first, min(first + GROUP, end)):
            for column in range(contexts.shape[1]):
                contexts[words[i], column] += slopes[i - first] * hidden[i - begin, column]
