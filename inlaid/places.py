"""Places: where a command reads and writes, settled before any work.

    with claimed(output, reads=[text], others={"checkpoint": checkpoint}):
        ...

An output never replaces what is read, nor a file that Inlaid did not write; and no two runs write the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from inlaid import files, locks
from inlaid.arrays import open_arrays
from inlaid.errors import FormatError, WriteError

HEAD_BYTES = 1 << 12
HTML_MARK = b'<meta name="generator" content="Inlaid">'
"""What a page that Inlaid wrote has in its head."""
PNG_MAGIC = b"\x89PNG\r\n"
PNG_MARK = b"Software\0Inlaid"
"""What a picture that Inlaid wrote has in its metadata."""
SAFETENSORS_BRACE = slice(8, 9)
"""Where the header of a safetensors file begins, with a brace."""


@contextmanager
def claimed(
    output: Path,
    *,
    reads: Iterable[Path | None] = (),
    others: Mapping[str, Path | None] | None = None,
    folder: bool = False,
    overwrite: bool = False,
) -> Iterator[None]:
    """Raise WriteError if `output` must not or cannot be written; otherwise hold its lock in the block.

    `reads` are the files and folders that the work reads, `others` what else it writes. A folder is never
    replaced; a file only if Inlaid wrote it, or with `overwrite`.
    """
    check_distinct({"output": output, **(others or {})}, reads)
    files.can_write(output, folder=folder)
    with locks.holding(output):
        check_replaceable(output, overwrite=overwrite)
        yield


def check_distinct(writes: Mapping[str, Path | None], reads: Iterable[Path | None] = ()) -> None:
    """Raise WriteError if two places that are written are the same, or if one is read or lies in a folder
    that is read. Links, hard links and `..` are seen through."""
    known: dict[str, Path] = {}
    sources = [path for path in reads if path is not None]
    for role, path in writes.items():
        if path is None:
            continue
        for other, taken in known.items():
            if _same(path, taken):
                raise WriteError(
                    "{path} is both the {first} and the {second}. Name two files.",
                    path=path,
                    first=other,
                    second=role,
                )
        for source in sources:
            _check_not_read(role, path, source)
        known[role] = path


def check_replaceable(path: Path, *, overwrite: bool) -> None:
    """Raise WriteError if `path` is a file that Inlaid did not write, unless it may be overwritten."""
    if overwrite or not path.is_file() or is_ours(path):
        return
    raise WriteError(
        "{path} already exists, and nothing in it shows that Inlaid wrote it. Replace it with --overwrite "
        "(in Python: overwrite=True), or write elsewhere.",
        path=path,
    )


def is_ours(path: Path) -> bool:
    """Whether a file is empty, or shows that Inlaid wrote it: native vectors, or a map. A checkpoint and the
    file of a corpus are no results, and do not count."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if not head or HTML_MARK in head or (head.startswith(PNG_MAGIC) and PNG_MARK in head):
            return True
        return head[SAFETENSORS_BRACE] == b"{" and "card" in open_arrays(path).metadata
    except (OSError, FormatError):
        return False


def _check_not_read(role: str, path: Path, source: Path) -> None:
    if _same(path, source):
        raise WriteError(
            "{path} is read, and would be replaced by the {role}. Name another file for the {role}.",
            path=path,
            role=role,
        )
    if source.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source)):
        raise WriteError(
            "{path} lies in {source}, a folder that is read. Name a place outside it for the {role}.",
            path=path,
            source=source,
            role=role,
        )


def _same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return False
