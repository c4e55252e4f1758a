"""Files: the only way anything is written (temporary file, fsync, rename, fsync of the folder); checksums."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import xxhash

from inlaid import locks
from inlaid.errors import Unsynced, WriteError, advice
from inlaid.messages import Message

PART = ".part"
"""Suffix of unfinished files and folders; nothing reads one."""
TOKEN = 4
"""Random bytes in the name of an unfinished file, so that two writers never share one. As many bytes of a
checksum follow: by them a file is known to be ours, and not a user's with a similar name."""
SPARE_BYTES = 1 << 20
"""Bytes beside its arrays that a file may take, and that other programs may write meanwhile."""
SPOOL_BYTES = 1 << 26
"""Bytes a Spool keeps in memory by default."""


def checksum(data: bytes | memoryview) -> str:
    """16 hex digits that change when any bit of `data` does (XXH3: 28 GB/s, CRC-32: 4 GB/s)."""
    return f"{xxhash.xxh3_64_intdigest(data):016x}"


def can_write(path: Path, *, folder: bool = False) -> None:
    """Raise WriteError before hours of work if `path` could not be written after them."""
    part = _part_of(_target(path, folder=folder))
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        _discard(part)


def check_space(path: Path, size: int) -> None:
    """Raise WriteError before hours of work if a file of `size` bytes will not fit on the disk of `path`."""
    try:
        found = os.statvfs(Path(os.path.realpath(path)).parent)
    except (AttributeError, OSError):  # Windows, or a file system that does not say
        return
    free = found.f_bavail * found.f_frsize
    size += SPARE_BYTES
    if found.f_blocks and size > free:  # some virtual file systems have 0 blocks
        raise WriteError(
            "{path} will take about {size:,} bytes, and {free:,} are free on its disk. Free some space, or "
            "write elsewhere.",
            path=path,
            size=size,
            free=free,
        )


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that is renamed to `path` when the block succeeds, and removed when it fails."""
    target = _target(path)
    with _replacing(path, target, folder=False) as part:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """A folder that is renamed to `path` when the block succeeds. The block writes into it with `writing`."""
    with _replacing(path, _target(path, folder=True), folder=True) as part:
        yield part
        _sync_folder(part)


def sweep(path: Path) -> None:
    """Remove the unfinished files and folders that killed writers of `path` left behind. Those of living
    writers are locked, and stay; so does every file whose name is not one that we make."""
    target = Path(os.path.realpath(path))
    name = _short(target)
    for part in target.parent.glob(f".{glob.escape(name)}.{'[0-9a-f]' * 4 * TOKEN}{PART}"):
        token = part.name[-len(PART) - 4 * TOKEN :][: 2 * TOKEN]
        if part.name != _part_name(name, token) or part.is_symlink():
            continue
        with contextlib.suppress(OSError):
            lock = locks.take(part)
            if lock is not None and lock.is_ours:
                _discard(part)
                lock.release()


@contextmanager
def _replacing(path: Path, target: Path, *, folder: bool) -> Iterator[Path]:
    """An empty file or folder that becomes `target` when the block succeeds, and is removed when it fails.

    It is locked until then, so that no other writer sweeps it away.
    """
    sweep(target)
    part = _part_of(target)
    lock: locks.Lock | None = None
    try:
        while (lock := _created(part, folder=folder)) is None:
            part = _part_of(target)  # another writer swept it away before it was locked
        yield part
        if folder:
            os.rename(part, target)  # fails if a folder with content exists: nothing is overwritten
        else:
            os.replace(part, target)
    except BaseException as error:
        gone = _discard(part)
        # An error of a file in the folder is one of the folder: users do not know its unfinished name.
        cause = error.__cause__ if folder and isinstance(error, WriteError) else error
        if not isinstance(cause, OSError):
            raise
        raise _cannot_write(path, cause, None if gone else part) from cause
    finally:
        if lock is not None:
            lock.release()
    try:
        _sync_folder(target.parent)
    except OSError as error:
        raise Unsynced(
            "{path} is written and in place, but its folder could not be flushed to the disk ({reason}): "
            "a power cut may undo it. Check the disk, and write it again.",
            path=path,
            reason=error.strerror or str(error),
        ) from error


def _created(part: Path, *, folder: bool) -> locks.Lock | None:
    if folder:
        part.mkdir()
    else:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return locks.take(part)


def _discard(part: Path) -> bool:
    """Remove an unfinished file or folder; whether it is gone. A failure is no error of its own: the next
    writer removes it."""
    with contextlib.suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)
    return not os.path.lexists(part)


class Spool:
    """A queue of arrays, in memory; beyond `keep` bytes they may spill into an unnamed temporary file.

    They spill if `folder` names a place for that file, or if `spill` allows the system's temporary folder.
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
        self.keep = SPOOL_BYTES if keep is None else keep
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
        """All arrays, in the order in which they were appended."""
        spilled = len(self.lengths) - len(self.held)
        if self.file is not None:
            self.file.seek(0)
            for length in self.lengths[:spilled]:
                yield np.frombuffer(self.file.read(length * self.dtype.itemsize), self.dtype)
        yield from self.held

    def whole(self) -> np.ndarray:
        """All arrays as one; a spilled one is memory-mapped. Each piece is freed once it is copied, so the
        spool cannot be used afterwards."""
        if self.file is not None:
            self._spill()
            with self.file:  # the memory map outlives the file object
                return np.asarray(np.memmap(self.file, self.dtype, "r+", shape=(self.size,)))
        whole = np.empty(self.size, self.dtype)
        filled = 0
        for n, array in enumerate(self.held):
            whole[filled : filled + len(array)] = array
            filled += len(array)
            self.held[n] = np.empty(0, self.dtype)  # at most one piece is in memory twice
        return whole

    def _spill(self) -> None:
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 closed with the spool
            self.file.seek(0, os.SEEK_END)
            for array in self.held:
                self.file.write(np.ascontiguousarray(array, self.dtype).data)
            self.file.flush()
        except OSError as error:
            if self.file is not None:
                with contextlib.suppress(OSError):  # closing flushes once more, and may fail once more
                    self.file.close()
            raise _cannot_spill(self.folder, error) from error
        self.held = []


