"""Parquet pages: how much a column holds by the headers of its pages, before any of it is decoded.

A page of a few bytes may declare two billion numbers, and the footer of the file need not say so. The reader
of pyarrow believes the pages.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from inlaid.errors import FormatError
from inlaid.untrusted import check_ratio

BATCH_BYTES = 1 << 28
"""What a batch may take if each of its rows were the longest that the pages allow."""
BATCH_ROWS = 65_536
TYPE = 1
UNCOMPRESSED_SIZE = 2
COMPRESSED_SIZE = 3
DATA = (5, 8)
"""The fields of a page's header, and those that say how many values a page of data has: version 1 and 2."""
VALUES = 1
DICTIONARY = 2
SHARED_PREFIXES = 7
"""DELTA_BYTE_ARRAY, an encoding whose values repeat the start of the value before."""
ROW_GROUPS = 4
COLUMNS = 1
METADATA = 3
ENCODINGS = 2
PATH = 3
NUM_VALUES = 5
DATA_OFFSET = 9
DICTIONARY_OFFSET = 11
"""The fields of a footer that lead to the pages of a column."""
TRUE = 1
FALSE = 2
INTEGERS = (4, 5, 6)
TEXT = 8
LIST = 9
STRUCT = 12
FIXED = {TRUE: 1, FALSE: 1, 3: 1, 7: 8}
"""Types of Thrift's compact protocol; those of a fixed number of bytes (truth in a list, byte, double)."""
MAX_DEPTH = 12


class Page(NamedTuple):
    values: int
    size: int
    """Bytes, decompressed."""
    is_dictionary: bool


class Chunk(NamedTuple):
    """A part of a column, as the footer describes it."""

    start: int
    values: int
    shares_prefixes: bool


class ColumnSize(NamedTuple):
    values: int
    longest: int
    """At most this many bytes of one value may be repeated by others."""


def measure_column(path: Path, name: str) -> ColumnSize:
    """What a column of a parquet file declares; a page that contradicts the footer raises FormatError."""
    sizes = list[int]()
    repeated = [1]
    values = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            chunks = list(_chunks(data, name.encode()))
        except (IndexError, KeyError, TypeError, ValueError, AttributeError):
            raise _contradiction(path, name) from None
        for chunk in chunks:
            pages = list(_pages(path, data, chunk, name))
            values += sum(page.values for page in pages)
            sizes += [page.size for page in pages]
            repeated += [page.size for page in pages if page.is_dictionary or chunk.shares_prefixes]
    check_ratio(path, sum(sizes))
    return ColumnSize(values, max(repeated))


def batch_rows(column: ColumnSize, rows: int, width: int = 0) -> int:
    """How many rows to read at a time; `width` is the bytes of a value where all have the same."""
    if width:
        longest = width * (column.values // max(rows, 1))
    else:
        longest = column.longest
    return min(max(BATCH_BYTES // max(longest, 1), 1), BATCH_ROWS)


def _chunks(data: mmap.mmap, name: bytes) -> Iterator[Chunk]:
    """The parts of a column, one or more for each row group; a column of lists has a path of several names.

    Not by pyarrow: asked for a part, it ends the process if the statistics in a footer are wrong.
    """
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _read_struct(data, len(data) - 8 - length)
    for group in footer[ROW_GROUPS]:
        chunks = [column[METADATA] for column in group[COLUMNS] if column[METADATA][PATH][0] == name]
        if not chunks:
            raise KeyError(name)
        for about in chunks:
            first = _number(about, DATA_OFFSET)
            start = min(first, about.get(DICTIONARY_OFFSET) or first)
            yield Chunk(start, _number(about, NUM_VALUES), SHARED_PREFIXES in about[ENCODINGS])


def _pages(path: Path, data: mmap.mmap, chunk: Chunk, name: str) -> Iterator[Page]:
    """The pages that pyarrow would read: those until the values of the footer are complete."""
    at = chunk.start
    left = chunk.values
    while left > 0:
        try:
            header, at = _read_struct(data, at)
            counts = next((header[field] for field in DATA if field in header), {VALUES: 0})
            page = Page(
                _number(counts, VALUES), _number(header, UNCOMPRESSED_SIZE), header[TYPE] == DICTIONARY
            )
            compressed = _number(header, COMPRESSED_SIZE)
        except (IndexError, KeyError, TypeError, ValueError):
            raise _contradiction(path, name) from None
        if not 0 <= page.values <= left or page.size < 0 or not 0 <= compressed <= len(data) - at:
            raise _contradiction(path, name)
        at += compressed
        left -= page.values
        yield page


def _contradiction(path: Path, name: str) -> FormatError:
    return FormatError(
        "{path}: the pages of the column '{name}' do not hold what the end of the file says. Get the file "
        "again.",
        path=path,
        name=name,
    )


# ---- Thrift's compact protocol, as far as the headers of pages need it


def _read_struct(data: mmap.mmap, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_integer(data, at)
        if kind not in (TRUE, FALSE):  # they have no bytes of their own
            fields[number], at = _read_value(data, at, kind, depth)
    return fields, at + 1


def _read_value(data: mmap.mmap, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise ValueError(depth)
    if kind in INTEGERS:
        return _read_integer(data, at)
    if kind == TEXT:
        length, at = _read_varint(data, at)
        return data[at : at + length], at + length
    if kind == STRUCT:
        return _read_struct(data, at, depth + 1)
    if kind == LIST:
        head = data[at]
        at += 1
        length = head >> 4
        if length == 15:
            length, at = _read_varint(data, at)
        values = list[Any]()
        for _ in range(length):
            value, at = _read_value(data, at, head & 15, depth + 1)
            values.append(value)
        return values, at
    width = FIXED[kind]
    return None, at + width


def _number(fields: dict[int, Any], number: int) -> int:
    if not isinstance(fields[number], int):
        raise TypeError(number)
    return fields[number]


def _read_integer(data: mmap.mmap, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read_varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("varint")
