"""Arrays: named arrays in one safetensors file, read or memory-mapped lazily, with a checksum for each chunk.

Vectors, corpora and checkpoints are stored this way. Any safetensors reader opens the file; this one also
finds a flipped bit: the metadata has one checksum for each megabyte of each array, and one for the header.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from safetensors import SafetensorError, safe_open

from inlaid.errors import FormatError
from inlaid.files import checksum, writing
from inlaid.open_file import Memory, OpenFile
from inlaid.values import Values

Layout = Mapping[str, tuple[str, list[int]]]
"""The dtype and shape of each array, in the order of the file."""

CHUNK = 1 << 20
"""Bytes with one checksum."""
DIGITS = 16
"""Hex digits of a checksum."""
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
"""The dtypes of safetensors that NumPy has."""
RAW_DTYPES = {"BF16": "<u2"}
"""The dtypes that NumPy lacks, and what holds their bits instead."""
MAX_AXES = 32
MAX_NUMBERS = 1 << 59
"""The most axes and numbers of an array."""
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


@dataclass(frozen=True)
class Raw:
    """An array of a dtype that NumPy lacks, as its bits: bfloat16 is `Raw(bits, "BF16")`, bits in uint16."""

    bits: np.ndarray
    dtype: str
    """As safetensors calls it."""


@dataclass(frozen=True)
class Stream:
    """An array that is never in memory as a whole: its pieces in order, its shape known in advance."""

    pieces: Iterable[np.ndarray]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    name: str = ""
    """The dtype as safetensors calls it, where that does not follow from `dtype`."""

    @property
    def dtype_name(self) -> str:
        return self.name or NAMES[self.dtype.newbyteorder("<")]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def write(path: Path, arrays: Mapping[str, np.ndarray | Raw | Stream], metadata: Mapping[str, str]) -> None:
    """Write `arrays` and `metadata` as one file, or nothing at all."""
    streams = {name: _stream(name, array) for name, array in arrays.items()}
    # Widest items first keeps every array aligned without gaps, which the format forbids.
    order = sorted(streams, key=lambda name: (-streams[name].dtype.itemsize, name))
    streams = {name: streams[name] for name in order}
    zeros = {name: "0" * DIGITS * -(-stream.nbytes // CHUNK) for name, stream in streams.items()}
    with writing(path) as file:
        file.write(_header(streams, metadata, zeros))
        sums = {name: _write_stream(file, name, stream) for name, stream in streams.items()}
        file.seek(0)
        file.write(_header(streams, metadata, sums))


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
                found=", ".join(self.arrays),
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
        """Check the numbers of a chunk, the first one also against the last one of the chunk before."""
        flat = self.arrays[name].reshape(-1)
        each = CHUNK // flat.itemsize
        start = chunk * each
        if chunk and self.verified[name][chunk - 1]:
            start -= 1
        problem = self.values[name].problem(flat, self.dtypes[name], start, (chunk + 1) * each)
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
    """Open a file written by `write`. Reads the header only; arrays are read and verified when they are used.

    An array of more than MAPPED bytes is memory-mapped; a smaller one is read into memory.
    """
    if path.is_dir():
        raise FormatError("{path} is a folder; expected a file.", path=path)
    try:
        file = OpenFile(path)
        # The header is parsed by the safetensors library, whose parser is fuzzed.
        with safe_open(path, framework="numpy") as header:
            metadata = dict(header.metadata() or {})
            slices = {name: header.get_slice(name) for name in header.offset_keys()}
            layout = {name: (part.get_dtype(), part.get_shape()) for name, part in slices.items()}
        if not file.is_at(path):  # it was replaced after it was opened
            return open_arrays(path)
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            "{path}: not a readable safetensors file ({error}). Get the file again.",
            path=path,
            error=str(error),
        ) from None
    sums = _checksums(path, metadata, layout)
    memory = _memory(path, file, layout)
    arrays = {name: memory[name].array(shape) for name, (_, shape) in layout.items()}
    dtypes = {name: dtype for name, (dtype, _) in layout.items()}
    verified = {name: np.zeros(-(-array.nbytes // CHUNK), bool) for name, array in arrays.items()}
    return Arrays(path, metadata, arrays, dtypes, sums, file, memory, verified)


def _checksums(path: Path, metadata: dict[str, str], layout: Layout) -> dict[str, str]:
    """The checksums, which are removed from the metadata; that of the header is compared."""
    try:
        sums = json.loads(metadata.pop("inlaid.checksums"))
        expected = metadata.pop("inlaid.header")
    except (KeyError, ValueError, RecursionError):
        raise FormatError(
            "{path}: a safetensors file without Inlaid's checksums; expected one that Inlaid wrote. "
            "If it is part of a model, name the folder of the model.",
            path=path,
        ) from None
    is_text = isinstance(sums, dict) and all(isinstance(each, str) for each in sums.values())
    if not is_text or sums.keys() != layout.keys() or expected != _header_checksum(layout, metadata, sums):
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


class _ChecksummedWriter:
    """Writes bytes to a file and keeps one checksum for each chunk."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.size = 0
        self.sums = list[str]()
        self.state = xxhash.xxh3_64()

    def write(self, data: memoryview | bytes) -> None:
        data = memoryview(data)
        while data:
            left = CHUNK - self.size % CHUNK
            piece = data[:left]
            data = data[left:]
            self.file.write(piece)
            self.state.update(piece)
            self.size += len(piece)
            if self.size % CHUNK == 0:
                self._close_chunk()

    def finish(self) -> str:
        if self.size % CHUNK:
            self._close_chunk()
        return "".join(self.sums)

    def _close_chunk(self) -> None:
        self.sums.append(f"{self.state.intdigest():016x}")
        self.state.reset()


