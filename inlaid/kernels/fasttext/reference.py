"""fastText in plain NumPy: the specification of its kernels.

A word is the mean of a bag of rows. The mean is trained as a word is in `sgns/reference.py`, and what it
changes by is added to each of its rows.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.sgns.reference import (
    Sampling,
    Schedule,
    Stream,
    Tables,
    cbow_pairs,
    gradient_step,
    skipgram_pairs,
    tiles,
)

Bags = list[np.ndarray]
"""For each word the rows it is the mean of."""


def skipgram(stream: Stream, tables: Tables, bags: Bags, sampling: Sampling, schedule: Schedule) -> None:
    """Train on the stream; the tables change in place after each group. `tables.vectors` holds the rows of
    all bags."""
    table, contexts = tables
    for tile in tiles(stream, sampling, schedule):
        for group in tile.groups:
            words = stream.words[group]
            means = np.array([table[bags[word]].mean(axis=0) for word in words])
            initial = means.copy()
            pairs = skipgram_pairs(stream, group, tile.negatives, sampling.negative_weight)
            gradient_step(Tables(means, contexts), np.arange(len(group)), pairs, tile.learning_rate)
            for word, change in zip(words, means - initial, strict=True):
                np.add.at(table, bags[word], change)


def cbow(
    stream: Stream,
    tables: Tables,
    bags: Bags,
    sampling: Sampling,
    schedule: Schedule,
    window: int,
    position_weights: np.ndarray | None = None,
) -> None:
    """As `skipgram`, but the mean of all rows of all contexts of a center predicts it.

    A word of the stream becomes the mean of its rows before the first group whose windows may reach it; what
    the mean has changed by is added to the rows after the last such group. `position_weights` (2 window + 1,
    dim) weight each position of the window, component by component, and are trained too; the one in the
    middle, the center's own, is not used.
    """
    table, contexts = tables
    means: dict[int, np.ndarray] = {}
    initial: dict[int, np.ndarray] = {}
    for tile in tiles(stream, sampling, schedule):
        for group in tile.groups:
            for n in range(max(group.start - window, 0), min(group.stop + window, len(stream.words))):
                if n not in means:
                    means[n] = table[bags[stream.words[n]]].mean(axis=0)
                    initial[n] = means[n].copy()
            pairs = cbow_pairs(stream, group, tile.negatives, sampling.negative_weight)
            hidden = np.array([hidden_of(stream, center, means, bags, position_weights) for center in group])
            updated = hidden.copy()
            gradient_step(Tables(updated, contexts), np.arange(len(group)), pairs, tile.learning_rate)
            for center, change in zip(group, updated - hidden, strict=True):
                _update_contexts(stream, center, means, bags, position_weights, change)
            for n in [n for n in means if n < group.stop - window or group.stop == len(stream.words)]:
                np.add.at(table, bags[stream.words[n]], means.pop(n) - initial.pop(n))


def hidden_of(
    stream: Stream,
    center: int,
    means: dict[int, np.ndarray],
    bags: Bags,
    position_weights: np.ndarray | None,
) -> np.ndarray:
    """The mean of all rows of all contexts of a center, each times the weight of its position."""
    around = stream.contexts(center)
    if not around:
        return np.zeros_like(means[center])
    if position_weights is None:
        weighted = [means[n] for n in around]
    else:
        middle = len(position_weights) // 2
        weighted = [means[n] * position_weights[n - center + middle] for n in around]
    return np.average(weighted, axis=0, weights=[len(bags[stream.words[n]]) for n in around])


def _update_contexts(
    stream: Stream,
    center: int,
    means: dict[int, np.ndarray],
    bags: Bags,
    position_weights: np.ndarray | None,
    change: np.ndarray,
) -> None:
    """Each context changes by all of the change, as in fastText; the weight of a position by its gradient."""
    around = stream.contexts(center)
    rows = sum(len(bags[stream.words[n]]) for n in around)
    for n in around:
        if position_weights is None:
            means[n] += change
        else:
            position = n - center + len(position_weights) // 2
            share = len(bags[stream.words[n]]) / rows
            old = means[n].copy()
            means[n] += position_weights[position] * change
            position_weights[position] += share * old * change
