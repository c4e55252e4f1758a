"""Files, folders, standard input and iterables of sentences -> blocks of text.

Everything is read once, in blocks of a few megabytes of UTF-8 that end at a line end or at least between
words. So memory stays small whatever the size of the text, and any number of workers can share the blocks.
"""

from __future__ import annotations

import dataclasses
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np

from inlaid.collect.archives import file_of
from inlaid.collect.charsets import UTF8, Invalid, report_charset
from inlaid.collect.compression import BLOCK, STDIN, DecompressedFile
from inlaid.collect.tables import BYTE_ORDER_MARK, TABLES
from inlaid.errors import SourceError
from inlaid.messages import Advice, Message
from inlaid.report import Note, Progress, Report, silent

Tokens = Sequence[str]
Text = str | PathLike[str] | Iterable[str] | Iterable[PathLike[str]] | Iterable[Tokens]
"""What users pass as text: a path, several Paths, or an iterable of sentences or of token lists."""

LONGEST = 1 << 24
"""Bytes of one line held in memory. A longer line is passed on in pieces, cut between words."""


@dataclass(frozen=True)
class TextBlock:
    """Some lines of UTF-8. Invalid UTF-8 is passed on: `Encoding.invalid` decides about it."""

    data: bytes
    name: str
    line: int
    """The line number of its first line in the file."""
    ends_line: bool = True
    """Whether the last line is complete; otherwise the next block continues it."""


@dataclass(frozen=True)
class Head:
    """The beginning of a file, as UTF-8."""

    data: bytes
    plain: bool
    """Whether the file is nothing but this text: any part of it can be read in the same way."""


@dataclass(frozen=True)
class Input:
    """A file that was read, for the manifest of the corpus."""

    name: str
    size: int
    hash: str
    charset: str = UTF8


