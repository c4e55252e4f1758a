"""The kernel of the classifier agrees with its reference."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.classifier import cpu, reference
from inlaid.kernels.classifier.reference import Examples, Network, Schedule


def network(random: np.random.Generator) -> Network:
    shape = ((30, 12), (4, 12), (4,))
    return Network(*(random.normal(size=each).astype(np.float32) for each in shape))


def examples(random: np.random.Generator) -> Examples:
    bounds = np.array([0, 5, 5, 8, 15, 16])  # the second text is empty; features may repeat
    ids = random.integers(0, 30, 16).astype(np.int32)
    ids[5:8] = 7
    return Examples(ids, bounds, random.integers(0, 4, 5).astype(np.int32))


def both(schedule: Schedule) -> tuple[Network, Network, list[float]]:
    given = examples(np.random.default_rng(1))
    order = np.array([3, 0, 1, 2, 4, 2])
    fast = network(np.random.default_rng(2))
    plain = network(np.random.default_rng(2))
    scratch = (np.empty((2, 12), np.float32), np.empty(4, np.float32))
    losses = [
        cpu.train(fast, given, order, schedule, *scratch),
        reference.train(plain, given, order, schedule),
    ]
    return fast, plain, losses


def test_steps_are_those_of_the_reference():
    fast, plain, losses = both(Schedule(0.5, 0.1))
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_learning_rate_zero_changes_nothing():
    fast, _, losses = both(Schedule(0.0, 0.0))
    for one, other in zip(fast, network(np.random.default_rng(2)), strict=True):
        assert one.tobytes() == other.tobytes()
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_the_step_is_the_gradient_of_the_loss():
    given = Examples(np.array([1, 2, 2], np.int32), np.array([0, 3]), np.array([1], np.int32))
    start = network(np.random.default_rng(3))
    moved = Network(*(each.copy() for each in start))
    reference.train(moved, given, np.array([0]), Schedule(1e-3, 1e-3))

    def loss(table: np.ndarray) -> float:
        hidden = table[given.ids].mean(axis=0)
        return -float(np.log(reference.softmax(start.output @ hidden + start.bias)[1]))

    for row in (1, 2):
        nudged = start.table.astype(np.float64)
        nudged[row, 4] += 1e-4
        slope = (loss(nudged) - loss(start.table.astype(np.float64))) / 1e-4
        step = float(moved.table[row, 4] - start.table[row, 4]) / 1e-3
        np.testing.assert_allclose(step, -slope, rtol=0.02)
