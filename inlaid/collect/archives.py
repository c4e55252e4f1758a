"""Archives (zip, tar, compressed tar): the one file of them that holds text or vectors, read as a stream.

Nothing is unpacked to disk. `archive.zip::name` picks a file where there are several.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from inlaid.errors import SourceError
from inlaid.messages import Listed, Message
from inlaid.untrusted import check_ratio

SEPARATOR = "::"
TAR = {
    ".tar": "",
    ".tar.gz": ".gz",
    ".tgz": ".gz",
    ".tar.bz2": ".bz2",
    ".tbz2": ".bz2",
    ".tar.xz": ".xz",
    ".txz": ".xz",
    ".tar.zst": ".zst",
}
"""Suffixes of tar files, and how each is compressed."""
UNREADABLE = (".7z", ".rar")
"""Archives that no library of Python's reads."""
ABOUT = ("readme", "license", "licence", "copying", "notice", "changelog")
"""Files that come with text or vectors, and are neither."""
SHOWN = 10
"""Files that an error names."""
BLOCK = 1 << 20
"""Bytes of a tar file read at a time."""
MOST_MEMBERS = 100_000
LONGEST_HEADER = 1 << 20
"""Bytes of a long name or an extension in a tar file, which tarfile reads as a whole."""
EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
"""Types of headers that extend the next one."""
ERRORS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What the libraries raise for damaged, encrypted or unsupported archives."""


class BoundedHeader(tarfile.TarInfo):
    """A header whose long names and extensions are short enough to hold in memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        """Called by tarfile for every header."""
        if self.type in EXTENSIONS and self.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # pyright: ignore[reportAttributeAccessIssue]


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    """Its path in the archive, as it is shown."""
    stored_name: str
    """Its path as the library knows it."""
    size: int


def file_of(path: Path) -> Path:
    """The file on disk: that of `archive.zip::name` is the archive."""
    archive, separator, _ = str(path).partition(SEPARATOR)
    return Path(archive) if separator and archive_suffix(Path(archive)) and not path.exists() else path


def archive_suffix(path: Path) -> str:
    """The suffix that says what kind of archive a file is, or an empty string."""
    name = path.name.lower()
    return next((suffix for suffix in (".zip", *UNREADABLE, *TAR) if name.endswith(suffix)), "")


def picked(path: Path) -> str:
    """The name after `::`, or an empty string."""
    return "" if file_of(path) == path else str(path).partition(SEPARATOR)[2]


def choose(path: Path, opened: Callable[[], Any]) -> Member:
    """The file of an archive that is picked, or the only one that may hold text or vectors.

    `opened` gives the decompressed bytes of the archive; a zip file is opened by its path.
    """
    archive = file_of(path)
    if archive_suffix(archive) in UNREADABLE:
        raise SourceError(
            "{path} is an archive that Inlaid does not open; it opens zip and tar. Unpack it first.",
            path=archive,
        )
    status = archive.stat()
    members = _members(archive, status.st_size, status.st_mtime_ns, opened)
    name = picked(path)
    if name:
        found = [each for each in members if name in (each.name, PurePosixPath(each.name).name)]
        if not found:
            raise SourceError(
                "{path} holds no file '{name}'; it holds {members}.",
                path=archive,
                name=name,
                members=_listed(members),
            )
        return found[0]
    candidates = [each for each in members if _may_be_content(each.name)]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise SourceError(
            "{path} is an archive without a file of text or vectors; it holds {members}.",
            path=archive,
            members=_listed(members),
        )
    raise SourceError(
        "{path} is an archive of {count:,} files: {members}. Pick one: '{path}::{first}', or unpack it.",
        path=archive,
        count=len(candidates),
        members=_listed(candidates),
        first=candidates[0].name,
    )


def check_not_nested(path: Path, member: Member) -> None:
    """Raise SourceError for an archive in an archive."""
    if archive_suffix(Path(member.name)):
        raise SourceError(
            "{path} holds another archive, {member}. Unpack {path}, and name what is in it.",
            path=file_of(path),
            member=member.name,
        )


def _may_be_content(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return not hidden and not path.stem.lower().startswith(ABOUT)


def _listed(members: tuple[Member, ...] | list[Member]) -> Message:
    names = Listed(each.name for each in members[:SHOWN])
    if len(members) > SHOWN:
        return Message("{names} and {more:,} more", names=names, more=len(members) - SHOWN)
    return Message("{names}", names=names or Message("nothing"))


def _members(archive: Path, size: int, time: int, opened: Callable[[], Any]) -> tuple[Member, ...]:
    """The files of an archive; listed once, as that means decompressing all of a compressed tar file."""
    key = (archive, size, time)
    if key not in _LISTED:
        found = _zip_members(archive) if archive_suffix(archive) == ".zip" else _tar_members(archive, opened)
        _LISTED.clear()
        _LISTED[key] = found
    return _LISTED[key]


_LISTED: dict[tuple[Path, int, int], tuple[Member, ...]] = {}
"""The files of the archive that was listed last, while it is unchanged."""


def _zip_members(archive: Path) -> tuple[Member, ...]:
    with zipfile.ZipFile(archive) as file:
        infos = [each for each in file.infolist() if not each.is_dir()]
        return tuple(Member(_zip_name(each), each.filename, each.file_size) for each in infos[:MOST_MEMBERS])


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of a file; Windows writes Chinese names in GBK, which zipfile takes for code page 437."""
    if info.flag_bits & 0x800 or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode("gb18030")
    except UnicodeError:
        return info.filename


def _tar_members(archive: Path, opened: Callable[[], Any]) -> tuple[Member, ...]:
    members: list[Member] = []
    with opened() as stream, _open_tar(stream) as file:
        for each in file:
            _check_size(archive, each)
            cast("Any", file).members = []  # tarfile keeps every header
            if each.isreg() and len(members) < MOST_MEMBERS:
                members.append(Member(each.name, each.name, each.size))
    return tuple(members)


def open_zip(path: Path, file: IO[bytes], member: Member) -> tuple[io.BufferedIOBase, int]:
    """The decompressed bytes of a file in a zip archive, and how many bytes they take on disk."""
    archive = zipfile.ZipFile(file)
    info = archive.getinfo(member.stored_name)
    check_ratio(path, info.file_size, info.compress_size)
    return cast("io.BufferedIOBase", archive.open(info)), info.compress_size


def open_tar(path: Path, stream: Any, member: Member) -> io.BufferedIOBase:
    """The bytes of a file in the decompressed stream of a tar archive, which stays open for them."""
    archive = _open_tar(stream)
    for each in archive:
        _check_size(path, each)
        if each.name == member.stored_name and each.isreg():
            found = archive.extractfile(each)
            if found is not None:
                return cast("io.BufferedIOBase", found)
    raise EOFError("the file is not there any more")


def _check_size(path: Path, member: tarfile.TarInfo) -> None:
    """Raise FormatError for a size that cannot be true: tarfile skips a file by reading so many bytes, even
    if they are not there."""
    check_ratio(path, member.offset_data + member.size)


def _open_tar(stream: Any) -> tarfile.TarFile:
    return tarfile.open(fileobj=stream, mode="r|", bufsize=BLOCK, tarinfo=BoundedHeader)
