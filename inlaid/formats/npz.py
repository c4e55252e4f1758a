"""NumPy archives (.npz): `words`, `table` and `counts`, or one column of text and one matrix by any names."""

from __future__ import annotations

import math
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from inlaid import files
from inlaid.errors import FormatError
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.formats.words import accept_counts, accept_words
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.untrusted import check_ratio, check_size
from inlaid.vectors import Card, Vectors

SUFFIXES = (".npz",)
STORES = ("counts",)
NOT_A_HEADER = (ValueError, KeyError, TypeError, SyntaxError, TokenError, MemoryError, RecursionError)
"""What NumPy raises for a header that is none: it reads a dict as Python does."""


class ArrayType(NamedTuple):
    """What the header of an array says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_words(self) -> bool:
        return len(self.shape) == 1 and self.dtype.kind in "US"

    @property
    def is_table(self) -> bool:
        return len(self.shape) == 2 and self.dtype.kind == "f"


class Names(NamedTuple):
    """What the arrays are called in an archive."""

    words: str
    table: str
    counts: str | None


def recognizes(start: Start) -> bool:
    if start.head[:4] != b"PK\x03\x04":
        return False
    if not zipfile.is_zipfile(start.path):  # cut short: `read` will say so
        return start.path.suffix.lower() in SUFFIXES
    return _has_arrays(start.path)


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    if not zipfile.is_zipfile(path):
        raise FormatError(
            "{path}: not a whole NumPy archive: its list of arrays, which is at the end, is missing. The "
            "file is cut short, or in another format. Get it again.",
            path=path,
        )
    try:
        with zipfile.ZipFile(path) as archive:
            return _vectors(path, archive, reading, report)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        UnicodeDecodeError,
    ) as error:
        raise FormatError(
            "{path}: not a complete NumPy archive ({error}). Get the file again.", path=path, error=str(error)
        ) from None


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    """Words are fixed-width text, NumPy's own; nothing is pickled."""
    words = np.array(list(vectors.words))
    if (np.char.str_len(words) != np.array([len(word) for word in vectors.words])).any():
        raise FormatError(
            "{path}: a word ends in a zero byte, which NumPy's text cannot hold. Write an .inlaid file.",
            path=path,
        )
    content: dict[str, np.ndarray] = {"words": words, "table": vectors.table}
    if vectors.counts is not None:
        content["counts"] = vectors.counts
    with files.writing(path) as file:
        np.savez(file, allow_pickle=False, **content)  # pyright: ignore[reportArgumentType]


def _vectors(path: Path, archive: zipfile.ZipFile, reading: Reading, report: Report) -> Vectors:
    types = {entry.filename.removesuffix(".npy"): _type(path, archive, entry) for entry in archive.infolist()}
    names = _names(path, types)
    # What the directory of an archive says about its entries may be wrong; the size of the file is not.
    check_size(path, sum(types[name].bytes for name in names if name is not None))
    found = [_encoded(word) for word in _texts(path, _array(path, archive, names.words))]
    accepted = accept_words(path, found[: reading.top], reading, report)
    rows = slice(reading.top) if accepted.rows is None else accepted.rows
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinity, which Vectors refuses
        values = _array(path, archive, names.table)[rows].astype(np.float32)
    counts = None
    if names.counts is not None:
        counts = accept_counts(path, _array(path, archive, names.counts)[rows])
    return Vectors(accepted.words, values, counts, Card())


def _names(path: Path, types: Mapping[str, ArrayType]) -> Names:
    """Which arrays of the archive are read."""
    words = _choose(types, "words", lambda each: each.is_words)
    if words is None:
        raise FormatError(
            "{path}: expected a column of text called 'words'; found {found}.",
            path=path,
            found=_listed(types),
        )
    table = _choose(types, "table", lambda each: each.is_table)
    if table is None:
        raise FormatError(
            "{path}: expected a matrix of float32 called 'table'; found {found}.",
            path=path,
            found=_listed(types),
        )
    if types[words].shape[0] == 0:
        raise FormatError("{path} holds no words. Write the file again.", path=path)
    if types[words].shape[0] != types[table].shape[0]:
        raise FormatError(
            "{path}: {words:,} words but {rows:,} rows; expected one row for each word.",
            path=path,
            words=types[words].shape[0],
            rows=types[table].shape[0],
        )
    has_counts = "counts" in types and types["counts"].shape == types[words].shape
    return Names(words, table, "counts" if has_counts else None)


def _texts(path: Path, array: np.ndarray) -> list[str] | list[bytes]:
    """The strings of an array. NumPy does not check that its numbers are characters."""
    if array.dtype.kind == "U":
        codes = np.ascontiguousarray(array).view(f"{array.dtype.byteorder}u4")
        largest = int(codes.max(initial=0))
        if largest > sys.maxunicode:
            raise FormatError(
                "{path}: the words hold the number {code}, which is no character. Get the file again.",
                path=path,
                code=largest,
            )
    return array.tolist()


def _choose(types: Mapping[str, ArrayType], name: str, fits: Callable[[ArrayType], bool]) -> str | None:
    """The array of this name or, in an archive of another program, the only one that fits."""
    fitting = [each for each, type in types.items() if fits(type)]
    if name in fitting:
        return name
    return fitting[0] if len(fitting) == 1 else None


def _listed(types: Mapping[str, ArrayType]) -> Message | str:
    if not types:
        return Message("no array")
    return ", ".join(f"{name} {type.dtype}{type.shape}" for name, type in types.items())


def _encoded(word: str | bytes) -> bytes:
    return word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word


def _type(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ArrayType:
    """What an entry says it holds, compared with its size: nothing is allocated on its word alone."""
    check_ratio(path, entry.file_size, entry.compress_size)
    with archive.open(entry) as file:
        type = _read_header(path, entry.filename, file)
        header_bytes = file.tell()
    promised = type.bytes + header_bytes
    if promised != entry.file_size:
        raise FormatError(
            "{path}: {entry} promises {promised:,} bytes, found {found:,}. Get the file again.",
            path=path,
            entry=entry.filename,
            promised=promised,
            found=entry.file_size,
        )
    return type


def _read_header(path: Path, name: str, file: Any) -> ArrayType:
    try:
        version = npy.read_magic(file)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read_header(file)
    except NOT_A_HEADER as error:
        raise FormatError(
            "{path}: {entry} is not a NumPy array ({error}). Get the file again.",
            path=path,
            entry=name,
            error=repr(error),
        ) from None
    if dtype.hasobject or dtype.kind not in "USfiu" or any(each < 0 for each in shape):
        raise FormatError(
            "{path}: {entry} holds {dtype}; expected text or numbers. Pickled objects are never loaded.",
            path=path,
            entry=name,
            dtype=dtype,
        )
    return ArrayType(shape, dtype)


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    entry = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
    with archive.open(entry) as file:
        try:
            return npy.read_array(file, allow_pickle=False)
        except (ValueError, UnicodeDecodeError) as error:
            raise FormatError(
                "{path}: {entry} cannot be read ({error}). Get the file again.",
                path=path,
                entry=name,
                error=str(error),
            ) from None


def _has_arrays(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError):
        return path.suffix.lower() in SUFFIXES
