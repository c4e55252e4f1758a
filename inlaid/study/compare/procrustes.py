"""Spaces made ready to be turned, and the orthogonal matrix that turns one onto another.

    W = argmin ||X W - Y||  over orthogonal W  =  U Vᵀ, where Xᵀ Y = U S Vᵀ         (orthogonal Procrustes)

An orthogonal matrix keeps every inner product, so nothing that a space has learned is lost. To translate,
more is gained by two other matrices, one for each side (`weighed`), which let directions count by how well
the pairs agree along them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.errors import SourceError
from inlaid.shapes import Rows, Table, Vector
from inlaid.vectors import Vectors, lengths

FLAT = 1e-5
"""A row shorter than this share of the others is what rounding left: it points nowhere."""
BLOCK = 1 << 14


def procrustes(x: Rows, y: Rows) -> Table:
    """The orthogonal matrix, a rotation or a mirrored one, that brings the rows of `x` closest to those of
    `y`."""
    left, _, right = np.linalg.svd(_product(x, y))
    return (left @ right).astype(np.float32)


def weighed(x: Rows, y: Rows, power: float = 0.5) -> tuple[Table, Table]:
    """For each side a matrix that brings pairs together and shrinks the directions along which they agree
    less.

    Both are whitened, turned onto each other, every direction multiplied by its correlation to a power, and
    given back the spread it had (Artetxe, Labaka and Agirre 2018).
    """
    (white_x, back_x) = _whitening(x)
    (white_y, back_y) = _whitening(y)
    left, agreement, right = np.linalg.svd(white_x @ _product(x, y) @ white_y)
    weights = np.diag(agreement**power)
    sides = ((white_x, left, back_x), (white_y, right.T, back_y))
    first, second = (
        (white @ turn @ weights @ turn.T @ back @ turn).astype(np.float32) for white, turn, back in sides
    )
    return first, second


def straightened(table: Rows) -> Rows:
    """Every row at length 1, the mean of all taken off, and at length 1 again; rows that point nowhere are
    zeros."""
    made = _straight(table, _mean(table))
    if not made.any():
        raise _same_way(len(table))
    return made


@dataclass(frozen=True, eq=False)
class Straight:
    """A space straightened and turned, row by row as they are asked for: a second table in memory is never
    needed."""

    space: Vectors
    mean: Vector
    turn: Table | None = None

    @classmethod
    def of(cls, space: Vectors) -> Straight:
        mean = _mean(space.table)
        if not any(_straight(space.table[block], mean).any() for block in _blocks(len(space))):
            raise _same_way(len(space))
        return cls(space, mean)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.stored.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        rows = _straight(self.space.rows(ids), self.mean)
        return rows if self.turn is None else rows @ self.turn

    def whole(self) -> Table:
        table = np.empty(self.shape, np.float32)
        for block in _blocks(len(table)):
            table[block] = self.rows(np.arange(*block.indices(len(table))))
        return table


def _product(x: Rows, y: Rows) -> np.ndarray:
    """Xᵀ Y in float64, without either table in float64."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for block in _blocks(len(x)):
        total += x[block].astype(np.float64).T @ y[block].astype(np.float64)
    return total


def _whitening(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The matrix that gives all directions the same spread, and the one that takes it back; what has no
    spread stays nothing."""
    values, axes = np.linalg.eigh(_product(rows, rows))
    held = values > FLAT * values.max()
    size = np.sqrt(np.where(held, values, 1))
    return (axes * np.where(held, 1 / size, 0)) @ axes.T, (axes * np.where(held, size, 0)) @ axes.T


def _mean(table: Rows) -> Vector:
    """Of the rows at length 1; rows of zeros do not count."""
    total = np.zeros(table.shape[1])
    pointing = 0
    for block in _blocks(len(table)):
        rows = _unit(table[block])
        total = total + rows.sum(axis=0, dtype=np.float64)
        pointing = pointing + int(rows.any(axis=1).sum())
    return (total / max(pointing, 1)).astype(np.float32)


def _straight(table: Rows, mean: Vector) -> Rows:
    rows = _unit(table)
    pointing = rows.any(axis=1)
    rows -= mean
    size = lengths(rows)
    pointing &= size > FLAT
    rows[~pointing] = 0
    rows /= np.where(pointing, size, 1)[:, None]
    return rows


def _unit(table: Rows) -> Rows:
    """A copy with every row at length 1; zeros stay zeros."""
    size = lengths(table)[:, None]
    return table / np.where(size == 0, 1, size)


def _same_way(words: int) -> SourceError:
    return SourceError(
        f"All {words:,} words of a space point the same way: there is nothing to turn. Train it on more text."
    )


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))
