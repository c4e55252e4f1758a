"""Words to ids: a hash table of bytes that counts words and gives them ids.

`number` looks up each word between blanks, and adds it if it is new; `renumber` maps these ids to those of
the vocabulary. `line_hashes` and `repeated` find lines that occurred before.

Every array of text is followed by at least 64 bytes of newlines, so that vectors may read past its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import between, copy, eight, lowest_bit, prefetch_at

SPACE = 32
NEWLINE = 10
ONE = np.uint64(1)
TOP = np.uint64(63)
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
AHEAD = 256
"""Words found before the first of them is looked up: their slots are prefetched meanwhile."""
KNOWN, FILLED = range(2)
"""Entries of the state of `number`."""
PREFIX, REST, LENGTH, COUNT = range(4)
"""Columns of a row: the first eight bytes of a word, the others, its length, its count."""
CALL_IDS, CALL_ENDS, ALL_IDS, IDS_IN_ENDED, SENTENCES, HAS_WORDS = range(6)
"""Entries of the state of `renumber`: ids and sentence ends of this call; ids of all calls; ids in sentences
that have ended; sentences that had any word; whether the current one has."""


class WordsAhead(NamedTuple):
    """Words that are found and not looked up yet."""

    starts: np.ndarray
    stops: np.ndarray
    keys: np.ndarray
    """(AHEAD, 2) u8: PREFIX and REST."""
    hashes: np.ndarray


def room_ahead() -> WordsAhead:
    """Buffers for words that are found ahead."""
    return WordsAhead(
        starts=np.empty(AHEAD, np.int64),
        stops=np.empty(AHEAD, np.int64),
        keys=np.empty((AHEAD, 2), np.uint64),
        hashes=np.empty(AHEAD, np.uint64),
    )


@kernel
def number(text, size, start, slots, rows, blob, ends, ids, state, found):
    # text (size + 64,) u1: words between blanks and newlines; start: where a word may begin
    # slots (2^k,) u8: 0, or the upper half of a word's hash << 32 | its row; so small, the table fits a cache
    # rows (R, 4) u8, each: first eight bytes, the others, length, count; in order of first sight, so frequent
    # words lie together
    # Row 0 is the newline, a word like any other here; the bytes of row r are blob[ends[r - 1]:ends[r]]
    # ids (size,) i4, filled: rows - 1; state (2,) i8: rows known, ids filled
    # found: from `room_ahead`
    # Returns where it stopped: behind the text, or at a word for which there is no space.
    known = state[KNOWN]
    filled = state[FILLED]
    begun = 0
    mask = np.uint64(slots.shape[0] - 1)
    starts = found.starts
    stops = found.stops
    keys = found.keys
    hashes = found.hashes
    here = start
    inside = np.uint64(0)
    ended = np.uint64(0)
    while here <= size:  # not <: the last newline may end at the next 64 bytes
        stopped = 0
        while here <= size and begun + 65 < AHEAD:
            newlines = between(text, here, NEWLINE, NEWLINE)
            letters = ~(newlines | between(text, here, SPACE, SPACE))
            if here + 64 > size:  # the padding is not text
                newlines &= (ONE << np.uint64(size - here)) - ONE
            before = letters << ONE | inside
            begins = letters & ~before | newlines
            ends_here = ~letters & before | newlines << ONE | ended
            inside = letters >> TOP
            ended = newlines >> TOP
            while begins != 0:
                starts[begun] = here + lowest_bit(begins)
                begins &= begins - ONE
                begun += 1
            while ends_here != 0:
                stops[stopped] = here + lowest_bit(ends_here)
                ends_here &= ends_here - ONE
                stopped += 1
            here += 64
        for n in range(stopped):
            first, others = _key(text, starts[n], stops[n] - starts[n])
            keys[n, PREFIX] = first
            keys[n, REST] = others
            hashes[n] = _hash(first, others, stops[n] - starts[n])
            prefetch_at(slots, np.int64(hashes[n] & mask))
        for n in range(stopped):
            prefetch_at(rows, np.int64(slots[hashes[n] & mask] & LOW))
        for n in range(stopped):
            length = stops[n] - starts[n]
            place = hashes[n] & mask
            tag = hashes[n] >> HALF
            # not a part of its own: with five arrays as arguments it takes twice the time of everything else
            while True:
                slot = slots[place]
                row = slot & LOW
                if (
                    slot >> HALF == tag
                    and rows[row, PREFIX] == keys[n, PREFIX]
                    and rows[row, REST] == keys[n, REST]
                    and rows[row, LENGTH] == np.uint64(length)
                ):
                    if length <= 16 or _same(text, starts[n], length, blob, ends[row - ONE]):
                        break
                if slot == 0:
                    if (
                        known >= ends.shape[0]
                        or 2 * known >= slots.shape[0]
                        or ends[known - 1] + length + 64 > blob.shape[0]
                    ):
                        state[KNOWN] = known
                        state[FILLED] = filled
                        return starts[n]
                    row = np.uint64(known)
                    _add(text, starts[n], length, keys[n], rows, blob, ends, known)
                    slots[place] = tag << HALF | row
                    known += 1
                    break
                place = (place + ONE) & mask
            rows[row, COUNT] += ONE
            ids[filled] = np.int32(row) - 1
            filled += 1
        if begun > stopped:  # a word goes on in the next 64 bytes
            starts[0] = starts[stopped]
        begun -= stopped
    state[KNOWN] = known
    state[FILLED] = filled
    return here


@part
def _key(text, start, length):
    # Two numbers that identify a word of up to 16 bytes, given its length; for longer ones the second is a
    # hash.
    short = min(length, 8)
    first = eight(text, start) & (~np.uint64(0) >> np.uint64(64 - 8 * short))
    others = eight(text, start + length - short) & (np.uint64(0) - np.uint64(length > 8))
    if length > 16:
        for n in range(start + 8, start + length - 8, 8):
            others = (others ^ eight(text, n)) * np.uint64(0x9E3779B97F4A7C15)
            others ^= others >> np.uint64(29)
    return first, others


@part
def _hash(first, others, length):
    # The lower half is the slot that is tried first, the upper half (never 0) is compared with that of the
    # slot.
    hashed = (first ^ np.uint64(length)) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ others ^ hashed >> HALF) * np.uint64(0xD6E8FEB86659FD93)
    return hashed ^ hashed >> HALF | ONE << HALF


@part
def _same(text, start, length, blob, place):
    for n in range(length):
        if text[start + n] != blob[place + n]:
            return False
    return True


@part
def _add(text, start, length, key, rows, blob, ends, row):
    for n in range(0, length, 64):  # 64 bytes each; those behind the word are overwritten by the next
        copy(text, start + n, blob, ends[row - 1] + n)
    ends[row] = ends[row - 1] + length
    rows[row, PREFIX] = key[PREFIX]
    rows[row, REST] = key[REST]
    rows[row, LENGTH] = np.uint64(length)
    rows[row, COUNT] = np.uint64(0)


@kernel
def refill(rows, slots):
    # rows (known, 4) u8, as `number` knows them; slots (2^k,) u8, empty, filled
    mask = np.uint64(slots.shape[0] - 1)
    for n in range(rows.shape[0]):
        hashed = _hash(rows[n, PREFIX], rows[n, REST], rows[n, LENGTH])
        place = hashed & mask
        while slots[place] != 0:
            place = (place + ONE) & mask
        slots[place] = hashed >> HALF << HALF | np.uint64(n)


@kernel
def line_hashes(text, size, hashes):
    # text (size + 64,) u1; hashes (lines,) u8, filled: one for each line that is not empty; returns how many
    filled = 0
    start = 0
    here = 0
    while here < size:
        newlines = between(text, here, NEWLINE, NEWLINE)
        while newlines != 0:
            end = here + lowest_bit(newlines)
            newlines &= newlines - ONE
            if end > start and end <= size:
                hashed = np.uint64(end - start)
                for n in range(start, end - 7, 8):
                    hashed = (hashed ^ eight(text, n)) * np.uint64(0x9E3779B97F4A7C15)
                    hashed ^= hashed >> np.uint64(32)
                for n in range(end - (end - start) % 8, end):
                    hashed = (hashed ^ np.uint64(text[n])) * np.uint64(0x9E3779B97F4A7C15)
                    hashed ^= hashed >> np.uint64(32)
                hashes[filled] = hashed
                filled += 1
            start = end + 1
        here += 64
    return filled


@kernel
def renumber(ids, new, out, ends, state):
    # ids (N,) i4 with -1 between sentences; new (words,) i4: the id each word gets, or -1 to leave it out
    # out (N,) i4 and ends (N,) i8, filled: the ids that stay, and where sentences end that keep any
    # state (6,) i8: ids and ends filled by this call; ids filled by all calls, and by all sentences that have
    # ended;
    # sentences that held any word; whether the one that goes on does
    filled = 0
    closed = 0
    for n in range(ids.shape[0]):
        if ids[n] >= 0:
            id = new[ids[n]]
            out[filled] = id
            filled += id >= 0
            state[HAS_WORDS] = 1
        else:
            state[SENTENCES] += state[HAS_WORDS]
            state[HAS_WORDS] = 0
            if state[ALL_IDS] + filled > state[IDS_IN_ENDED]:
                state[IDS_IN_ENDED] = state[ALL_IDS] + filled
                ends[closed] = state[IDS_IN_ENDED]
                closed += 1
    state[CALL_IDS] = filled
    state[CALL_ENDS] = closed
    state[ALL_IDS] += filled


@kernel
def repeated(hashes, table, state):
    # hashes (N,) u8; table (2^k,) u8, those seen before; state (1,) i8: how many it holds. Returns how many
    # were seen before.
    found = 0
    mask = table.shape[0] - 1
    for n in range(hashes.shape[0]):
        hashed = hashes[n] | ONE  # 0 marks an empty place
        slot = np.int64(hashed >> np.uint64(20)) & mask
        while table[slot] != 0 and table[slot] != hashed:
            slot = (slot + 1) & mask
        if table[slot] == hashed:
            found += 1
        elif 2 * state[0] < table.shape[0]:
            table[slot] = hashed
            state[0] += 1
    return found
