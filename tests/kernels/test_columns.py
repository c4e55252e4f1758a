"""Tables in parts hold what whole tables hold."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.kernels.columns import edges_of, part_of, parts_of, pieces, put, table_in_parts, whole
from inlaid.kernels.compile import kernel
from inlaid.kernels.rows import row_width, table_of


@kernel
def _copy_part(table, edges, p, out):
    rows = part_of(table, edges, p)
    for n in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            out[n, column] = rows[n, column]


def test_columns_are_cut_into_as_many_parts_as_there_may_be_workers():
    assert [parts_of(columns) for columns in (16, 32, 112, 208, 304, 1024)] == [1, 2, 2, 4, 6, 16]


@pytest.mark.parametrize("columns", [16, 32, 112, 208, 304, 1024])
def test_parts_are_whole_vectors_that_differ_by_one_at_most(columns: int):
    widths = np.diff(edges_of(columns)) // 16
    assert widths.sum() * 16 == columns
    assert 1 <= widths.min() <= widths.max() <= widths.min() + 1


@pytest.mark.parametrize("dim", [1, 16, 50, 100, 300])
def test_what_is_put_into_parts_comes_out_whole_and_kernels_see_the_same_parts(dim: int):
    rows = np.arange(7 * dim, dtype=np.float32).reshape(7, dim) + 1
    table = table_in_parts(7, dim)
    put(table, rows)
    np.testing.assert_array_equal(whole(table, dim), rows)
    edges = edges_of(row_width(dim))
    padded = np.pad(rows, ((0, 0), (0, row_width(dim) - dim)))
    for p, (low, piece) in enumerate(pieces(table, dim)):
        assert low == edges[p]
        assert np.shares_memory(piece, table)
        assert piece.ctypes.data % 64 == 0
        seen = np.empty((7, edges[p + 1] - low), np.float32)
        _copy_part(table, edges, p, seen)
        np.testing.assert_array_equal(seen, padded[:, low : edges[p + 1]])


def test_the_first_rows_may_be_put_alone():
    table = table_in_parts(5, 40)
    put(table, np.ones((2, 40)))
    put(table_in_parts(0, 40), np.ones((0, 40)))
    assert whole(table, 40).sum(axis=1).tolist() == [40, 40, 0, 0, 0]


def test_a_whole_table_is_all_one_piece():
    table = table_of(3, 20)
    put(table, np.full((3, 20), 2))
    ((low, piece),) = pieces(table, 20)
    assert (low, piece.shape, table[:, 20:].any()) == (0, (3, 20), False)
    np.testing.assert_array_equal(whole(table, 20), piece)
