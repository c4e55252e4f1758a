"""Our rotation beside SciPy's orthogonal Procrustes."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.compare.align import AlignSettings, align
from inlaid.study.compare.procrustes import normalized, procrustes
from inlaid.vectors import Vectors

linalg = pytest.importorskip("scipy.linalg", reason="SciPy comes with the extra `peers`")


def test_the_same_rotation():
    x, y = np.random.default_rng(1).standard_normal((2, 200, 30)).astype(np.float32)
    np.testing.assert_allclose(procrustes(x, y), linalg.orthogonal_procrustes(x, y)[0], atol=1e-5)


def test_an_alignment_without_refinement_is_scipys():
    x, y = np.random.default_rng(1).standard_normal((2, 100, 10)).astype(np.float32)
    words = [f"w{n}" for n in range(100)]
    made = align(
        Vectors.of(words, x),
        Vectors.of(words, y),
        [(word, word) for word in words],
        AlignSettings(refine=0, held_out=0.0),
    )
    np.testing.assert_allclose(
        made.rotation, linalg.orthogonal_procrustes(normalized(x), normalized(y))[0], atol=1e-5
    )
