"""The bytes of a file, unpacked where its name says that it is packed (gz, bz2, xz, zst); hashed, counted,
bounded."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import xxhash

from inlaid.errors import SourceError, need

STDIN = Path("-")
BLOCK = 1 << 22
BEYOND = 4096
"""Bytes asked for beyond the size a file had, to see whether it grew."""
RATIO = 300
"""Text packs 3 to 20 times; a file that unpacks to more than this many times its size is no text."""


@runtime_checkable
class Readable(Protocol):
    """Bytes to be read, in pieces or by lines."""

    def read(self, size: int = -1, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...


class Unpacked(io.BufferedIOBase):
    """A file open for reading. What is wrong with its packing, and what unpacks to too much, is a
    SourceError."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.raw = Raw(path, progress)
        self.packed = suffix_of(path)
        self.size = path.stat().st_size if path.is_file() and not self.packed else None
        room = BLOCK if self.size is None else min(self.size + 1, BLOCK)  # a small file takes little memory
        self.file: Readable = (
            PACKED[self.packed](self.raw) if self.packed else io.BufferedReader(self.raw, room)
        )
        self.unpacked = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            wanted = -1 if size is None else size
            if self.size is not None and wanted > 0:
                wanted = min(wanted, max(self.size - self.unpacked, 0) + BEYOND)
            data = self.file.read(wanted)
        except (EOFError, OSError, *_packing_errors(self.packed)) as error:
            raise self._broken(error) from None
        self._count(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def __iter__(self) -> Iterator[bytes]:
        lines = iter(self.file)
        while True:
            try:
                line = next(lines, None)
            except (EOFError, OSError, *_packing_errors(self.packed)) as error:
                raise self._broken(error) from None
            if line is None:
                return
            self._count(line)
            yield line

    def finish(self) -> None:
        """Read what nobody wanted, so that the hash is of the whole file."""
        self.raw.drain()

    def close(self) -> None:
        """Not yet: readers above close what they read from when they are forgotten, and the hash wants the
        rest."""

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *problem: object) -> None:
        self.raw.done()

    def _count(self, data: bytes) -> None:
        self.unpacked += len(data)
        if self.packed and self.unpacked > RATIO * self.raw.size + 100 * BLOCK:
            raise SourceError(
                f"{self.path.name} unpacks to more than {RATIO} times its size, which no text does. Unpack it yourself if it is meant."
            )

    def _broken(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and not self.packed:
            return error
        return SourceError(
            f"{self.path} is not a whole {self.packed} file: {error}. Fetch it again, or unpack it yourself."
        )


class Raw(io.RawIOBase):
    """The bytes of a file as they lie on disk, hashed and counted as they pass."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        try:
            self.file = sys.stdin.buffer if path == STDIN else path.open("rb")
        except OSError as error:
            raise SourceError(f"Cannot read {path}: {error.strerror}.") from None
        self.digest = xxhash.xxh3_64()
        self.size = 0
        self.said = 0
        self.progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        self._note(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self._note(data)
        return data

    def drain(self) -> None:
        while self.read(BLOCK):
            pass

    def close(self) -> None:
        """Not yet, as above."""

    def done(self) -> None:
        if self.file is not sys.stdin.buffer:
            self.file.close()

    def _note(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        if self.size - self.said >= BLOCK:
            self.said = self.size
            if self.progress:
                self.progress(self.size)


def suffix_of(path: Path) -> str:
    """The ending that says how a file is packed, or nothing."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKED else ""


def _gzip(raw: io.RawIOBase) -> Readable:
    import gzip

    return gzip.GzipFile(fileobj=raw)  # pyright: ignore[reportArgumentType]


def _bz2(raw: io.RawIOBase) -> Readable:
    import bz2

    return bz2.BZ2File(raw)  # pyright: ignore[reportArgumentType]


def _xz(raw: io.RawIOBase) -> Readable:
    import lzma

    return lzma.LZMAFile(raw)  # pyright: ignore[reportArgumentType]


def _zst(raw: io.RawIOBase) -> Readable:
    return need("zstandard", extra="zst").ZstdDecompressor().stream_reader(raw, read_across_frames=True)


PACKED: dict[str, Callable[[io.RawIOBase], Readable]] = {".gz": _gzip, ".bz2": _bz2, ".xz": _xz, ".zst": _zst}


def _packing_errors(packed: str) -> tuple[type[Exception], ...]:
    if packed == ".gz":
        import zlib

        return (zlib.error,)
    if packed == ".xz":
        import lzma

        return (lzma.LZMAError,)
    return (need("zstandard", extra="zst").ZstdError,) if packed == ".zst" else ()
