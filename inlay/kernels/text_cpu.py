"""Bytes to ids: UTF-8 text blanked out around its words, and words counted and numbered.

`clean` leaves words where they stand, in lower case if asked, and turns everything between them into blanks. `number`
then finds each word in a hash table of bytes. Chinese is set apart by `clean`, cut elsewhere, and put back by `weave`. What
`clean` cannot do exactly (characters that compose, broken UTF-8) it reports by line, for the plain tokenizer to do.

Every array of text is followed by at least 64 bytes of newlines, so that vectors may read past its end.
"""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel, part
from inlay.kernels.vector import between, copy, eight, fetch, lowest_bit, put_words

BLANK, LETTER, DIGIT, APOSTROPHE, POINT, HAN, HARD = range(7)
"""Classes of characters: between words; of a word; of a word and a number; of a word if inside it; of a number if inside it;
Chinese; not for us."""

MARK = 1
"""Stands in cleaned text for a run of Chinese, which waits elsewhere to be cut."""
SPACE, NEWLINE, RETURN = 32, 10, 13
ONE = np.uint64(1)
TOP = np.uint64(63)
AHEAD = 128


@kernel
def clean(text, size, classes, lowered, lower, out, runs, hard, state):
    # text (size + 64,) u1; classes (0x110001,) u1 and lowered (0x110001,) i4 by code point; lower: whether A-Z become a-z
    # out like text, filled: words between blanks, a MARK for each run of Chinese; runs (size + 1,) u1, filled: those, a newline before each
    # hard (lines, 2) i8, filled: line n of those is text[hard[n, 0]:hard[n, 1]]; state (2,) i8, filled: hard lines, bytes of runs
    found, here, line, easy, before, waiting, waiting_before = 0, 0, 0, True, BLANK, 0, 0
    words = classes[ord("'")] == APOSTROPHE
    while here < size:
        if between(text, here, 0x80, 0xFF) == 0 and here + 64 <= size:
            last = _clean_plain(text, here, before, _class_at(text, here + 64, classes), words, lower, out)
            newlines = between(text, here, NEWLINE, NEWLINE) | between(text, here, RETURN, RETURN)
            while newlines != 0:
                end = here + lowest_bit(newlines)
                if not easy:
                    hard[found, 0], hard[found, 1], waiting = line, end, waiting_before
                    found += 1
                line, easy, waiting_before = end + 1, True, waiting
                newlines &= newlines - ONE
            before, here = last, here + 64
            continue
        until = min(here + 64, size)
        while here < until:
            point, width = _point(text, here)
            kind = classes[point]
            if point == NEWLINE or point == RETURN:
                if not easy:
                    hard[found, 0], hard[found, 1], waiting = line, here, waiting_before
                    found += 1
                line, easy, before, waiting_before = here + 1, True, BLANK, waiting
                out[here] = NEWLINE
                here += 1
                continue
            if kind == HARD:
                easy = False
            elif kind == HAN:
                if before != HAN:
                    runs[waiting] = NEWLINE
                    waiting += 1
                for n in range(here, here + width):
                    runs[waiting] = text[n]
                    waiting += 1
                    out[n] = SPACE
                out[here] = SPACE if before == HAN else MARK
                before, here = kind, here + width
                continue
            elif kind >= APOSTROPHE:
                following = _class_at(text, here + width, classes)
                joins = DIGIT if kind == POINT else LETTER
                inside = (before == DIGIT or before == joins) and (following == DIGIT or following == joins)
                kind = joins if inside else BLANK
            if kind == BLANK:
                for n in range(here, here + width):
                    out[n] = SPACE
            else:
                _put(out, here, width, lowered[point])
            before, here = kind, here + width
    if not easy:
        hard[found, 0], hard[found, 1], waiting = line, size, waiting_before
        found += 1
    state[0], state[1] = found, waiting


@kernel
def weave(text, size, words, out):
    # text (size + 64,) u1 with MARKs; words (M,) u1: for each MARK a newline, then its words between blanks; out, filled; returns how much
    filled, taken, here = 0, 0, 0
    while here < size:
        if between(text, here, MARK, MARK) == 0 and here + 64 <= size:
            copy(text, here, out, filled)
            filled += 64
            here += 64
            continue
        for place in range(here, min(here + 64, size)):
            byte = text[place]
            if byte == MARK:
                taken += 1  # the newline
                while taken < words.shape[0] and words[taken] != NEWLINE:
                    out[filled] = words[taken]
                    filled += 1
                    taken += 1
                out[filled] = SPACE
                filled += 1
            elif byte != SPACE or place == here or text[place - 1] != SPACE:  # cut words leave many blanks behind
                out[filled] = byte
                filled += 1
        here += 64
    return filled


