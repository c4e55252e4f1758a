"""Each part that works on rows computes what its plain version says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inlaid.kernels.compile import kernel
from inlaid.kernels.simd import rows


@kernel
def _dots(table, ids, first, other, others, begin, scores):
    rows.dots(table, ids, first, other, others, begin, scores)


@kernel
def _paired_dots(table, ids, other, others, first, scores):
    rows.paired_dots(table, ids, other, others, first, scores)


@kernel
def _paired_update(table, updated, ids, other, others, first, gradients):
    rows.paired_update(table, updated, ids, other, others, first, gradients)


@kernel
def _update(table, updated, ids, first, other, others, count, weights):
    rows.update(table, updated, ids, first, other, others, count, weights)


@kernel
def _gather(table, ids, other, others, count, weights):
    rows.gather(table, ids, other, others, count, weights)


@kernel
def _scatter(table, ids, other, others, count, weights):
    rows.scatter(table, ids, other, others, count, weights)


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    tables = [rows.aligned_table(9, 60) for _ in range(3)]
    for table in tables:
        table[:, :60] = random.standard_normal((9, 60))
    return tables[0], tables[1], tables[2]


def test_a_table_is_zeros_in_whole_vectors_at_the_beginning_of_cache_lines():
    table = rows.aligned_table(5, 100)
    assert table.shape == (5, 112)
    assert not table.any()
    assert table.ctypes.data % 64 == 0


def test_dots():
    table, other, _ = _tables()
    ids = np.array([8, 1, 1, 5, 0], np.int32)
    others = np.array([3, 3, 7, 0, 2, 4, 4, 1], np.int32)
    ours = np.zeros(32, np.float32)
    plain = np.zeros(32, np.float32)
    for begin in (0, 4):
        _dots(table, ids, 1, other, others, begin, ours)
        rows.dots_plain(table, ids, 1, other, others, begin, plain)
    np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)


def test_paired_dots():
    table, other, _ = _tables()
    ids = np.array([8, 1, 1, 5], np.int32)
    others = np.array([3, 3, 7, 0, 2, 4, 4, 1], np.int32)
    ours = np.full(20, 9, np.float32)
    plain = np.full(20, 9, np.float32)
    _paired_dots(table, ids, other, others, 2, ours)
    rows.paired_dots_plain(table, ids, other, others, 2, plain)
    np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)


def test_paired_update_also_where_two_have_the_same_row():
    ids = np.array([8, 1, 2, 5], np.int32)
    others = np.array([3, 7, 0, 7, 2], np.int32)
    gradients = np.array([0.5, -2, 0, 1], np.float32)
    got = _tables()
    expected = _tables()
    _paired_update(got[0], got[1], ids, got[2], others, 1, gradients)
    rows.paired_update_plain(expected[0], expected[1], ids, expected[2], others, 1, gradients)
    for one, another in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-5, atol=1e-5)


@pytest.fixture(params=[[3, 6, 7], [3, 3, 0, 3, 2, 8]], ids=["once", "repeated"])
def others(request: pytest.FixtureRequest) -> np.ndarray:
    return np.array(request.param, np.int32)


def _weights(others: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(4 * len(others)).astype(np.float32)


def test_update(others: np.ndarray):
    ids = np.array([2, 8, 1, 5, 0], np.int32)
    weights = _weights(others)
    got = _tables()
    expected = _tables()
    _update(got[0], got[1], ids, 1, got[2], others, len(others), weights)
    rows.update_plain(expected[0], expected[1], ids, 1, expected[2], others, len(others), weights)
    for one, another in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("ours", "plain"),
    [(_gather, rows.gather_plain), (_scatter, rows.scatter_plain)],
    ids=["gather", "scatter"],
)
def test_gather_and_scatter(ours: Any, plain: Any, others: np.ndarray):
    ids = np.array([8, 1, 5, 0], np.int32)
    weights = _weights(others)
    got = _tables()
    expected = _tables()
    ours(got[0], ids, got[2], others, len(others), weights)
    plain(expected[0], ids, expected[2], others, len(others), weights)
    for one, another in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-4, atol=1e-4)


def test_a_row_that_occurs_twice_is_updated_twice():
    table, _, other = _tables()
    before = table[1].copy()
    ids = np.array([1, 1, 0, 0], np.int32)
    others = np.array([0], np.int32)
    gradients = np.array([1, 1, 0, 0], np.float32)
    old = other[0].copy()
    _update(table, table, ids, 0, other, others, 1, gradients)
    np.testing.assert_allclose(table[1], before + 2 * old, rtol=1e-5)


@kernel
def _tile(table, first, other, begin, sums):
    rows.tile(table, first, other, begin, sums)


@kernel
def _tile_and_prefetch(table, first, other, begin, sums):
    rows.tile_and_prefetch(table, first, other, begin, sums)


@pytest.mark.parametrize("tile", [_tile, _tile_and_prefetch])
@pytest.mark.parametrize(("first", "begin"), [(0, 0), (1, 6), (5, 8)])
def test_tiles(tile: Any, first: int, begin: int):
    table, other, _ = _tables()
    found = np.zeros(32, np.float32)
    expected = np.zeros(32, np.float32)
    tile(table, first, other, begin, found)
    rows.tile_plain(table, first, other, begin, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
