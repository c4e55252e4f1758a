"""How far words moved between two spaces, and how likely chance alone moves them as far.

Both spaces are normalized, the second is mapped onto the first by orthogonal Procrustes over the common
words, and a word has moved by 1 minus the cosine of its two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from inlaid.errors import SettingError
from inlaid.study.compare.procrustes import procrustes

TAIL = 0.05
"""Largest share of the null distribution, from which an exponential tail is fitted and extrapolated."""
ROUNDING = 2e-3
"""Smaller angles are rounding error: float32 cosines near 1 do not resolve them."""
TRIMMED = 0.1
"""Share of the words, those that moved furthest, that the final Procrustes leaves out."""


def distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(word,): 1 minus the cosine after mapping `second` onto `first`; the narrower table is padded with
    zeros.

    Procrustes is solved twice: the second time without the tenth of the words that moved furthest, so that
    these do not influence the mapping.
    """
    dim = max(first.shape[1], second.shape[1])
    a = np.pad(first, ((0, 0), (0, dim - first.shape[1])))
    b = np.pad(second, ((0, 0), (0, dim - second.shape[1])))
    moved = 1 - np.einsum("wd,wd->w", a, b @ procrustes(b, a), dtype=np.float64)
    near = moved <= np.quantile(moved, 1 - TRIMMED)
    return 1 - np.einsum("wd,wd->w", a, b @ procrustes(b[near], a[near]), dtype=np.float64)


def p_values(runs: Sequence[np.ndarray], second: np.ndarray) -> np.ndarray:
    """(word,): the probability that chance alone moves a word as far as `second` has it.

    The statistic of a space among several: its mean angle with the others, minus the mean angle among the
    others. The statistic of `second` among the runs is compared with its null distribution: that of every run
    among the remaining runs, over all words. Beyond the largest values the null is extrapolated by an
    exponential tail, so that a few runs can show a rare event.
    """
    between = {(a, b): _angles(runs[a], runs[b]) for a, b in combinations(range(len(runs)), 2)}
    if max(each.max() for each in between.values()) < ROUNDING:
        raise SettingError(
            "The runs are all the same space, so they show no variation between runs. "
            "Train them with other seeds or on other samples of text."
        )
    to_second = np.mean([_angles(run, second) for run in runs], axis=0)
    statistic = to_second - np.mean(list(between.values()), axis=0)
    null = np.sort(np.concatenate([_statistic_of(run, between) for run in range(len(runs))]))
    tail_start = np.quantile(null, 1 - TAIL)
    decay = max(float((null[null >= tail_start] - tail_start).mean()), 1e-9)
    empirical = (len(null) - np.searchsorted(null, statistic) + 1) / (len(null) + 1)
    return np.where(statistic > tail_start, TAIL * np.exp(-(statistic - tail_start) / decay), empirical)


def _statistic_of(run: int, between: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """(word,): the statistic of one run among the others."""
    to_others = np.mean([angles for pair, angles in between.items() if run in pair], axis=0)
    among_others = np.mean([angles for pair, angles in between.items() if run not in pair], axis=0)
    return to_others - among_others


def _angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distances as angles: their variance over runs differs less between stable and unstable words."""
    return np.arccos(np.clip(1 - distances(first, second), -1, 1))
