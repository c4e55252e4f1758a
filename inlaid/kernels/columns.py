"""Tables cut into columns for workers that each own some: one part after another in memory, not side by side.

Side by side, a worker that goes through its end of a row would have the processor fetch, ahead and for
nothing, what comes behind it: the other worker's end, who then has to get it back before it can write. Moving
rows took 1.8 times as long.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from inlaid.kernels.compile import part
from inlaid.kernels.rows import LANES, row_width, table_of


def parts_of(columns: int) -> int:
    """How many parts columns are cut into, and so how many workers there is work for: two for every eight
    vectors of 16."""
    vectors = columns // LANES
    return min(2 * -(-vectors // 8), vectors)


def edges_of(columns: int) -> np.ndarray:
    """The first column of each part, and the number of columns; whole vectors each."""
    parts = parts_of(columns)
    return np.arange(parts + 1) * (columns // LANES) // parts * LANES


def table_in_parts(rows: int, dim: int) -> np.ndarray:
    """As `table_of`, but one part after another, (rows * columns,) f4."""
    return table_of(1, rows * row_width(dim))[0]


def pieces(table: np.ndarray, dim: int) -> list[tuple[int, np.ndarray]]:
    """The parts of a table, each as its first column and its numbers (rows, some); a table that is whole is
    all one piece."""
    if table.ndim == 2:
        return [(0, table[:, :dim])]
    columns = row_width(dim)
    rows = len(table) // columns
    edges = pairwise(edges_of(columns).tolist())
    return [
        (low, table[rows * low : rows * high].reshape(rows, high - low)[:, : dim - low])
        for low, high in edges
    ]


def put(table: np.ndarray, rows: np.ndarray) -> None:
    """The first rows of a table, in parts or whole, become these, (some, dim)."""
    for low, piece in pieces(table, rows.shape[1]):
        piece[: len(rows)] = rows[:, low : low + piece.shape[1]]


def whole(table: np.ndarray, dim: int) -> np.ndarray:
    """A copy of a table, in parts or whole, (rows, dim) f4."""
    return np.concatenate([piece for _, piece in pieces(table, dim)], axis=1)


@part
def part_of(table, edges, p):
    # table: one part after another; returns part p, (rows, some)
    rows = table.shape[0] // edges[-1]
    return table[rows * edges[p] : rows * edges[p + 1]].reshape(rows, edges[p + 1] - edges[p])
