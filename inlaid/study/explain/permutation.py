"""Permutation test of two word lists: how often permuted labels give as large a leave-one-out margin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from inlaid.study.explain.word_lists import ROUNDING, WordLists


def permutation_test(lists: WordLists, margin: float, *, draws: int, seed: int) -> tuple[float, float]:
    """The p-value, exact where there are at most `draws` permutations; and the smallest p-value possible with
    so few words."""
    members = len(lists.labels)
    permutations = 2**members if lists.paired else math.comb(members, lists.sizes[0])
    if permutations > draws:
        return _sampled(lists, margin, draws=draws, seed=seed), 1 / (draws + 1)
    labels = np.array(list(_all_labels(lists)))
    step = lists.draws_held
    margins = np.concatenate(
        [
            lists.leave_one_out_margins(labels[start : start + step]).mean(axis=1)
            for start in range(0, permutations, step)
        ]
    )
    # With lists of one size, exchanging them gives the same margin.
    symmetric = lists.paired or lists.sizes[0] == lists.sizes[1]
    smallest = (2 if symmetric else 1) / permutations
    return float((margins >= margin - ROUNDING).mean()), smallest


def _sampled(lists: WordLists, margin: float, *, draws: int, seed: int) -> float:
    random = np.random.Generator(np.random.Philox(seed))
    members = len(lists.labels)
    reached = 0
    for start in range(0, draws, lists.draws_held):
        count = min(lists.draws_held, draws - start)
        if lists.paired:
            labels = random.choice([-1.0, 1.0], (count, members))
        else:
            labels = random.permuted(np.tile(lists.labels, (count, 1)), axis=1)
        margins = lists.leave_one_out_margins(labels).mean(axis=1)
        reached += int((margins >= margin - ROUNDING).sum())
    return (reached + 1) / (draws + 1)


def _all_labels(lists: WordLists) -> Iterator[np.ndarray]:
    members = len(lists.labels)
    if lists.paired:
        yield from (np.array(each) for each in itertools.product((-1.0, 1.0), repeat=members))
        return
    for chosen in itertools.combinations(range(members), lists.sizes[0]):
        labels = np.ones(members)
        labels[list(chosen)] = -1
        yield labels