def _stream(name: str, array: np.ndarray | Raw | Stream) -> Stream:
    if isinstance(array, Stream):
        return array
    if isinstance(array, Raw):
        if RAW_DTYPES.get(array.dtype) != array.bits.dtype.newbyteorder("<").str:
            raise ValueError(f"{name}: {array.bits.dtype} does not hold the bits of {array.dtype}")
        return Stream([array.bits], array.bits.dtype.newbyteorder("<"), array.bits.shape, array.dtype)
    return Stream([array], array.dtype.newbyteorder("<"), array.shape)


def _write_stream(file: Any, name: str, stream: Stream) -> str:
    """Write the pieces; return the checksums of the chunks."""
    writer = _ChecksummedWriter(file)
    for piece in stream.pieces:
        if piece.size:
            writer.write(memoryview(np.ascontiguousarray(piece, stream.dtype)).cast("B"))
    if writer.size != stream.nbytes:
        raise ValueError(f"{name}: promised {stream.nbytes} bytes, got {writer.size}")
    return writer.finish()


def _header(streams: Mapping[str, Stream], metadata: Mapping[str, str], sums: Mapping[str, str]) -> bytes:
    """The safetensors header; its length does not depend on the values of the checksums in it."""
    layout = {name: (stream.dtype_name, list(stream.shape)) for name, stream in streams.items()}
    own = {
        "inlaid.checksums": json.dumps(sums),
        "inlaid.header": _header_checksum(layout, metadata, sums),
    }
    header: dict[str, Any] = {"__metadata__": {**metadata, **own}}
    start = 0
    for name, stream in streams.items():
        stop = start + stream.nbytes
        dtype_name, shape = layout[name]
        header[name] = {"dtype": dtype_name, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")
    text += b" " * (-(len(text) + 8) % 64)  # arrays start on a cache line
    return len(text).to_bytes(8, "little") + text


def _header_checksum(layout: Layout, metadata: Mapping[str, str], sums: Mapping[str, str]) -> str:
    """A checksum of everything in the header."""
    content = [[[name, *layout[name]] for name in layout], sorted(metadata.items()), sorted(sums.items())]
    return checksum(json.dumps(content).encode("utf-8"))
