"""Sparse kernels against their plain definitions."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.cooccurrence import Cells, cooccurrence
from inlaid.fit.ppmi import PPMI, _above_zero
from inlaid.kernels.cooccurrence import cpu, reference


@pytest.fixture(scope="module")
def cells() -> Cells:
    random = np.random.default_rng(3)
    return cooccurrence(
        encode(
            [[str(id) for id in random.zipf(1.5, 30) if id < 200] for _ in range(200)], Encoding(min_count=1)
        ),
        window=3,
    )


@pytest.mark.parametrize(("smoothing", "shift"), [(1.0, 1.0), (0.75, 1.0), (0.75, 5.0)])
def test_ppmi_equals_the_specification(cells: Cells, smoothing: float, shift: float):
    forward, backward = PPMI(smoothing=smoothing, shift=shift)._associations(cells)
    expected = reference.ppmi(cells.dense(), smoothing, shift)
    assert (expected > 0).sum() > 100
    np.testing.assert_allclose(Cells(cells.starts, cells.columns, forward).dense(), expected, atol=1e-5)
    np.testing.assert_allclose(Cells(cells.starts, cells.columns, backward).dense(), expected.T, atol=1e-5)


def test_sparse_times_dense_equals_the_specification(cells: Cells):
    values = cells.counts.astype(np.float32)
    dense = np.random.default_rng(1).standard_normal((cells.size, 7)).astype(np.float32)
    out = np.full_like(dense, np.nan)
    cpu.sparse_times_dense(cells.starts, cells.columns, values, dense, 0, 5, out)
    cpu.sparse_times_dense(cells.starts, cells.columns, values, dense, 5, cells.size, out)
    np.testing.assert_allclose(
        out, reference.sparse_times_dense(cells.starts, cells.columns, values, dense), rtol=2e-4, atol=1e-3
    )
    np.testing.assert_allclose(out, (cells.dense() @ dense), rtol=2e-4, atol=1e-3)


def test_what_is_not_zero_is_kept_in_order(cells: Cells):
    values = np.where(np.arange(len(cells)) % 3 == 0, 0, cells.counts).astype(np.float32)
    kept = _above_zero(cells, values.copy())
    assert len(kept.values) == np.count_nonzero(values)
    expected = Cells(cells.starts, cells.columns, values).dense()
    np.testing.assert_array_equal(Cells(kept.starts, kept.columns, kept.values).dense(), expected)


def test_sums_of_rows(cells: Cells):
    np.testing.assert_allclose(cells.sums(), cells.dense().sum(axis=1))
