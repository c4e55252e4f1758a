"""Pieces of text files that are read by different machines, with the same sentences as by one.

A plain file is cut at line ends near multiples of a size. Any other file (compressed, a table, in another
charset) is one piece.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from inlaid.collect.archives import file_of
from inlaid.collect.compression import BLOCK, STDIN
from inlaid.collect.sources import LONGEST, Source, TextBlock, line_blocks
from inlaid.errors import SourceError

WINDOW = 1 << 16
"""Bytes in which a line end is looked for at once."""


@dataclass(frozen=True)
class TextPiece:
    """Bytes start to stop of a file; both are 0 for a whole file, whatever it is."""

    path: Path
    start: int
    stop: int
    stored: int
    """Bytes of the file that this piece is read from."""
    stamp: tuple[int, int]
    """Size and time of modification of the file when the pieces were planned."""

    @property
    def is_part(self) -> bool:
        return self.stop > 0


@dataclass
class PieceSource(Source):
    """A source that reads one piece."""

    piece: TextPiece = dataclasses.field(kw_only=True)
    line: int = 2
    """The number of the first line of a piece that does not begin with the file. Only errors tell it: who
    catches one counts the lines before and reads the piece again."""

    def blocks(self) -> Iterator[TextBlock]:
        piece = self.piece
        _refuse_changed(piece)
        if piece.is_part:
            with _Part(piece) as part:
                yield from line_blocks(part.read, str(piece.path), self.line if piece.start else 1)
        else:
            yield from super().blocks()
        _refuse_changed(piece)


def pieces_of(source: Source, size: int) -> list[TextPiece]:
    """All text of a source in pieces of about `size` bytes, in order."""
    if source.sentences() is not None or source.reads_stdin:
        raise SourceError(
            "Text for a cluster is read from files that every machine can open; this text is in memory or on "
            "standard input. Write it to a file first."
        )
    step = max(size // BLOCK, 1) * BLOCK
    found = list[TextPiece]()
    for path in source.files(source.report):
        if path == STDIN or not file_of(path).is_file():
            raise SourceError("{path} is no file. Text for a cluster is read from files.", path=path)
        found += _pieces_of_file(source, path, step)
    return found


def _pieces_of_file(source: Source, path: Path, step: int) -> list[TextPiece]:
    stamp = _stamp(path)
    size = stamp[0]
    if size <= step or not source.again().head(path).plain:
        return [TextPiece(path, 0, 0, size, stamp)]
    cuts = [0]
    with path.open("rb") as file:
        for place in range(step, size, step):
            cut = _line_end_before(file, place, max(cuts[-1], place - LONGEST))
            if cut is not None and cut > cuts[-1]:
                cuts.append(cut)
    bounds = zip(cuts, [*cuts[1:], size], strict=True)
    return [TextPiece(path, start, stop, stop - start, stamp) for start, stop in bounds]


def _line_end_before(file: BinaryIO, place: int, first: int) -> int | None:
    """Where the last line begins that begins between `first` and `place`; None if none does."""
    stop = place
    while stop > first:
        start = max(stop - WINDOW, first)
        file.seek(start)
        data = file.read(stop - start)
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if cut:
            return start + cut
        stop = start
    return None


class _Part:
    """Some bytes of a file, read in the blocks in which the whole file is read."""

    def __init__(self, piece: TextPiece) -> None:
        self.file = piece.path.open("rb")
        self.file.seek(piece.start)
        self.here = piece.start
        self.stop = piece.stop

    def read(self, size: int = -1, /) -> bytes:
        to_boundary = -self.here % BLOCK or BLOCK
        data = self.file.read(min(to_boundary, self.stop - self.here))
        self.here += len(data)
        return data

    def __enter__(self) -> _Part:
        return self

    def __exit__(self, *problem: object) -> None:
        self.file.close()


def first_line(piece: TextPiece) -> int:
    """The number of the first line of a piece."""
    line = 1
    if not piece.is_part:
        return line
    before = dataclasses.replace(piece, start=0, stop=piece.start)
    with _Part(before) as part:
        while data := part.read():
            line += data.count(b"\n")
    return line


def _stamp(path: Path) -> tuple[int, int]:
    status = os.stat(file_of(path))
    return status.st_size, status.st_mtime_ns


def _refuse_changed(piece: TextPiece) -> None:
    if _stamp(piece.path) != piece.stamp:
        raise SourceError(
            "{path} changed while it was being read. Read it when nothing writes to it.", path=piece.path
        )
