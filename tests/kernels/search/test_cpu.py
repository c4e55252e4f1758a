"""The scoring kernels do what their plain twins say."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.kernels.search import cpu, reference


@pytest.mark.parametrize("queries", [1, 3, 4, 9])
@pytest.mark.parametrize("dim", [1, 7, 64, 100])
def test_dots(queries: int, dim: int):
    random = np.random.default_rng(dim)
    table = random.standard_normal((37, dim), dtype=np.float32)
    factors = random.standard_normal(37, dtype=np.float32)
    asked = random.standard_normal((queries, dim), dtype=np.float32)
    out = np.zeros((queries, 37), np.float32)
    cpu.dots(table, factors, asked, out)
    np.testing.assert_allclose(out, reference.dots(table, factors, asked), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 63, 64, 300])
def test_code_dots(dim: int):
    random = np.random.default_rng(dim)
    codes = random.integers(-127, 128, (41, dim)).astype(np.int8)
    query = random.integers(-127, 128, dim).astype(np.int8)
    codes[0] = 127
    query[0] = -127
    factors = np.full(41, 0.5, np.float32)
    out = np.zeros(41, np.float32)
    cpu.code_dots(codes, factors, query, out)
    np.testing.assert_array_equal(out, reference.code_dots(codes, factors, query))


def test_sums_of_many_dimensions_do_not_run_over():
    codes = np.full((1, 130_000), 127, np.int8)
    out = np.zeros(1, np.float32)
    cpu.code_dots(codes, np.ones(1, np.float32), codes[0], out)
    assert out[0] == np.float32(127 * 127 * 130_000)
