"""Feed-forward layer: in its wider space a plane separates what no line separates before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from inlaid.config import Range, Seed
from inlaid.study.draw.picture import Column, Numbers, Picture, Say, percent
from inlaid.study.draw.shapes import BLUE, GREY, ORANGE, curves, plane

RADII = (0.6, 1.2)
NOISE = 0.12
RIDGE = 1e-3


class Layer(NamedTuple):
    """A hidden layer with random weights, and the plane in its space that separates best."""

    weights: np.ndarray
    bias: np.ndarray
    plane: np.ndarray

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Positive for one class, negative for the other."""
        return with_one(hidden(points, self.weights, self.bias)) @ self.plane


@dataclass(frozen=True, kw_only=True)
class FeedForwardSpace(Picture):
    """Two rings of points. A linear classifier fails in the plane; after a layer of random weights and a ReLU
    it succeeds, if the layer is wide enough."""

    title: ClassVar = ("What a wider layer makes separable", "更宽的前馈层使什么变得可分")
    size: ClassVar = (10, 3.2)

    widths: tuple[Annotated[int, Range(1, 4096)], ...] = (1, 2, 4, 8, 16, 32, 64)
    """Widths of the hidden layer."""
    points: Annotated[int, Range(20, 5000)] = 400
    """Points that the plane is fitted to, and as many to test it on."""
    repeats: Annotated[int, Range(2, 200)] = 20
    """Random layers for each width."""
    activation: Annotated[bool, Range()] = True
    """With the ReLU. Without it a layer of any width is linear, and separates nothing new."""
    seed: Seed = 1
    """Seed of the points and of the layers."""

    def numbers(self) -> Numbers:
        random = np.random.Generator(np.random.Philox(self.seed))
        points, labels = rings(self.points, random)
        tests, answers = rings(self.points, random)
        linear = with_one(points)
        line = fitted(linear, labels)
        accuracies = np.array(
            [
                [self._accuracy(width, points, labels, tests, answers, random) for _ in range(self.repeats)]
                for width in self.widths
            ]
        )
        values = {
            "points": points,
            "labels": labels,
            "line": line,
            "linear_accuracy": float((np.sign(with_one(tests) @ line) == answers).mean()),
            "widths": np.array(self.widths),
            "accuracy": accuracies.mean(axis=1),
            "lowest": accuracies.min(axis=1),
            "highest": accuracies.max(axis=1),
        }
        table = (
            Column("width", "宽度", ["-", *self.widths]),
            Column("accuracy", "准确率", [values["linear_accuracy"], *values["accuracy"]]),
            Column("lowest", "最低", [values["linear_accuracy"], *values["lowest"]]),
            Column("highest", "最高", [values["linear_accuracy"], *values["highest"]]),
        )
        return Numbers(values, table)
