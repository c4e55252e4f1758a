"""word2vec's binary files (.bin): a line "count dim", then each word, a space and its numbers as raw float32.

The original program ends each row with a newline, other programs do not. Both are read; the first is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inlaid.collect.compression import Readable
from inlaid.errors import FormatError
from inlaid.formats.reading import (
    ALL,
    LONGEST_WORD,
    GrowingTable,
    Header,
    Reading,
    Start,
    compressing,
    convert_command,
    opened,
    refuse_whitespace,
)
from inlaid.formats.words import accept_words
from inlaid.messages import Message
from inlaid.report import Progress, Report, silent
from inlaid.shapes import Rows
from inlaid.vectors import Vectors

SUFFIXES = (".bin",)
STORES = ()
COMPRESSIONS = (".gz", ".xz")
BLOCK = 1 << 22
"""Bytes read and written at a time."""
LONGEST_HEADER = 64
LARGEST_DIM = 1 << 24
FLOAT32 = np.dtype("<f4")
NOT_IN_WORDS = re.compile(rb"[\0\n]")
DIGITS = re.compile(rb"[-+.0-9eE \t\r\n]+")
CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")


def recognizes(start: Start) -> bool:
    """A header, then a word and a first row that is finite; and the whole is not text."""
    line, newline, rest = start.head.partition(b"\n")
    header = Header.of(line)
    word, space, numbers = rest.partition(b" ")
    if header is None or not (newline and space and word) or header.dim == 0 or NOT_IN_WORDS.search(word):
        return False
    if DIGITS.fullmatch(numbers[: min(2 * header.dim - 1, 16)]):
        return False  # text, maybe in another charset
    row = numbers[: min(header.dim, len(numbers) // FLOAT32.itemsize) * FLOAT32.itemsize]
    return _is_binary(numbers) and bool(np.isfinite(np.frombuffer(row, FLOAT32)).all())


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    with opened(path, report) as file:
        data = file.read(BLOCK)
        header = _read_header(path, data)
        words = list[bytes]()
        table = GrowingTable(header.dim)
        for block in _Reader(path, file, header, reading).blocks(data):
            words += block.words
            table.append(block.rows)
    accepted = accept_words(path, words, reading, report)
    return Vectors(accepted.words, accepted.select(table.whole()))


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    refuse_whitespace(vectors, path)
    words = vectors.words.all_bytes()
    step = max(1, BLOCK // (vectors.dim * FLOAT32.itemsize))
    with compressing(path) as file:
        file.write(b"%d %d\n" % vectors.stored.shape)
        for start in range(0, len(words), step):
            stop = min(start + step, len(words))
            rows = vectors.rows(np.arange(start, stop)).astype(FLOAT32, copy=False)
            pairs = zip(words[start:stop], rows, strict=True)
            file.write(b"".join([b"%b %b\n" % (word, row.tobytes()) for word, row in pairs]))
            report(Progress("writing", stop, len(words), "words"))


class WordBlock(NamedTuple):
    """Some words and their rows."""

    words: list[bytes]
    rows: Rows


def _read_header(path: Path, data: bytes) -> Header:
    end = data.find(b"\n", 0, LONGEST_HEADER)
    header = Header.of(data[: max(end, 0)])
    if header is None:
        raise FormatError(
            "{path}: expected a first line like '3000000 300' (number of words, vector dimension), found "
            "{found!r}. "
            "If it is not word2vec's binary format, leave the format out: it is recognized by the content.",
            path=path,
            found=data[:30],
        )
    if not 0 < header.dim <= LARGEST_DIM or header.count == 0:
        raise FormatError(
            "{path}: its first line promises {count:,} words of dimension {dim:,}; expected at least one "
            "word, "
            "and a dimension of 1 to {largest:,}. Get the file again.",
            path=path,
            count=header.count,
            dim=header.dim,
            largest=LARGEST_DIM,
        )
    return header


@dataclass(frozen=True)
class _Reader:
    """Reads words and rows until there are as many as the header promises or `reading` asks for."""

    path: Path
    file: Readable
    header: Header
    reading: Reading

    def blocks(self, data: bytes) -> Iterator[WordBlock]:
        """Words and rows, some at a time; after the last row only a newline may follow."""
        wanted = self.header.count if self.reading.top is None else min(self.reading.top, self.header.count)
        row_bytes = self.header.dim * FLOAT32.itemsize
        here = data.index(b"\n") + 1
        offset = 0  # bytes of the file before `data`
        seen = 0
        while True:
            words, starts = _scan(data, here, wanted - seen, row_bytes)
            raw = b"".join([data[start : start + row_bytes] for start in starts])
            rows = np.frombuffer(raw, FLOAT32).reshape(len(words), self.header.dim)
            block = WordBlock(words, rows.astype(np.float32, copy=False))
            self._check(block, seen, offset, starts)
            yield block
            seen += len(words)
            here = starts[-1] + row_bytes if starts else here
            if seen == wanted:
                break
            if len(data) - here > LONGEST_WORD + 1 and data.find(b" ", here, here + LONGEST_WORD + 2) < 0:
                raise self._endless_word(seen, offset + here)
            data = data[here:]
            offset += here
            here = 0
            more = self.file.read(BLOCK)
            if not more:
                raise self._cut_short(seen, offset, len(data))
            data += more
        if seen == self.header.count and seen != self.reading.top:
            rest = data[here:] + self.file.read(2)
            if rest not in (b"", b"\n"):
                raise self._more_follows(offset + here)

    def _check(self, block: WordBlock, seen: int, offset: int, starts: list[int]) -> None:
        """Refuse a word that cannot be one, and a row that is not finite."""
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(block.rows.sum(axis=1, dtype=np.float64))
        wrong = [number for number, word in enumerate(block.words) if not word or NOT_IN_WORDS.search(word)]
        wrong += np.flatnonzero(~finite).tolist()
        if not wrong:
            return
        number = min(wrong)
        word = block.words[number]
        byte = offset + starts[number] - len(word) - 1
        if not word or NOT_IN_WORDS.search(word):
            raise FormatError(
                "{path}: word {number:,} at byte {byte:,}, {word!r}, cannot be a word. The dimension is not "
                "{dim:,}, or the file is damaged: get it again.",
                path=self.path,
                number=seen + number + 1,
                byte=byte,
                word=word[:60],
                dim=self.header.dim,
            )
        raise FormatError(
            "{path}: the vector of word {number:,} at byte {byte:,}, {word!r}, holds NaN or infinity. "
            "Get the file again, or train again.",
            path=self.path,
            number=seen + number + 1,
            byte=byte,
            word=word[:60],
        )

    def _endless_word(self, seen: int, byte: int) -> FormatError:
        return FormatError(
            "{path}: word {number:,} at byte {byte:,} has no end within {longest:,} bytes. The dimension "
            "is not {dim:,}, or it is not a binary file of word2vec.",
            path=self.path,
            number=seen + 1,
            byte=byte,
            longest=LONGEST_WORD,
            dim=self.header.dim,
        )

    def _cut_short(self, seen: int, byte: int, found: int) -> FormatError:
        advice = Message("Get the file again.")
        if seen:
            command = convert_command(self.path, "top", seen)
            advice = Message("Get the file again, or read the words it has: {command}.", command=command)
        return FormatError(
            "{path}: word {number:,} at byte {byte:,} is cut short or missing: expected a word and {dim:,} "
            "numbers, found {found:,} bytes. Its first line promises {count:,} words. {advice}",
            path=self.path,
            number=seen + 1,
            byte=byte,
            dim=self.header.dim,
            found=found,
            count=self.header.count,
            advice=advice,
        )

    def _more_follows(self, byte: int) -> FormatError:
        return FormatError(
            "{path}: its first line promises {count:,} words of dimension {dim:,}, but more follows at byte "
            "{byte:,}. Correct the first line, or read only the words it promises: {command}.",
            path=self.path,
            count=self.header.count,
            dim=self.header.dim,
            byte=byte,
            command=convert_command(self.path, "top", self.header.count),
        )


def _scan(data: bytes, here: int, wanted: int, row_bytes: int) -> tuple[list[bytes], list[int]]:
    """The words whose rows are complete in `data`, and where those rows start."""
    words = list[bytes]()
    starts = list[int]()
    while len(words) < wanted:
        first = here + (data[here : here + 1] == b"\n")
        space = data.find(b" ", first, first + LONGEST_WORD + 1)
        here = space + 1 + row_bytes
        if space < 0 or here > len(data):
            break
        words.append(data[first:space])
        starts.append(space + 1)
    return words, starts


def _is_binary(data: bytes) -> bool:
    """Whether these bytes are not text; a character that is cut at the end may still be text."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(data) - 3
    return CONTROL.search(data) is not None
