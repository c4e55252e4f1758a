"""word2vec's binary files (.bin): a line "count dim", then each word, a blank and its numbers as they lie in
memory.

The original program ends each row with a newline, others do not; both are read, and the former is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inlaid.collect.compression import Readable
from inlaid.errors import FormatError
from inlaid.formats.reading import (
    ALL,
    LONGEST_WORD,
    Growing,
    Header,
    Reading,
    Start,
    keep_words,
    opened,
    packing,
    refuse_blanks,
)
from inlaid.report import Progress, Report, silent
from inlaid.shapes import Rows
from inlaid.vectors import Vectors

SUFFIXES = (".bin",)
BLOCK = 1 << 22
"""Bytes read and written at once."""
LONGEST_HEADER = 64
LARGEST_DIM = 1 << 24
NUMBER = np.dtype("<f4")
NO_WORD = re.compile(rb"[\0\n]")
CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")


def recognizes(start: Start) -> bool:
    """A line of two whole numbers, then a word and a first row that is finite; and all that is no text."""
    line, newline, rest = start.head.partition(b"\n")
    header = Header.of(line)
    word, blank, numbers = rest.partition(b" ")
    if header is None or not (newline and blank and word) or header.dim == 0 or NO_WORD.search(word):
        return False
    row = numbers[: min(header.dim, len(numbers) // NUMBER.itemsize) * NUMBER.itemsize]
    return _is_binary(numbers) and bool(np.isfinite(np.frombuffer(row, NUMBER)).all())


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    with opened(path, report) as file:
        header, data = _header(path, file.read(BLOCK))
        words = list[bytes]()
        table = Growing(header.dim)
        for found in _found(path, file, header, data, reading):
            words += found.words
            table.append(found.rows)
    kept = keep_words(path, words, reading, report)
    return Vectors(kept.words, table.whole() if kept.rows is None else table.whole()[kept.rows])


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    refuse_blanks(vectors, path)
    words = vectors.words.all_bytes()
    step = max(1, BLOCK // (vectors.dim * NUMBER.itemsize))
    with packing(path) as file:
        file.write(b"%d %d\n" % vectors.stored.shape)
        for start in range(0, len(words), step):
            stop = min(start + step, len(words))
            rows = vectors.rows(np.arange(start, stop)).astype(NUMBER, copy=False)
            file.write(
                b"".join(
                    [
                        b"%b %b\n" % (word, row.tobytes())
                        for word, row in zip(words[start:stop], rows, strict=True)
                    ]
                )
            )
            report(Progress("writing", stop, len(words), "words"))


@dataclass(frozen=True)
class Found:
    """Some words and their rows."""

    words: list[bytes]
    rows: Rows


def _header(path: Path, data: bytes) -> tuple[Header, bytes]:
    """What the first line says, and what was read behind it."""
    end = data.find(b"\n", 0, LONGEST_HEADER)
    header = Header.of(data[: max(end, 0)])
    if header is None:
        raise FormatError(
            f"{path}: expected a first line like '3000000 300', how many words and numbers there are, found {data[:30]!r}. "
            "word2vec's binary files start so; fastText's and others need their own --format."
        )
    if not 0 < header.dim <= LARGEST_DIM or header.count == 0:
        raise FormatError(
            f"{path}: its first line promises {header.count:,} words of {header.dim:,} numbers; expected words, and 1 to {LARGEST_DIM:,}."
        )
    return header, data


def _found(path: Path, file: Readable, header: Header, data: bytes, reading: Reading) -> Iterator[Found]:
    """Words and rows, a block at a time, until there are as many as promised or wanted; nothing but a newline
    may follow."""
    wanted = header.count if reading.top is None else min(reading.top, header.count)
    size = header.dim * NUMBER.itemsize
    here = data.index(b"\n") + 1
    before = 0
    seen = 0
    while True:
        words, starts = _scan(data, here, wanted - seen, size)
        rows = np.frombuffer(b"".join([data[start : start + size] for start in starts]), NUMBER).reshape(
            len(words), header.dim
        )
        yield _checked(path, Found(words, rows.astype(np.float32, copy=False)), before, starts, seen)
        seen = seen + len(words)
        here = starts[-1] + size if starts else here
        if seen == wanted:
            break
        if len(data) - here > LONGEST_WORD + 1 and data.find(b" ", here, here + LONGEST_WORD + 2) < 0:
            raise FormatError(
                f"{path}: word {seen + 1:,} at byte {before + here:,} has no end in {LONGEST_WORD:,} bytes. Its rows are not of "
                f"{header.dim:,} numbers, or it is no file of word2vec."
            )
        data = data[here:]
        before = before + here
        here = 0
        more = file.read(BLOCK)
        if not more:
            top = f", or read what is there with --top {seen}" if seen else ""
            raise FormatError(
                f"{path}: word {seen + 1:,} at byte {before:,} is cut short or missing: expected a word and {header.dim:,} numbers, found "
                f"{len(data):,} bytes. Its first line promises {header.count:,} words. Fetch it again{top}."
            )
        data += more
    if seen == header.count and seen != reading.top and (data[here:] + file.read(2)) not in (b"", b"\n"):
        raise FormatError(
            f"{path}: its first line promises {seen:,} words of {header.dim:,} numbers, and more follows at byte {before + here:,}. "
            f"The first line is wrong; mend it, or read the words it promises with --top {seen}."
        )


def _scan(data: bytes, here: int, wanted: int, size: int) -> tuple[list[bytes], list[int]]:
    """The words whose rows lie in `data` whole, and where those rows start."""
    words = list[bytes]()
    starts = list[int]()
    while len(words) < wanted:
        first = here + (data[here : here + 1] == b"\n")
        blank = data.find(b" ", first, first + LONGEST_WORD + 1)
        here = blank + 1 + size
        if blank < 0 or here > len(data):
            break
        words.append(data[first:blank])
        starts.append(blank + 1)
    return words, starts


def _checked(path: Path, found: Found, before: int, starts: list[int], seen: int) -> Found:
    words = found.words
    rows = found.rows
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(rows.sum(axis=1, dtype=np.float64))
    bad = [number for number, word in enumerate(words) if not word or NO_WORD.search(word)] + np.flatnonzero(
        ~finite
    ).tolist()
    if not bad:
        return found
    number = min(bad)
    word = words[min(bad)]
    where = f"{path}: word {seen + number + 1:,} at byte {before + starts[number] - len(word) - 1:,}, {word[:60]!r},"
    if not word or NO_WORD.search(word):
        raise FormatError(
            f"{where} is no word. Its rows are not of {rows.shape[1]:,} numbers, or the file is damaged: fetch it again."
        )
    raise FormatError(
        f"{where} has NaN or infinity among its numbers; expected finite ones. Fetch the file again, or train again."
    )


def _is_binary(data: bytes) -> bool:
    """Whether these bytes are no text; a character cut at the end is not held against them."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(data) - 3
    return CONTROL.search(data) is not None
