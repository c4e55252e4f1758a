"""Bytes to words: UTF-8 text with everything between words replaced by spaces.

`clean` leaves words where they are, in lower case if asked, and replaces everything between them by spaces.
Runs of Chinese are moved to a buffer of their own, segmented elsewhere, and inserted again by `weave`. Lines
that `clean` cannot handle exactly (characters that compose, broken UTF-8) are reported, for the plain
tokenizer.

Every array of text is followed by at least 64 bytes of newlines, so that vectors may read past its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import between, copy, lowest_bit, put_words

BLANK, LETTER, DIGIT, APOSTROPHE, POINT, HAN, HARD, WIDE_POINT = range(8)
"""Classes of characters: between words; in words; in words and numbers; in a word if inside it; in a number
if inside it; Chinese; handled by the plain tokenizer; a full-width comma or point, which is so handled inside
a number and is between words elsewhere."""

MARK = 1
"""Takes the place of a run of Chinese in the cleaned text."""
SPACE = 32
NEWLINE = 10
RETURN = 13
ONE = np.uint64(1)
TOP = np.uint64(63)
THIRDS = np.uint64(0x9249249249249249)
"""Every third bit, from the lowest to the highest."""


class Characters(NamedTuple):
    """The class and the lower case of each code point; the last entry is for bytes that are not UTF-8."""

    kinds: np.ndarray
    """(0x110001,) u1."""
    lowered: np.ndarray
    """(0x110001,) i4."""


class CleanOutput(NamedTuple):
    """What `clean` fills."""

    text: np.ndarray
    """(size + 64,) u1, which may be the text itself: words between spaces, a MARK for each Chinese run."""
    runs: np.ndarray
    """(size + 65,) u1: the Chinese runs, a newline before each."""
    hard: np.ndarray
    """(lines, 2) i8: hard line n is text[hard[n, 0]:hard[n, 1]]. Those beyond its end are counted only."""


class Lines(NamedTuple):
    """State of `clean`: the current line, and what was found so far."""

    start: int
    easy: bool
    """Whether the kernel can clean the current line exactly."""
    hard_lines: int
    run_bytes: int
    run_bytes_before: int
    """`run_bytes` at the start of the line: the runs of a hard line are dropped again."""


@kernel
def clean(text, size, characters, lower, output):
    # text (size + 64,) u1; lower: whether A-Z become a-z
    # Returns Lines: how many hard lines, and how many bytes of runs, were written.
    kinds = characters.kinds
    words = kinds[ord("'")] == APOSTROPHE
    lines = Lines(0, True, 0, 0, 0)
    before = BLANK
    here = 0
    while here < size:
        if between(text, here, 0x80, 0xFF) == 0 and here + 64 <= size:
            newlines = between(text, here, NEWLINE, NEWLINE) | between(text, here, RETURN, RETURN)
            after = _class_at(text, here + 64, kinds)
            before = _clean_plain(text, here, before, after, words, lower, output.text)
            while newlines != 0:
                lines = _end_line(lines, here + lowest_bit(newlines), output.hard)
                newlines &= newlines - ONE
            here = here + 64
        else:
            until = min(here + 64, size)
            here, before, lines = _clean_characters(text, here, until, before, lines, characters, output)
    if not lines.easy:
        lines = _end_line(lines, size, output.hard)
    return lines


@part
def _clean_characters(text, here, until, before, lines, characters, output):
    # One character, or one short run of Chinese, after another.
    kinds = characters.kinds
    chinese = kinds[0x4E00] == HAN
    while here < until:
        together = _common_han(text, here) if chinese and text[here] >= 0xE4 else 0
        if together > 0:
            lines = _with_runs(lines, _move_common_han(text, here, together, before, lines.run_bytes, output))
            before = HAN
            here = here + together
            continue
        point, width = _point(text, here)
        kind = kinds[point]
        if point == NEWLINE or point == RETURN:
            lines = _end_line(lines, here, output.hard)
            output.text[here] = NEWLINE
            before = BLANK
            here += 1
            continue
        if kind == HAN:
            lines = _with_runs(lines, _move_han(text, here, width, before, lines.run_bytes, output))
        else:
            if kind == HARD:
                lines = _hard_line(lines)
            elif kind == WIDE_POINT:
                if before == DIGIT and _class_at(text, here + width, kinds) == DIGIT:
                    lines = _hard_line(lines)
                kind = BLANK
            elif kind >= APOSTROPHE:
                following = _class_at(text, here + width, kinds)
                joins = DIGIT if kind == POINT else LETTER
                inside = (before == DIGIT or before == joins) and (following == DIGIT or following == joins)
                kind = joins if inside else BLANK
            if kind == BLANK:
                for n in range(here, here + width):
                    output.text[n] = SPACE
            else:
                _put(output.text, here, width, characters.lowered[point])
        before = kind
        here = here + width
    return here, before, lines


@part
def _end_line(lines, end, hard):
    # The line ends at `end`; a hard one is recorded.
    hard_lines = lines.hard_lines
    run_bytes = lines.run_bytes
    if not lines.easy:
        if hard_lines < hard.shape[0]:
            hard[hard_lines, 0] = lines.start
            hard[hard_lines, 1] = end
        hard_lines += 1
        run_bytes = lines.run_bytes_before
    return Lines(end + 1, True, hard_lines, run_bytes, run_bytes)


@part
def _hard_line(lines):
    return Lines(lines.start, False, lines.hard_lines, lines.run_bytes, lines.run_bytes_before)


@part
def _with_runs(lines, run_bytes):
    return Lines(lines.start, lines.easy, lines.hard_lines, run_bytes, lines.run_bytes_before)


@part
def _move_common_han(text, here, size, before, run_bytes, output):
    # Move up to 63 bytes of Chinese to the runs; returns the new number of their bytes.
    if before != HAN:
        output.runs[run_bytes] = NEWLINE
        run_bytes += 1
    copy(text, here, output.runs, run_bytes)
    put_words(text, here, ~np.uint64(0) << np.uint64(size), np.uint64(0), np.uint64(0), output.text)
    if before != HAN:
        output.text[here] = MARK
    return run_bytes + size


@part
def _move_han(text, here, width, before, run_bytes, output):
    # Move one Chinese character to the runs; returns the new number of their bytes.
    if before != HAN:
        output.runs[run_bytes] = NEWLINE
        run_bytes += 1
    for n in range(here, here + width):
        output.runs[run_bytes] = text[n]
        run_bytes += 1
        output.text[n] = SPACE
    output.text[here] = SPACE if before == HAN else MARK
    return run_bytes


@kernel
def weave(text, size, words, out):
    # text (size + 64,) u1 with MARKs; words (M + 64,) u1: for each MARK a newline, then its words between
    # spaces, and padding
    # out (size + M + 64,) u1, filled; returns how much
    filled = 0
    taken = 0
    here = 0
    while here < size:
        marks = between(text, here, MARK, MARK)
        plain = min(lowest_bit(marks), size - here)
        copy(text, here, out, filled)  # 64 bytes; those after the word are overwritten later
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
        while text[here] == SPACE:  # the spaces in place of the run
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
    continuation = between(text, here, 0x80, 0xBF)
    leading = (
        between(text, here, 0xE5, 0xE9)
        | between(text, here, 0xE4, 0xE4) & between(text, here, 0xB8, 0xBF) >> ONE
    )
    whole = leading & continuation >> ONE & continuation >> np.uint64(2)
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
        if text[n] & 0xC0 != 0x80:  # the newlines after the text end every character there
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
