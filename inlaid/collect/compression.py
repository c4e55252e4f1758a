"""Files read as bytes: decompressed by suffix (gz, bz2, xz, zst, zip, tar), hashed, counted, bounded."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import xxhash

from inlaid.collect import archives, charsets
from inlaid.collect.charsets import UTF8, Invalid
from inlaid.collect.decompressors import DECOMPRESSORS, decompression_errors
from inlaid.errors import SourceError
from inlaid.untrusted import MAX_RATIO

STDIN = Path("-")
BLOCK = 1 << 22
GROWTH_PROBE = 4096
"""Bytes requested past the known size of a file, to notice that it grew."""
MAX_LINE = 1 << 26
"""Bytes of the longest line that iteration returns. A compression bomb is one line without an end."""


@runtime_checkable
class Readable(Protocol):
    """Bytes that can be read in blocks or line by line."""

    def read(self, size: int = -1, /) -> bytes: ...
    def readline(self, size: int = -1, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...


class DecompressedFile(io.BufferedIOBase):
    """A file open for reading, or the one file that an archive is opened for.

    Damaged or truncated compression and compression bombs raise SourceError.
    """

    def __init__(
        self, path: Path, progress: Callable[[int], None] | None = None, *, member: bool = True
    ) -> None:
        """Without `member`, an archive is read as its own bytes, decompressed."""
        self.path = path
        self.raw = RawFile(archives.file_of(path), progress)
        self.compression = compression_of(path)
        self.name = path.stem if self.compression else path.name
        """The name of the content, without the suffix of its compression."""
        self.charset = UTF8
        self.size: int | None = None
        self.stored: int | None = None
        """Bytes on disk that the content comes from; None: all that are read."""
        self.recoder: charsets.Recoder | None = None
        self.errors: tuple[type[Exception], ...] = (EOFError, OSError)
        self.decompressed = 0
        self.file: Any
        try:
            self._open(member)
        except BaseException:
            self.raw.close_file()
            raise

    def _open(self, member: bool) -> None:
        path = self.path
        archive = archives.archive_suffix(self.raw.path)
        if not archive:
            self.file = self._decompressor(self.compression, self.raw)
        elif not member:
            self.file = self._decompressor(archives.TAR[archive], self.raw)
        else:
            self.errors += archives.ERRORS
            try:
                self._open_member(archive)
            except self.errors as error:
                raise self._damaged(error) from None
        if path.is_file() and not self.compression:
            self.size = path.stat().st_size

    def _open_member(self, archive: str) -> None:
        chosen = archives.choose(self.path, lambda: DecompressedFile(self.raw.path, member=False))
        archives.check_not_nested(self.path, chosen)
        if archive == ".zip":
            file, self.stored = archives.open_zip(self.raw.path, self.raw.file, chosen)
        else:
            file = archives.open_tar(
                self.raw.path, self._decompressor(archives.TAR[archive], self.raw), chosen
            )
        inside = Path(chosen.name)
        compression = compression_of(inside)
        self.name = inside.stem if compression else inside.name
        self.file = self._decompressor(compression, file) if compression else file

    def _decompressor(self, compression: str, raw: Any) -> Any:
        if compression:
            self.errors += decompression_errors(compression)
            return DECOMPRESSORS[compression](raw)
        # a small file takes little memory
        size = self.raw.path.stat().st_size if self.raw.path.is_file() else BLOCK
        return io.BufferedReader(raw, min(size + 1, BLOCK))

    def recode(self, charset: str, invalid: Invalid = "error") -> None:
        """Give UTF-8 from here on, whatever the file is in. Files in UTF-8 are read as before."""
        asked = charsets.canonical(charset)
        try:
            chosen = charsets.marked(self.file.peek(64)[:64]) or asked
            if chosen == UTF8:
                return
            head = self.file.read(BLOCK if chosen == charsets.AUTO else charsets.SAMPLE)
        except self.errors as error:
            raise self._damaged(error) from None
        self.charset = charsets.decide(head, charset)
        if self.charset != UTF8:
            charsets.refuse_other(self.path, head, self.charset)
        self.recoder = charsets.Recoder(self.file, head, self.path, self.charset, invalid)
        self.file = io.BufferedReader(self.recoder, charsets.CHUNK)
        self.size = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        if self.size is not None and wanted > 0:
            wanted = min(wanted, max(self.size - self.decompressed, 0) + GROWTH_PROBE)
        try:
            data = self.file.read(wanted)
        except self.errors as error:
            raise self._damaged(error) from None
        self._count(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def __iter__(self) -> Iterator[bytes]:
        number = 0
        while True:
            number += 1
            try:
                line = self.file.readline(MAX_LINE + 1)
            except self.errors as error:
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
        """Read the rest, so that the hash covers the whole file; of a zip file, nothing is hashed so far."""
        if self.stored is not None:
            self.raw.file.seek(0)
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
        stored = self.raw.size if self.stored is None else self.stored
        if not data and stored == 0:
            # Python's gzip reads zero bytes as an empty file, but every compressor writes a header.
            raise self._damaged(EOFError("the file is empty"))
        self.decompressed += len(data)
        if self.decompressed > MAX_RATIO * stored + 100 * BLOCK:
            raise SourceError(
                "{path} decompresses to more than {ratio} times its size, which text does not do. "
                "If the file is right, decompress it yourself.",
                path=self.path,
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
        if path == STDIN and sys.stdin is None:
            raise SourceError("Standard input is closed. Name a file, or pass text through a pipe.")
        self.is_stdin = path == STDIN
        try:
            self.file = sys.stdin.buffer if path == STDIN else path.open("rb")
        except OSError as error:
            raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
        self.path = path
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
        if not self.is_stdin:
            self.file.close()

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        if self.size - self.reported >= BLOCK:
            self.reported = self.size
            if self.progress:
                self.progress(self.size)


def compression_of(path: Path) -> str:
    """The suffix that says how a file is compressed or archived, or an empty string."""
    suffix = path.suffix.lower()
    return archives.archive_suffix(archives.file_of(path)) or (suffix if suffix in DECOMPRESSORS else "")
