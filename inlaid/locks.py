"""Locks: one process at a time works on an output; the system releases a lock when its process dies.

The lock of an output is a hidden file beside it, which says who holds it. It is advisory: it keeps two runs
of Inlaid apart, and no other program. Windows and some network file systems have no such locks; there,
nothing is locked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import xxhash

from inlaid.errors import WriteError, advice
from inlaid.messages import Message
from inlaid.untrusted import parse_json

LOCK = ".lock"
"""Suffix of the file that holds the lock of an output."""
LONGEST_NAME = 255
"""Bytes of a file name, where the file system does not say how many it allows."""
LONGEST_COMMAND = 200
"""Characters of the command that a lock records."""
LONGEST_LOCK = 1 << 13
"""Bytes that no lock has: each character of the command takes at most twelve in JSON."""
HELD = set["Lock"]()
"""The locks that this process holds."""


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold the lock of an output; WriteError names the process that holds it already."""
    file = lock_file(path)
    lock = _taken(path, file)
    try:
        yield
    finally:
        if lock.is_ours and lock.descriptor is not None:
            with contextlib.suppress(OSError):
                if _is_at(file, lock.descriptor):
                    file.unlink()  # before the release: whoever locks this file next sees that it is gone
        lock.release()


def lock_file(path: Path) -> Path:
    """The file that holds the lock of `path`; a link and what it leads to have the same one."""
    target = Path(os.path.realpath(path))
    return target.parent / f".{short_name(target, 1 + len(LOCK))}{LOCK}"


def check_free(path: Path) -> None:
    """Raise WriteError if another run holds the lock of `path`."""
    with holding(path):
        pass


class Lock:
    """The lock of a file or folder that this process holds, unless the system has no locks."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        if descriptor is not None:
            HELD.add(self)

    @property
    def is_ours(self) -> bool:
        """False where there are no locks, and in a process that was forked from the one that took it."""
        return self in HELD

    def release(self) -> None:
        if self.descriptor is not None and self.is_ours:
            HELD.discard(self)
            _close(self.descriptor)


def take(path: Path, more: int = 0) -> Lock | None:
    """Lock a file or folder itself; None if another process holds it, or if it was removed meanwhile.

    `more` are flags to open it with.
    """
    try:
        import fcntl
    except ImportError:
        return Lock(None)
    try:
        flags = os.O_RDONLY if path.is_dir() else os.O_RDWR  # NFS locks only what is open for writing
        descriptor = os.open(path, flags | more | os.O_NOFOLLOW, 0o644)
    except FileNotFoundError:
        if more & os.O_CREAT:  # there is no folder for it
            raise
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _close(descriptor)
        return None
    except OSError:  # the file system has no locks
        _close(descriptor)
        return Lock(None)
    if not _is_at(path, descriptor):
        _close(descriptor)
        return None
    return Lock(descriptor)


def short_name(target: Path, more: int) -> str:
    """The name of a file; where `more` bytes around it would be too long, its start and a checksum."""
    try:
        longest = os.pathconf(target.parent, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        longest = LONGEST_NAME
    name = os.fsencode(target.name)
    if len(name) + more <= longest:
        return target.name
    checksum = xxhash.xxh3_64_hexdigest(name)
    start = name[: longest - more - len(checksum) - 1].decode("utf-8", "ignore")
    return f"{start}-{checksum}"


def _taken(path: Path, file: Path) -> Lock:
    """The lock of `path`, which `file` holds. A lock that a killed process left behind is taken over; any
    other file of that name is not touched."""
    while True:
        try:
            lock = take(file, os.O_CREAT)
            if lock is not None:
                _check_content(path, lock, file)
                _record(lock, file)
                return lock
        except OSError as error:
            raise _cannot_lock(path, file, error) from error
        holder = _holder(file)
        if holder is not None:
            raise WriteError(
                "{path} is being written by {holder}. Wait until that ends, stop it, or write elsewhere.",
                path=path,
                holder=holder,
            )


def _check_content(path: Path, lock: Lock, file: Path) -> None:
    """Raise WriteError, and let go of the lock, if the file holds more than a lock of ours."""
    if lock.descriptor is None:
        return
    content = os.pread(lock.descriptor, LONGEST_LOCK + 1, 0)
    if not content or (len(content) <= LONGEST_LOCK and _parsed(content) is not None):
        return
    lock.release()
    raise WriteError(
        "Cannot write {path}: its lock would be {lock}, a file that Inlaid did not write. Rename that file, "
        "or write elsewhere.",
        path=path,
        lock=file,
    )


def _cannot_lock(path: Path, file: Path, error: OSError) -> WriteError:
    """Where someone else's lock was left behind in a shared folder, only they can remove it."""
    owner = _other_owner(file)
    if isinstance(error, PermissionError) and owner:
        return WriteError(
            "Cannot write {path}: {owner} owns its lock {lock} (held by {holder}). If that process has "
            "ended, ask {owner} to remove the lock; otherwise wait, or write elsewhere.",
            path=path,
            owner=owner,
            lock=file,
            holder=_holder(file) or Message("nobody"),
        )
    return WriteError(
        "Cannot write {path}: its lock {lock} cannot be written ({reason}). {advice}, or write elsewhere.",
        path=path,
        lock=file,
        reason=error.strerror or str(error),
        advice=advice(error),
    )


def _other_owner(file: Path) -> str | Message:
    """Who owns a file; empty if we do, or if it cannot be known."""
    try:
        owner = file.stat(follow_symlinks=False).st_uid
    except OSError:
        return ""
    if not hasattr(os, "geteuid") or owner == os.geteuid():
        return ""
    return owner_name(owner)


def owner_name(user: int) -> str | Message:
    """The name of a user; in containers many have only a number."""
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
        return Message("user {user}", user=user)


def _record(lock: Lock, file: Path) -> None:
    """Write into the file who holds it."""
    if lock.descriptor is None:
        with contextlib.suppress(OSError):
            if not file.stat(follow_symlinks=False).st_size:  # made just now, where there are no locks
                file.unlink()
        return
    about = {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "command": shlex.join(sys.argv)[:LONGEST_COMMAND],
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    try:
        os.ftruncate(lock.descriptor, 0)
        content = json.dumps(about).encode()
        written = 0
        while written < len(content):
            written += os.pwrite(lock.descriptor, content[written:], written)
    except OSError:
        with contextlib.suppress(OSError):
            file.unlink()
        lock.release()
        raise


def _holder(file: Path) -> Message | None:
    """Who holds a lock; None if its file is gone by now."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError:
        content = b""
    return _parsed(content) or Message("another process")  # it is written just now


def _parsed(content: bytes) -> Message | None:
    """Who holds a lock, by the content of its file; None if that is not what `_record` writes."""
    try:
        about = parse_json(content)
        return Message(
            "process {pid} on {host}, since {since} (`{command}`)",
            pid=int(about["pid"]),
            host=str(about["host"]),
            since=str(about["since"]),
            command=str(about["command"]),
        )
    except (ValueError, TypeError, KeyError):
        return None


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at `path`: its last holder may have removed it."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _forget() -> None:
    """A forked process does not keep the locks of its parent alive."""
    for lock in HELD:
        if lock.descriptor is not None:
            _close(lock.descriptor)
    HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
