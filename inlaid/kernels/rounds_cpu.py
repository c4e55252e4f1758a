"""Skip-gram and CBOW that come to the same bits for any number of workers: each owns some columns of both
tables.

Workers that own words would send each other rows all the time. A worker that owns columns needs nothing from
the others but scores, thirty times fewer numbers: a word's score with another is the sum of what each part of
the columns says. So the text is read in rounds. Each worker scores, on its columns, all meetings of a round
from the tables as they are; when all have, each adds up the parts of every score, makes slopes of them, and
moves its columns: a round is one step. Who would wait for the others finds out whom the words of later rounds
meet, tile by tile. What the columns are cut into depends on their number alone, and so does the order of
every sum.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.columns import edges_of, part_of
from inlaid.kernels.compile import kernel, part
from inlaid.kernels.meetings import OWN, PLACE, WORD, weigh_around, weigh_centers, weigh_contexts
from inlaid.kernels.rows import GROUP, add_four, add_row, dots, fetch_row, own_dots, row_width, table_of
from inlaid.kernels.sgns_cpu import draw_noise, no_words
from inlaid.kernels.tile_cpu import CBOW_MEAN, LEARN, SKIPGRAM, give, learn_slopes, scratch_for, take, turn
from inlaid.kernels.turns import count_one, counted, counters_for, take_turn, wait_for

ARRIVED, NEXT, READY = range(3)
"""Counters: how often a worker has scored a round; the next tile whose meetings nobody looks for yet; from
here on, for each side of the desk, how many tiles were met there."""
SIDES = 4
"""Rounds that lie on the desk: of the last, some still read, and two may be written before their turn."""
ROUND = 64
"""Words in a round, at most: more make for less waiting, and for older scores. With 256 analogies of
skip-gram fell by .03."""


def desk_of(columns: int, sizes: tuple[int, int, int, int], tiles: int) -> tuple[np.ndarray, ...]:
    """What workers share besides the tables and counters; all but the last for SIDES rounds in turn.

    Each part of the scores of each group; whom it meets, how much that counts, and how many are no negatives;
    the negatives of each tile; where the columns are cut.
    """
    (_, tile, shared, window) = sizes
    edges = edges_of(columns)
    groups = tiles * tile // GROUP
    room = row_width(GROUP * (shared + 2 * window + 3 * GROUP))
    parts = len(edges) - 1
    scores = table_of(SIDES * parts * groups, room)
    weights = table_of(SIDES * groups, room).reshape(SIDES, groups, room)
    others = np.zeros((SIDES, groups, room // GROUP), np.int32)
    near = np.zeros((SIDES, groups), np.int64)
    negatives = no_words(SIDES * tiles, shared).reshape(SIDES, tiles, -1)
    return scores.reshape(SIDES, parts, groups, room), others, weights, near, negatives, edges


def counters_of_rounds() -> np.ndarray:
    """What workers count by, from nought for each stream."""
    return counters_for(READY + SIDES)


def train_rounds(stream, count, tables, desk, noise, pace, sizes, sums, party):
    """As `sgns_cpu.train`, called by each worker with the same arguments but for sums and its number.

    tables: both, and the rows of both that the first A words keep, all in parts; desk: from `desk_of`; party:
    counters from `counters_of_rounds`; which worker this is; how many there are, at most `parts_of` the
    columns.
    """
    columns = int(desk[5][-1])
    (groups, room) = desk[0].shape[2:]
    rooms = table_of(groups * GROUP, columns), table_of(groups * GROUP, columns), table_of(groups, room)
    rounds_kernel(
        stream, count, tables, desk, noise, pace, sizes, sums, party, rooms, scratch_for(sizes, columns)
    )


@kernel
def rounds_kernel(stream, count, tables, desk, noise, pace, sizes, sums, party, rooms, scratch):
    # as `train_rounds`; rooms: what the contexts of each word of a round come to, how each should move, the
    # slopes of each group
    counters, me, workers = party
    (hidden, news, slopes) = rooms
    parts = desk[0].shape[1]
    size = desk[0].shape[2] * GROUP
    edges = desk[5]
    begin = me * parts // workers
    end = (me + 1) * parts // workers
    rounds = (count + size - 1) // size
    for now in range(rounds):
        notes = side(desk, now, slopes)
        meet_all(stream, count, desk, slopes, now, counters, noise, pace, sizes, scratch)
        for p in range(begin, end):
            _score(stream, count, tables, notes, now * size, (p, edges), hidden, sizes, scratch)
        count_one(counters, ARRIVED)
        meet_ahead(stream, count, desk, slopes, now, workers, counters, noise, pace, sizes, scratch)
        make_slopes(count, notes, now * size, pace, sizes, scratch, sums, me == 0)
        for p in range(begin, end if pace[0] > 0 else begin):
            _move(stream, count, tables, notes, now * size, (p, edges), (hidden, news), sizes, scratch)
    count_one(counters, ARRIVED)
    wait_for(
        counters, ARRIVED, (rounds + 1) * workers
    )  # nobody writes on the desk while another still reads there


@part
def side(desk, now, slopes):
    # what is noted of one round: others, weights, slopes, how many are no negatives, negatives, parts of
    # scores
    n = now % SIDES
    return desk[1][n], desk[2][n], slopes, desk[3][n], desk[4][n], desk[0][n]


@part
def meet_all(stream, count, desk, slopes, now, counters, noise, pace, sizes, scratch):
    # whom the words of round `now` meet is on the desk, by this worker or another
    while meet_next(stream, count, desk, slopes, now + 1, counters, noise, pace, sizes, scratch):
        pass
    wait_for(counters, READY + now % SIDES, (now // SIDES + 1) * desk[4].shape[1])


@part
def meet_ahead(stream, count, desk, slopes, now, workers, counters, noise, pace, sizes, scratch):
    # wait until all have scored round `now`, and meanwhile find out whom the words meet that are still to
    # come, as far as there is room
    arrivals = (now + 1) * workers
    end = now + SIDES - 1
    while counted(counters, ARRIVED) < arrivals and meet_next(
        stream, count, desk, slopes, end, counters, noise, pace, sizes, scratch
    ):
        pass
    wait_for(counters, ARRIVED, arrivals)


@kernel
def meet_next(stream, count, desk, slopes, rounds, counters, noise, pace, sizes, scratch):
    # whom the words of one more tile meet is put on the desk, if the first `rounds` have a tile that nobody
    # has taken; whether they had
    objective, tile, shared, _ = sizes
    tiles = desk[4].shape[1]
    taken = take_turn(counters, NEXT, rounds * tiles)
    if taken < 0:
        return False
    notes = side(desk, taken // tiles, slopes)
    n = taken % tiles
    near = notes[3]
    negatives = notes[4][n]
    begin = taken * tile
    if begin < count:
        draw_noise(stream[PLACE, begin], noise, negatives[:shared])
    for first in range(begin, min(begin + tile, count), GROUP):
        g = (n * tile + first - begin) // GROUP
        group, _ = turn(first, count, count, pace, sizes)
        near[g] = OWN
        if objective == SKIPGRAM:
            near[g] = weigh_around(
                stream, group, negatives, stream[WORD], negatives, _noted(notes, g, scratch)
            )
        else:
            weigh_centers(stream, group, negatives, _noted(notes, g, scratch))
    count_one(counters, READY + taken // tiles % SIDES)
    return True


@kernel
def make_slopes(count, notes, begin, pace, sizes, scratch, sums, measures):
    # the sums of the parts of scores become slopes; one worker measures for all
    scores = notes[5]
    groups = min((count - begin + GROUP - 1) // GROUP, scores.shape[1])
    for g in range(groups):
        group, task = turn(begin + g * GROUP, count, count, pace, sizes)
        slopes = notes[2][g]
        near = notes[3][g]
        for p in range(scores.shape[0]):  # what others have written comes over before it is added up
            fetch_row(scores[p], min(g + 4, groups - 1))
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
    p, edges = which
    table = part_of(tables[0], edges, p)
    contexts = part_of(tables[1], edges, p)
    old = hidden[:, edges[p] : edges[p + 1]]
    negatives = notes[4]
    words = stream[WORD]
    for first in range(begin, min(begin + hidden.shape[0], count), GROUP):
        n = (first - begin) // tile
        place = first - begin
        fetch_row(notes[1], place // GROUP)  # for the slopes
        for i in range(GROUP):  # ask for what the group one tile further on will need
            fetch_row(table, words[first + tile + i])
            fetch_row(contexts, words[first + tile + i + window])
        for k in range(place % tile * shared // tile, (place % tile + GROUP) * shared // tile):
            fetch_row(contexts, max(negatives[min(n + 1, negatives.shape[0] - 1), k], 0))
        if objective == SKIPGRAM:
            score_words(table, words, first, contexts, notes, p, place // GROUP, shared)
        else:
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            take(table, old[place:], scratch[5], table, words[head:], near, scratch[6])
            score_hidden(stream, contexts, notes, p, first, place, old, sizes, scratch[5])


@kernel
def _move(stream, count, tables, notes, begin, which, rooms, sizes, scratch):
    # all slopes are there: the columns of part `which` move, all by what was there before
    objective, _, shared, window = sizes
    p, edges = which
    table = part_of(tables[0], edges, p)
    contexts = part_of(tables[1], edges, p)
    words = stream[WORD]
    four = scratch[5]
    kept = part_of(tables[2], edges, p)
    kept_contexts = part_of(tables[3], edges, p)
    hidden = rooms[0][:, edges[p] : edges[p + 1]]
    news = rooms[1][:, edges[p] : edges[p + 1]]
    end = min(begin + rooms[0].shape[0], count)
    if objective == SKIPGRAM:
        move_words(table, words, contexts, notes, begin, end, news, shared, four)
    else:
        move_hidden(stream, contexts, notes, begin, end, hidden, news, sizes, four)
        for first in range(begin, end, GROUP):
            head, near = weigh_contexts(stream, first, objective == CBOW_MEAN, scratch)
            give(news[first - begin :], news, four, table, words[head:], near, scratch[7])
    if kept.shape[0]:
        for q in range(max(begin - window, 0), min(end + window, count)):
            _put_back(words[q], table, contexts, kept, kept_contexts)
        for g in range((end - begin + GROUP - 1) // GROUP):
            for k in range(shared):
                _put_back(notes[4][g * GROUP // sizes[1], k], table, contexts, kept, kept_contexts)


@part
def _put_back(word, table, contexts, kept, kept_contexts):
    # what a round may have moved, and must not have, is as it was
    if word < kept.shape[0]:
        for column in range(table.shape[1]):
            table[word, column] = kept[word, column]
            contexts[word, column] = kept_contexts[word, column]


@part
def score_words(table, places, first, contexts, notes, p, g, shared):
    # what four words say, in these columns, of those they meet
    for q in range(0, notes[3][g] + shared, GROUP):
        dots(table, places, first, contexts, notes[0][g], q, notes[5][p, g])


@part
def move_words(table, places, contexts, notes, begin, end, news, shared, four):
    # news, filled: by how much each word should move; then the contexts move, then the words
    others = notes[0]
    slopes = notes[2]
    near = notes[3]
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
    # what the contexts of four centers, in the rows of `old` from `place` on, say of the centers and the
    # negatives
    rows = old[place:]
    negatives = notes[4][place // sizes[1]]
    g = place // GROUP
    own_dots(rows, four, contexts, stream[WORD], first, notes[5][p, g])
    for q in range(0, sizes[2], GROUP):
        dots(rows, four, 0, contexts, negatives, q, notes[5][p, g, GROUP * OWN :])


@part
def move_hidden(stream, contexts, notes, begin, end, hidden, news, sizes, four):
    # news, filled: by how much what the contexts of each center come to should move; then centers and
    # negatives move
    words = stream[WORD]
    tile = sizes[1]
    shared = sizes[2]
    for first in range(begin, end, GROUP):
        place = first - begin
        slopes = notes[2][(first - begin) // GROUP]
        take(hidden, news[place:], four, contexts, notes[4][place // tile], shared, slopes[GROUP * OWN :])
        add_four(news[place:], four, 0, contexts, words, first, slopes)
    for first in range(begin, end, GROUP):
        place = first - begin
        slopes = notes[2][(first - begin) // GROUP]
        give(hidden[place:], hidden, four, contexts, notes[4][place // tile], shared, slopes[GROUP * OWN :])
        add_four(contexts, words, first, hidden[place:], four, 0, slopes)
