"""Statistics and logistic regression beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.evaluate.logistic import minimize
from inlaid.study.evaluate.statistics import area, pearson, spearman, student_point, value_of

stats = pytest.importorskip("scipy.stats", reason="SciPy comes with the extra `peers`")
optimize = pytest.importorskip("scipy.optimize", reason="SciPy comes with the extra `peers`")


@pytest.mark.parametrize("ties", [False, True])
def test_correlations(ties: bool):
    random = np.random.default_rng(1)
    items = random.integers(0, 6, (80, 2)).astype(float) if ties else random.standard_normal((80, 2))
    assert value_of(items, spearman) == pytest.approx(stats.spearmanr(*items.T)[0])
    assert value_of(items, pearson) == pytest.approx(stats.pearsonr(*items.T)[0])
    items[:, 0] = items[:, 0] > np.median(items[:, 0])
    right = items[items[:, 0] == 1, 1]
    wrong = items[items[:, 0] == 0, 1]
    assert value_of(items, area) == pytest.approx(
        stats.mannwhitneyu(right, wrong)[0] / len(right) / len(wrong)
    )


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 11, 30, 1000])
def test_points_of_student(freedom: int):
    assert student_point(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=2e-4)


def test_the_minimum():
    start = np.zeros(6)
    ours = minimize(lambda at: (float(optimize.rosen(at / 10)), optimize.rosen_der(at / 10) / 10), start)
    assert optimize.rosen(ours / 10) < 0.05
    random = np.random.default_rng(1)
    points = random.standard_normal((200, 6))
    signs = random.choice([-1.0, 1.0], 200)

    def slope(at: np.ndarray) -> tuple[float, np.ndarray]:
        scores = signs * (points @ at)
        return float(np.log1p(np.exp(-scores)).sum() + at @ at / 2), at - points.T @ (
            signs / (1 + np.exp(scores))
        )

    theirs = optimize.minimize(slope, start, jac=True, tol=1e-10).x
    np.testing.assert_allclose(minimize(slope, start), theirs, atol=1e-3)