@part
def _clean_plain(text, here, before, after, words, lower, out):
    # 64 bytes of ASCII at once; `before` and `after` are the classes of the characters around them. Returns the class of the last.
    newlines = between(text, here, NEWLINE, NEWLINE) | between(text, here, RETURN, RETURN)
    upper = between(text, here, ord("A"), ord("Z")) if lower else np.uint64(0)
    if words:
        digits = between(text, here, ord("0"), ord("9"))
        letters = between(text, here, ord("a"), ord("z")) | between(text, here, ord("A"), ord("Z")) | digits
        quotes = between(text, here, ord("'"), ord("'"))
        points = between(text, here, ord(","), ord(",")) | between(text, here, ord("."), ord("."))
        letters_before = letters << ONE | np.uint64(before == LETTER or before == DIGIT)
        digits_before = digits << ONE | np.uint64(before == DIGIT)
        letters_after = letters >> ONE | np.uint64(after == LETTER or after == DIGIT) << TOP
        digits_after = digits >> ONE | np.uint64(after == DIGIT) << TOP
        kept = letters | (quotes & letters_before & letters_after) | (points & digits_before & digits_after)
        put_words(text, here, kept, upper, newlines, out)
        if digits >> TOP:
            return DIGIT
        return LETTER if letters >> TOP else BLANK
    kept = ~(between(text, here, 9, 13) | between(text, here, 28, 32))
    put_words(text, here, kept, upper, newlines, out)
    return LETTER if kept >> TOP else BLANK


@part
def _class_at(text, here, classes):
    return classes[_point(text, here)[0]]


@part
def _point(text, here):
    # The code point that starts at `here` and its width in bytes; 0x110000, width 1, where the bytes are not UTF-8.
    lead = np.int64(text[here])
    if lead < 0x80:
        return lead, 1
    if lead < 0xC2 or lead > 0xF4:
        return 0x110000, 1
    width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    point = lead & (0x7F >> width)
    for n in range(here + 1, here + width):
        if text[n] & 0xC0 != 0x80:  # the newlines behind the text end every character there
            return 0x110000, 1
        point = point << 6 | (np.int64(text[n]) & 0x3F)
    too_long = (width == 3 and point < 0x800) or (width == 4 and point < 0x10000)
    if too_long or 0xD800 <= point < 0xE000 or point > 0x10FFFF:
        return 0x110000, 1
    return point, width


@part
def _put(out, here, width, point):
    # Write a code point of known width as UTF-8.
    if width == 1:
        out[here] = point
        return
    for n in range(here + width - 1, here, -1):
        out[n] = 0x80 | (point & 0x3F)
        point >>= 6
    out[here] = (0xF00 >> width) & 0xFF | point


@kernel
def number(text, size, start, slots, blob, ends, ids, state):
    # text (size + 64,) u1: words between blanks and newlines; start: where a word may begin
    # slots (2^k, 4) u8, each: first eight bytes, the others, length << 32 | word + 1, count; word w is blob[ends[w-1]:ends[w]]
    # ids (size + 1,) i4, filled, -1 at each newline; state (2,) i8: words known, ids filled
    # Returns where it stopped: at the end, or at a word for which there is no room.
    known, filled = state[0], state[1]
    mask = slots.shape[0] - 1
    # Words are found AHEAD at a time and their slots asked for, so that the memory works while we do.
    starts, lengths, places = np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64)
    keys = np.empty((AHEAD, 2), np.uint64)
    here, inside = start, np.uint64(0)
    while here < size:
        waiting = 0
        while here < size and waiting + 65 < AHEAD:
            newlines = between(text, here, NEWLINE, NEWLINE)
            letters = ~(newlines | between(text, here, SPACE, SPACE))
            if here + 64 > size:  # the padding is not text
                newlines &= (ONE << np.uint64(size - here)) - ONE
            before = letters << ONE | inside
            begins, stops = letters & ~before, ~letters & before
            if not inside:
                start = here + lowest_bit(begins)
                begins &= begins - ONE
            events = stops | newlines
            while events != 0:
                bit = events & (~events + ONE)
                end = here + lowest_bit(events)
                events ^= bit
                if stops & bit:
                    first, others = _key(text, start, end)
                    place = _place(first, others, end - start, mask)
                    fetch(slots, place)
                    starts[waiting], lengths[waiting], places[waiting] = start, end - start, place
                    keys[waiting, 0], keys[waiting, 1] = first, others
                    waiting += 1
                    start = here + lowest_bit(begins)
                    begins &= begins - ONE
                if newlines & bit:
                    lengths[waiting] = 0
                    waiting += 1
            inside = letters >> TOP
            here += 64
        for n in range(waiting):
            if lengths[n] == 0:
                ids[filled] = -1
                filled += 1
                continue
            slot = _find(text, starts[n], lengths[n], keys[n, 0], keys[n, 1], slots, places[n], mask, blob, ends)
            if slots[slot, 2] == 0:
                if known >= ends.shape[0] or 2 * known >= mask or (ends[known - 1] if known else 0) + lengths[n] > blob.shape[0]:
                    state[0], state[1] = known, filled
                    return starts[n]
                _add(text, starts[n], lengths[n], keys[n, 0], keys[n, 1], slots, slot, blob, ends, known)
                known += 1
            slots[slot, 3] += ONE
            ids[filled] = np.int32(np.int64(slots[slot, 2] & np.uint64(0xFFFFFFFF)) - 1)
            filled += 1
    state[0], state[1] = known, filled
    return size