@dataclass
class Source:
    """Text to be read once, block by block. `inputs`, `documents` and `replaced` fill as it is read."""

    text: Text
    field: str = "text"
    report: Report = silent
    charset: str = UTF8
    invalid: Invalid = "error"
    inputs: list[Input] = dataclasses.field(default_factory=list[Input])
    documents: int = 0
    replaced: int = 0
    """Characters of charsets other than UTF-8 that could not be decoded."""
    stored: int | None = None
    """Bytes of all files as they are stored; None until they are read, and where that is unknown."""
    passed: int = 0
    """Bytes read of them, up to the last block that was given."""

    def again(self) -> Source:
        """The same text, to be read another time."""
        return Source(self.text, self.field, charset=self.charset, invalid=self.invalid)

    @property
    def reads_stdin(self) -> bool:
        return STDIN in (_paths(self.text) or ())

    def sentences(self) -> Iterable[str | Tokens] | None:
        """The iterable of sentences or token lists the caller passed, or None if the text is in files."""
        if _paths(self.text) is not None:
            return None
        if not isinstance(self.text, Iterable) or isinstance(self.text, (bytes, bytearray)):
            raise unexpected_text(self.text)
        return cast("Iterable[str | Tokens]", self.text)

    def files(self, report: Report = silent) -> list[Path]:
        """All files that the text is in, in order."""
        return [found for path in _paths(self.text) or [] for found in _files(path, report)]

    def head(self, path: Path) -> Head:
        """The first block of a file."""
        with DecompressedFile(path) as file:
            self._recode(path, file)
            plain = path.is_file() and not file.compression and file.recoder is None
            first = next(self._file_blocks(path, file), None)
            is_table = Path(file.name).suffix.lower() in TABLES
        return Head(b"" if first is None else first.data, plain and not is_table)

    def blocks(self) -> Iterator[TextBlock]:
        """The blocks of all files, in order."""
        paths = self.files(self.report)
        self.stored = sum(file_of(path).stat().st_size for path in paths if path != STDIN) or None
        done = 0

        def progress(size: int) -> None:
            self.report(Progress("reading", done + size, self.stored, "bytes"))

        for path in paths:
            if path.is_fifo():
                self.report(Note("{path} is a pipe: waiting for a program that writes into it.", path=path))
            before = _size_and_time(path)
            with DecompressedFile(path, progress) as file:
                self._recode(path, file)
                for block in self._file_blocks(path, file):
                    self.passed = done + file.raw.size
                    yield block
                file.finish()
            raw = file.raw
            self.replaced += 0 if file.recoder is None else file.recoder.replaced
            if before != _size_and_time(path):
                raise SourceError(
                    "{path} changed while it was being read. Read it when nothing writes to it.", path=path
                )
            self.inputs.append(Input(path.name, raw.size, raw.digest.hexdigest(), file.charset))
            done += raw.size
        self.report(Progress("reading", done, done, "bytes"))

    def _recode(self, path: Path, file: DecompressedFile) -> None:
        """Read the file in the charset that is asked for, and say so where the file decides."""
        if Path(file.name).suffix.lower() == ".parquet":
            return  # it is not text
        file.recode(self.charset, self.invalid)
        report_charset(path, file.charset, self.charset, self.report)

    def _file_blocks(self, path: Path, file: DecompressedFile) -> Iterator[TextBlock]:
        suffix = Path(file.name).suffix.lower()
        if suffix in TABLES:
            yield from self._document_blocks(TABLES[suffix](file, path, self.field), str(path))
        else:
            self.documents += 1
            yield from line_blocks(file.read, str(path))

    def _document_blocks(self, documents: Iterable[str], name: str) -> Iterator[TextBlock]:
        """Blocks of whole documents, one or more lines each."""
        held = bytearray()  # not a list: a million short documents would take ten times their size
        size = 0
        first = 1
        number = 0
        for number, document in enumerate(documents, 1):
            try:
                encoded = document.encode("utf-8", "surrogateescape")  # bytes of tables that were not UTF-8
            except AttributeError:
                raise unexpected_sentence(document, number) from None
            except UnicodeEncodeError:
                encoded = document.encode("utf-8", "surrogatepass")
            held += encoded
            held += b"\n"
            size += len(encoded)
            if size >= BLOCK:
                yield TextBlock(bytes(held), name, first)
                held.clear()
                size = 0
                first = number + 1
        self.documents += number
        if held:
            yield TextBlock(bytes(held), name, first)


def blocks_of(sentences: Iterable[str], name: str = "text") -> Iterator[TextBlock]:
    """Blocks of sentences that the caller passed."""
    return Source(())._document_blocks(sentences, name)


def unexpected_text(text: object) -> SourceError:
    return SourceError(
        "Expected text: a path, or a list of sentences or of token lists; found {found}. "
        "To use one text itself, pass it as a string in a list.",
        found=type(text).__name__,
    )


def unexpected_sentence(sentence: object, number: int) -> SourceError:
    """The error for a sentence that is neither a string nor a list of strings."""
    if isinstance(sentence, (bytes, bytearray)):
        return SourceError(
            "Sentence {number} is bytes, expected a string. Decode it first: sentence.decode('utf-8').",
            number=number,
        )
    if isinstance(sentence, (list, tuple)):
        return SourceError(
            "Some sentences are strings, and sentence {number} is a {found}. Pass one kind or the other: "
            "strings, or lists of tokens.",
            number=number,
            found=type(sentence).__name__,
        )
    return SourceError(
        "Sentence {number} is of type {found}, expected a string or a list of strings. Convert it first.",
        number=number,
        found=type(sentence).__name__,
    )


# ---- Which files


