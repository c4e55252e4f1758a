"""Shards: the ids of a corpus in several files, read as one array that is never joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid import array_writer, arrays
from inlaid.errors import FormatError
from inlaid.files import scratch
from inlaid.shapes import Ids, Offsets
from inlaid.values import Values

SCRATCH_BYTES = 1 << 30
"""Bytes of offsets that are held in memory; more are in an unnamed temporary file."""


class Shard(NamedTuple):
    """One file of a corpus, as the manifest lists it."""

    name: str
    tokens: int
    sentences: int
    hash: str
    """The checksum of its header, which holds the checksums of its arrays."""


class JoinedIds:
    """Arrays of ids, one after another, read as one.

    A slice inside one array is a view of it; only a slice that reaches into the next one is a copy.

    >>> ids = JoinedIds([np.array([5, 6], np.int32), np.array([7], np.int32)])
    >>> len(ids), ids[1:3].tolist(), ids[np.array([2, 0])].tolist()
    (3, [6, 7], [7, 5])
    """

    ndim = 1

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self.parts = list(parts)
        self.starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        self.dtype = np.dtype(np.int32)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def size(self) -> int:
        return len(self)

    @property
    def nbytes(self) -> int:
        return len(self) * self.dtype.itemsize

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        places = np.asarray(key)
        if places.ndim == 0:
            return self._taken(places.reshape(1))[0]
        if places.dtype == bool:
            places = np.flatnonzero(places)
        return self._taken(places)

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            yield from part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All of them in memory, for those who need that."""
        joined = self.parts[0] if len(self.parts) == 1 else np.concatenate([self._none, *self.parts])
        return np.array(joined, dtype=dtype or self.dtype, copy=copy or None)

    def tolist(self) -> list[int]:
        return np.asarray(self).tolist()

    @property
    def _none(self) -> np.ndarray:
        return np.empty(0, np.int32)

    def _slice(self, key: slice) -> np.ndarray:
        start, stop, step = key.indices(len(self))
        if step != 1:
            return self._taken(np.arange(start, stop, step))
        if stop <= start:
            return self._none
        first = int(np.searchsorted(self.starts, start, "right")) - 1
        last = int(np.searchsorted(self.starts, stop, "left"))
        found = [
            self.parts[n][max(start - self.starts[n], 0) : stop - self.starts[n]] for n in range(first, last)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _taken(self, places: np.ndarray) -> np.ndarray:
        """The ids at some places, in the shape of `places`."""
        if places.size and not -len(self) <= places.min() <= places.max() < len(self):
            raise IndexError(f"places {places.min()} to {places.max()} of {len(self)}")
        places = np.where(places < 0, places + len(self), places)
        owners = np.searchsorted(self.starts, places, "right") - 1
        found = np.empty(places.shape, np.int32)
        for owner in np.unique(owners).tolist():
            chosen = owners == owner
            found[chosen] = self.parts[owner][places[chosen] - self.starts[owner]]
        return found


def shard_name(number: int) -> str:
    return f"shard-{number:05}.safetensors"


def write_shard(folder: Path, name: str, ids: Ids, offsets: Offsets) -> Shard:
    """Write the ids of some sentences, and where each starts among them."""
    path = folder / name
    array_writer.write(path, {"ids": ids, "offsets": offsets}, {})
    return Shard(name, len(ids), len(offsets) - 1, arrays.open_arrays(path).header)


def open_shard(folder: Path, shard: Shard, words: int) -> arrays.Arrays:
    """Open a shard of the manifest; nothing but its header is read."""
    path = folder / shard.name
    if Path(shard.name).name != shard.name or not path.is_file():
        raise FormatError(
            "{path} is missing: it is a shard of the corpus {folder}. Restore it from a copy.",
            path=path,
            folder=folder,
        )
    opened = arrays.open_arrays(path)
    if opened.header != shard.hash:
        raise FormatError(
            "{path} is not the shard that its corpus was written with (its checksum differs). Restore it "
            "from a copy.",
            path=path,
        )
    tokens = shard.tokens
    bounds = Values(
        dtypes=("I64",),
        shape=(shard.sentences + 1,),
        low=0,
        high=tokens,
        first=0,
        last=tokens,
        ascending=True,
    )
    opened.expect("ids", Values(dtypes=("I32",), shape=(tokens,), low=0, high=words - 1))
    opened.expect("offsets", bounds)
    return opened


def joined_offsets(shards: Sequence[arrays.Arrays]) -> Offsets:
    """Where the sentences of all shards start in the whole text, and where the last one ends."""
    sizes = [each.shape("offsets")[0] - 1 for each in shards]
    shape = (sum(sizes) + 1,)
    found = scratch(shape, np.int64) if shape[0] * 8 > SCRATCH_BYTES else np.empty(shape, np.int64)
    found[0] = 0
    here = 1
    for shard, size in zip(shards, sizes, strict=True):
        offsets = shard.whole("offsets")
        np.add(offsets[1:], found[here - 1], out=found[here : here + size])
        here += size
    return found
