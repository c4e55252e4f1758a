"""The definition of the classifier, in plain NumPy: one step of gradient descent for each text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Network(NamedTuple):
    """What the classifier learns."""

    table: np.ndarray
    """(R, D) f4: a row for each feature."""
    output: np.ndarray
    """(K, D) f4: a row for each label."""
    bias: np.ndarray
    """(K,) f4."""


class Examples(NamedTuple):
    """Bags of features with their labels: the features of text t are ids[bounds[t]:bounds[t + 1]]."""

    ids: np.ndarray
    bounds: np.ndarray
    labels: np.ndarray


class Schedule(NamedTuple):
    """The learning rate at the first example of a step and after its last; between them it is linear."""

    first_learning_rate: float
    last_learning_rate: float


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def train(network: Network, examples: Examples, order: np.ndarray, schedule: Schedule) -> float:
    """Train on the texts of `order`, one after another, in place; the sum of their losses. With learning
    rate 0 it measures. A text without features is skipped.

    The hidden layer is the mean of the rows of the features. Each row gets the gradient of that mean, divided
    by the number of features as the mean is. The bias learns as fast as the row of a feature that
    every text has; with the learning rate of the output layer it would follow the last few labels.
    """
    loss = 0.0
    slope = (schedule.last_learning_rate - schedule.first_learning_rate) / max(len(order), 1)
    for place, text in enumerate(order.tolist()):
        features = examples.ids[examples.bounds[text] : examples.bounds[text + 1]]
        if not len(features):
            continue
        learning_rate = np.float32(schedule.first_learning_rate + slope * place)
        hidden = network.table[features].mean(axis=0)
        shares = softmax(network.output @ hidden + network.bias)
        loss -= float(np.log(max(shares[examples.labels[text]], 1e-30)))
        target = np.zeros(len(network.bias), np.float32)
        target[examples.labels[text]] = 1
        gradient = learning_rate * (target - shares)
        change = gradient @ network.output / np.float32(len(features))
        network.output[:] += gradient[:, None] * hidden
        network.bias[:] += gradient / np.float32(len(features))
        np.add.at(network.table, features, change)
    return loss
