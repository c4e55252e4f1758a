"""Files read as bytes: decompressed by their suffix (gz, bz2, xz, zst), hashed, counted, bounded."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import xxhash

from inlaid.errors import SourceError, need
from inlaid.untrusted import MAX_RATIO

STDIN = Path("-")
BLOCK = 1 << 22
GROWTH_PROBE = 4096
"""Bytes requested past the known size of a file, to notice that it grew."""
MAX_LINE = 1 << 26
"""Bytes of the longest line that iteration returns. A compression bomb is one line without an end."""
INPUT = 8192
"""Compressed bytes decoded at a time."""
ZSTD_INPUT = 2048
"""The same for zstd, where a block of 4 bytes may expand to 128 KB: this bounds the output to 64 MB."""


@runtime_checkable
class Readable(Protocol):
    """Bytes that can be read in blocks or line by line."""

    def read(self, size: int = -1, /) -> bytes: ...
    def readline(self, size: int = -1, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...


class DecompressedFile(io.BufferedIOBase):
    """A file open for reading. Damaged or truncated compression and compression bombs raise SourceError."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.raw = RawFile(path, progress)
        self.compression = compression_of(path)
        self.size: int | None = None
        buffer_size = BLOCK
        if path.is_file() and not self.compression:
            self.size = path.stat().st_size
            buffer_size = min(self.size + 1, BLOCK)  # a small file takes little memory
        self.file: Readable
        if self.compression:
            self.file = DECOMPRESSORS[self.compression](self.raw)
        else:
            self.file = io.BufferedReader(self.raw, buffer_size)
        self.decompressed = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        if self.size is not None and wanted > 0:
            wanted = min(wanted, max(self.size - self.decompressed, 0) + GROWTH_PROBE)
        try:
            data = self.file.read(wanted)
        except (EOFError, OSError, *_decompression_errors(self.compression)) as error:
            raise self._damaged(error) from None
        self._count(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def __iter__(self) -> Iterator[bytes]:
        errors = (EOFError, OSError, *_decompression_errors(self.compression))
        number = 0
        while True:
            number += 1
            try:
                line = self.file.readline(MAX_LINE + 1)
            except errors as error:
                raise self._damaged(error) from None
            self._count(line)
            if not line:
                return
            if len(line) > MAX_LINE:
                raise SourceError(
                    "{path}:{line}: the line is longer than {limit:,} bytes. Write one record per line.",
                    path=self.path,
                    line=number,
                    limit=MAX_LINE,
                )
            yield line

    def finish(self) -> None:
        """Read the rest, so that the hash covers the whole file."""
        self.raw.drain()

    def close(self) -> None:
        """Does nothing: wrappers close the file when they are deleted, before the hash is complete."""

    def __enter__(self) -> DecompressedFile:
        return self

    def __exit__(self, *problem: object) -> None:
        self.raw.close_file()

    def _count(self, data: bytes) -> None:
        if not self.compression:
            self.decompressed += len(data)
            return
        if not data and self.raw.size == 0:
            # Python's gzip reads zero bytes as an empty file, but every compressor writes a header.
            raise self._damaged(EOFError("the file is empty"))
        self.decompressed += len(data)
        if self.decompressed > MAX_RATIO * self.raw.size + 100 * BLOCK:
            raise SourceError(
                "{name} decompresses to more than {ratio} times its size, which text does not do. "
                "If the file is right, decompress it yourself.",
                name=self.path.name,
                ratio=MAX_RATIO,
            )

    def _damaged(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and not self.compression:
            return error
        return SourceError(
            "{path} is not a complete {compression} file: {reason}. "
            "Download or copy it again, or decompress it yourself.",
            path=self.path,
            compression=self.compression,
            reason=str(error),
        )


class RawFile(io.RawIOBase):
    """The bytes of a file as stored on disk, hashed and counted as they are read."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        try:
            self.file = sys.stdin.buffer if path == STDIN else path.open("rb")
        except OSError as error:
            raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
        self.digest = xxhash.xxh3_64()
        self.size = 0
        self.reported = 0
        self.progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        self._count(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self._count(data)
        return data

    def drain(self) -> None:
        while self.read(BLOCK):
            pass

    def close(self) -> None:
        """Does nothing, for the reason given in DecompressedFile."""

    def close_file(self) -> None:
        if self.file is not sys.stdin.buffer:
            self.file.close()

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        if self.size - self.reported >= BLOCK:
            self.reported = self.size
            if self.progress:
                self.progress(self.size)


class StreamReader(io.RawIOBase):
    """One compressed stream after another. The file must end where a stream ends.

    The standard library's BZ2File and LZMAFile ignore whatever follows the first stream if they cannot read
    it, and zstandard's reader takes the end of the file for the end of the text.
    """

    def __init__(self, raw: io.RawIOBase, new_stream: Callable[[], Any], *, input_size: int = INPUT) -> None:
        self.raw = raw
        self.new_stream = new_stream
        self.input_size = input_size
        self.stream = new_stream()
        self.output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.output:
            data = self._input()
            if data is None:
                return 0
            self.output = memoryview(self.stream.decompress(data, len(buffer)))
        count = min(len(buffer), len(self.output))
        buffer[:count] = self.output[:count]
        self.output = self.output[count:]
        return count

    def _input(self) -> bytes | None:
        """The next compressed bytes for the current or the next stream; None at the end of the last one."""
        if self.stream.eof:
            data = self._next_stream()
            if data:
                self.stream = self.new_stream()
            return data or None
        if not self.stream.needs_input:
            return b""
        data = self.raw.read(self.input_size)
        if not data:
            raise EOFError("it ends in the middle of a compressed stream")
        return data

    def _next_stream(self) -> bytes:
        """The bytes after a stream, without the zeros that may pad it."""
        data = self.stream.unused_data.lstrip(b"\0")
        while not data:
            read = self.raw.read(self.input_size)
            if not read:
                return b""
            data = read.lstrip(b"\0")
        return data


class _ZstdStream:
    """A zstd frame with the interface of BZ2Decompressor and LZMADecompressor; `max_length` is ignored."""

    needs_input = True

    def __init__(self) -> None:
        self.frame = need("zstandard", extra="zst").ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return self.frame.eof

    @property
    def unused_data(self) -> bytes:
        return self.frame.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.frame.decompress(data)


def compression_of(path: Path) -> str:
    """The suffix that says how a file is compressed, or an empty string."""
    suffix = path.suffix.lower()
    return suffix if suffix in DECOMPRESSORS else ""


def _gzip(raw: io.RawIOBase) -> Readable:
    import gzip

    return gzip.GzipFile(fileobj=raw)  # pyright: ignore[reportArgumentType]


def _bz2(raw: io.RawIOBase) -> Readable:
    import bz2

    return io.BufferedReader(StreamReader(raw, bz2.BZ2Decompressor))


def _xz(raw: io.RawIOBase) -> Readable:
    import lzma

    return io.BufferedReader(StreamReader(raw, lzma.LZMADecompressor))


def _zst(raw: io.RawIOBase) -> Readable:
    return io.BufferedReader(StreamReader(raw, _ZstdStream, input_size=ZSTD_INPUT))


DECOMPRESSORS: dict[str, Callable[[io.RawIOBase], Readable]] = {
    ".gz": _gzip,
    ".bz2": _bz2,
    ".xz": _xz,
    ".zst": _zst,
}


def _decompression_errors(compression: str) -> tuple[type[Exception], ...]:
    if compression == ".gz":
        import zlib

        return (zlib.error,)
    if compression == ".xz":
        import lzma

        return (lzma.LZMAError,)
    if compression == ".zst":
        return (need("zstandard", extra="zst").ZstdError,)
    return ()
