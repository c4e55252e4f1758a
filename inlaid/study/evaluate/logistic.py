"""Multinomial logistic regression in plain NumPy: what a straight cut through a space can tell apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TURNS = 300
MEMORY = 10
"""Steps that L-BFGS remembers."""
CLOSE = 1e-5
"""The gradient, relative to its start, at which the answer is taken as found."""


def classify(
    train: np.ndarray, labels: np.ndarray, test: np.ndarray, *, classes: int, penalty: float = 1.0
) -> np.ndarray:
    """The likeliest class of each row of `test` after fitting to `train`, both (text, dim) with labels from
    0.

    The sum of log losses plus `penalty` / 2 times the squared weights (the bias is free), to its minimum by
    L-BFGS. Features are centered and brought to one common scale, so that neither the scale of a space nor
    its rotation matters.
    """
    center = train.mean(axis=0)
    scale = np.sqrt(np.mean((train - center) ** 2)) or 1.0
    features = np.hstack([(train - center) / scale, np.ones((len(train), 1))])
    wanted = np.eye(classes)[labels]
    free = np.full((features.shape[1], 1), penalty / len(train))
    free[-1] = 0

    def slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(-1, classes)
        scores = features @ weights
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        loss = -(wanted * logs).sum() / len(train) + (free * weights**2).sum() / 2
        return float(loss), (features.T @ (np.exp(logs) - wanted) / len(train) + free * weights).ravel()

    weights = minimum(slope, np.zeros(features.shape[1] * classes)).reshape(-1, classes)
    return ((test - center) / scale @ weights[:-1] + weights[-1]).argmax(axis=1)


def minimum(slope: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray) -> np.ndarray:
    """Where a smooth convex function is least; `slope` gives its value and gradient. L-BFGS, Nocedal and
    Wright, chapter 7."""
    at = start
    (value, gradient) = slope(start)
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    enough = CLOSE * float(np.linalg.norm(gradient))
    for _ in range(TURNS):
        if np.linalg.norm(gradient) <= enough:
            break
        direction = -_curved(gradient, steps)
        length = 1.0
        slant = float(gradient @ direction)
        while True:
            new_value, new_gradient = slope(at + length * direction)
            if new_value <= value + 1e-4 * length * slant:
                break
            length /= 2
            if length < 1e-10:
                return at  # nothing lower within what the numbers can tell
        step = length * direction
        change = new_gradient - gradient
        if step @ change > 0:
            steps = [*steps, (step, change)][-MEMORY:]
        at = at + step
        value = new_value
        gradient = new_gradient
    return at


def _curved(gradient: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The gradient times what the last steps tell of the inverse Hessian."""
    done = gradient.copy()
    shares: list[float] = []
    for step, change in reversed(steps):
        shares.append(float(step @ done) / float(step @ change))
        done -= shares[-1] * change
    if steps:
        step, change = steps[-1]
        done *= float(step @ change) / float(change @ change)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        done += step * (share - float(change @ done) / float(step @ change))
    return done
