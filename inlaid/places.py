"""Places: where a command reads and writes, settled before any work.

    with claimed(output, reads=[text], others={"checkpoint": checkpoint}):
        ...

An output never replaces what is read, nor a file that Inlaid did not write; and no two runs write the same.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from inlaid import files, locks
from inlaid.arrays import open_arrays
from inlaid.errors import FormatError, WriteError
from inlaid.messages import Advice, Message, word

HEAD_BYTES = 1 << 12
LOCK = "lock of the "
"""What the role of a lock starts with."""
HTML_MARK = b'<meta name="generator" content="Inlaid">'
"""What a page that Inlaid wrote has in its head; at its end it has a seal."""
SVG_MARK = b"<!-- made by Inlaid -->"
"""The same of a drawing in vectors."""
PDF_MAGIC = b"%PDF-"
PNG_MAGIC = b"\x89PNG\r\n"
PNG_SEAL = b"inLD"
"""The type of the chunk that seals a picture: private, and dropped by whatever edits the picture."""
PNG_END = 12
"""Bytes of the last chunk of every PNG."""
HTML_SEAL_BYTES = len("<!-- Inlaid 0123456789abcdef -->\n")
PDF_SEAL_BYTES = len("% Inlaid 0123456789abcdef\n")
PNG_SEAL_BYTES = 4 + len(PNG_SEAL) + len("0123456789abcdef") + 4
NEVER_PART_OF_A_MODEL = (".inlaid", ".vec", ".npz", ".parquet", ".html", ".png", ".svg", ".pdf", locks.LOCK)
"""Suffixes of files that no reader of a model folder opens; those of compression may hide any other."""
SAFETENSORS_BRACE = slice(8, 9)
"""Where the header of a safetensors file begins, with a brace."""


@contextmanager
def claimed(
    output: Path,
    *,
    reads: Iterable[Path | None] = (),
    models: Iterable[Path | None] = (),
    others: Mapping[str, Path | None] | None = None,
    folder: bool = False,
    overwrite: bool = False,
) -> Iterator[None]:
    """Raise WriteError if `output` must not or cannot be written; otherwise hold its lock in the block.

    `reads` are the files that the work reads, and folders of which it reads every file, as of text; `models`
    are files and folders of vectors, of which it reads files of known names. `others` is what else it writes.
    A folder is never replaced; a file only if Inlaid wrote it, or with `overwrite`.
    """
    _refuse_standard_output(output)
    check_distinct({"output": output, **(others or {})}, reads, models)
    files.can_write(output, folder=folder)
    with locks.holding(output):
        check_replaceable(output, overwrite=overwrite)
        yield


def _refuse_standard_output(output: Path) -> None:
    """Raise WriteError for `-`: what is claimed is replaced as a whole, and may be read again."""
    if str(output) == "-":
        raise WriteError(
            "- is standard output, and this needs a file. Name one; `inlaid convert FILE -` writes vectors "
            "to standard output."
        )


def check_distinct(
    writes: Mapping[str, Path | None],
    reads: Iterable[Path | None] = (),
    models: Iterable[Path | None] = (),
) -> None:
    """Raise WriteError if two places that are written are the same, or if one is read or would become part of
    a folder that is read. Links, hard links and `..` are seen through."""
    known: dict[str, Path] = {}
    for role, path in _with_locks(writes).items():
        for other, taken in known.items():
            if _same(path, taken):
                raise WriteError(
                    "{path} is both the {first} and the {second}. Name two files.",
                    path=path,
                    first=_named(other),
                    second=_named(role),
                )
        known[role] = path
    sources = {path: False for path in reads if path is not None}
    sources |= {path: True for path in models if path is not None and path not in sources}
    for source, is_model in sources.items():
        _check_not_read(source, known, is_model=is_model)


def _named(role: str) -> Message:
    """What a file is written for, in the language that is shown."""
    if role.startswith(LOCK):
        return Message("lock of the {role}", role=word(role.removeprefix(LOCK)))
    return word(role)


def _with_locks(writes: Mapping[str, Path | None]) -> dict[str, Path]:
    """All that is written: each place and its lock, which is a file, too."""
    places = {role: path for role, path in writes.items() if path is not None}
    return places | {f"{LOCK}{role}": locks.lock_file(path) for role, path in places.items()}


def check_replaceable(path: Path, *, overwrite: bool) -> None:
    """Raise WriteError if `path` is a file that Inlaid did not write, unless it may be overwritten."""
    if overwrite or not path.is_file() or is_ours(path):
        return
    raise WriteError(
        "{path} already exists, and nothing in it shows that Inlaid wrote it. Replace it with {option}, "
        "or write elsewhere.",
        path=path,
        option=Advice(typed=Message("--overwrite"), called=Message("overwrite=True")),
    )


def is_ours(path: Path) -> bool:
    """Whether a file is empty, or shows that Inlaid wrote it: native vectors, a classifier, or a map that
    nobody has edited since. A checkpoint and the file of a corpus are no results, and do not count."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if HTML_MARK in head or SVG_MARK in head or head.startswith((PNG_MAGIC, PDF_MAGIC)):
            return _is_sealed(path.read_bytes())
        if not head or head[SAFETENSORS_BRACE] != b"{":
            return not head
        return not {"card", "classifier"}.isdisjoint(open_arrays(path).metadata)
    except (OSError, FormatError):
        return False


