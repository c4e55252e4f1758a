"""Decompressors: one compressed stream after another (gz, bz2, xz, zst), each to its very end."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from inlaid.collect.charsets import ByteStream
from inlaid.errors import need

INPUT = 8192
"""Compressed bytes decoded at a time."""
ZSTD_INPUT = 2048
"""The same for zstd, where a block of 4 bytes may expand to 128 KB: this bounds the output to 64 MB."""


class StreamReader(io.RawIOBase):
    """One compressed stream after another. The file must end where a stream ends.

    The standard library's BZ2File and LZMAFile ignore whatever follows the first stream if they cannot read
    it, and zstandard's reader takes the end of the file for the end of the text.
    """

    def __init__(self, raw: ByteStream, new_stream: Callable[[], Any], *, input_size: int = INPUT) -> None:
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


def _gzip(raw: ByteStream) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=raw)  # pyright: ignore[reportArgumentType]


def _bz2(raw: ByteStream) -> Any:
    import bz2

    return io.BufferedReader(StreamReader(raw, bz2.BZ2Decompressor))


def _xz(raw: ByteStream) -> Any:
    import lzma

    return io.BufferedReader(StreamReader(raw, lzma.LZMADecompressor))


def _zst(raw: ByteStream) -> Any:
    return io.BufferedReader(StreamReader(raw, _ZstdStream, input_size=ZSTD_INPUT))


DECOMPRESSORS: dict[str, Callable[[ByteStream], Any]] = {
    ".gz": _gzip,
    ".bz2": _bz2,
    ".xz": _xz,
    ".zst": _zst,
}


def decompression_errors(compression: str) -> tuple[type[Exception], ...]:
    if compression == ".gz":
        import zlib

        return (zlib.error,)
    if compression == ".xz":
        import lzma

        return (lzma.LZMAError,)
    if compression == ".zst":
        return (need("zstandard", extra="zst").ZstdError,)
    return ()
