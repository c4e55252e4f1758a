"""Files, folders, jsonl, parquet, gz/xz/zst, stdin, any iterable -> documents.

Everything is read once, in blocks of a few megabytes of UTF-8 that end where a line or at least a word ends,
so that memory stays small whatever the size of the text and any number of workers can share it.
"""

from __future__ import annotations

import csv
import dataclasses
import glob
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from inlaid.collect.packed import BLOCK, STDIN, Readable, Unpacked
from inlaid.errors import SourceError, did_you_mean, need
from inlaid.report import Note, Progress, Report, silent

Tokens = Sequence[str]
Text = str | PathLike[str] | Iterable[str] | Iterable[PathLike[str]] | Iterable[Tokens]
"""What users pass as text: a path, several Paths, or an iterable of sentences or of token lists."""

LONGEST = 1 << 24
"""Bytes of one line that are held in memory; a longer one is passed on in pieces, cut between words."""


@dataclass(frozen=True)
class Block:
    """Some lines of UTF-8 (broken UTF-8 included: what to do about it is for others to decide)."""

    data: bytes
    name: str
    line: int
    """The number of its first line in the file."""
    whole: bool = True
    """Whether its last line ends with it; otherwise the next block goes on with the same line."""


@dataclass(frozen=True)
class Input:
    """What was read, so that a corpus can say what it was made of."""

    name: str
    size: int
    hash: str


@dataclass
class Source:
    """Text to be read once, block by block; `inputs` and `documents` fill as it is read."""

    text: Text
    field: str = "text"
    report: Report = silent
    inputs: list[Input] = dataclasses.field(default_factory=list[Input])
    documents: int = 0

    @property
    def reads_stdin(self) -> bool:
        return STDIN in (_paths(self.text) or ())

    def sentences(self) -> Iterable[str | Tokens] | None:
        """The iterable of sentences or token lists the caller gave, or None where the text is in files."""
        return None if _paths(self.text) is not None else cast("Iterable[str | Tokens]", self.text)

    def blocks(self) -> Iterator[Block]:
        """All files in order."""
        paths = [found for path in _paths(self.text) or [] for found in _files(path, self.report)]
        total = sum(path.stat().st_size for path in paths if path != STDIN) or None
        done = 0
        for path in paths:
            before = _state(path)
            with Unpacked(
                path, lambda size, done=done: self.report(Progress("reading", done + size, total, "bytes"))
            ) as file:
                yield from self._file(path, file)
                file.finish()
            raw = file.raw
            if before != _state(path):
                raise SourceError(
                    f"{path} changed while it was being read. Read it when nothing writes to it."
                )
            self.inputs.append(Input(path.name, raw.size, raw.digest.hexdigest()))
            done += raw.size
        self.report(Progress("reading", done, done, "bytes"))

    def _file(self, path: Path, file: Unpacked) -> Iterator[Block]:
        kind = (path.with_suffix("") if file.packed else path).suffix.lower()
        if kind in TABLES:
            yield from self._joined(TABLES[kind](file, path, self.field), path.name)
        else:
            self.documents += 1
            yield from _lines(file, path.name)

    def _joined(self, documents: Iterable[str], name: str) -> Iterator[Block]:
        """Documents as blocks of lines."""
        held: list[bytes] = []
        size = 0
        first = 1
        number = 0
        for number, document in enumerate(documents, 1):
            held.append(document.encode("utf-8", "surrogatepass"))
            size += len(held[-1])
            if size >= BLOCK:
                yield Block(b"\n".join(held) + b"\n", name, first)
                held = []
                size = 0
                first = number + 1
        self.documents += number
        if held:
            yield Block(b"\n".join(held) + b"\n", name, first)


def blocks_of(sentences: Iterable[str], name: str = "text") -> Iterator[Block]:
    """Sentences that stand in memory, as blocks of lines."""
    return Source(())._joined(sentences, name)


# --- which files
# ---------------------------------------------------------------------------------------------------------


def _paths(text: Text) -> list[Path] | None:
    """The paths that `text` names, or None when it is sentences."""
    if isinstance(text, (str, PathLike)):
        return [Path(text)]
    if not isinstance(text, (list, tuple)) or not text:
        return None
    if all(isinstance(each, PathLike) for each in text):
        return [Path(each) for each in text]  # pyright: ignore[reportArgumentType]
    if len(text) <= 1000 and all(
        isinstance(each, str) and len(each) < 1000 and Path(each).is_file() for each in text
    ):
        raise SourceError(
            f"'{text[0]}' is the name of a file, but a list of strings is taken as sentences. Pass Path objects to read files."
        )
    return None


