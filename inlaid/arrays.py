"""Named arrays in one safetensors file: mapped, read lazily, every chunk checksummed.

Vectors and corpora are kept this way. Any safetensors reader opens the file; ours also finds a flipped bit.
The metadata carries one checksum per megabyte of each array, and one for the header itself.
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
DIGITS = 16
TYPES = {
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
NAMES = {np.dtype(code): name for name, code in TYPES.items()}


@dataclass(frozen=True)
class Stream:
    """An array that never stands in memory as a whole: its pieces in order, its shape known beforehand."""

    pieces: Iterable[np.ndarray]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def write(path: Path, arrays: Mapping[str, np.ndarray | Stream], metadata: Mapping[str, str]) -> None:
    """Write `arrays` and `metadata` as one file, or nothing at all."""
    streams = {name: array if isinstance(array, Stream) else _whole(array) for name, array in arrays.items()}
    # Widest items first keeps every array aligned without holes, which the format forbids.
    order = sorted(streams, key=lambda name: (-streams[name].dtype.itemsize, name))
    sizes = {
        name: int(np.prod(streams[name].shape, dtype=np.int64)) * streams[name].dtype.itemsize
        for name in order
    }
    blank = {name: "0" * DIGITS * -(-size // CHUNK) for name, size in sizes.items()}
    with writing(path) as file:
        file.write(_header(streams, order, sizes, metadata, blank))
        sums: dict[str, str] = {}
        for name in order:
            summed = _Summed(file)
            for piece in streams[name].pieces:
                summed.write(
                    memoryview(np.ascontiguousarray(piece, streams[name].dtype)).cast("B")
                    if piece.size
                    else b""
                )
            sums[name] = summed.finish()
            if summed.size != sizes[name]:
                raise ValueError(f"{name}: promised {sizes[name]} bytes, got {summed.size}")
        file.seek(0)
        file.write(_header(streams, order, sizes, metadata, sums))


@dataclass
class Arrays:
    """A file of arrays, open for reading. Made by `open_arrays`."""

    path: Path
    metadata: Mapping[str, str]
    arrays: Mapping[str, np.ndarray]
    sums: Mapping[str, str]
    verified: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def whole(self, name: str) -> np.ndarray:
        """The array, read-only and still mapped, every byte of it verified (once)."""
        array = self._array(name)
        self._verify(name, 0, array.nbytes)
        return array

    def unverified(self, name: str) -> np.ndarray:
        """The array as it lies in the file, for its shape alone."""
        return self._array(name)

    def rows(self, name: str, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Some rows of an array; only the chunks they lie in are read and verified."""
        array = self._array(name)
        width = array[:1].nbytes
        wanted = np.asarray(ids, np.int64)
        chunks = (
            np.unique(np.concatenate([wanted * width // CHUNK, ((wanted + 1) * width - 1) // CHUNK]))
            if wanted.size and width
            else ()
        )
        for chunk in chunks:
            self._verify(name, int(chunk) * CHUNK, (int(chunk) + 1) * CHUNK)
        return array[wanted]

    def verify(self) -> int:
        """Verify everything; the number of bytes read."""
        for name in self.arrays:
            self.whole(name)
        return sum(array.nbytes for array in self.arrays.values())

    def _array(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise FormatError(
                f"{self.path}: expected an array '{name}', found only {', '.join(self.arrays) or 'none'}."
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
                    f"{self.path}: '{name}' is damaged between bytes {chunk * CHUNK:,} and {(chunk + 1) * CHUNK:,} "
                    "(checksum differs). Restore the file from a copy."
                )
            done[chunk] = True


def open_arrays(path: Path) -> Arrays:
    """Map a file written by `write`. Reads the header only; arrays are verified as they are used."""
    try:
        with safe_open(
            path, framework="numpy"
        ) as file:  # its header parser is the fuzzed one: we add none of our own
            metadata = dict(file.metadata() or {})
            shapes = {name: file.get_slice(name) for name in file.offset_keys()}
            layout = {name: (part.get_dtype(), part.get_shape()) for name, part in shapes.items()}
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a readable safetensors file ({error}).") from None
    raw = np.memmap(path, np.uint8, "r")
    try:
        sums = json.loads(metadata.pop("inlaid.checksums"))
        expected = metadata.pop("inlaid.header")
    except (KeyError, ValueError):
        raise FormatError(
            f"{path}: a safetensors file, but not one of Inlaid's: it carries no checksums."
        ) from None
    if expected != _seal(layout, metadata, sums):
        raise FormatError(f"{path}: the header is damaged (checksum differs). Restore the file from a copy.")
    return Arrays(path, metadata, _views(raw, layout), sums)


def _views(raw: np.ndarray, layout: Mapping[str, tuple[str, list[int]]]) -> dict[str, np.ndarray]:
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    views: dict[str, np.ndarray] = {}
    for name, (code, shape) in layout.items():
        dtype = np.dtype(TYPES[code])
        stop = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        views[name] = np.asarray(raw[start:stop]).view(dtype).reshape(shape)
        start = stop
    return views


class _Summed:
    """Passes bytes on to a file, in chunks, and keeps one checksum a chunk."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.size = 0
        self.sums = list[str]()
        self.state = xxhash.xxh3_64()

    def write(self, data: memoryview | bytes) -> None:
        data = memoryview(data)
        while data:
            room = CHUNK - self.size % CHUNK
            piece = data[:room]
            data = data[room:]
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


def _whole(array: np.ndarray) -> Stream:
    return Stream([array], array.dtype.newbyteorder("<"), array.shape)


def _header(
    streams: Mapping[str, Stream],
    order: list[str],
    sizes: Mapping[str, int],
    metadata: Mapping[str, str],
    sums: Mapping[str, str],
) -> bytes:
    """The safetensors header; its length does not depend on the checksums in it."""
    layout = {name: (NAMES[streams[name].dtype], list(streams[name].shape)) for name in order}
    ours = {"inlaid.checksums": json.dumps(sums), "inlaid.header": _seal(layout, metadata, sums)}
    header: dict[str, Any] = {"__metadata__": {**metadata, **ours}}
    start = 0
    for name in order:
        code, shape = layout[name]
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [start, start + sizes[name]]}
        start += sizes[name]
    text = json.dumps(header, ensure_ascii=False).encode("utf-8")
    text += b" " * (-(len(text) + 8) % 64)  # arrays start on a cache line
    return len(text).to_bytes(8, "little") + text


def _seal(
    layout: Mapping[str, tuple[str, list[int]]], metadata: Mapping[str, str], sums: Mapping[str, str]
) -> str:
    """A checksum of all that the header says."""
    said = [[[name, *layout[name]] for name in layout], sorted(metadata.items()), sorted(sums.items())]
    return checksum(json.dumps(said).encode("utf-8"))
