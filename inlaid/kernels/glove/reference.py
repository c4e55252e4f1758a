"""GloVe's loss, weights and AdaGrad step in plain NumPy: the specification."""

from __future__ import annotations

import numpy as np


def glove_step(
    word: np.ndarray, context: np.ndarray, target: float, weight: float, learning_rate: float
) -> float:
    """One AdaGrad step on one cell, in place; the weighted squared error before it.

    A row is (2, dim + 1): the vector with its bias last, and under it the sums of the squared steps so far,
    which begin at 1. The square of learning_rate * gradient is what is summed, as in the original program.
    """
    error = word[0, :-1] @ context[0, :-1] + word[0, -1] + context[0, -1] - target
    word_step = learning_rate * weight * error * np.append(context[0, :-1], 1)
    context_step = learning_rate * weight * error * np.append(word[0, :-1], 1)
    for row, step in ((word, word_step), (context, context_step)):
        row[0] -= step / np.sqrt(row[1])
        row[1] += step**2
    return float(weight * error**2)


def glove_weight(count: float, x_max: float, alpha: float) -> float:
    """The weight of a cell in the loss: rare counts are noise, and frequent words should not dominate."""
    return min(1.0, (count / x_max) ** alpha)


def shuffled(size: int, seed: int) -> list[int]:
    """0 to size - 1 in random order: Fisher and Yates, with the numbers of SplitMix64."""
    order = list(range(size))
    mask = (1 << 64) - 1
    for n in range(size - 1, 0, -1):
        z = (seed + (n + 1) * 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        other = (z ^ z >> 31) % (n + 1)
        order[n], order[other] = order[other], order[n]
    return order