def _paths(text: Text) -> list[Path] | None:
    """The paths that `text` names, or None if it is sentences."""
    if isinstance(text, (str, PathLike)):
        return [Path(text)]
    if not isinstance(text, (list, tuple)) or not text:
        return None
    if all(isinstance(each, PathLike) for each in text):
        return [Path(each) for each in text]  # pyright: ignore[reportArgumentType]
    if len(text) <= 1000 and all(isinstance(each, str) and os.path.isfile(each) for each in text):
        raise SourceError(
            "'{name}' is the name of a file, but a list of strings is read as sentences. "
            "Pass Path objects to read files.",
            name=text[0],
        )
    return None


def places_of(text: Text) -> list[Path]:
    """The files and folders that `text` names, before anything is read; patterns are resolved."""
    named = [path for path in _paths(text) or [] if path != STDIN]
    patterns = [path for path in named if not path.exists() and glob.has_magic(str(path))]
    matched = [Path(each) for path in patterns for each in glob.glob(str(path), recursive=True)]
    return [*named, *matched]


def _files(path: Path, report: Report) -> list[Path]:
    """The files a path names: itself, those of a folder, or those a pattern matches; in a fixed order."""
    if path == STDIN:
        return [path]
    if path.is_dir():
        found = sorted(_walk(path, report))
        if not found:
            raise SourceError("The folder {path} holds no files.", path=path)
        return found
    if file_of(path).exists():
        return [path]
    if not glob.has_magic(str(path)):
        raise SourceError(
            "There is no file '{path}'. {advice}",
            path=path,
            advice=Advice(
                typed=Message("Check the path."),
                called=Message("To use a text itself, pass it in a list: [text]."),
            ),
        )
    matched = sorted(Path(each) for each in glob.glob(str(path), recursive=True) if os.path.isfile(each))
    if not matched:
        raise SourceError("No file matches '{path}'.", path=path)
    return matched


def _walk(folder: Path, report: Report) -> Iterator[Path]:
    """The files below a folder, following links. A link back to a visited folder is skipped with a note."""
    visited: set[tuple[int, int]] = set()
    for here, folders, names in os.walk(folder, followlinks=True):
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in visited:
            folders.clear()
            report(Note("{folder} links to a folder that was already read. It is skipped.", folder=here))
            continue
        visited.add((status.st_dev, status.st_ino))
        folders.sort()
        for name in names:
            path = Path(here, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _size_and_time(path: Path) -> tuple[int, int]:
    if path == STDIN or not path.is_file():  # the time of a pipe is that of the last write
        return 0, 0
    status = file_of(path).stat()
    return status.st_size, status.st_mtime_ns


# ---- Blocks of lines


def line_blocks(read: Callable[[int], bytes], name: str, line: int = 1) -> Iterator[TextBlock]:
    """Blocks that end at a line end. A line longer than LONGEST is passed on in pieces.

    `line` is the number of the first line. Only a first line may begin with a byte order mark.
    """
    held = b""
    marked = line == 1
    for data in iter(lambda: read(BLOCK), b""):
        held += data.removeprefix(BYTE_ORDER_MARK) if marked else data
        marked = False
        cut = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        ends_line = cut > 0
        if not ends_line and len(held) >= LONGEST:
            cut = _cut_between_words(held)
        if cut:
            yield TextBlock(held[:cut], name, line, ends_line)
            newlines = np.frombuffer(held, np.uint8, cut) == ord("\n")  # three times as fast as bytes.count
            line += int(np.count_nonzero(newlines))
            held = held[cut:]
    if held:
        yield TextBlock(held, name, line)


def _cut_between_words(data: bytes) -> int:
    """Where to cut a line too long to hold: after a space, else after Chinese punctuation or a character."""
    space = max(data.rfind(b" "), data.rfind(b"\t")) + 1
    if space:
        return space
    stop = max(data.rfind(mark.encode()) for mark in "，。、；：！？")
    if stop >= 0:
        return stop + 3  # bytes of the mark
    return _start_of_last_character(data)


def _start_of_last_character(data: bytes) -> int:
    """The last character may be incomplete."""
    cut = len(data) - 1
    while cut > 0 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut
