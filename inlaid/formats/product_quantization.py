"""Product quantization: the compressed tables of fastText's .ftz models (Jégou et al. 2011).

A row is cut into parts; each part is stored as the number of the nearest of 256 centroids. Rows are scaled to
length 1 first, and their lengths are quantized in the same way, so that long and short rows lose as little.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from inlaid.formats.binary import BinaryReader
from inlaid.messages import Message
from inlaid.shapes import Rows, Table
from inlaid.untrusted import check_ratio

CENTROIDS = 256
"""Centroids of each part."""
WIDTH = 2
"""Components of a part that is written, as fastText writes them: an eighth of the size."""
SAMPLE = 1 << 14
"""Rows that the centroids are learned from, spread over the table."""
ROUNDS = 15
"""Rounds of k-means."""
BLOCK = 1 << 13
"""Rows that are assigned at a time."""


@dataclass(frozen=True, eq=False)
class ProductQuantizedTable:
    """Rows as codes of centroids; the length of a row may be quantized, too."""

    codes: np.ndarray
    """(row, part) u1: which centroid."""
    centroids: Sequence[np.ndarray]
    """For each part (256, width) f4."""
    lengths: np.ndarray | None
    """(row,) u1, codes of `scales`: the length of each row, where rows were scaled to length 1 first."""
    scales: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.codes), sum(part.shape[1] for part in self.centroids)

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        codes = self.codes[np.asarray(ids)]
        rows = np.concatenate([part[codes[:, number]] for number, part in enumerate(self.centroids)], axis=1)
        if self.lengths is None:
            return rows
        return rows * self.scales[self.lengths[np.asarray(ids)]][:, None]

    def whole(self) -> Table:
        return self.rows(np.arange(len(self.codes)))

    def __getitem__(self, ids: slice | np.ndarray) -> ProductQuantizedTable:
        lengths = None if self.lengths is None else self.lengths[ids]
        return ProductQuantizedTable(self.codes[ids], self.centroids, lengths, self.scales)


def quantized(blocks: Callable[[], Iterable[np.ndarray]], rows: int) -> ProductQuantizedTable:
    """A table quantized; `blocks` gives its rows, a block at a time, and is called twice."""
    every = -(-rows // SAMPLE)
    sampled = np.concatenate([block[_first(start, every) :: every] for start, block in _numbered(blocks())])
    lengths = np.linalg.norm(sampled, axis=1, keepdims=True)
    directions = sampled / np.where(lengths == 0, 1, lengths)
    bounds = [*range(0, sampled.shape[1], WIDTH), sampled.shape[1]]
    centroids = [_centroids(directions[:, start:stop]) for start, stop in pairwise(bounds)]
    scales = _centroids(lengths)
    codes = np.empty((rows, len(centroids)), np.uint8)
    length_codes = np.empty(rows, np.uint8)
    for start, block in _numbered(blocks()):
        of_block = np.linalg.norm(block, axis=1, keepdims=True)
        scaled = block / np.where(of_block == 0, 1, of_block)
        stop = start + len(block)
        for part, (low, high) in enumerate(pairwise(bounds)):
            codes[start:stop, part] = _nearest(scaled[:, low:high], centroids[part])
        length_codes[start:stop] = _nearest(of_block, scales)
    return ProductQuantizedTable(codes, centroids, length_codes, scales[:, 0])


def _numbered(blocks: Iterable[np.ndarray]) -> Iterator[tuple[int, np.ndarray]]:
    """Blocks of float32, each with the number of its first row."""
    start = 0
    for block in blocks:
        yield start, np.asarray(block, np.float32)
        start += len(block)


def _first(start: int, every: int) -> int:
    """The first row of a block that is among every n-th row of the table."""
    return -start % every


def _centroids(points: np.ndarray) -> np.ndarray:
    """256 centroids of some points, by k-means; where points are fewer, some centroids are the same."""
    random = np.random.Generator(np.random.Philox(1))
    found = np.resize(points[random.permutation(len(points))[:CENTROIDS]], (CENTROIDS, points.shape[1]))
    for _ in range(ROUNDS):
        nearest = _nearest(points, found)
        counts = np.bincount(nearest, minlength=CENTROIDS)
        sums = [np.bincount(nearest, column, CENTROIDS) for column in points.T]
        used = counts > 0
        found[used] = (np.stack(sums, axis=1)[used] / counts[used, None]).astype(np.float32)
    return found


def _nearest(points: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """The number of the nearest centroid of each point."""
    offsets = (centroids**2).sum(axis=1) / 2
    found = np.empty(len(points), np.uint8)
    for start in range(0, len(points), BLOCK):
        found[start : start + BLOCK] = (offsets - points[start : start + BLOCK] @ centroids.T).argmin(axis=1)
    return found


def write_quantized(file: Any, table: ProductQuantizedTable) -> None:
    """What `read_quantized` reads."""
    assert table.lengths is not None, "a table that `quantized` made has lengths"
    rows, dim = table.shape
    file.write(struct.pack("<?2qi", True, rows, dim, table.codes.size))
    file.write(table.codes.tobytes())
    _write_centroids(file, table.centroids, dim)
    file.write(table.lengths.tobytes())
    _write_centroids(file, [table.scales[:, None]], 1)


def _write_centroids(file: Any, centroids: Sequence[np.ndarray], dim: int) -> None:
    file.write(struct.pack("<4i", dim, len(centroids), centroids[0].shape[1], centroids[-1].shape[1]))
    for part in centroids:
        file.write(np.ascontiguousarray(part, "<f4").tobytes())


def read_quantized(reader: BinaryReader, matrix: Message, rows: int, dim: int) -> ProductQuantizedTable:
    """A quantized matrix; `matrix` names it in errors."""
    has_lengths = reader.number(Message("the mark of lengths of {matrix}", matrix=matrix), "B", 0, 1)
    reader.number(Message("the number of rows of {matrix}", matrix=matrix), "q", rows, rows)
    reader.number(Message("the number of columns of {matrix}", matrix=matrix), "q", dim, dim)
    # A code of one byte stands for a part of any width. Rows are decoded when they are used.
    check_ratio(reader.path, rows * dim * 4, len(reader.data))
    codes_field = Message("the size of the codes of {matrix}", matrix=matrix)
    size = reader.number(codes_field, "i", 0)
    codes = reader.array(Message("the codes of {matrix}", matrix=matrix), "u1", size)
    centroids = _read_centroids(reader, matrix, dim)
    parts = len(centroids)
    if size != rows * parts:
        expected = Message("{rows:,} rows times {parts} parts", rows=rows, parts=parts)
        raise reader.error(codes_field, f"{size:,}", expected)
    lengths = None
    scales = np.ones(1, np.float32)
    if has_lengths:
        lengths_field = Message("the lengths of {matrix}", matrix=matrix)
        lengths = reader.array(lengths_field, "u1", rows)
        scales = _read_centroids(reader, lengths_field, 1)[0][:, 0]
    return ProductQuantizedTable(codes.reshape(rows, parts), centroids, lengths, scales)


def _read_centroids(reader: BinaryReader, matrix: Message, dim: int) -> list[np.ndarray]:
    """For each part of a row (256, width); the last part may be narrower."""
    reader.number(Message("the dimension of the centroids of {matrix}", matrix=matrix), "i", dim, dim)
    parts = reader.number(Message("the number of parts of {matrix}", matrix=matrix), "i", 1, dim)
    width = reader.number(Message("the width of a part of {matrix}", matrix=matrix), "i", 1, dim)
    last = max(dim - (parts - 1) * width, 1)
    reader.number(
        Message("the width of the last part of {matrix}", matrix=matrix), "i", last, min(last, width)
    )
    start = reader.at
    field = Message("the centroids of {matrix}", matrix=matrix)
    # Copied: they are few and used all the time, so their address should be aligned.
    values = np.array(reader.array(field, "<f4", dim * CENTROIDS))
    if not np.isfinite(values).all():
        place = start + 4 * int(np.flatnonzero(~np.isfinite(values))[0])
        raise reader.error(field, Message("not finite"), Message("finite numbers"), place)
    bounds = [min(part * width, dim) * CENTROIDS for part in range(parts)] + [dim * CENTROIDS]
    return [values[start:stop].reshape(CENTROIDS, -1) for start, stop in pairwise(bounds)]
