"""Binary files: every size is checked against the bytes that are left before anything is allocated.

Also a table whose rows are in a binary file.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.collect.compression import compression_of
from inlaid.errors import FormatError
from inlaid.formats.reading import opened
from inlaid.messages import Message
from inlaid.report import Report
from inlaid.shapes import Rows, Table

SMALLEST = -(1 << 63)


class BinaryReader:
    """The bytes of a file, and the position up to which they are read. Errors name the byte and the field."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.at = 0
        self.data: Any = b""
        if compression_of(path):
            with opened(path, report) as file:
                self.data = file.read()
        elif path.stat().st_size:
            with path.open("rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self.data) - self.at

    def error(self, field: Message, found: object, expected: Message, at: int | None = None) -> FormatError:
        return FormatError(
            "{path}: byte {byte:,}: {field} is {found}; expected {expected}. Get the file again.",
            path=self.path,
            byte=self.at if at is None else at,
            field=field,
            found=found,
            expected=expected,
        )

    def number(self, field: Message, code: str, low: int = SMALLEST, high: int | None = None) -> Any:
        """One number, in a format of `struct`; outside `low` to `high` (both included) it is an error."""
        size = struct.calcsize(f"<{code}")
        self.require(field, size)
        (value,) = struct.unpack_from(f"<{code}", self.data, self.at)
        if not value >= low or (high is not None and value > high):  # NaN is not at least anything
            raise self.error(field, f"{value:,}", _range(low, high))
        self.at += size
        return value

    def array(self, field: Message, dtype: str, *shape: int) -> np.ndarray:
        """A view of the file, if that many bytes are left."""
        count = int(np.prod(np.array(shape, object)))
        self.require(field, count * np.dtype(dtype).itemsize)
        array = np.frombuffer(self.data, dtype, count, self.at) if count else np.zeros(0, dtype)
        self.at += array.nbytes
        return array.reshape(shape)

    def require(self, field: Message, size: int) -> None:
        """Raise FormatError if fewer than `size` bytes are left for this field."""
        if size > self.left:
            raise self.error(
                field,
                Message("{size:,} bytes long", size=size),
                Message("at most the {left:,} bytes that are left in the file", left=self.left),
            )

    def finish(self) -> None:
        """Raise FormatError if anything is left."""
        if self.left:
            raise self.error(
                Message("the end of the model"),
                Message("followed by {left:,} bytes", left=self.left),
                Message("the end of the file"),
            )


@dataclass(frozen=True, eq=False)
class MappedTable:
    """A table that is memory-mapped at an address that need not be aligned; rows are copied when they are
    read."""

    array: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        return self.array[np.asarray(ids)].astype(np.float32, copy=False)

    def whole(self) -> Table:
        return np.require(self.array, np.float32, "A")


def _range(low: int, high: int | None) -> Message:
    if high is None:
        return Message("at least {low:,}", low=low)
    if low == high:
        return Message("{low:,}", low=low)
    return Message("{low:,} to {high:,}", low=low, high=high)
