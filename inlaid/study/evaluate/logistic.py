"""Multinomial logistic regression in plain NumPy: which classes a space separates linearly."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MAX_ITERATIONS = 300
MEMORY = 10
"""Past steps that L-BFGS keeps."""
TOLERANCE = 1e-5
"""Norm of the gradient, relative to its start, at which the search stops."""
SMALLEST_STEP = 1e-10
"""Below this step length the line search gives up: the values no longer differ within their precision."""


class Linear(NamedTuple):
    """A linear layer: the score of class k is weights[k] . row + bias[k]."""

    weights: np.ndarray
    bias: np.ndarray


def classify(
    train: np.ndarray, labels: np.ndarray, test: np.ndarray, *, classes: int, penalty: float = 1.0
) -> np.ndarray:
    """The likeliest class of each row of `test` after fitting to `train`, both (text, dim); labels from 0."""
    fitted = fit(train, labels, classes=classes, penalty=penalty)
    return (test @ fitted.weights.T + fitted.bias).argmax(axis=1)


def fit(train: np.ndarray, labels: np.ndarray, *, classes: int, penalty: float = 1.0) -> Linear:
    """The layer that fits rows (text, dim) to labels from 0.

    Minimizes the sum of log losses plus `penalty` / 2 times the squared weights (the bias is not penalized)
    by L-BFGS. Features are centered and divided by one common scale, so that neither the scale of a space nor
    its rotation matters.
    """
    center = train.mean(axis=0)
    scale = np.sqrt(np.mean((train - center) ** 2)) or 1.0
    features = np.hstack([(train - center) / scale, np.ones((len(train), 1))])
    targets = np.eye(classes)[labels]
    penalties = np.full((features.shape[1], 1), penalty / len(train))
    penalties[-1] = 0

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(-1, classes)
        scores = features @ weights
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        loss = -(targets * logs).sum() / len(train) + (penalties * weights**2).sum() / 2
        gradient = features.T @ (np.exp(logs) - targets) / len(train) + penalties * weights
        return float(loss), gradient.ravel()

    weights = minimize(loss_and_gradient, np.zeros(features.shape[1] * classes)).reshape(-1, classes)
    return Linear((weights[:-1] / scale).T, weights[-1] - center / scale @ weights[:-1])


def minimize(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    iterations: int = MAX_ITERATIONS,
) -> np.ndarray:
    """Where a smooth function is least: everywhere if it is convex, near the start if it is not. L-BFGS with
    backtracking; Nocedal and Wright, chapter 7."""
    at = start
    value, gradient = value_and_gradient(start)
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    enough = TOLERANCE * float(np.linalg.norm(gradient))
    for _ in range(iterations):
        if np.linalg.norm(gradient) <= enough:
            break
        direction = -_times_inverse_hessian(gradient, steps)
        length = 1.0
        directional_derivative = float(gradient @ direction)
        while True:
            new_value, new_gradient = value_and_gradient(at + length * direction)
            if new_value <= value + 1e-4 * length * directional_derivative:  # Armijo's condition
                break
            length /= 2
            if length < SMALLEST_STEP:
                return at
        step = length * direction
        change = new_gradient - gradient
        if step @ change > 0:
            steps = [*steps, (step, change)][-MEMORY:]
        at = at + step
        value = new_value
        gradient = new_gradient
    return at


def _times_inverse_hessian(gradient: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The two-loop recursion: the gradient times the inverse Hessian that the last steps estimate."""
    product = gradient.copy()
    shares: list[float] = []
    for step, change in reversed(steps):
        shares.append(float(step @ product) / float(step @ change))
        product -= shares[-1] * change
    if steps:
        step, change = steps[-1]
        product *= float(step @ change) / float(change @ change)
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        product += step * (share - float(change @ product) / float(step @ change))
    return product
