"""What every reader and writer of files shares: how much is read, what is accepted, packing, and words
checked."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol, runtime_checkable

import numpy as np

from inlaid import files
from inlaid.collect.compression import DecompressedFile, compression_of
from inlaid.config import Positive, check
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, SettingError, SourceError, WriteError
from inlaid.report import Note, Progress, Report
from inlaid.shapes import Rows, Table
from inlaid.vectors import Vectors

LOOKED_AT = 1 << 16
"""Bytes from the start of a file, unpacked, that a format may look at to recognize it."""
LONGEST_WORD = 1 << 16
"""Bytes of a word; what is longer is no word but a file that is not what it says."""
BLANK = re.compile(rb"[\0 \t\n\v\f\r]")
"""What ends a word in files that put it before its numbers."""
COUNT_AND_DIM = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t\r]*")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is read: how much of it, and what is accepted that should not be in it."""

    top: Positive | None = None
    """Only the first so many words; files list frequent words first."""
    duplicates: Literal["error", "first", "last"] = "error"
    """Which row a word gets that stands in the file twice."""
    spaces: Literal["error", "keep"] = "error"
    """Words with blanks in them: the numbers are counted from the right, what is left of them is the word."""
    invalid: Literal["error", "replace", "skip"] = "error"
    """Words whose bytes are not UTF-8: put U+FFFD for what cannot be read, or leave the word out."""

    def __post_init__(self) -> None:
        check(self)


NO_END = "the last line has no end; if the file was cut, its last number or word is not what it was."
ALL = Reading()
"""Everything, and nothing accepted that should not be there."""


@dataclass(frozen=True)
class Start:
    """What is known of a file or folder before it is read."""

    path: Path
    head: bytes
    """Its first bytes, unpacked; nothing of a folder."""

    @classmethod
    def of(cls, path: Path) -> Start:
        if path.is_dir():
            return cls(path, b"")
        with opened(path) as file:
            return cls(path, file.read(LOOKED_AT))

    @property
    def name(self) -> str:
        """The name without the ending that says how it is packed."""
        return self.path.stem if compression_of(self.path) else self.path.name


@runtime_checkable
class Format(Protocol):
    """One way to keep vectors in a file or a folder. A module of this folder is one, or an object in it."""

    SUFFIXES: tuple[str, ...]
    """Endings that mean this format when vectors are written and nothing else is said."""

    def recognizes(self, start: Start) -> bool: ...
    def read(self, path: Path, reading: Reading, report: Report) -> Vectors: ...
    def write(self, vectors: Vectors, path: Path, report: Report) -> None: ...


@contextmanager
def opened(path: Path, report: Report | None = None) -> Iterator[DecompressedFile]:
    """The bytes of a file, unpacked, with progress; broken packing is a FormatError."""
    total = path.stat().st_size
    progress = None if report is None else lambda size: report(Progress("reading", size, total, "bytes"))
    try:
        with DecompressedFile(path, progress) as file:
            yield file
    except SourceError as error:
        raise FormatError(str(error)) from None


@contextmanager
def packing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, packed as its name says, which becomes `path` when the block ends well."""
    packed = compression_of(path)
    with files.writing(path) as file:
        if packed == ".gz":
            with gzip.GzipFile(
                "", "wb", 6, file, mtime=0
            ) as inner:  # no name, no time: the same vectors give the same bytes
                yield inner  # pyright: ignore[reportReturnType]
        elif packed == ".xz":
            import lzma

            with lzma.LZMAFile(file, "wb") as inner:
                yield inner  # pyright: ignore[reportReturnType]
        elif packed:
            raise SettingError(f"{path}: vectors are packed as .gz or .xz when written; found {packed}.")
        else:
            yield file


@dataclass(frozen=True)
class Header:
    """The first line of word2vec's files: how many words follow, and how many numbers each has. It may
    lie."""

    count: int
    dim: int

    @classmethod
    def of(cls, line: bytes) -> Header | None:
        """Two whole numbers and nothing else, or None."""
        found = COUNT_AND_DIM.fullmatch(line)
        return None if found is None else cls(int(found[1]), int(found[2]))

    def check(self, path: Path, rows: int, reading: Reading) -> None:
        """Hold the promise against the rows that are there."""
        if rows == 0:
            raise FormatError(
                f"{path}: its first line promises {self.count:,} words of {self.dim:,} numbers, and nothing follows."
            )
        cut_short = rows < self.count and rows != reading.top
        if cut_short or rows > self.count:
            what = (
                "The file is cut short, or its first line is wrong."
                if cut_short
                else "Its first line is wrong."
            )
            raise FormatError(
                f"{path}: its first line promises {self.count:,} words, and there are {'only' if cut_short else 'at least'} {rows:,}. "
                f"{what} Fetch it again, mend the first line, or read what is there with --top {min(rows, self.count)}."
            )


class Growing:
    """A table that grows as rows are really found, whatever a header promises; memory is extended in place
    where it can be."""

    def __init__(self, dim: int) -> None:
        self.held = np.empty((0, dim), np.float32)
        self.size = 0

    def append(self, rows: Rows) -> None:
        needed = self.size + len(rows)
        if needed > len(self.held):
            self.held.resize((needed + needed // 8, self.held.shape[1]), refcheck=False)
        self.held[self.size : needed] = rows
        self.size = needed

    def whole(self) -> Table:
        self.held.resize((self.size, self.held.shape[1]), refcheck=False)
        return self.held


def refuse_blanks(vectors: Vectors, path: Path) -> None:
    """Raise WriteError, before anything is written, if a file that ends words at a blank could not hold these
    vectors."""
    if 0 in vectors.stored.shape:
        raise WriteError(
            f"Cannot write {path}: vectors of shape {vectors.stored.shape} are nothing such a file could hold."
        )
    for number, word in enumerate(vectors.words.all_bytes()):
        if not word or len(word) > LONGEST_WORD or BLANK.search(word):
            raise WriteError(
                f"Cannot write {path}: word {number + 1:,}, {word[:100].decode(errors='replace')!r}, is empty, too long or holds a blank, "
                "where such a file ends the word. Inlaid's own format (.inlaid) holds any word."
            )


@dataclass(frozen=True)
class Kept:
    """The words of a file that got a row, and which rows those are (None: all, in order)."""

    words: Words
    rows: np.ndarray | None


def keep_words(
    path: Path, found: Sequence[bytes], reading: Reading, report: Report, *, first_line: int | None = None
) -> Kept:
    """Check the words of a file: UTF-8 and distinct, or what `reading` accepts instead, which is counted and
    said.

    `first_line` is the line the first word stands on, where the file has lines.
    """
    words = list(found)
    rows = np.arange(len(found))
    words, rows = _readable(path, words, rows, reading, report, first_line)
    words, rows = _distinct(path, words, rows, reading, report, first_line)
    return Kept(Words.of_bytes(words), None if len(rows) == len(found) else rows)


def place(path: Path, number: int, first_line: int | None) -> str:
    """Where word `number` (from 0) stands, for messages."""
    return f"{path}: word {number + 1:,}" if first_line is None else f"{path}:{number + first_line}"


def _readable(
    path: Path, words: list[bytes], rows: np.ndarray, reading: Reading, report: Report, first_line: int | None
) -> tuple[list[bytes], np.ndarray]:
    bad = [number for number, word in enumerate(words) if not _is_text(word)]
    if not bad:
        return words, rows
    where = place(path, bad[0], first_line)
    if reading.invalid == "error":
        raise FormatError(
            f"{where}: {words[bad[0]]!r} is not UTF-8 ({len(bad):,} such words). Accept them with --invalid replace, or leave them out "
            "with --invalid skip."
        )
    report(
        Note(
            f"{len(bad):,} words are not UTF-8, the first at {where}; {'replaced' if reading.invalid == 'replace' else 'left out'}."
        )
    )
    if reading.invalid == "replace":
        for number in bad:
            words[number] = words[number].decode("utf-8", "replace").encode()
        return words, rows
    left = sorted(set(range(len(words))) - set(bad))
    return [words[number] for number in left], rows[left]


def _distinct(
    path: Path, words: list[bytes], rows: np.ndarray, reading: Reading, report: Report, first_line: int | None
) -> tuple[list[bytes], np.ndarray]:
    if len(set(words)) == len(words):
        return words, rows
    places: dict[bytes, int] = {}
    repeated = 0
    for number, word in enumerate(words):
        if word in places:
            repeated += 1
            if reading.duplicates == "error":
                raise FormatError(
                    f"{place(path, int(rows[number]), first_line)}: '{word.decode()}' stands there for the second time (first: "
                    f"{place(path, int(rows[places[word]]), first_line)}). Keep one with --duplicates first or --duplicates last."
                )
        if word not in places or reading.duplicates == "last":
            places[word] = number
    report(Note(f"{repeated:,} words stand in {path} again; the {reading.duplicates} row of each was kept."))
    kept = list(places.values())
    return [words[number] for number in kept], rows[kept]


def _is_text(word: bytes) -> bool:
    try:
        word.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
