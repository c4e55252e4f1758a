"""Each part that works on rows does what its plain twin says."""

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
def _own_dots(table, ids, other, others, first, scores):
    rows.own_dots(table, ids, other, others, first, scores)


@kernel
def _own_pull(table, moved, ids, other, others, first, slopes):
    rows.own_pull(table, moved, ids, other, others, first, slopes)


@kernel
def _pull(table, moved, ids, first, other, others, count, slopes):
    rows.pull_three(table, moved, ids, first, other, others, count, slopes, 0)
    rows.pull_one(table, moved, ids, first, other, others, count, slopes, 48)


@kernel
def _take(table, moved, ids, first, other, others, count, slopes):
    rows.take_three(table, moved, ids, first, other, others, count, slopes, 0)
    rows.take_one(table, moved, ids, first, other, others, count, slopes, 48)


@kernel
def _give(table, moved, ids, first, other, others, count, slopes):
    rows.give_three(table, moved, ids, first, other, others, count, slopes, 0)
    rows.give_one(table, moved, ids, first, other, others, count, slopes, 48)


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    tables = [rows.table_of(9, 60) for _ in range(3)]
    for table in tables:
        table[:, :60] = random.standard_normal((9, 60))
    return tables[0], tables[1], tables[2]


def test_a_table_is_zeros_in_whole_vectors_at_the_beginning_of_cache_lines():
    table = rows.table_of(5, 100)
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


def test_dots_of_each_with_its_own():
    table, other, _ = _tables()
    ids = np.array([8, 1, 1, 5], np.int32)
    others = np.array([3, 3, 7, 0, 2, 4, 4, 1], np.int32)
    ours = np.full(20, 9, np.float32)
    plain = np.full(20, 9, np.float32)
    _own_dots(table, ids, other, others, 2, ours)
    rows.own_dots_plain(table, ids, other, others, 2, plain)
    np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-5)


def test_pulls_of_each_with_its_own_also_where_two_have_the_same():
    ids = np.array([8, 1, 2, 5], np.int32)
    others = np.array([3, 7, 0, 7, 2], np.int32)
    slopes = np.array([0.5, -2, 0, 1], np.float32)
    got = _tables()
    expected = _tables()
    _own_pull(got[0], got[1], ids, got[2], others, 1, slopes)
    rows.own_pull_plain(expected[0], expected[1], ids, expected[2], others, 1, slopes)
    for one, another in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("ours", "plain"),
    [(_pull, rows.pull_plain), (_take, rows.take_plain), (_give, rows.give_plain)],
    ids=["pull", "take", "give"],
)
@pytest.mark.parametrize("others", [[3, 6, 7], [3, 3, 0, 3, 2, 8]], ids=["once", "again and again"])
def test_pull_take_and_give(ours: Any, plain: Any, others: list[int]):
    ids = np.array([2, 8, 1, 5, 0], np.int32)
    numbers = np.array(others, np.int32)
    slopes = np.random.default_rng(1).standard_normal(4 * len(others)).astype(np.float32)
    got = _tables()
    expected = _tables()
    ours(got[0], got[1], ids, 1, got[2], numbers, len(others), slopes)
    plain(expected[0], expected[1], ids, 1, expected[2], numbers, len(others), slopes)
    for one, another in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-4, atol=1e-4)


def test_a_row_that_is_there_twice_moves_twice():
    table, _, other = _tables()
    before = table[1].copy()
    ids = np.array([1, 1, 0, 0], np.int32)
    others = np.array([0], np.int32)
    slopes = np.array([1, 1, 0, 0], np.float32)
    old = other[0].copy()
    _pull(table, table, ids, 0, other, others, 1, slopes)
    np.testing.assert_allclose(table[1], before + 2 * old, rtol=1e-5)
