"""Orthogonal Procrustes, and whitening with re-weighting: linear maps that bring one space onto another.

    W = argmin ||X W - Y||  over orthogonal W  =  U Vᵀ, where Xᵀ Y = U S Vᵀ         (orthogonal Procrustes)

An orthogonal matrix keeps every inner product, so nothing that a space has learned is lost. For translation,
two other matrices are better, one for each side (`reweighted`): they weight directions by how well the pairs
agree along them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.errors import SourceError
from inlaid.shapes import Rows, Table, Vector
from inlaid.vectors import Vectors, lengths

ROUNDING = 1e-5
"""A row shorter than this share of the others is rounding error and counts as zero."""
ROW_BLOCK = 1 << 14
"""Rows processed at a time."""


def procrustes(x: Rows, y: Rows) -> Table:
    """The orthogonal matrix (a rotation, possibly with a reflection) that maps the rows of `x` closest to
    `y`."""
    left, _, right = np.linalg.svd(_product(x, y))
    return (left @ right).astype(np.float32)


def reweighted(x: Rows, y: Rows, exponent: float = 0.5) -> tuple[Table, Table]:
    """A matrix for each side that maps pairs together and shrinks directions along which they agree less.

    Whitening, orthogonal mapping, re-weighting by the cross-correlation to an exponent, de-whitening
    (Artetxe, Labaka and Agirre 2018, steps 1 to 4).
    """
    whitening_x, dewhitening_x = _whitening(x)
    whitening_y, dewhitening_y = _whitening(y)
    left, correlations, right = np.linalg.svd(whitening_x @ _product(x, y) @ whitening_y)
    weights = np.diag(correlations**exponent)

    def mapping(whitening: np.ndarray, rotation: np.ndarray, dewhitening: np.ndarray) -> Table:
        made = whitening @ rotation @ weights @ rotation.T @ dewhitening @ rotation
        return made.astype(np.float32)

    return mapping(whitening_x, left, dewhitening_x), mapping(whitening_y, right.T, dewhitening_y)


def normalized(table: Rows) -> Rows:
    """Length normalization, mean centering, and length normalization again; zero rows stay zero."""
    made = _normalized(table, _mean(table))
    if not made.any():
        raise _one_direction(len(table))
    return made


@dataclass(frozen=True, eq=False)
class NormalizedSpace:
    """A space normalized as by `normalized`, then mapped; rows are computed on demand, so no second table is
    held in memory."""

    space: Vectors
    mean: Vector
    mapping: Table | None = None

    @classmethod
    def of(cls, space: Vectors) -> NormalizedSpace:
        mean = _mean(space.table)
        if not any(_normalized(space.table[block], mean).any() for block in _blocks(len(space))):
            raise _one_direction(len(space))
        return cls(space, mean)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.stored.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        rows = _normalized(self.space.rows(ids), self.mean)
        return rows if self.mapping is None else rows @ self.mapping

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
    """The whitening matrix and its inverse; directions without variance map to zero in both."""
    values, axes = np.linalg.eigh(_product(rows, rows))
    varying = values > ROUNDING * values.max()
    deviations = np.sqrt(np.where(varying, values, 1))
    whitening = (axes * np.where(varying, 1 / deviations, 0)) @ axes.T
    dewhitening = (axes * np.where(varying, deviations, 0)) @ axes.T
    return whitening, dewhitening


def _mean(table: Rows) -> Vector:
    """The mean of the unit rows; zero rows do not count."""
    total = np.zeros(table.shape[1])
    nonzero = 0
    for block in _blocks(len(table)):
        rows = _unit(table[block])
        total = total + rows.sum(axis=0, dtype=np.float64)
        nonzero = nonzero + int(rows.any(axis=1).sum())
    return (total / max(nonzero, 1)).astype(np.float32)


def _normalized(table: Rows, mean: Vector) -> Rows:
    rows = _unit(table)
    nonzero = rows.any(axis=1)
    rows -= mean
    size = lengths(rows)
    nonzero &= size > ROUNDING
    rows[~nonzero] = 0
    rows /= np.where(nonzero, size, 1)[:, None]
    return rows


def _unit(table: Rows) -> Rows:
    """A copy with every row at length 1; zero rows stay zero."""
    size = lengths(table)[:, None]
    return table / np.where(size == 0, 1, size)


def _one_direction(words: int) -> SourceError:
    return SourceError(
        "All {words:,} words of a space have the same direction, so it cannot be aligned. Train it on more "
        "text.",
        words=words,
    )


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROW_BLOCK) for start in range(0, rows, ROW_BLOCK))
