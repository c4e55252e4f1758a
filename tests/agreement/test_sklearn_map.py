"""Trustworthiness, and continuity with the two sides exchanged, beside scikit-learn's; PCA too."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.map.map import map as map_words
from inlaid.study.map.quality import measure_map
from inlaid.vectors import Vectors

manifold = pytest.importorskip("sklearn.manifold", reason="scikit-learn comes with the extra `explore`")
decomposition = pytest.importorskip(
    "sklearn.decomposition", reason="scikit-learn comes with the extra `explore`"
)


@pytest.mark.parametrize(("size", "k"), [(30, 5), (300, 10), (300, 40)])
def test_trustworthiness_and_continuity(size: int, k: int):
    random = np.random.default_rng(1)
    space = random.standard_normal((size, 12))
    space = (space / np.linalg.norm(space, axis=1, keepdims=True)).astype(np.float32)
    places = (space[:, :2] + 0.1 * random.standard_normal((size, 2))).astype(np.float32)
    found = measure_map(space, places, k=k).quality
    assert found is not None
    assert found.trustworthiness == pytest.approx(
        manifold.trustworthiness(space, places, n_neighbors=k), abs=1e-6
    )
    assert found.continuity == pytest.approx(manifold.trustworthiness(places, space, n_neighbors=k), abs=1e-6)


@pytest.mark.parametrize("dim", [5, 100])
def test_pca(dim: int):
    rows = np.random.default_rng(1).standard_normal((40, dim))
    ours = map_words(Vectors.of([f"w{id}" for id in range(40)], rows), method="pca").places
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    theirs = decomposition.PCA(2, svd_solver="full").fit_transform(unit)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-5)
