"""What the kernels of fastText mean, in plain NumPy: the specification.

Words are bags of rows; what a mean of rows should learn is as in `reference_sgns`. All of it is added to each
row.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.sgns.reference import (
    Sampling,
    Stream,
    cbow_meetings,
    learn,
    skipgram_meetings,
    tiles,
)

Bags = list[np.ndarray]
"""For each word the rows it is the mean of."""


def skipgram(
    stream: Stream, tables: list[np.ndarray], bags: Bags, sampling: Sampling, rates: tuple[float, float]
) -> None:
    """Pass over the stream; the tables (rows, contexts) change in place after each group."""
    table, contexts = tables
    for groups, negatives, rate in tiles(stream, sampling, rates):
        for group in groups:
            means = np.array([table[bags[word]].mean(axis=0) for word in stream.words[group]])
            others, labels, weights = skipgram_meetings(
                stream, group, negatives, sampling.negatives / sampling.shared
            )
            old = means.copy()
            learn([means, contexts], np.arange(len(group)), others, labels, rate * weights)
            for word, change in zip(stream.words[group], means - old, strict=True):
                np.add.at(table, bags[word], change)


def cbow(
    stream: Stream,
    tables: list[np.ndarray],
    bags: Bags,
    sampling: Sampling,
    rates: tuple[float, float],
    window: int,
    places: np.ndarray | None = None,
) -> None:
    """As `skipgram`, but the mean of all rows of all contexts of a center guesses it.

    A word of the stream becomes the mean of its rows when the first group whose windows may reach it is met;
    what that mean has learned is added to the rows after the last such group. `places` (2 window + 1, dim)
    weigh each place of the window, number by number, and learn too; the place in the middle, the center's
    own, is not used.
    """
    table, contexts = tables
    means: dict[int, np.ndarray] = {}
    olds: dict[int, np.ndarray] = {}
    for groups, negatives, rate in tiles(stream, sampling, rates):
        for group in groups:
            for n in range(max(group.start - window, 0), min(group.stop + window, len(stream.words))):
                if n not in means:
                    means[n] = table[bags[stream.words[n]]].mean(axis=0)
                    olds[n] = means[n].copy()
            others, labels, weights = cbow_meetings(
                stream, group, negatives, sampling.negatives / sampling.shared
            )
            hidden = np.array([_hidden(stream, center, means, bags, places) for center in group])
            moved = hidden.copy()
            learn([moved, contexts], np.arange(len(group)), others, labels, rate * weights)
            for center, change in zip(group, moved - hidden, strict=True):
                _give_back(stream, center, means, bags, places, change)
            for n in [n for n in means if n < group.stop - window or group.stop == len(stream.words)]:
                np.add.at(table, bags[stream.words[n]], means.pop(n) - olds.pop(n))


def _hidden(
    stream: Stream, center: int, means: dict[int, np.ndarray], bags: Bags, places: np.ndarray | None
) -> np.ndarray:
    around = stream.contexts(center)
    if not around:
        return np.zeros_like(means[center])
    weighed = [
        means[n] if places is None else means[n] * places[n - center + len(places) // 2] for n in around
    ]
    return np.average(weighed, axis=0, weights=[len(bags[stream.words[n]]) for n in around])


def _give_back(
    stream: Stream,
    center: int,
    means: dict[int, np.ndarray],
    bags: Bags,
    places: np.ndarray | None,
    move: np.ndarray,
) -> None:
    """All of what should move goes to each context, as in fastText; to a place what its share of the mean
    calls for."""
    around = stream.contexts(center)
    rows = sum(len(bags[stream.words[n]]) for n in around)
    for n in around:
        if places is None:
            means[n] += move
        else:
            place = n - center + len(places) // 2
            old = means[n].copy()
            means[n] += places[place] * move
            places[place] += len(bags[stream.words[n]]) / rows * old * move
