"""Words of a file: checked to be UTF-8 and distinct, before they become the words of vectors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inlaid.collect.charset_detection import SAMPLE, TOLERATED, UTF8, codec_of, likely
from inlaid.collect.charsets import AUTO, advice, canonical, is_loss, refuse_utf8, report_charset
from inlaid.encode.vocabulary import COUNTS, Words
from inlaid.errors import FormatError
from inlaid.formats.reading import Reading, convert_command
from inlaid.messages import Message, option
from inlaid.report import Note, Report
from inlaid.shapes import Counts
from inlaid.values import Problem

INVALID = b"\xff"
"""Stands for a character of another charset that could not be decoded; no UTF-8 has this byte."""


class AcceptedWords(NamedTuple):
    """The words of a file that were accepted, and the row of each in the file (None: all rows, in order)."""

    words: Words
    rows: np.ndarray | None

    def select(self, array: np.ndarray) -> np.ndarray:
        """The entries of the accepted words, of an array with one entry for each word of the file."""
        return array if self.rows is None else array[self.rows]


@dataclass(frozen=True)
class FoundWords:
    """Words as they were found in a file, with the number of the row of each."""

    path: Path
    words: list[bytes]
    rows: np.ndarray
    first_line: int | None
    """The line of the first word, if the file has lines."""

    def place(self, number: int) -> Message:
        """Where the word `number` is in the file, for messages."""
        row = int(self.rows[number])
        if self.first_line is None:
            return Message("{path}: word {number:,}", path=self.path, number=row + 1)
        return Message("{path}:{line}", path=self.path, line=row + self.first_line)

    def keep(self, numbers: list[int]) -> FoundWords:
        return replace(self, words=[self.words[number] for number in numbers], rows=self.rows[numbers])


def accept_words(
    path: Path, found: Sequence[bytes], reading: Reading, report: Report, *, first_line: int | None = None
) -> AcceptedWords:
    """Check the words of a file: text and distinct, or what `reading` accepts instead, with a note.

    `first_line` is the line of the first word, if the file has lines.
    """
    words = FoundWords(path, list(found), np.arange(len(found)), first_line)
    if first_line is not None and b"" in words.words:
        words = _named(words, report)
    words = _readable(_decoded(words, reading, report), reading, report)
    words = _distinct(words, reading, report)
    all_accepted = len(words.rows) == len(found)
    return AcceptedWords(Words.of_bytes(words.words), None if all_accepted else words.rows)


def accept_counts(path: Path, found: np.ndarray) -> Counts:
    """Check the counts of a file, one for each word: whole numbers, not negative."""
    if found.dtype.kind not in "iuf":
        raise FormatError(
            "{path}: its counts are {dtype}; expected whole numbers. Correct them, or remove them.",
            path=path,
            dtype=found.dtype,
        )
    problem = COUNTS.problem(found, "")
    if problem is None and (found != np.floor(found)).any():
        place = int((found != np.floor(found)).argmax())
        problem = Problem(place, found[place].item(), Message("a whole number"))
    if problem is not None:
        raise FormatError(
            "{path}: the count of word {number:,} is {found}; expected {expected}. Correct the counts, or "
            "remove them.",
            path=path,
            number=problem.place + 1,
            found=problem.found,
            expected=problem.expected,
        )
    return found.astype(np.int64)


def _named(found: FoundWords, report: Report) -> FoundWords:
    """Without the lines of a file that have no word."""
    kept = [number for number, word in enumerate(found.words) if word]
    missing = len(found.words) - len(kept)
    if not kept:
        raise FormatError("{path}: none of its lines has a word. Get the file again.", path=found.path)
    report(Note("{path}: {count:,} lines have no word; they were left out.", path=found.path, count=missing))
    return found.keep(kept)


def _decoded(found: FoundWords, reading: Reading, report: Report) -> FoundWords:
    """The words in UTF-8; those that are not in the charset of the file get an invalid byte."""
    charset = canonical(reading.charset)
    if charset == UTF8 or reading.recoded != UTF8:
        return found
    telling = b"\n".join(itertools.islice((word for word in found.words if not word.isascii()), SAMPLE // 8))
    if charset == AUTO:
        charset = likely(telling) or UTF8
        report_charset(found.path, charset, AUTO, report)
    else:
        refuse_utf8(found.path, telling, charset)
    if charset == UTF8:
        return found
    return replace(found, words=[_recoded(word, codec_of(charset)) for word in found.words])


def _recoded(word: bytes, codec: str) -> bytes:
    """The word in UTF-8; with an invalid byte where it is not in this codec."""
    try:
        return word.decode(codec).encode()
    except UnicodeDecodeError:
        return word.decode(codec, "replace").encode("utf-8").replace(b"\xef\xbf\xbd", INVALID)


def _readable(found: FoundWords, reading: Reading, report: Report) -> FoundWords:
    words = found.words
    invalid = [number for number, word in enumerate(words) if not _is_utf8(word)]
    if not invalid:
        return found
    place = found.place(invalid[0])
    others = sum(not word.isascii() for word in words)
    few = reading.invalid != "error" and len(invalid) <= TOLERATED * others
    accepted = few or reading.invalid in ("replace", "skip")
    if not accepted or is_loss(len(invalid), others, len(words)):
        raise _not_text(found, [words[number] for number in invalid], place, reading)
    if reading.invalid in ("auto", "replace"):
        report(
            Note(
                "{count:,} words are not UTF-8, the first at {place}; their invalid bytes were replaced.",
                count=len(invalid),
                place=place,
            )
        )
        for number in invalid:
            words[number] = words[number].decode("utf-8", "replace").encode()
        return found
    report(
        Note(
            "{count:,} words are not UTF-8, the first at {place}; they were left out.",
            count=len(invalid),
            place=place,
        )
    )
    return found.keep(sorted(set(range(len(words))) - set(invalid)))


def _not_text(found: FoundWords, invalid: list[bytes], place: Message, reading: Reading) -> FormatError:
    """The error for words that are not text, which names the charset they seem to be in."""
    guess = likely(b"\n".join(invalid[:SAMPLE])) if canonical(reading.charset) == UTF8 else None
    if guess in (None, UTF8):
        hint = Message(
            "Use {replace}, or {skip} to leave them out: {command}.",
            replace=option("invalid", "replace"),
            skip=option("invalid", "skip"),
            command=convert_command(found.path, "invalid", "replace"),
        )
    else:
        hint = advice(guess)
    return FormatError(
        "{place}: '{word}' is not {charset} (words like this: {count:,}). {hint}",
        place=place,
        word=invalid[0].decode("utf-8", "backslashreplace"),
        charset=canonical(reading.charset).upper(),
        count=len(invalid),
        hint=hint,
    )


def _distinct(found: FoundWords, reading: Reading, report: Report) -> FoundWords:
    words = found.words
    if len(set(words)) == len(words):
        return found
    numbers: dict[bytes, int] = {}
    repeated = 0
    for number, word in enumerate(words):
        if word in numbers:
            repeated += 1
            if reading.duplicates == "error":
                raise _duplicate(found, numbers[word], number)
        if word not in numbers or reading.duplicates == "last":
            numbers[word] = number
    if reading.duplicates == "first":
        report(
            Note(
                "{path}: {count:,} words are duplicates; the first row of each was kept.",
                path=found.path,
                count=repeated,
            )
        )
    else:
        report(
            Note(
                "{path}: {count:,} words are duplicates; the last row of each was kept.",
                path=found.path,
                count=repeated,
            )
        )
    return found.keep(list(numbers.values()))


def _duplicate(found: FoundWords, first: int, second: int) -> FormatError:
    return FormatError(
        "{place}: '{word}' is there a second time (first: {first}). "
        "Use {first_row} or {last_row} to keep one row: {command}.",
        first_row=option("duplicates", "first"),
        last_row=option("duplicates", "last"),
        place=found.place(second),
        word=found.words[second].decode(),
        first=found.place(first),
        command=convert_command(found.path, "duplicates", "first"),
    )


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
