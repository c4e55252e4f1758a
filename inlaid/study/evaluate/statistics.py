"""Correlation, accuracy and AUC; bootstrap intervals, a paired test, intervals over seeds.

A statistic takes items (item, column) and weights (draw, item) and returns one number for each draw, NaN
where it is undefined. A bootstrap draw is only a vector of weights, how often each item was drawn, so items
are sorted once and not for every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]
DRAWS = 1000
HELD = 1 << 21
"""Weights in memory at a time."""
TINY = 1e-12
"""A variance below this share of the squared values is rounding error."""
NORMAL = 1.959964
"""The 97.5 % point of the normal distribution."""
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
"""The 97.5 % point of Student's t for 1 to 10 degrees of freedom."""


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval; NaN where there is none."""

    low: float
    high: float


NONE = Interval(np.nan, np.nan)


@dataclass(frozen=True)
class Paired:
    """The difference of a statistic between two models on the same items."""

    difference: float
    interval: Interval
    p: float
    """Two-sided: twice the share of draws with a difference of the other sign, or of zero."""


# --- statistics


def mean(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean of the first column."""
    return weights @ items[:, 0] / weights.sum(axis=1)


def macro(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The macro average: the mean over sections (second column) of the mean of the first column."""
    return np.mean([mean(items[held], weights[:, held]) for held in _members(items[:, 1])], axis=0)


def pearson(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pearson's correlation of the two columns."""
    return _correlation(items[None, :, 0], items[None, :, 1], weights)


def spearman(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Spearman's correlation: Pearson's of the ranks; equal values share their mean rank."""
    return _correlation(ranks(items[:, 0], weights), ranks(items[:, 1], weights), weights)


def area(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """AUC: how often an item labelled 1 (first column) scores higher (second) than one labelled 0; ties count
    half."""
    right = weights * items[:, 0]
    wrong = weights * (1 - items[:, 0])
    with np.errstate(invalid="ignore"):
        return (right * ranks(items[:, 1], wrong)).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1))


def ranks(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each draw and item: the weight of all lower values, and half that of its equals."""
    distinct, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    sorted_weights = weights[:, order]
    if len(distinct) < len(values):
        sorted_weights = np.add.reduceat(
            sorted_weights, np.searchsorted(place[order], np.arange(len(distinct))), axis=1
        )
    return (np.cumsum(sorted_weights, axis=1) - sorted_weights / 2)[:, place]


def _correlation(one: np.ndarray, two: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=1, keepdims=True)
    centered = [each - (weights * each).sum(axis=1, keepdims=True) / total for each in (one, two)]
    variances = [(weights * each**2).sum(axis=1) for each in centered]
    smallest = [TINY * (weights * each**2).sum(axis=1) for each in (one, two)]
    constant = (variances[0] <= smallest[0]) | (variances[1] <= smallest[1])
    covariance = (weights * centered[0] * centered[1]).sum(axis=1)
    scale = np.sqrt(np.where(constant, 1, variances[0] * variances[1]))
    return np.where(constant, np.nan, covariance / scale)


# --- intervals and tests


@dataclass(frozen=True, eq=False)
class Distinct:
    """Items without repeats, sorted by stratum and value: the order of a file must not change the draws."""

    rows: np.ndarray
    strata: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, items: np.ndarray, strata: np.ndarray | None) -> Distinct:
        labels = np.zeros(len(items)) if strata is None else strata
        rows, counts = np.unique(np.column_stack([labels, items]), axis=0, return_counts=True)
        return cls(rows[:, 1:], rows[:, 0], counts)


def value_of(items: np.ndarray, statistic: Statistic) -> float:
    """The statistic of the items themselves; NaN for none."""
    return float(statistic(items, np.ones((1, len(items))))[0]) if len(items) else np.nan


def interval(
    items: np.ndarray, statistic: Statistic, *, seed: int, strata: np.ndarray | None = None
) -> Interval:
    """Of a proportion in one stratum by Wilson's method, otherwise by the bootstrap: items are drawn with
    replacement, within each stratum."""
    if len(items) < 2:
        return NONE
    one_stratum = strata is None or len(np.unique(strata)) == 1
    if statistic is mean and one_stratum and np.isin(items[:, 0], (0, 1)).all():
        return wilson(int(items[:, 0].sum()), len(items))
    held = Distinct.of(items, strata)
    return _middle(np.concatenate([statistic(held.rows, weights) for weights in resamples(held, seed)]))


def wilson(right: int, total: int) -> Interval:
    """The 95 % interval of a proportion (Wilson 1927). It stays between 0 and 1, and unlike the bootstrap it
    has a width where all items are right, or none.

    >>> round(wilson(10, 10).low, 3), round(wilson(10, 10).high, 3)
    (0.722, 1.0)
    """
    z = NORMAL
    share = right / total
    center = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z * np.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    # Where all items are right, or none, the interval ends at the share, but for rounding.
    low = min(max(center - half, 0.0), share)
    high = max(min(center + half, 1.0), share)
    return Interval(float(low), float(high))


def paired(
    one: np.ndarray, two: np.ndarray, statistic: Statistic, *, seed: int, strata: np.ndarray | None = None
) -> Paired:
    """The statistic of `one` minus that of `two`, by the paired bootstrap: every draw takes the same items of
    both."""
    difference = value_of(one, statistic) - value_of(two, statistic)
    if len(one) < 2 or np.isnan(difference):
        return Paired(difference, NONE, np.nan)
    width = one.shape[1]
    held = Distinct.of(np.hstack([one, two]), strata)
    drawn = np.concatenate(
        [
            statistic(held.rows[:, :width], weights) - statistic(held.rows[:, width:], weights)
            for weights in resamples(held, seed)
        ]
    )
    drawn = drawn[~np.isnan(drawn)]
    rarer = min((drawn <= 0).sum(), (drawn >= 0).sum())
    return Paired(difference, _middle(drawn), float(min(1.0, 2 * (rarer + 1) / (len(drawn) + 1))))


def resamples(held: Distinct, seed: int) -> Iterator[np.ndarray]:
    """Weights (draw, row), some draws at a time; each stratum is drawn as often as it has items."""
    random = np.random.Generator(np.random.Philox(seed))
    strata = _members(held.strata)
    step = max(1, HELD // len(held.rows))
    for start in range(0, DRAWS, step):
        draws = min(step, DRAWS - start)
        weights = np.empty((draws, len(held.rows)))
        for rows in strata:
            weights[:, rows] = _drawn(held.counts[rows], draws, random)
        yield weights


def _drawn(counts: np.ndarray, draws: int, random: np.random.Generator) -> np.ndarray:
    """How often each row is drawn, with as many draws as there are items."""
    total = int(counts.sum())
    if 4 * len(counts) < total:  # few distinct rows, such as right and wrong: their numbers at once
        return random.multinomial(total, counts / total, size=draws)
    rows = np.repeat(np.arange(len(counts)), counts)
    chosen = rows[random.integers(0, total, (draws, total))] + np.arange(draws)[:, None] * len(counts)
    return np.bincount(chosen.ravel(), minlength=draws * len(counts)).reshape(draws, len(counts))


def student(values: Sequence[float], lowest: float = -np.inf, highest: float = np.inf) -> Interval:
    """The 95 % interval of the mean of a few runs, by Student's t, within what the value can be; none for a
    single run."""
    freedom = len(values) - 1
    if freedom < 1:
        return NONE
    half = student_point(freedom) * float(np.std(values, ddof=1)) / np.sqrt(len(values))
    center = float(np.mean(values))
    return Interval(max(center - half, lowest), min(center + half, highest))


def student_point(freedom: int) -> float:
    """The 97.5 % point of Student's t; beyond the table, by its expansion around the normal, to four
    digits."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z = NORMAL
    parts = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(part / freedom**order for order, part in enumerate(parts))


def _members(numbers: np.ndarray) -> list[np.ndarray]:
    """The places of each number, lowest number first."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.flatnonzero(np.diff(numbers[order])) + 1
    return np.split(order, bounds)


def _middle(drawn: np.ndarray) -> Interval:
    """The 2.5 % and 97.5 % quantiles; no interval where the statistic is undefined for most draws."""
    defined = drawn[~np.isnan(drawn)]
    if 2 * len(defined) <= len(drawn):
        return NONE
    low, high = np.quantile(defined, [0.025, 0.975])
    return Interval(float(low), float(high))
