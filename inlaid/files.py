"""The only way anything is written: temporary file, fsync, rename; checksums."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import xxhash

from inlaid.errors import WriteError

PART = ".part"
"""How every unfinished file or folder is named; nothing reads one."""
TOKEN = 4
"""Random bytes in such a name, so that two writers never share one."""
SPOOLED = 1 << 26
"""Bytes a Spool keeps in memory."""


def checksum(data: bytes | memoryview) -> str:
    """16 hex digits that change when any bit of `data` does (XXH3, 28 GB/s where CRC-32 makes 4)."""
    return f"{xxhash.xxh3_64_intdigest(data):016x}"


def can_write(path: Path, *, folder: bool = False) -> None:
    """Raise WriteError now rather than after hours of work, if `path` could not be written."""
    target = _target(path, folder=folder)
    probe = _unfinished(target)
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        probe.unlink()
    except OSError as error:
        raise _cannot_write(path, error) from None


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends well, and is gone when it does not."""
    target = _target(path)
    part = _unfinished(target)
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """A folder that becomes `path` when the block ends well. The block writes into it with `writing`."""
    target = _target(path, folder=True)
    part = _unfinished(target)
    try:
        part.mkdir()
        yield part
        _sync_folder(part)
        os.rename(part, target)  # fails where a folder with content stands: nothing is overwritten
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove what writers of `path` left unfinished when they were killed. Not for a file that another may be
    writing."""
    target = Path(os.path.realpath(path))
    for part in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 2 * TOKEN}{PART}"):
        part.unlink(missing_ok=True)


class Spool:
    """Arrays put aside in order: in memory, or, where they may spill and grow beyond `keep` bytes, in a
    nameless file.

    Naming a folder for that file lets them spill; `spill` does so in the system's own folder for temporary
    files.
    """

    def __init__(
        self,
        dtype: type[np.generic],
        folder: Path | None = None,
        *,
        keep: int | None = None,
        spill: bool = False,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.folder = folder
        self.keep = SPOOLED if keep is None else keep
        self.may_spill = spill or folder is not None
        self.lengths: list[int] = []
        self.held: list[np.ndarray] = []
        self.file: IO[bytes] | None = None

    @property
    def size(self) -> int:
        return sum(self.lengths)

    def append(self, array: np.ndarray) -> None:
        self.held.append(array)
        self.lengths.append(len(array))
        if self.may_spill and sum(each.nbytes for each in self.held) > self.keep:
            self._spill()

    def pieces(self) -> Iterator[np.ndarray]:
        """Everything in the order it came, array by array."""
        spilled = len(self.lengths) - len(self.held)
        if self.file is not None:
            self.file.seek(0)
            for length in self.lengths[:spilled]:
                yield np.frombuffer(self.file.read(length * self.dtype.itemsize), self.dtype)
        yield from self.held

    def whole(self) -> np.ndarray:
        """Everything as one array, and nothing is left to append to: the pieces go as it is made; what was
        spilled is mapped."""
        if self.file is not None:
            self._spill()
            with self.file:  # the mapping keeps what it needs of it
                return np.asarray(np.memmap(self.file, self.dtype, "r+", shape=(self.size,)))
        whole = np.empty(self.size, self.dtype)
        filled = 0
        for n, array in enumerate(self.held):
            whole[filled : filled + len(array)] = array
            filled += len(array)
            self.held[n] = np.empty(0, self.dtype)  # never twice in memory
        return whole

    def _spill(self) -> None:
        try:
            self.file = self.file or tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 it lives as long as the spool
            self.file.seek(0, os.SEEK_END)
            for array in self.held:
                self.file.write(np.ascontiguousarray(array, self.dtype).data)
            self.file.flush()
        except OSError as error:
            if self.file is not None:
                with contextlib.suppress(OSError):  # it may still hold what it could not write
                    self.file.close()
            raise _cannot_write(self.folder or Path(tempfile.gettempdir()), error) from error
        self.held = []


def scratch(shape: tuple[int, ...], dtype: type[np.generic]) -> np.ndarray:
    """A writable array in a nameless file, for what does not fit in memory; the file goes when the array
    goes."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile() as file:
            _reserve(
                file.fileno(), size
            )  # a full disk is an error now, not a crash when a page is first written
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))
    except OSError as error:
        raise _cannot_write(Path(tempfile.gettempdir()), error) from error


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.truncate(descriptor, size)


def write_bytes(path: Path, data: bytes) -> None:
    with writing(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def _target(path: Path, *, folder: bool = False) -> Path:
    """Where `path` really lies (a link is written through, not replaced), if it could be written at all."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise WriteError(
            f"Cannot write {path}: there is no folder {path.parent}. Create it, or write elsewhere."
        )
    if target.is_dir() and not folder:
        raise WriteError(f"Cannot write {path}: it is a folder. Name a file inside it.")
    if (
        target.exists() and not target.is_dir() and not target.is_file()
    ):  # a rename would put a file where a device stands
        raise WriteError(f"Cannot write {path}: it is not a file but a device or a pipe. Name a file.")
    if folder and target.exists():
        raise WriteError(f"Cannot write {path}: it exists already. Remove it, or write elsewhere.")
    return target


def _unfinished(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(TOKEN)}{PART}")


def _cannot_write(path: Path, error: OSError) -> WriteError:
    return WriteError(
        f"Cannot write {path}: {error.strerror or error}. Nothing was left behind; free some space or write elsewhere."
    )


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    if os.name != "posix":
        return  # elsewhere a folder cannot be opened, and the rename is journalled
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