def _files(path: Path, report: Report) -> list[Path]:
    """The files a path stands for: itself, those of a folder, or those a pattern matches; in a fixed
    order."""
    if path == STDIN:
        return [path]
    if path.is_dir():
        found = sorted(_walk(path, report))
        if not found:
            raise SourceError(f"The folder {path} holds no files.")
        return found
    if path.exists():
        return [path]
    if not glob.has_magic(str(path)):
        raise SourceError(f"There is no file '{path}'. To use a text itself, pass it in a list: [text].")
    matched = sorted(Path(each) for each in glob.glob(str(path), recursive=True) if os.path.isfile(each))
    if not matched:
        raise SourceError(f"No file matches '{path}'.")
    return matched


def _walk(folder: Path, report: Report) -> Iterator[Path]:
    """The files below a folder, links followed; a link back to a folder already visited is left out, and
    said."""
    visited: set[tuple[int, int]] = set()
    for here, folders, names in os.walk(folder, followlinks=True):
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in visited:
            folders.clear()
            report(Note(f"{here} leads back to a folder that was read already; it is left out."))
            continue
        visited.add((status.st_dev, status.st_ino))
        folders.sort()
        yield from (
            Path(here, name) for name in names if not name.startswith(".") and Path(here, name).is_file()
        )


def _state(path: Path) -> tuple[int, int]:
    if path == STDIN:
        return 0, 0
    status = path.stat()
    return status.st_size, status.st_mtime_ns


# --- bytes
# ---------------------------------------------------------------------------------------------------------------


def _lines(file: Readable, name: str) -> Iterator[Block]:
    """Blocks that end at a line's end; a line longer than LONGEST is passed on in pieces."""
    held = b""
    line = 1
    for number, data in enumerate(iter(lambda: file.read(BLOCK), b"")):
        held = held + data if number else data.removeprefix(b"\xef\xbb\xbf")
        cut = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        whole = cut > 0
        if not whole and len(held) >= LONGEST:
            cut = _between_words(held)
        if cut:
            yield Block(held[:cut], name, line, whole)
            line += int(
                np.count_nonzero(np.frombuffer(held, np.uint8, cut) == ord("\n"))
            )  # three times as fast as bytes.count
            held = held[cut:]
    if held:
        yield Block(held, name, line)


def _between_words(data: bytes) -> int:
    """Where to cut a line that is too long to hold: behind a blank, else behind Chinese punctuation, else
    behind a character."""
    blank = max(data.rfind(b" "), data.rfind(b"\t")) + 1
    if blank:
        return blank
    stop = max(data.rfind(mark.encode()) for mark in "，。、；：！？")
    cut = stop + 3 if stop >= 0 else len(data)
    while 0 < cut < len(data) and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut if stop >= 0 else _behind_character(data)


def _behind_character(data: bytes) -> int:
    """The start of the last character: it may not be whole."""
    cut = len(data) - 1
    while cut > 0 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut


# --- tables
# --------------------------------------------------------------------------------------------------------------


def _jsonl(file: Readable, path: Path, name: str) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{path}:{number}: not JSON ({error}).") from None
        if not isinstance(row, dict) or not isinstance(row.get(name), str):
            known = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
            raise SourceError(
                f"{path}:{number}: expected an object with text under '{name}', found {known}. Name its key with --field."
            )
        yield row[name]


def _csv(file: Readable, path: Path, name: str, delimiter: str = ",") -> Iterator[str]:
    csv.field_size_limit(1 << 30)
    rows = csv.reader(
        io.TextIOWrapper(cast("Any", file), "utf-8-sig", errors="surrogateescape", newline=""),
        delimiter=delimiter,
    )
    try:
        heads = next(rows, [])
        if name not in heads:
            raise _no_column(path, name, heads)
        column = heads.index(name)
        for row in rows:
            if len(row) > column:
                yield row[column]
            elif row:
                raise SourceError(f"{path}:{rows.line_num}: expected {len(heads)} columns, found {len(row)}.")
    except csv.Error as error:
        raise SourceError(f"{path}:{rows.line_num}: {error}.") from None


def _tsv(file: Readable, path: Path, name: str) -> Iterator[str]:
    return _csv(file, path, name, "\t")


def _parquet(file: Readable, path: Path, name: str) -> Iterator[str]:
    parquet = need("pyarrow.parquet", extra="parquet")
    try:
        table = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises its own classes, which are not there before it is imported
        raise SourceError(f"{path} is not a parquet file: {error}.") from None
    heads = table.schema_arrow.names
    if name not in heads:
        raise _no_column(path, name, heads)
    for batch in table.iter_batches(columns=[name]):
        yield from (value for value in batch.column(0).to_pylist() if value is not None)


def _no_column(path: Path, name: str, heads: Sequence[str]) -> SourceError:
    hint = did_you_mean(name, heads) or f" There are: {', '.join(heads) or 'none'}."
    return SourceError(f"{path}: no column is called '{name}'.{hint} Name it with --field.")


TABLES: dict[str, Callable[[Readable, Path, str], Iterator[str]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
}
