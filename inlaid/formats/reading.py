"""Reading: what all formats share: how much is read, what is accepted, compression, advice."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol, runtime_checkable

import numpy as np

from inlaid import files
from inlaid.collect.archives import file_of
from inlaid.collect.charsets import AUTO, UTF8, canonical, splits_at_ascii
from inlaid.collect.compression import DecompressedFile, compression_of
from inlaid.config import Positive, check
from inlaid.errors import FormatError, SettingError, SourceError, WriteError
from inlaid.messages import Advice, Message
from inlaid.report import Note, Progress, Report
from inlaid.shapes import Rows, Table
from inlaid.vectors import Vectors

HEAD_BYTES = 1 << 16
"""Bytes from the start of a file, decompressed, by which a format may recognize it."""
LONGEST_WORD = 1 << 16
"""Bytes of a word; anything longer means that the file is damaged or in another format."""
WHITESPACE = re.compile(rb"[\0 \t\n\v\f\r]")
"""What ends a word in files that put it before its numbers."""
Part = Literal["counts", "contexts", "n-grams", "tokenizer"]
"""What vectors may have besides words, their table and a card."""
COUNT_AND_DIM = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t\r]*")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is read: how much of it, and which irregular content is accepted."""

    top: Positive | None = None
    """Read only the first N words; most files list frequent words first."""
    duplicates: Literal["first", "last", "error"] = "first"
    """Which row to keep of a word that the file has twice."""
    spaces: Literal["auto", "keep", "error"] = "auto"
    """Words with spaces in text files, where numbers are counted from the end of the line: accept them unless
    they look like numbers of a damaged line, accept all, or none."""
    invalid: Literal["auto", "replace", "skip", "error"] = "auto"
    """Words that are not text: replace invalid bytes by U+FFFD where a few words are damaged, replace them in
    all words, skip such words, or accept none."""
    charset: str = UTF8
    """Character encoding of the words: utf-8, gb18030 (also for gbk and gb2312), big5, utf-16 or another
    codec of Python; auto decides by the words."""

    def __post_init__(self) -> None:
        check(self)
        canonical(self.charset)

    @property
    def recoded(self) -> str:
        """The charset that a text file is recoded from as a whole; that of most is UTF-8, as only their words
        need decoding."""
        named = canonical(self.charset)
        return UTF8 if named == AUTO or splits_at_ascii(named) else named


ALL = Reading()
"""Everything is read, as the file has it."""


def no_end_of_line(path: Path) -> Note:
    return Note(
        "{path}: the last line has no line end. If the file was cut short, its last number or word is wrong.",
        path=path,
    )


def convert_command(path: Path, option: str, value: object) -> Advice:
    """How to read a file with one more option. The command can be typed whichever command failed."""
    return Advice(
        typed=Message(
            "`inlaid convert {source} {target} --{option} {value}`",
            source=shlex.quote(str(path)),
            target=shlex.quote(str(free_native_file(path))),
            option=option,
            value=value,
        ),
        called=Message(
            "load(path, {keyword}={value!r})", keyword=option.removeprefix("source-"), value=value
        ),
    )


def free_native_file(path: Path) -> Path:
    """A native file beside `path` that does not exist yet."""
    stem = path.name.partition(".")[0] or "vectors"
    target = path.parent / f"{stem}.inlaid"
    number = 2
    while target.exists():
        target = path.parent / f"{stem}-{number}.inlaid"
        number += 1
    return target


@dataclass(frozen=True)
class Start:
    """What is known about a file or folder before it is read."""

    path: Path
    head: bytes
    """Its first bytes, decompressed; empty for a folder."""

    @classmethod
    def of(cls, path: Path, charset: str = UTF8) -> Start:
        """`charset` is that of the whole file, if it is text."""
        if path.is_dir():
            return cls(path, b"")
        with opened(path, charset=charset) as file:
            return cls(path, file.read(HEAD_BYTES))


@runtime_checkable
class Format(Protocol):
    """A file or folder format for vectors: a module of this package, or an object in one."""

    SUFFIXES: tuple[str, ...]
    """Suffixes that select this format when vectors are written and no format is named; none if it is a
    folder. A format that can be compressed has COMPRESSIONS, too, and one that cannot write every path has
    `check_output`, which raises what `write` would raise about it."""
    STORES: tuple[Part, ...]
    """Parts that are in the file when they are in the vectors; `save` reports the others as left out."""

    def recognizes(self, start: Start) -> bool: ...
    def read(self, path: Path, reading: Reading, report: Report) -> Vectors: ...
    def write(self, vectors: Vectors, path: Path, report: Report) -> None: ...


@contextmanager
def opened(
    path: Path, report: Report | None = None, *, charset: str | None = None
) -> Iterator[DecompressedFile]:
    """The bytes of a file, decompressed, with progress; broken compression is a FormatError. With a charset
    they are recoded to UTF-8."""
    total = file_of(path).stat().st_size
    progress = None if report is None else lambda size: report(Progress("reading", size, total, "bytes"))
    try:
        with DecompressedFile(path, progress) as file:
            if charset is not None:
                file.recode(charset)
            yield file
    except SourceError as error:
        raise FormatError.from_parts(error.sentence, error.values) from None


COMPRESSIONS = (".gz", ".xz")
"""Suffixes of the compressions that vectors can be written with."""


def check_compression(path: Path, allowed: tuple[str, ...] = COMPRESSIONS) -> None:
    """Raise SettingError if the suffix of `path` is that of a compression it cannot be written with."""
    suffix = compression_of(path)
    if not suffix or suffix in allowed:
        return
    if not allowed:
        raise SettingError(
            "{path}: this format is not compressed. Leave out {suffix}.", path=path, suffix=suffix
        )
    raise SettingError(
        "{path}: vectors can be written as {allowed}; found {suffix}. Choose one of those, or none.",
        path=path,
        allowed=" or ".join(allowed),
        suffix=suffix,
    )


@contextmanager
def compressing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, compressed as its suffix says, which becomes `path` when the block succeeds."""
    check_compression(path)
    suffix = compression_of(path)
    with files.writing(path) as file:
        if suffix == ".gz":
            # No name and no time in the header: the same vectors give the same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
                yield compressed  # pyright: ignore[reportReturnType]
        elif suffix == ".xz":
            import lzma

            with lzma.LZMAFile(file, "wb") as compressed:
                yield compressed  # pyright: ignore[reportReturnType]
        else:
            yield file


@dataclass(frozen=True)
class Header:
    """The first line of word2vec's files: the number of words and the vector dimension. It may be wrong."""

    count: int
    dim: int

    @classmethod
    def of(cls, line: bytes) -> Header | None:
        """Two whole numbers and nothing else, or None."""
        found = COUNT_AND_DIM.fullmatch(line)
        return None if found is None else cls(int(found[1]), int(found[2]))

    def check(self, path: Path, rows: int, reading: Reading, report: Report) -> None:
        """Compare the header with the number of rows that were found. More rows than it promises are used;
        fewer are an error, unless a compressed file shows that nothing was cut off."""
        if rows == 0:
            raise FormatError(
                "{path}: its first line promises {count:,} words of dimension {dim:,}, but no line follows. "
                "Get the file again.",
                path=path,
                count=self.count,
                dim=self.dim,
            )
        if rows < self.count and rows != reading.top and not compression_of(path):
            raise FormatError(
                "{path}: its first line promises {count:,} words, found only {rows:,}. The file is cut "
                "short, "
                "or its first line is wrong. Get it again, correct the first line, or read the words it has: "
                "{command}.",
                path=path,
                count=self.count,
                rows=rows,
                command=convert_command(path, "top", rows),
            )
        if rows != self.count and rows != reading.top:
            report(
                Note(
                    "{path}: its first line promises {count:,} words, found {rows:,}. All of them are used.",
                    path=path,
                    count=self.count,
                    rows=rows,
                )
            )


class GrowingTable:
    """A table that grows with the rows that are found, whatever a header promises; memory is extended in
    place where the system can."""

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


def refuse_whitespace(vectors: Vectors, path: Path) -> None:
    """Raise WriteError, before anything is written, if a file that ends words at whitespace could not hold
    these vectors."""
    if 0 in vectors.stored.shape:
        raise WriteError(
            "Cannot write {path}: the table has shape {shape}; expected at least one word and one dimension.",
            path=path,
            shape=vectors.stored.shape,
        )
    for number, word in enumerate(vectors.words.all_bytes()):
        if not word or len(word) > LONGEST_WORD or WHITESPACE.search(word):
            raise WriteError(
                "Cannot write {path}: word {number:,}, {word!r}, is empty, too long or contains whitespace, "
                "which ends a word in this format. Write an .inlaid file: it holds any word.",
                path=path,
                number=number + 1,
                word=word[:100].decode(errors="replace"),
            )
