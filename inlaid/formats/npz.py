"""NumPy archive: `words` and `table` (and `counts`), or any archive with one column of words and one matrix
(.npz)."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from inlaid import files
from inlaid.collect.compression import MAX_RATIO
from inlaid.errors import FormatError
from inlaid.formats.reading import ALL, Reading, Start, keep_words
from inlaid.report import Report, silent
from inlaid.vectors import Card, Vectors

SUFFIXES = (".npz",)
ROOM = 1 << 20
"""Bytes an entry may unpack to whatever its packed size."""


def recognizes(start: Start) -> bool:
    return start.head[:4] == b"PK\x03\x04" and zipfile.is_zipfile(start.path) and _has_arrays(start.path)


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
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
        raise FormatError(f"{path}: not a whole NumPy archive ({error}).") from None


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    """Words as fixed-width text, which is what NumPy has; nothing pickled."""
    words = np.array(list(vectors.words))
    if (np.char.str_len(words) != np.array([len(word) for word in vectors.words])).any():
        raise FormatError("A word ends in NUL, which NumPy's text cannot hold. Write another format.")
    content: dict[str, np.ndarray] = {"words": words, "table": vectors.table}
    if vectors.counts is not None:
        content["counts"] = vectors.counts
    with files.writing(path) as file:
        np.savez(file, allow_pickle=False, **content)  # pyright: ignore[reportArgumentType]


def _vectors(path: Path, archive: zipfile.ZipFile, reading: Reading, report: Report) -> Vectors:
    shapes = {
        entry.filename.removesuffix(".npy"): _shape(path, archive, entry) for entry in archive.infolist()
    }
    words = _one(path, shapes, "words", lambda shape, dtype: len(shape) == 1 and dtype.kind in "US")
    table = _one(path, shapes, "table", lambda shape, dtype: len(shape) == 2 and dtype.kind == "f")
    if shapes[words][0][0] != shapes[table][0][0]:
        raise FormatError(
            f"{path}: {shapes[words][0][0]:,} words but {shapes[table][0][0]:,} rows. Each row needs one word."
        )
    found = [
        each.encode("utf-8", "surrogatepass") if isinstance(each, str) else each
        for each in _array(path, archive, words).tolist()
    ]
    kept = keep_words(path, found[: reading.top], reading, report)
    rows = slice(reading.top) if kept.rows is None else kept.rows
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinity, and is refused as such
        numbers = _array(path, archive, table)[rows].astype(np.float32)
    counts = (
        _array(path, archive, "counts")[rows].astype(np.int64)
        if shapes.get("counts", ((), None))[0] == shapes[words][0]
        else None
    )
    return Vectors(kept.words, numbers, counts, Card())


def _one(path: Path, shapes: dict[str, Any], name: str, fits: Any) -> str:
    """The array of this name or, in an archive from elsewhere, the only one that could be meant."""
    able = [each for each, (shape, dtype) in shapes.items() if fits(shape, dtype)]
    if name in able:
        return name
    if len(able) == 1:
        return able[0]
    found = ", ".join(f"{each} {dtype}{shape}" for each, (shape, dtype) in shapes.items()) or "nothing"
    wanted = "a column of text" if name == "words" else "a matrix of float32"
    raise FormatError(f"{path}: expected {wanted} called '{name}'; found {found}.")


def _shape(
    path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """What an entry says it holds, held against the bytes that are there: nothing is made room for on its
    word alone."""
    if entry.file_size > MAX_RATIO * entry.compress_size + ROOM:
        raise FormatError(
            f"{path}: {entry.filename} unpacks to more than {MAX_RATIO} times its size, which no table does."
        )
    with archive.open(entry) as file:
        shape, dtype = _header(path, entry.filename, file)
        promised = int(np.prod([int(each) for each in shape], dtype=object)) * dtype.itemsize + file.tell()
    if promised != entry.file_size:
        raise FormatError(
            f"{path}: {entry.filename} promises {promised:,} bytes and has {entry.file_size:,}."
        )
    return shape, dtype


def _header(path: Path, name: str, file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        version = npy.read_magic(file)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read_header(file)
    except (ValueError, KeyError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise FormatError(f"{path}: {name} is not a NumPy array ({error}).") from None
    if dtype.hasobject or dtype.kind not in "USfiu" or any(each < 0 for each in shape):
        raise FormatError(
            f"{path}: {name} holds {dtype}; expected text or numbers. Pickled objects are never loaded."
        )
    return shape, dtype


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy" if f"{name}.npy" in archive.namelist() else name) as file:
        try:
            return npy.read_array(file, allow_pickle=False)
        except (ValueError, UnicodeDecodeError) as error:
            raise FormatError(f"{path}: {name} cannot be read ({error}).") from None


def _has_arrays(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError):
        return path.suffix.lower() in SUFFIXES
