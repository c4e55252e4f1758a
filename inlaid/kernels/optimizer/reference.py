"""Adam for the rows of a table that have a gradient, in plain NumPy: the specification."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class AdamSettings(NamedTuple):
    """The settings of `RowAdam`."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    clip: float | None = None


class AdamState(NamedTuple):
    """What Adam keeps for each row."""

    means: np.ndarray
    """(row, dim): moving averages of the gradients."""
    squares: np.ndarray
    """(row, dim): moving averages of their squares."""
    steps: np.ndarray
    """(row,): steps in which the row had a gradient."""


def adam_step(
    table: np.ndarray, state: AdamState, ids: np.ndarray, gradients: np.ndarray, settings: AdamSettings
) -> None:
    """One step of the rows `ids`, in place. The gradients (place, dim) of a row that occurs several times
    are summed; rows without a gradient do not move, nor does their state."""
    rows, sums = summed(ids, gradients)
    sums *= clip_scale(sums, settings.clip)
    for row, gradient in zip(rows.tolist(), sums, strict=True):
        state.steps[row] += 1
        state.means[row] = settings.beta1 * state.means[row] + (1 - settings.beta1) * gradient
        state.squares[row] = settings.beta2 * state.squares[row] + (1 - settings.beta2) * gradient**2
        mean = state.means[row] / (1 - settings.beta1 ** state.steps[row])  # bias correction, by row
        square = state.squares[row] / (1 - settings.beta2 ** state.steps[row])
        table[row] *= 1 - settings.learning_rate * settings.weight_decay
        table[row] -= settings.learning_rate * mean / (np.sqrt(square) + settings.eps)


def summed(ids: np.ndarray, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that occur, once each, and the sums of their gradients (row, dim)."""
    rows, places = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(rows), gradients.shape[1]))
    np.add.at(sums, places, gradients)
    return rows, sums


def clip_scale(sums: np.ndarray, clip: float | None) -> float:
    """The factor of all gradients that brings their joint norm down to `clip`."""
    if clip is None:
        return 1.0
    return min(1.0, clip / (float(np.linalg.norm(sums)) + 1e-6))
