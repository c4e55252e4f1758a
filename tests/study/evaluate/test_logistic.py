"""Logistic regression on classes that can, or cannot, be told apart."""

from __future__ import annotations

import numpy as np

from inlaid.study.evaluate.logistic import classify, minimize


def clouds(noise: float) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), 100)
    return 3 * random.standard_normal((3, 10))[labels] + noise * random.standard_normal((300, 10)), labels


def test_separable_classes_are_separated():
    points, labels = clouds(0.5)
    assert (classify(points[::2], labels[::2], points[1::2], classes=3) == labels[1::2]).mean() == 1


def test_neither_scale_nor_rotation_nor_origin_matters():
    points, labels = clouds(6.0)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((10, 10)))[0]
    before = classify(points[::2], labels[::2], points[1::2], classes=3)
    moved = 1000 * points @ rotation + 5
    after = classify(moved[::2], labels[::2], moved[1::2], classes=3)
    assert 0.4 < (before == labels[1::2]).mean() < 0.99
    assert np.array_equal(before, after)


def test_the_most_frequent_class_is_the_answer_without_evidence():
    labels = np.array([0, 1, 1, 1])
    assert classify(np.zeros((4, 2)), labels, np.zeros((2, 2)), classes=2).tolist() == [1, 1]
    assert classify(np.zeros((2, 2)), np.array([0, 0]), np.zeros((1, 2)), classes=1).tolist() == [0]


def test_the_minimum_of_a_bowl_is_found():
    curve = np.array([1.0, 10.0, 100.0])
    found = minimize(lambda at: (float((curve * (at - 3) ** 2).sum() / 2), curve * (at - 3)), np.zeros(3))
    assert np.allclose(found, 3, atol=1e-4)