@part
def _place(first, others, length, mask):
    # Where a word would like to lie.
    hashed = (first ^ np.uint64(length)) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ others ^ hashed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(hashed ^ hashed >> np.uint64(32)) & mask


@part
def _key(text, start, end):
    # Two numbers that a word of up to 16 bytes can be told by, given its length; for longer ones the second is a hash.
    length = end - start
    short = min(length, 8)
    first = eight(text, start) & (~np.uint64(0) >> np.uint64(64 - 8 * short))
    others = eight(text, end - short) & (np.uint64(0) - np.uint64(length > 8))
    if length > 16:
        for n in range(start + 8, end - 8, 8):
            others = (others ^ eight(text, n)) * np.uint64(0x9E3779B97F4A7C15)
            others ^= others >> np.uint64(29)
    return first, others


@part
def _find(text, start, length, first, others, slots, slot, mask, blob, ends):
    # The slot that holds the word, or the empty one where it belongs.
    marked = np.uint64(length)
    while slots[slot, 2] != 0:
        if slots[slot, 0] == first and slots[slot, 1] == others and slots[slot, 2] >> np.uint64(32) == marked:
            if length <= 16 or _same(text, start, length, blob, ends[np.int64(slots[slot, 2] & np.uint64(0xFFFFFFFF)) - 1] - length):
                break
        slot = (slot + 1) & mask
    return slot


@part
def _same(text, start, length, blob, place):
    for n in range(length):
        if text[start + n] != blob[place + n]:
            return False
    return True


@part
def _add(text, start, length, first, others, slots, slot, blob, ends, word):
    place = ends[word - 1] if word else 0
    for n in range(length):
        blob[place + n] = text[start + n]
    ends[word] = place + length
    slots[slot, 0], slots[slot, 1], slots[slot, 3] = first, others, np.uint64(0)
    slots[slot, 2] = np.uint64(length) << np.uint64(32) | np.uint64(word + 1)


@kernel
def refill(old, slots):
    # old (words, 4) u8, filled slots of a smaller table; slots (2^k, 4) u8, empty, filled
    mask = slots.shape[0] - 1
    for n in range(old.shape[0]):
        slot = _place(old[n, 0], old[n, 1], np.int64(old[n, 2] >> np.uint64(32)), mask)
        while slots[slot, 2] != 0:
            slot = (slot + 1) & mask
        for k in range(4):
            slots[slot, k] = old[n, k]


@kernel
def line_hashes(text, size, hashes):
    # text (size + 64,) u1; hashes (lines,) u8, filled: one for each line that is not empty; returns how many
    filled, start = 0, 0
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
    # state (6,) i8: ids and ends filled by this call; ids filled by all calls, and by all sentences that have ended;
    # sentences that held any word; whether the one that goes on does
    filled, closed = 0, 0
    for n in range(ids.shape[0]):
        if ids[n] >= 0:
            id = new[ids[n]]
            out[filled] = id
            filled += id >= 0
            state[5] = 1
        else:
            state[4] += state[5]
            state[5] = 0
            if state[2] + filled > state[3]:
                state[3] = state[2] + filled
                ends[closed] = state[3]
                closed += 1
    state[0], state[1] = filled, closed
    state[2] += filled


@kernel
def repeated(hashes, table, state):
    # hashes (N,) u8; table (2^k,) u8, those met before; state (1,) i8: how many it holds. Returns how many were met before.
    found, mask = 0, table.shape[0] - 1
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
