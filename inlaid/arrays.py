"""Arrays: named arrays in one safetensors file, read or memory-mapped lazily, with a checksum for each chunk.

Vectors, corpora and checkpoints are stored this way, by `array_writer.write`. Any safetensors reader opens
the file; this one also finds a flipped bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from inlaid.array_writer import CHUNK, DIGITS, DTYPES, RAW_DTYPES, Layout, header_checksum
from inlaid.errors import FormatError
from inlaid.files import checksum
from inlaid.messages import Listed
from inlaid.open_file import Memory, OpenFile
from inlaid.untrusted import parse_json
from inlaid.values import Values

MAX_AXES = 32
MAX_NUMBERS = 1 << 59
"""The most axes and numbers of an array."""


@dataclass
class Arrays:
    """A file of arrays, open for reading. Made by `open_arrays`."""

    path: Path
    metadata: Mapping[str, str]
    arrays: Mapping[str, np.ndarray]
    """Read-only. A chunk may be used once it is verified, which `whole` and `rows` do."""
    dtypes: Mapping[str, str]
    """The dtype of each array as safetensors calls it; if NumPy lacks it (BF16), the array is its bits."""
    sums: Mapping[str, str]
    header: str
    """The checksum of the header, and so of all checksums in it."""
    file: OpenFile | None
    """None in a copy, which has every number in memory."""
    memory: Mapping[str, Memory]
    verified: Mapping[str, np.ndarray]
    """Which chunks of each array are verified."""
    values: dict[str, Values] = field(default_factory=dict[str, Values])

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def expect(self, name: str, values: Values) -> None:
        """Raise FormatError if the array is missing or has another dtype or shape. Its numbers are checked
        when they are read, together with their checksum."""
        shape = self.shape(name)
        if not values.fits(self.dtypes[name], shape):
            raise FormatError(
                "{path}: '{name}' is {dtype} of shape {shape}; expected {expected}. "
                "Restore the file from a copy.",
                path=self.path,
                name=name,
                dtype=self.dtypes[name],
                shape=list(shape),
                expected=values.described(),
            )
        self.values[name] = values

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array, from the header alone."""
        return self._array(name).shape

    def whole(self, name: str) -> np.ndarray:
        """The array, read-only; every byte of it is verified, once."""
        array = self._array(name)
        self.refuse_changed()
        self._verify(name, np.arange(len(self.verified[name])))
        return array

    def in_memory(self, name: str) -> np.ndarray:
        """Like `whole`, but never mapped: for arrays that are used too often to ask each time whether the
        file has changed."""
        array = self.whole(name)
        memory = self.memory.get(name)
        return array.copy() if memory is not None and memory.is_mapped else array

    def rows(self, name: str, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Some rows of an array; only their chunks are read and verified."""
        array = self._array(name)
        width = array[:1].nbytes
        wanted = row_numbers(ids, len(array))
        self.refuse_changed()
        if wanted.size and width:
            first = wanted * width // CHUNK
            last = ((wanted + 1) * width - 1) // CHUNK
            steps = np.arange(int((last - first).max()) + 1)
            self._verify(name, np.unique(np.minimum(first[:, None] + steps, last[:, None])))
        return array[wanted]

    def verify(self) -> int:
        """Verify everything; the number of bytes read."""
        for name in self.arrays:
            self.whole(name)
        return sum(array.nbytes for array in self.arrays.values())

    def refuse_changed(self) -> None:
        """Raise FormatError if a mapped array is no longer what was opened.

        Reading beyond the end of a mapped file would end the process, and a change in place would give other
        numbers without a word. A file with another time of modification is verified again. A file that was
        replaced, as Inlaid replaces files, stays what it was for those who have it open.
        """
        mapped = [name for name, memory in self.memory.items() if memory.is_mapped]
        if self.file is None or not mapped:
            return
        now = self.file.stamp()
        if now == self.file.opened:
            return
        if now.size != self.file.opened.size:
            raise FormatError(
                "{path} has {found:,} bytes; it had {expected:,} when it was opened. Open it again. A file "
                "in use can be replaced (write another, rename it), not overwritten.",
                path=self.path,
                found=now.size,
                expected=self.file.opened.size,
            )
        for name in mapped:
            for chunk in np.flatnonzero(self.verified[name]).tolist():
                self._verify_chunk(name, chunk)
        self.file.opened = now

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, has every number in memory, and no file."""
        self.verify()
        return {**self.__dict__, "file": None, "memory": {}}

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise FormatError(
                "{path}: expected an array '{name}', found only: {found}. Restore the file from a copy.",
                path=self.path,
                name=name,
                found=Listed(self.arrays),
            )
        return self.arrays[name]

    def _verify(self, name: str, chunks: np.ndarray) -> None:
        done = self.verified[name]
        for chunk in chunks[~done[chunks]].tolist():
            self._verify_chunk(name, chunk)
            done[chunk] = True

    def _verify_chunk(self, name: str, chunk: int) -> None:
        start = chunk * CHUNK
        stop = min(start + CHUNK, self.arrays[name].nbytes)
        memory = self.memory[name]
        data = memory.read(start, stop)
        if checksum(data) != self.sums[name][chunk * DIGITS : (chunk + 1) * DIGITS]:
            raise FormatError(
                "{path}: '{name}' is damaged between bytes {start:,} and {stop:,} (checksum differs). "
                "Restore the file from a copy.",
                path=self.path,
                name=name,
                start=start,
                stop=stop,
            )
        memory.keep(start, data)
        if name in self.values:
            self._check_values(name, chunk)

    def _check_values(self, name: str, chunk: int) -> None:
        """Check the numbers of a chunk, the first and the last one also against the neighboring chunks. Those
        that are not verified yet will be compared with this one when they are read."""
        flat = self.arrays[name].reshape(-1)
        each = CHUNK // flat.itemsize
        start = chunk * each
        stop = start + each
        verified = self.verified[name]
        if chunk and verified[chunk - 1]:
            start -= 1
        if chunk + 1 < len(verified) and verified[chunk + 1]:
            stop += 1
        problem = self.values[name].problem(flat, self.dtypes[name], start, stop)
        if problem is not None:
            raise FormatError(
                "{path}: number {place:,} of '{name}' is {found}; expected {expected}. It was written like "
                "this: the checksum is right. Get the file from another source, or make it again.",
                path=self.path,
                place=problem.place,
                name=name,
                found=problem.found,
                expected=problem.expected,
            )


def row_numbers(ids: Sequence[int] | np.ndarray, rows: int) -> np.ndarray:
    """Ids of rows as an array; IndexError if there is no such row. Unlike in NumPy, -1 is none."""
    wanted = np.asarray(ids, np.int64)
    if wanted.size and not 0 <= wanted.min() <= wanted.max() < rows:
        outside = wanted[(wanted < 0) | (wanted >= rows)]
        raise IndexError(f"row {outside[0]} of {rows}")
    return wanted


def open_arrays(path: Path) -> Arrays:
    """Open a file written by `array_writer.write`. Reads the header only; arrays are read and verified
    when they are used.

    An array of more than MAPPED bytes is memory-mapped; a smaller one is read into memory.
    """
    if path.is_dir():
        raise FormatError("{path} is a folder; expected a file.", path=path)
    try:
        file = OpenFile(path)
        # The header is parsed by the safetensors library, whose parser is fuzzed.
        with safe_open(path, framework="numpy") as found:
            metadata = dict(found.metadata() or {})
            slices = {name: found.get_slice(name) for name in found.offset_keys()}
            layout = {name: (part.get_dtype(), part.get_shape()) for name, part in slices.items()}
        if not file.is_at(path):  # it was replaced after it was opened
            return open_arrays(path)
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            "{path}: not a readable safetensors file ({error}). Get the file again.",
            path=path,
            error=str(error),
        ) from None
    header = metadata.pop("inlaid.header", "")
    sums = _checksums(path, metadata, layout, header)
    memory = _memory(path, file, layout)
    arrays = {name: memory[name].array(shape) for name, (_, shape) in layout.items()}
    dtypes = {name: dtype for name, (dtype, _) in layout.items()}
    verified = {name: np.zeros(-(-array.nbytes // CHUNK), bool) for name, array in arrays.items()}
    return Arrays(path, metadata, arrays, dtypes, sums, header, file, memory, verified)


def _checksums(path: Path, metadata: dict[str, str], layout: Layout, header: str) -> dict[str, str]:
    """The checksums, which are removed from the metadata; that of the header is compared."""
    try:
        sums = parse_json(metadata.pop("inlaid.checksums"))
    except (KeyError, ValueError):
        raise FormatError(
            "{path}: a safetensors file without Inlaid's checksums; expected one that Inlaid wrote. "
            "If it is part of a model, name the folder of the model.",
            path=path,
        ) from None
    is_text = isinstance(sums, dict) and all(isinstance(each, str) for each in sums.values())
    if not is_text or sums.keys() != layout.keys() or header != header_checksum(layout, metadata, sums):
        raise FormatError(
            "{path}: the header is damaged (checksum differs). Restore the file from a copy.", path=path
        )
    return sums


def _memory(path: Path, file: OpenFile, layout: Layout) -> dict[str, Memory]:
    """Where each array will be: in memory or, if it is large, in the mapped file."""
    found: dict[str, Memory] = {}
    start = 8 + int.from_bytes(file.read(0, 8), "little")
    for name, (dtype_name, shape) in layout.items():
        code = (DTYPES | RAW_DTYPES).get(dtype_name)
        if code is None:
            raise FormatError(
                "{path}: '{name}' has dtype {dtype}, which this version of Inlaid cannot read. Upgrade "
                "Inlaid.",
                path=path,
                name=name,
                dtype=dtype_name,
            )
        dtype = np.dtype(code)
        # NumPy has no array with so many axes, or so long ones, even if another axis makes it empty.
        if len(shape) > MAX_AXES or math.prod(max(length, 1) for length in shape) > MAX_NUMBERS:
            raise FormatError(
                "{path}: '{name}' has shape {shape}, which no array has. Restore the file from a copy.",
                path=path,
                name=name,
                shape=shape,
            )
        found[name] = Memory(file, start, math.prod(shape), dtype)
        start += math.prod(shape) * dtype.itemsize
    return found
