"""Statistics, intervals and tests on numbers whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.evaluate import statistics
from inlaid.study.evaluate.statistics import (
    area,
    interval,
    macro,
    mean,
    paired,
    pearson,
    ranks,
    spearman,
    student,
    value_of,
    wilson,
)


def columns(*values: list[float]) -> np.ndarray:
    return np.array(values, float).T


def test_ranks_count_what_is_lower_and_half_of_what_is_equal():
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0]), np.ones((1, 4))).tolist() == [[3.0, 0.5, 3.0, 1.5]]
    assert ranks(np.array([3.0, 1.0]), np.array([[2.0, 5.0]])).tolist() == [[6.0, 2.5]]


def test_a_weight_of_two_is_an_item_twice():
    random = np.random.default_rng(1)
    items = random.integers(0, 5, (20, 2)).astype(float)
    items[:, 0] = items[:, 0] > 2
    counts = random.integers(0, 3, 20)
    for statistic in (mean, macro, pearson, spearman, area):
        weighted = statistic(items, counts[None].astype(float))
        assert weighted[0] == pytest.approx(
            value_of(np.repeat(items, counts, axis=0), statistic), nan_ok=True
        )


def test_correlations_of_known_pairs():
    assert value_of(columns([1, 2, 3, 4], [1, 8, 27, 64]), spearman) == pytest.approx(1)
    assert value_of(columns([1, 2, 3], [3, 2, 1]), pearson) == pytest.approx(-1)
    assert value_of(columns([1, 2, 3, 4], [1, 2, 4, 3]), spearman) == pytest.approx(0.8)


@pytest.mark.parametrize("statistic", [pearson, spearman])
@pytest.mark.parametrize(
    "items", [columns([1], [2]), columns([1, 2, 3], [0.1, 0.1, 0.1]), columns([0.1, 0.1], [1, 2])]
)
def test_a_correlation_without_spread_is_not_defined(statistic: statistics.Statistic, items: np.ndarray):
    assert np.isnan(value_of(items, statistic))
    assert np.isnan(interval(items, statistic, seed=1).low)


def test_the_area_is_the_share_of_pairs_in_order():
    assert value_of(columns([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1]), area) == 0.75
    assert value_of(columns([1, 0], [0.5, 0.5]), area) == 0.5
    assert np.isnan(value_of(columns([1, 1], [0.5, 0.6]), area))


def test_every_section_counts_the_same_in_the_macro_mean():
    assert value_of(columns([1, 1, 1, 0], [0, 0, 0, 1]), macro) == 0.5


def test_nothing_and_one_item_have_no_interval():
    assert np.isnan(value_of(np.empty((0, 1)), mean))
    assert np.isnan(interval(np.ones((1, 1)), mean, seed=1).high)


def test_the_interval_of_a_share_is_that_of_the_binomial():
    found = interval(np.repeat([[1.0], [0.0]], [300, 700], axis=0), mean, seed=1)
    half = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert (found.low, found.high) == pytest.approx((0.3 - half, 0.3 + half), abs=0.004)


def test_an_interval_holds_the_truth_nineteen_times_in_twenty():
    random = np.random.default_rng(1)
    truth = 0.5  # of Pearson's correlation
    held = 0
    for turn in range(200):
        pairs = random.multivariate_normal([0, 0], [[1, truth], [truth, 1]], size=100)
        found = interval(pairs, pearson, seed=turn)
        held += found.low <= truth <= found.high
    assert 0.89 < held / 200 < 0.98


def resampled(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean as any other statistic: its interval is by the bootstrap."""
    return mean(items, weights)


def test_few_and_many_distinct_rows_are_drawn_alike():
    """Numbers of right and wrong drawn at once have the spread of items drawn one by one."""
    items = np.repeat([[1.0], [0.0]], [40, 60], axis=0)
    apart = np.column_stack([items, np.arange(100)])  # a second column makes every row distinct
    one = interval(items, resampled, seed=1)
    two = interval(apart, resampled, seed=1)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=0.02)


def test_the_interval_of_a_rate_stays_between_0_and_1_and_has_a_width():
    """Wilson's, from the formula with 10 of 10: 10 / (10 + 1.96^2)."""
    assert 1 - 1e-12 < wilson(10, 10).high <= 1
    assert wilson(10, 10).low == pytest.approx(10 / (10 + 1.959964**2))
    assert 0 <= wilson(0, 10).low < 1e-12
    assert wilson(0, 10).high == pytest.approx(1 - wilson(10, 10).low)
    assert wilson(5, 10).low == pytest.approx(1 - wilson(5, 10).high)
    assert interval(np.ones((10, 1)), mean, seed=1) == wilson(10, 10)
    assert student([1.0, 0.9, 1.0], 0.0, 1.0).high == 1
    assert student([1.0, 0.9, 1.0]).high > 1


def test_strata_keep_their_sizes():
    items = columns([1] * 5 + [0] * 5)
    strata = np.repeat([0, 1], 5)
    found = interval(items, mean, seed=1, strata=strata)
    assert (found.low, found.high) == (0.5, 0.5)  # each half is drawn from itself, so nothing can vary
    assert interval(items, mean, seed=1).low < 0.5


def test_the_order_of_items_changes_nothing():
    random = np.random.default_rng(1)
    items = random.standard_normal((50, 2))
    strata = random.integers(0, 3, 50)
    order = random.permutation(50)
    assert interval(items, spearman, seed=1, strata=strata) == interval(
        items[order], spearman, seed=1, strata=strata[order]
    )


def test_equal_models_do_not_differ():
    items = np.random.default_rng(1).standard_normal((50, 2))
    found = paired(items, items, spearman, seed=1)
    assert (found.difference, found.interval.low, found.interval.high, found.p) == (0, 0, 0, 1)


def test_a_model_that_is_right_more_often_is_found():
    random = np.random.default_rng(1)
    good = (random.random((500, 1)) < 0.7).astype(float)
    bad = (random.random((500, 1)) < 0.5).astype(float)
    found = paired(good, bad, mean, seed=1)
    assert found.p < 0.01
    assert 0 < found.interval.low < found.difference < found.interval.high
    assert paired(bad, good, mean, seed=1).difference == -found.difference


def test_models_of_equal_merit_seldom_differ():
    random = np.random.default_rng(1)
    found = [
        paired(*(random.random((2, 100, 1)) < 0.5).astype(float), mean, seed=turn).p for turn in range(200)
    ]
    assert np.mean(np.array(found) < 0.05) < 0.1


def test_a_few_runs_have_a_wide_interval_and_one_run_none():
    found = student([1.0, 2.0, 3.0])
    assert (found.low, found.high) == pytest.approx((2 - 4.3027 / np.sqrt(3), 2 + 4.3027 / np.sqrt(3)))
    assert np.isnan(student([1.0]).low)