def sealed(content: bytes) -> bytes:
    """A page or picture with a checksum of itself, by which `is_ours` knows that nobody has edited it."""
    if content.startswith(PDF_MAGIC):  # readers pass over a comment at the end
        return content + f"% Inlaid {files.checksum(content)}\n".encode()
    if not content.startswith(PNG_MAGIC):
        return content + f"<!-- Inlaid {files.checksum(content)} -->\n".encode()
    body = content[:-PNG_END]
    seal = PNG_SEAL + files.checksum(body).encode()
    chunk = (len(seal) - len(PNG_SEAL)).to_bytes(4, "big") + seal + zlib.crc32(seal).to_bytes(4, "big")
    return body + chunk + content[-PNG_END:]


def _is_sealed(content: bytes) -> bool:
    if content.startswith(PNG_MAGIC):
        return content == sealed(content[: -PNG_SEAL_BYTES - PNG_END] + content[-PNG_END:])
    seal_bytes = PDF_SEAL_BYTES if content.startswith(PDF_MAGIC) else HTML_SEAL_BYTES
    return content == sealed(content[:-seal_bytes])


def _check_not_read(source: Path, writes: Mapping[str, Path], *, is_model: bool) -> None:
    """Raise WriteError if something that is written is `source`, or one of the files that a folder leads to,
    or would become one."""
    for role, path in writes.items():
        if _same(path, source):
            raise WriteError(
                "{path} is read, and would be replaced by the {role}. Name another file for the {role}.",
                path=path,
                role=_named(role),
            )
    if not source.is_dir():
        return
    targets = {role: Path(os.path.realpath(path)) for role, path in writes.items()}
    if is_model:
        targets = {role: path for role, path in targets.items() if path.suffix not in NEVER_PART_OF_A_MODEL}
    inodes = {path.stat().st_ino for path in targets.values() if path.exists()}
    for folder, entries in _walked(source):
        inside = os.path.realpath(folder)
        for role, target in targets.items():
            if target.is_relative_to(inside):
                raise WriteError(
                    "{path} lies in {source}, a folder that is read. Name a place outside it for the {role}.",
                    path=writes[role],
                    source=folder,
                    role=_named(role),
                )
        elsewhere = [each for each in entries if each.is_symlink() or each.inode() in inodes]
        for role, target, entry in ((*item, entry) for entry in elsewhere for item in targets.items()):
            if _same(target, Path(entry.path)):
                raise WriteError(
                    "{path} is read as {link}, and would be replaced by the {role}. Name another file for "
                    "the {role}.",
                    path=writes[role],
                    link=entry.path,
                    role=_named(role),
                )


def _walked(folder: Path) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
    """The folders below a folder, through links, and the files in each."""
    visited: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            status = os.stat(here)
            entries = list(os.scandir(here))
        except OSError:  # reading it will say so
            continue
        if (status.st_dev, status.st_ino) in visited:
            continue
        visited.add((status.st_dev, status.st_ino))
        waiting += [Path(entry.path) for entry in entries if entry.is_dir()]
        yield here, [entry for entry in entries if not entry.is_dir()]


def _same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return False
