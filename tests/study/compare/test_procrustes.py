"""Normalized spaces, row by row or at once, and the matrices that map pairs onto each other."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.errors import SourceError
from inlaid.study.compare import procrustes as module
from inlaid.study.compare.procrustes import NormalizedSpace, normalized, procrustes, reweighted
from inlaid.vectors import Vectors


def rows_of(words: int = 60, dim: int = 8, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((words, dim)).astype(np.float32) + 0.5


def rotation_of(dim: int = 8) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(2).standard_normal((dim, dim)))[0].astype(np.float32)


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("wd,wd->w", x, y) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)


def test_normalized_rows_are_centered_and_of_length_1(monkeypatch: pytest.MonkeyPatch):
    table = rows_of()
    rotation = rotation_of()
    table[3] = 0
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    centred = unit - unit.sum(axis=0) / 59
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    expected[3] = 0
    np.testing.assert_allclose(normalized(table), expected, atol=1e-6)
    monkeypatch.setattr(module, "ROW_BLOCK", 7)
    np.testing.assert_allclose(normalized(table), expected, atol=1e-6)
    space = Vectors.of([f"w{n}" for n in range(60)], table)
    lazy = NormalizedSpace.of(space)
    np.testing.assert_allclose(lazy.whole(), expected, atol=1e-6)
    mapped = Vectors(space.words, NormalizedSpace(space, lazy.mean, rotation))
    np.testing.assert_allclose(mapped.rows([5, 3, 59]), expected[[5, 3, 59]] @ rotation, atol=1e-6)
    np.testing.assert_allclose(mapped.table, expected @ rotation, atol=1e-6)


def test_a_space_that_points_one_way_cannot_be_normalized():
    table = np.full((5, 3), 0.3, np.float32)
    for make in (normalized, lambda table: NormalizedSpace.of(Vectors.of(list("abcde"), table))):
        with pytest.raises(SourceError, match="All 5 words"):
            make(table)


def test_the_orthogonal_matrix_may_reflect():
    x = np.random.default_rng(1).standard_normal((10, 3)).astype(np.float32)
    mirror = np.diag([1, 1, -1]).astype(np.float32)
    np.testing.assert_allclose(procrustes(x, x @ mirror), mirror, atol=1e-6)


def test_reweighted_matrices_bring_a_rotated_copy_back():
    x = rows_of()
    y = x @ rotation_of()
    first, second = reweighted(x, y)
    np.testing.assert_allclose(cosines(x @ first, y @ second), 1, atol=1e-5)
    inner = (x @ first) @ (x @ first).T
    np.testing.assert_allclose(inner, x @ x.T, atol=1e-3)  # where all agree, no weight is reduced


def test_directions_without_correlation_get_smaller_weights():
    x = rows_of(2000)
    y = x.copy()
    y[:, 4:] = rows_of(2000, seed=3)[:, 4:]
    x = x - x.mean(axis=0)
    y = y - y.mean(axis=0)
    first, _ = reweighted(x, y)
    spread = np.linalg.svd(first, compute_uv=False)
    np.testing.assert_allclose(spread[:4], 1, atol=0.05)
    assert spread[4:].max() < 0.3


def test_a_direction_without_variance_maps_to_zero():
    x = rows_of()
    x[:, 0] = 0
    first, second = reweighted(x, x)
    assert np.isfinite(first).all()
    np.testing.assert_allclose(cosines(x @ first, x @ second), 1, atol=1e-5)