def scratch(shape: tuple[int, ...], dtype: type[np.generic]) -> np.ndarray:
    """A writable array in an unnamed temporary file, for what does not fit in memory; the file is deleted
    with the array."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile() as file:
            # Reserved now, a full disk is an error; later it would be a crash on the first write to a page.
            _reserve(file.fileno(), size)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))
    except OSError as error:
        raise _cannot_spill(None, error) from error


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.truncate(descriptor, size)


def write_bytes(path: Path, data: bytes) -> None:
    with writing(path) as file:
        file.write(data)


def make_folder(path: Path) -> None:
    """Make a folder inside one that is being written, unless it is there."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from None


def remove_folder(path: Path) -> None:
    """Remove a folder and all that is in it; nothing happens where there is none."""
    if not path.exists():
        return
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise _cannot_write(path, error) from None


def rename_folder(path: Path, target: Path) -> None:
    """Give a folder another name beside it, where nothing is."""
    try:
        os.rename(path, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def _target(path: Path, *, folder: bool = False) -> Path:
    """The real path behind `path` (a link is followed, not replaced), if it can be written."""
    target = Path(os.path.realpath(path))
    if os.path.exists(path) and not os.path.exists(target):  # /dev/stdout leads to a pipe, which has no path
        raise _not_a_file(path)
    if not target.parent.is_dir():
        raise WriteError(
            "Cannot write {path}: there is no folder {folder}. Create it, or write elsewhere.",
            path=path,
            folder=path.parent,
        )
    if os.path.islink(target):
        raise WriteError("Cannot write {path}: it is a link that leads to itself. Remove it.", path=path)
    try:
        there = target.stat()
    except FileNotFoundError:
        return target
    except OSError as error:
        raise _cannot_write(path, error) from None
    if folder:
        raise WriteError("Cannot write {path}: it already exists. Remove it, or write elsewhere.", path=path)
    if stat.S_ISDIR(there.st_mode):
        raise WriteError("Cannot write {path}: it is a folder. Name a file inside it.", path=path)
    if not stat.S_ISREG(there.st_mode):  # a rename would replace the device by a file
        raise _not_a_file(path)
    _check_owner(path, there, target.parent.stat())
    return target


def _not_a_file(path: Path) -> WriteError:
    return WriteError("Cannot write {path}: it is a device or a pipe, not a file. Name a file.", path=path)


def _check_owner(path: Path, there: os.stat_result, folder: os.stat_result) -> None:
    """In a folder with the sticky bit, such as /tmp, only its owner can replace a file."""
    if not folder.st_mode & stat.S_ISVTX or not hasattr(os, "geteuid"):
        return
    if os.geteuid() in (0, there.st_uid, folder.st_uid):
        return
    raise WriteError(
        "Cannot write {path}: it belongs to {owner}, and in this folder nobody else can replace it. Write "
        "elsewhere.",
        path=path,
        owner=locks.owner_name(there.st_uid),
    )


def _part_of(target: Path) -> Path:
    """A name for what is being written, beside the target; no two writers share one."""
    return target.with_name(_part_name(_short(target), secrets.token_hex(TOKEN)))


def _part_name(name: str, token: str) -> str:
    seal = checksum(f"{token} {name}".encode("utf-8", "surrogateescape"))[: 2 * TOKEN]
    return f".{name}.{token}{seal}{PART}"


def _short(target: Path) -> str:
    """The name of the target, as the name of its unfinished file has it."""
    return locks.short_name(target, len(_part_name("", "0" * 2 * TOKEN)))


def _cannot_write(path: Path, error: OSError, left: Path | None = None) -> WriteError:
    leftover = Message("No partial file was left")
    if left is not None:
        leftover = Message("{left} could not be removed; the next write of this name removes it", left=left)
    return WriteError(
        "Cannot write {path}: {reason}. {leftover}. {advice}, or write elsewhere.",
        path=path,
        reason=error.strerror or str(error),
        leftover=leftover,
        advice=advice(error),
    )


def _cannot_spill(folder: Path | None, error: OSError) -> WriteError:
    """The folder for temporary files is one that the user did not name, and may not know."""
    if folder is not None:
        return _cannot_write(folder, error)
    return WriteError(
        "Cannot write temporary files in {folder}: {reason}. {advice}, or set TMPDIR to another folder.",
        folder=_temporary_folder(),
        reason=error.strerror or str(error),
        advice=advice(error),
    )


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:
        return os.environ.get("TMPDIR", "/tmp")


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    if os.name != "posix":
        return  # Windows cannot open folders, and NTFS journals renames
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # the file system has no such thing
            raise
    finally:
        os.close(descriptor)


def is_private(folder: Path) -> bool:
    """Whether a folder, made if it is missing, can be written by us and by nobody else."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def private_cache() -> Path | None:
    """Where this user's caches are kept: the user's cache folder; where that cannot be written, a private
    folder for temporary files. None: there is neither."""
    return next((folder for folder in _cache_folders() if is_private(folder)), None)


def _cache_folders() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # a user without a home, as in many containers
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inlaid"
    user = os.getuid() if hasattr(os, "getuid") else 0
    with contextlib.suppress(OSError):  # no folder for temporary files
        yield Path(tempfile.gettempdir()) / f"inlaid-{user}"
