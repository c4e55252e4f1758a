"""A few rows times a matrix: what NumPy says, for every remainder of rows and columns by those of a tile."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.kernels.product import cpu, reference


def found(rows: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    out = np.full((len(rows), len(weights)), 7, np.float32)
    cpu.product(rows, weights, bias, np.empty(32, np.float32), 0, len(weights), out)
    return out


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 33])
@pytest.mark.parametrize(("weights", "dim"), [(1, 16), (18, 32), (49, 112), (64, 512)])
def test_it_is_the_product(rows: int, weights: int, dim: int):
    random = np.random.default_rng(rows * weights)
    x = random.standard_normal((rows, dim), np.float32)
    matrix = random.standard_normal((weights, dim), np.float32)
    bias = random.standard_normal(weights, np.float32)
    expected = reference.product(x, matrix, bias)
    np.testing.assert_allclose(found(x, matrix, bias), expected, rtol=1e-5, atol=1e-4)


def test_rows_may_be_wider():
    x = np.ones((3, 48), np.float32)
    matrix = np.full((5, 32), 2, np.float32)
    assert (found(x, matrix, np.ones(5, np.float32)) == 65).all()


def test_parts_of_a_matrix_fill_parts_of_the_output():
    random = np.random.default_rng(5)
    x = random.standard_normal((6, 32), np.float32)
    matrix = random.standard_normal((40, 32), np.float32)
    out = np.zeros((6, 40), np.float32)
    for begin, stop in ((0, 13), (24, 40)):
        cpu.product(x, matrix, np.zeros(40, np.float32), np.empty(32, np.float32), begin, stop, out)
    expected = x @ matrix.T
    expected[:, 13:24] = 0
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


def test_nan_and_infinity_stay_where_they_are():
    x = np.ones((3, 16), np.float32)
    matrix = np.ones((5, 16), np.float32)
    matrix[1, 3] = np.nan
    matrix[4, 0] = np.inf
    out = found(x, matrix, np.zeros(5, np.float32))
    assert np.isnan(out[:, 1]).all()
    assert (out[:, 4] == np.inf).all()
    assert (out[:, [0, 2, 3]] == 16).all()
