"""Array writer: named arrays in one safetensors file, with a checksum for each chunk.

Any safetensors reader opens the file. Its metadata has one checksum for each megabyte of each array, and one
for the header; `arrays.open_arrays` compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from inlaid.files import checksum, writing

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
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


@dataclass(frozen=True)
class Raw:
    """An array of a dtype that NumPy lacks, as its bits: bfloat16 is `Raw(bits, "BF16")`, bits in uint16."""

    bits: np.ndarray
    dtype: str
    """As safetensors calls it."""


@dataclass(frozen=True)
class StreamedArray:
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


def write(
    path: Path, arrays: Mapping[str, np.ndarray | Raw | StreamedArray], metadata: Mapping[str, str]
) -> None:
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


def _stream(name: str, array: np.ndarray | Raw | StreamedArray) -> StreamedArray:
    if isinstance(array, StreamedArray):
        return array
    if isinstance(array, Raw):
        if RAW_DTYPES.get(array.dtype) != array.bits.dtype.newbyteorder("<").str:
            raise ValueError(f"{name}: {array.bits.dtype} does not hold the bits of {array.dtype}")
        return StreamedArray([array.bits], array.bits.dtype.newbyteorder("<"), array.bits.shape, array.dtype)
    return StreamedArray([array], array.dtype.newbyteorder("<"), array.shape)


def _write_stream(file: Any, name: str, stream: StreamedArray) -> str:
    """Write the pieces; return the checksums of the chunks."""
    writer = _ChecksummedWriter(file)
    for piece in stream.pieces:
        if piece.size:
            writer.write(memoryview(np.ascontiguousarray(piece, stream.dtype)).cast("B"))
    if writer.size != stream.nbytes:
        raise ValueError(f"{name}: promised {stream.nbytes} bytes, got {writer.size}")
    return writer.finish()


def _header(
    streams: Mapping[str, StreamedArray], metadata: Mapping[str, str], sums: Mapping[str, str]
) -> bytes:
    """The safetensors header; its length does not depend on the values of the checksums in it."""
    layout = {name: (stream.dtype_name, list(stream.shape)) for name, stream in streams.items()}
    own = {
        "inlaid.checksums": json.dumps(sums),
        "inlaid.header": header_checksum(layout, metadata, sums),
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


def header_checksum(layout: Layout, metadata: Mapping[str, str], sums: Mapping[str, str]) -> str:
    """A checksum of everything in the header."""
    content = [[[name, *layout[name]] for name in layout], sorted(metadata.items()), sorted(sums.items())]
    return checksum(json.dumps(content).encode("utf-8"))
