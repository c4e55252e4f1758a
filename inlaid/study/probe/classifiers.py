"""The probes themselves: a linear classifier, and one with a hidden layer; control tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from inlaid.study.evaluate.logistic import classify, minimize

Kind = Literal["linear", "mlp"]
HIDDEN = 64
"""Units of the hidden layer."""
ITERATIONS = 120
"""Steps of L-BFGS for the network with a hidden layer."""


def predicted(
    kind: Kind, train: np.ndarray, labels: np.ndarray, test: np.ndarray, *, classes: int, seed: int
) -> np.ndarray:
    """The class that a probe of this kind, fitted to `train` (item, dim), gives each row of `test`."""
    if kind == "linear":
        return classify(train, labels, test, classes=classes)
    return classify_mlp(train, labels, test, classes=classes, seed=seed)


def classify_mlp(
    train: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    *,
    classes: int,
    penalty: float = 1.0,
    hidden: int = HIDDEN,
    seed: int = 1,
) -> np.ndarray:
    """As `classify` of logistic regression, with one hidden layer of tanh units before it.

    Features are centered and divided by one common scale; the initial weights are drawn with the seed.
    """
    center = train.mean(axis=0)
    scale = np.sqrt(np.mean((train - center) ** 2)) or 1.0
    features = (train - center) / scale
    targets = np.eye(classes)[labels]
    dim = features.shape[1]
    random = np.random.Generator(np.random.Philox(seed))
    first = random.standard_normal((dim + 1, hidden)) / np.sqrt(dim)
    second = random.standard_normal((hidden + 1, classes)) / np.sqrt(hidden)
    cut = first.size

    def unpacked(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[:cut].reshape(first.shape), flat[cut:].reshape(second.shape)

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        inner, outer = unpacked(flat)
        units = np.tanh(features @ inner[:-1] + inner[-1])
        scores = units @ outer[:-1] + outer[-1]
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        weight = penalty / len(train)
        squares = (inner[:-1] ** 2).sum() + (outer[:-1] ** 2).sum()
        loss = -(targets * logs).sum() / len(train) + weight * squares / 2
        errors = (np.exp(logs) - targets) / len(train)
        below = errors @ outer[:-1].T * (1 - units**2)
        inner_gradient = np.vstack([features.T @ below + weight * inner[:-1], below.sum(axis=0)])
        outer_gradient = np.vstack([units.T @ errors + weight * outer[:-1], errors.sum(axis=0)])
        return float(loss), np.concatenate([inner_gradient.ravel(), outer_gradient.ravel()])

    start = np.concatenate([first.ravel(), second.ravel()])
    inner, outer = unpacked(minimize(loss_and_gradient, start, iterations=ITERATIONS))
    units = np.tanh((test - center) / scale @ inner[:-1] + inner[-1])
    return (units @ outer[:-1] + outer[-1]).argmax(axis=1)


Control = Literal["by word", "within words", "permuted"]
"""What the labels of a control task are; see `control_labels`."""


def control_labels(
    words: Sequence[str], labels: np.ndarray, *, seed: int, control: Control = "by word"
) -> np.ndarray:
    """The labels of a control task, which a probe can learn only by heart.

    by word        each word gets one label at random, the same in all its occurrences, drawn from the
                   distribution of the labels (Hewitt and Liang 2019)
    within words   the labels of each word are permuted among its occurrences: for senses, where a label for
                   the word would be no control
    permuted       the labels are permuted over all examples: where every example is another text
    """
    random = np.random.Generator(np.random.Philox(seed))
    if control == "permuted":
        return random.permutation(labels)
    listed = np.array(words)
    made = labels.copy()
    for word in sorted(set(words)):
        held = listed == word
        made[held] = random.permutation(labels[held])
        if control == "by word":
            made[held] = labels[random.integers(len(labels))]
    return made


def majority(labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Which of the test labels are the most frequent one of training."""
    return test == np.bincount(labels).argmax()


def majority_by_word(
    words: Sequence[str], labels: np.ndarray, test_words: Sequence[str], test: np.ndarray
) -> np.ndarray:
    """Which of the test labels are the most frequent one of their word in training; of words that training
    has not, the most frequent of all."""
    counts: dict[str, np.ndarray] = {}
    size = int(labels.max()) + 1
    for word, label in zip(words, labels.tolist(), strict=True):
        counts.setdefault(word, np.zeros(size, int))[label] += 1
    usual = int(np.bincount(labels).argmax())
    guesses = [int(counts[word].argmax()) if word in counts else usual for word in test_words]
    return np.array(guesses) == test
