"""Arrays: named arrays in one safetensors file, memory-mapped, read lazily, with a checksum for every chunk.

Vectors, corpora and checkpoints are stored this way. Any safetensors reader opens the file; this one also
finds a flipped bit: the metadata has one checksum for each megabyte of each array, and one for the header.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from safetensors import SafetensorError, safe_open

from inlaid.errors import FormatError
from inlaid.files import checksum, writing

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
    dtypes: Mapping[str, str]
    """The dtype of each array as safetensors calls it; if NumPy lacks it (BF16), the array is its bits."""
    sums: Mapping[str, str]
    verified: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def whole(self, name: str) -> np.ndarray:
        """The array, read-only and memory-mapped; every byte of it is verified, once."""
        array = self._array(name)
        self._verify(name, 0, array.nbytes)
        return array

    def unverified(self, name: str) -> np.ndarray:
        """The array without verification, to look at its shape."""
        return self._array(name)

    def rows(self, name: str, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Some rows of an array; only their chunks are read and verified."""
        array = self._array(name)
        width = array[:1].nbytes
        wanted = np.asarray(ids, np.int64)
        if wanted.size and width:
            first = wanted * width // CHUNK
            last = ((wanted + 1) * width - 1) // CHUNK
            for chunk in np.unique(np.concatenate([first, last])).tolist():
                self._verify(name, chunk * CHUNK, (chunk + 1) * CHUNK)
        return array[wanted]

    def verify(self) -> int:
        """Verify everything; the number of bytes read."""
        for name in self.arrays:
            self.whole(name)
        return sum(array.nbytes for array in self.arrays.values())

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise FormatError(
                "{path}: expected an array '{name}', found only: {found}. Restore the file from a copy.",
                path=self.path,
                name=name,
                found=", ".join(self.arrays),
            )
        return self.arrays[name]

    def _verify(self, name: str, start: int, stop: int) -> None:
        array = self.arrays[name]
        sums = self.sums[name]
        done = self.verified.setdefault(name, np.zeros(-(-array.nbytes // CHUNK), bool))
        data = memoryview(array.reshape(-1).view(np.uint8))
        for chunk in range(start // CHUNK, -(-min(stop, array.nbytes) // CHUNK)):
            if done[chunk]:
                continue
            found = checksum(data[chunk * CHUNK : (chunk + 1) * CHUNK])
            if found != sums[chunk * DIGITS : (chunk + 1) * DIGITS]:
                raise FormatError(
                    "{path}: '{name}' is damaged between bytes {start:,} and {stop:,} (checksum differs). "
                    "Restore the file from a copy.",
                    path=self.path,
                    name=name,
                    start=chunk * CHUNK,
                    stop=(chunk + 1) * CHUNK,
                )
            done[chunk] = True


def open_arrays(path: Path) -> Arrays:
    """Memory-map a file written by `write`. Reads the header only; arrays are verified when they are used."""
    if path.is_dir():
        raise FormatError("{path} is a folder; expected a file.", path=path)
    try:
        # The header is parsed by the safetensors library, whose parser is fuzzed.
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            layout = {name: (part.get_dtype(), part.get_shape()) for name, part in slices.items()}
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            "{path}: not a readable safetensors file ({error}). Get the file again.",
            path=path,
            error=str(error),
        ) from None
    try:
        sums = json.loads(metadata.pop("inlaid.checksums"))
        expected = metadata.pop("inlaid.header")
    except (KeyError, ValueError):
        raise FormatError(
            "{path}: a safetensors file without Inlaid's checksums; expected one that Inlaid wrote. "
            "If it is part of a model, name the folder of the model.",
            path=path,
        ) from None
    if expected != _header_checksum(layout, metadata, sums):
        raise FormatError(
            "{path}: the header is damaged (checksum differs). Restore the file from a copy.", path=path
        )
    dtypes = {name: dtype for name, (dtype, _) in layout.items()}
    return Arrays(path, metadata, _views(path, layout), dtypes, sums)


def _views(path: Path, layout: Mapping[str, tuple[str, list[int]]]) -> dict[str, np.ndarray]:
    raw = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    views: dict[str, np.ndarray] = {}
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
        stop = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        views[name] = np.asarray(raw[start:stop]).view(dtype).reshape(shape)
        start = stop
    return views


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


def _header_checksum(
    layout: Mapping[str, tuple[str, list[int]]], metadata: Mapping[str, str], sums: Mapping[str, str]
) -> str:
    """A checksum of everything in the header."""
    content = [[[name, *layout[name]] for name in layout], sorted(metadata.items()), sorted(sums.items())]
    return checksum(json.dumps(content).encode("utf-8"))
