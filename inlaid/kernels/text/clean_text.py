"""Bytes to words: UTF-8 text with everything between words replaced by blanks.

`clean` leaves words where they are, in lower case if asked, and replaces everything between them by blanks.
Runs of Chinese are moved to a buffer of their own, segmented elsewhere, and inserted again by `weave`. Lines
that `clean` cannot handle exactly (characters that compose, broken UTF-8) are reported, for the plain
tokenizer.

Every array of text is followed by at least 64 bytes of newlines, so that vectors may read past its end.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import between, copy, lowest_bit, put_words

BLANK, LETTER, DIGIT, APOSTROPHE, POINT, HAN, HARD = range(7)
"""Classes of characters: between words; in words; in words and numbers; in a word if inside it; in a number
if inside it; Chinese; handled by the plain tokenizer."""

MARK = 1
"""Takes the place of a run of Chinese in the cleaned text."""
HARD_LINES, RUN_BYTES = range(2)
"""Entries of the state that `clean` fills."""
SPACE = 32
NEWLINE = 10
RETURN = 13
ONE = np.uint64(1)
TOP = np.uint64(63)
THIRDS = np.uint64(0x9249249249249249)
"""Every third bit, from the lowest to the highest."""


@kernel
def clean(text, size, classes, lowered, lower, out, runs, hard, state):
    # text (size + 64,) u1; classes (0x110001,) u1 and lowered (0x110001,) i4 by code point; lower: whether
    # A-Z become a-z
    # out like text, filled: words between blanks, a MARK for each run of Chinese
    # runs (size + 65,) u1, filled: those runs, a newline before each
    # hard (lines, 2) i8, filled: line n of those is text[hard[n, 0]:hard[n, 1]]; state (2,) i8, filled: hard
    # lines, bytes of runs
    found = 0
    here = 0
    line = 0
    easy = True
    before = BLANK
    waiting = 0
    waiting_before = 0
    words = classes[ord("'")] == APOSTROPHE
    chinese = classes[0x4E00] == HAN
    while here < size:
        if between(text, here, 0x80, 0xFF) == 0 and here + 64 <= size:
            last = _clean_plain(text, here, before, _class_at(text, here + 64, classes), words, lower, out)
            newlines = between(text, here, NEWLINE, NEWLINE) | between(text, here, RETURN, RETURN)
            while newlines != 0:
                end = here + lowest_bit(newlines)
                if not easy:
                    hard[found, 0] = line
                    hard[found, 1] = end
                    waiting = waiting_before
                    found += 1
                line = end + 1
                easy = True
                waiting_before = waiting
                newlines &= newlines - ONE
            before = last
            here = here + 64
            continue
        until = min(here + 64, size)
        while here < until:
            together = _common_han(text, here) if chinese and text[here] >= 0xE4 else 0
            if together > 0:
                if before != HAN:
                    runs[waiting] = NEWLINE
                    waiting += 1
                copy(text, here, runs, waiting)
                waiting += together
                put_words(text, here, ~np.uint64(0) << np.uint64(together), np.uint64(0), np.uint64(0), out)
                if before != HAN:
                    out[here] = MARK
                before = HAN
                here = here + together
                continue
            point, width = _point(text, here)
            kind = classes[point]
            if point == NEWLINE or point == RETURN:
                if not easy:
                    hard[found, 0] = line
                    hard[found, 1] = here
                    waiting = waiting_before
                    found += 1
                line = here + 1
                easy = True
                before = BLANK
                waiting_before = waiting
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
                before = kind
                here = here + width
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
            before = kind
            here = here + width
    if not easy:
        hard[found, 0] = line
        hard[found, 1] = size
        waiting = waiting_before
        found += 1
    state[HARD_LINES] = found
    state[RUN_BYTES] = waiting


@kernel
def weave(text, size, words, out):
    # text (size + 64,) u1 with MARKs; words (M + 64,) u1: for each MARK a newline, then its words between
    # blanks, and padding
    # out (size + M + 64,) u1, filled; returns how much
    filled = 0
    taken = 0
    here = 0
    while here < size:
        marks = between(text, here, MARK, MARK)
        plain = min(lowest_bit(marks), size - here)
        copy(text, here, out, filled)  # 64 bytes; those behind the word are overwritten later
        filled += plain
        here += plain
        if marks == 0 or here >= size:
            continue
        taken += 1  # the newline
        while True:
            word_bytes = min(lowest_bit(between(words, taken, NEWLINE, NEWLINE)), 64)
            copy(words, taken, out, filled)
            filled += word_bytes
            taken += word_bytes
            if word_bytes < 64:
                break
        out[filled] = SPACE
        filled += 1
        here += 1
        while text[here] == SPACE:  # the blanks in place of the run
            here += lowest_bit(~between(text, here, SPACE, SPACE))
    return filled


@part
def _clean_plain(text, here, before, after, words, lower, out):
    # 64 bytes of ASCII at once; `before` and `after` are the classes of the characters around them. Returns
    # the class of the last.
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
def _common_han(text, here):
    # How many bytes from here on are Chinese characters of three bytes, U+4E00 to U+9FFF; at most 63.
    going_on = between(text, here, 0x80, 0xBF)
    leading = (
        between(text, here, 0xE5, 0xE9)
        | between(text, here, 0xE4, 0xE4) & between(text, here, 0xB8, 0xBF) >> ONE
    )
    whole = leading & going_on >> ONE & going_on >> np.uint64(2)
    return lowest_bit(~whole & THIRDS)


@part
def _class_at(text, here, classes):
    return classes[_point(text, here)[0]]


@part
def _point(text, here):
    # The code point that starts at `here` and its width in bytes; 0x110000, width 1, where the bytes are not
    # UTF-8.
    lead = np.int64(text[here])
    if lead < 0x80:
        return lead, 1
    if lead < 0xC2 or lead > 0xF4:
        return 0x110000, 1
    width = 2 + (lead >= 0xE0) + (lead >= 0xF0)
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
