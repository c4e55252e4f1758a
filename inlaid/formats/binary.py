"""The bytes of a binary file: every size checked against what is left before anything is made of it; rows
that lie in it."""

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
from inlaid.report import Report
from inlaid.shapes import Rows, Table


class Source:
    """The bytes of a file and how far they are read. Whatever is wrong is said with its byte and its
    field."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.at = 0
        if compression_of(path):
            with opened(path, report) as file:
                self.data: Any = file.read()
        else:
            with path.open("rb") as file:
                self.data = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
                )

    def fail(self, field: str, found: object, expected: str, at: int | None = None) -> FormatError:
        where = self.at if at is None else at
        return FormatError(
            f"{self.path}: byte {where:,}: {field} is {found}; expected {expected}. Get the file again."
        )

    def number(self, field: str, form: str, low: int = -(1 << 63), high: int | None = None) -> Any:
        size = struct.calcsize(f"<{form}")
        self.claim(field, size)
        (value,) = struct.unpack_from(f"<{form}", self.data, self.at)
        if not value >= low or (high is not None and value > high):
            expected = (
                f"{low:,}" if low == high else f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
            )
            raise self.fail(field, f"{value:,}", expected)
        self.at += size
        return value

    def array(self, field: str, kind: str, *shape: int) -> np.ndarray:
        """A view of the file; as large as the file says, if there is as much in it."""
        count = int(np.prod(np.array(shape, object)))
        self.claim(field, count * np.dtype(kind).itemsize)
        array = np.frombuffer(self.data, kind, count, self.at) if count else np.zeros(0, kind)
        self.at += array.nbytes
        return array.reshape(shape)

    def claim(self, field: str, size: int) -> None:
        if size > len(self.data) - self.at:
            raise self.fail(
                field,
                f"{size:,} bytes long",
                f"at most the {len(self.data) - self.at:,} that are left in the file",
            )

    def finish(self) -> None:
        if self.at != len(self.data):
            raise self.fail(
                "the end of the model",
                f"followed by {len(self.data) - self.at:,} bytes",
                "the end of the file",
            )


@dataclass(frozen=True, eq=False)
class Mapped:
    """Rows that lie in the file, at no even address; what is asked for is copied."""

    array: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        return self.array[np.asarray(ids)].astype(np.float32, copy=False)

    def whole(self) -> Table:
        return np.require(self.array, np.float32, "A")
