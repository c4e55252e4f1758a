"""Product quantization: the compressed tables of fastText's .ftz models (Jégou et al. 2011).

A row is cut into parts; each part is stored as the number of the nearest of 256 centroids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inlaid.formats.binary import BinaryReader
from inlaid.messages import Message
from inlaid.shapes import Rows, Table
from inlaid.untrusted import check_ratio

CENTROIDS = 256
"""Centroids of each part."""


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
