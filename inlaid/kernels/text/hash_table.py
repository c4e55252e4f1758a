"""Words to ids: a hash table of bytes that counts words and gives them ids.

`number` looks up each word between spaces, and adds it if it is new; `renumber` maps these ids to those of
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
PREFIX, REST, LENGTH, COUNT = range(4)
"""Columns of a row: the first eight bytes of a word, the others, its length, its count."""


class WordTable(NamedTuple):
    """The hash table of words."""

    slots: np.ndarray
    """(2^k,) u8: 0, or the upper half of a word's hash << 32 | its row; so small that it fits a cache."""
    rows: np.ndarray
    """(R, 4) u8, see PREFIX. In order of first occurrence, so frequent words are close together. Row 0 is the
    newline, a word like any other here."""
    blob: np.ndarray
    """(B,) u1: the bytes of row r are blob[ends[r - 1]:ends[r]]."""
    ends: np.ndarray
    """(R,) i8."""


class NumberProgress(NamedTuple):
    """How far `number` has come."""

    here: int
    """Where the next word may begin."""
    known: int
    """Rows in use."""
    filled: int
    """Ids written."""


class RenumberProgress(NamedTuple):
    """How far `renumber` has come."""

    ids: int
    """Ids written by the last call."""
    ends: int
    """Sentence ends written by the last call."""
    all_ids: int
    """Ids written by all calls."""
    ended_ids: int
    """Those of them in sentences that have ended."""
    sentences: int
    """Sentences that had any word."""
    has_words: int
    """1 if the current sentence has any word, otherwise 0."""


class Repeated(NamedTuple):
    """How many hashes were seen before, and how many the table holds now."""

    found: int
    held: int


class WordsAhead(NamedTuple):
    """Words that are found and not looked up yet."""

    starts: np.ndarray
    stops: np.ndarray
    keys: np.ndarray
    """(AHEAD, 2) u8: PREFIX and REST."""
    hashes: np.ndarray


class WordScan(NamedTuple):
    """State of the search for words."""

    here: int
    begun: int
    """Words found, the last of which may not have ended."""
    stopped: int
    """Words found that have ended."""
    inside: np.uint64
    """1 if a word continues at `here`."""
    ended: np.uint64
    """1 if a newline, which is a word of one byte, ends at `here`."""


def word_buffers() -> WordsAhead:
    """Buffers for words that are found ahead."""
    return WordsAhead(
        starts=np.empty(AHEAD, np.int64),
        stops=np.empty(AHEAD, np.int64),
        keys=np.empty((AHEAD, 2), np.uint64),
        hashes=np.empty(AHEAD, np.uint64),
    )


@kernel
def number(text, size, progress, table, ids, found):
    # text (size + 64,) u1: words between spaces and newlines; ids (size,) i4, filled: rows - 1
    # Returns the progress: after the text, or at a word for which the table has no space.
    known = progress.known
    filled = progress.filled
    slots = table.slots
    rows = table.rows
    blob = table.blob
    ends = table.ends
    mask = np.uint64(slots.shape[0] - 1)
    scan = WordScan(progress.here, 0, 0, np.uint64(0), np.uint64(0))
    while scan.here <= size:  # not <: the last newline may end at the next 64 bytes
        scan = _find_words(text, size, scan, found)
        _hash_words(text, scan.stopped, table, found)
        for n in range(scan.stopped):
            start = found.starts[n]
            length = found.stops[n] - start
            place = found.hashes[n] & mask
            tag = found.hashes[n] >> HALF
            # not a part of its own: with five arrays as arguments it takes twice the time of everything else
            while True:
                slot = slots[place]
                row = slot & LOW
                if (
                    slot >> HALF == tag
                    and rows[row, PREFIX] == found.keys[n, PREFIX]
                    and rows[row, REST] == found.keys[n, REST]
                    and rows[row, LENGTH] == np.uint64(length)
                ):
                    if length <= 16 or _same(text, start, length, blob, ends[row - ONE]):
                        break
                if slot == 0:
                    if _is_full(table, known, length):
                        return NumberProgress(start, known, filled)
                    row = np.uint64(known)
                    _add(text, start, length, found.keys[n], table, known)
                    slots[place] = tag << HALF | row
                    known += 1
                    break
                place = (place + ONE) & mask
            rows[row, COUNT] += ONE
            ids[filled] = np.int32(row) - 1
            filled += 1
    return NumberProgress(scan.here, known, filled)


