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
DICTIONARY_PAGE = 2
SHARED_PREFIXES = "DELTA_BYTE_ARRAY"
"""An encoding whose values repeat the start of the value before."""


class Page(NamedTuple):
    values: int
    size: int
    """Bytes, decompressed."""
    is_dictionary: bool


class ColumnSize(NamedTuple):
    values: int
    longest: int
    """At most this many bytes of one value may be repeated by others."""


def measure_column(path: Path, metadata: Any, name: str) -> ColumnSize:
    """What a column of a parquet file declares; a page that contradicts the footer raises FormatError."""
    sizes = list[int]()
    repeated = [1]
    values = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for chunk in _chunks(metadata, name):
            repeats_all = SHARED_PREFIXES in chunk.encodings
            pages = list(_pages(path, data, chunk, name))
            values += sum(page.values for page in pages)
            sizes += [page.size for page in pages]
            repeated += [page.size for page in pages if page.is_dictionary or repeats_all]
    check_ratio(path, sum(sizes))
    return ColumnSize(values, max(repeated))


def batch_rows(column: ColumnSize, rows: int, width: int = 0) -> int:
    """How many rows to read at a time; `width` is the bytes of a value where all have the same."""
    if width:
        longest = width * (column.values // max(rows, 1))
    else:
        longest = column.longest
    return min(max(BATCH_BYTES // max(longest, 1), 1), BATCH_ROWS)


def _chunks(metadata: Any, name: str) -> Iterator[Any]:
    """The parts of a column, one or more for each row group; a column of lists is called by a longer name."""
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            chunk = row_group.column(number)
            if f"{chunk.path_in_schema}.".startswith(f"{name}."):
                yield chunk


def _pages(path: Path, data: mmap.mmap, chunk: Any, name: str) -> Iterator[Page]:
    """The pages that pyarrow would read: those until the values of the footer are complete."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < at:
        at = chunk.dictionary_page_offset
    left = chunk.num_values
    while left > 0:
        try:
            header, at = _read_struct(data, at)
            counts = next((header[field] for field in DATA if field in header), {VALUES: 0})
            page = Page(counts[VALUES], header[UNCOMPRESSED_SIZE], header[TYPE] == DICTIONARY_PAGE)
            compressed = header[COMPRESSED_SIZE]
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
    """The fields of a struct by their numbers: integers and structs; text is skipped."""
    fields: dict[int, Any] = {}
    number = 0
    while (head := data[at]) != 0:
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_integer(data, at)
        if kind in (1, 2):  # true and false have no bytes of their own
            continue
        if kind in (4, 5, 6):
            fields[number], at = _read_integer(data, at)
        elif kind == 8:
            length, at = _read_varint(data, at)
            at += length
        elif kind == 12 and depth < 4:
            fields[number], at = _read_struct(data, at, depth + 1)
        else:
            raise ValueError(kind)
    return fields, at + 1


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
