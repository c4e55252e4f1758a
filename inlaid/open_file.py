"""Open files: a file that stays open while its arrays are used, and the memory that holds them."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAPPED = 64 << 20
"""Bytes above which an array is memory-mapped instead of read."""


class Stamp(NamedTuple):
    """What changes when a file is changed in place."""

    size: int
    modified: int
    """In nanoseconds."""


class OpenFile:
    """A file open for reading. It stays what it is when another file takes its name."""

    def __init__(self, path: Path) -> None:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 closed with this object
        weakref.finalize(self, file.close)
        self.descriptor = file.fileno()
        self.opened = self.stamp()

    def stamp(self) -> Stamp:
        found = os.fstat(self.descriptor)
        return Stamp(found.st_size, found.st_mtime_ns)

    def is_at(self, path: Path) -> bool:
        """Whether `path` still names this file."""
        return os.path.samestat(os.fstat(self.descriptor), os.stat(path))

    def read(self, start: int, size: int) -> bytes:
        """Fewer bytes where the file ends before. Threads and forked processes do not disturb each other."""
        if hasattr(os, "pread"):
            return os.pread(self.descriptor, size, start)
        return bytes(self.mapped[start : start + size])  # on Windows, where a mapped file cannot be cut

    def map_part(self, start: int, size: int) -> memoryview:
        """Some bytes, mapped by themselves: they leave the memory when the last view of them is gone."""
        before = start % mmap.ALLOCATIONGRANULARITY
        part = mmap.mmap(self.descriptor, before + size, access=mmap.ACCESS_COPY, offset=start - before)
        return memoryview(part)[before:]

    @cached_property
    def mapped(self) -> mmap.mmap:
        return mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_READ)


class Memory:
    """The memory of one array: a part of the mapped file, or memory of its own that `keep` fills.

    Memory that was never filled takes no space.
    """

    def __init__(self, file: OpenFile, start: int, numbers: int, dtype: np.dtype[Any]) -> None:
        self.file = file
        self.start = start
        self.dtype = dtype
        size = numbers * dtype.itemsize
        self.is_mapped = size > MAPPED
        if self.is_mapped:
            self.bytes = np.frombuffer(file.mapped, np.uint8, size, start)
        else:
            self.bytes = np.empty(size, np.uint8)

    def array(self, shape: Sequence[int]) -> np.ndarray:
        array = self.bytes.view(self.dtype).reshape(shape)
        array.setflags(write=False)
        return array

    def read(self, start: int, stop: int) -> bytes | memoryview:
        """Bytes of the array, as the file has them now."""
        if self.is_mapped:
            return memoryview(self.bytes)[start:stop]
        return self.file.read(self.start + start, stop - start)

    def keep(self, start: int, data: bytes | memoryview) -> None:
        """Put bytes that were read, and verified, where the array is."""
        if not self.is_mapped:
            self.bytes[start : start + len(data)] = np.frombuffer(data, np.uint8)