@part
def _find_words(text, size, scan, found):
    # Find words until almost AHEAD of them have begun. One that has not ended yet is the first of the next
    # call.
    here = scan.here
    begun = scan.begun - scan.stopped
    if begun > 0:
        found.starts[0] = found.starts[scan.stopped]
    stopped = 0
    inside = scan.inside
    ended = scan.ended
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
            found.starts[begun] = here + lowest_bit(begins)
            begins &= begins - ONE
            begun += 1
        while ends_here != 0:
            found.stops[stopped] = here + lowest_bit(ends_here)
            ends_here &= ends_here - ONE
            stopped += 1
        here += 64
    return WordScan(here, begun, stopped, inside, ended)


@part
def _hash_words(text, count, table, found):
    # Keys and hashes of the words found; their slots, then their rows, are prefetched meanwhile.
    mask = np.uint64(table.slots.shape[0] - 1)
    for n in range(count):
        length = found.stops[n] - found.starts[n]
        first, others = _key(text, found.starts[n], length)
        found.keys[n, PREFIX] = first
        found.keys[n, REST] = others
        found.hashes[n] = _hash(first, others, length)
        prefetch_at(table.slots, np.int64(found.hashes[n] & mask))
    for n in range(count):
        prefetch_at(table.rows, np.int64(table.slots[found.hashes[n] & mask] & LOW))


@part
def _is_full(table, known, length):
    if known >= table.ends.shape[0] or 2 * known >= table.slots.shape[0]:
        return True
    return table.ends[known - 1] + length + 64 > table.blob.shape[0]


@part
def _key(text, start, length):
    # Two integers that identify a word of up to 16 bytes, given its length; for longer ones the second is a
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
def _add(text, start, length, key, table, row):
    rows = table.rows
    ends = table.ends
    for n in range(0, length, 64):  # 64 bytes each; those after the word are overwritten by the next
        copy(text, start + n, table.blob, ends[row - 1] + n)
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
def renumber(ids, new, out, ends, progress):
    # ids (N,) i4 with -1 between sentences; new (words,) i4: the id each word gets, or -1 to leave it out
    # out (N,) i4 and ends (N,) i8, filled: the ids that stay, and where sentences end that keep any
    # progress: of the call before
    filled = 0
    closed = 0
    ended_ids = progress.ended_ids
    sentences = progress.sentences
    has_words = progress.has_words
    for n in range(ids.shape[0]):
        if ids[n] >= 0:
            id = new[ids[n]]
            out[filled] = id
            filled += id >= 0
            has_words = 1
        else:
            sentences += has_words
            has_words = 0
            if progress.all_ids + filled > ended_ids:
                ended_ids = progress.all_ids + filled
                ends[closed] = ended_ids
                closed += 1
    return RenumberProgress(filled, closed, progress.all_ids + filled, ended_ids, sentences, has_words)


@kernel
def repeated(hashes, table, held):
    # hashes (N,) u8; table (2^k,) u8, those seen before; held: how many it holds
    found = 0
    mask = table.shape[0] - 1
    for n in range(hashes.shape[0]):
        hashed = hashes[n] | ONE  # 0 marks an empty place
        slot = np.int64(hashed >> np.uint64(20)) & mask
        while table[slot] != 0 and table[slot] != hashed:
            slot = (slot + 1) & mask
        if table[slot] == hashed:
            found += 1
        elif 2 * held < table.shape[0]:
            table[slot] = hashed
            held += 1
    return Repeated(found, held)
