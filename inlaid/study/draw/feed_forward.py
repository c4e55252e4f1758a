"""Feed-forward layer: in its wider space a plane separates what no line separates before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from inlaid.config import Range, Seed
from inlaid.errors import SettingError
from inlaid.study.draw.picture import Column, Numbers, Picture, Say, percent
from inlaid.study.draw.shapes import BLUE, GREY, ORANGE, curves, plane

RADII = (0.6, 1.2)
NOISE = 0.12
RIDGE = 1e-3
LIMIT = 1.7
"""Half of the width of the picture."""
MESH = 80
"""Points on each side of the picture whose side of the plane is computed."""


class Split(NamedTuple):
    """Points to fit a plane to with their labels, and others to test it on."""

    points: np.ndarray
    labels: np.ndarray
    tests: np.ndarray
    answers: np.ndarray


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
    size: ClassVar = (10.0, 3.2)

    widths: tuple[Annotated[int, Range(1, 4096)], ...] = (1, 2, 4, 8, 16, 32, 64)
    """Widths of the hidden layer."""
    points: Annotated[int, Range(20, 5000)] = 400
    """Points that the plane is fitted to, and as many to test it on."""
    repeats: Annotated[int, Range(2, 200)] = 20
    """Random layers for each width."""
    activation: bool = True
    """A ReLU in the layer. `--no-activation`: without it, a layer of any width is linear."""
    seed: Seed = 1
    """Seed of the points and of the layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.widths:
            raise SettingError("widths is empty; expected at least one.")

    def numbers(self) -> Numbers:
        random = np.random.Generator(np.random.Philox(self.seed))
        split = Split(*rings(self.points, random), *rings(self.points, random))
        line = fitted(with_one(split.points), split.labels)
        accuracies = np.array([self._accuracies(width, split, random) for width in self.widths])
        shown = self._layer(self.widths[-1], split.points, split.labels, random)
        places = mesh()
        values = {
            "points": split.points,
            "labels": split.labels,
            "linear_accuracy": share_right(with_one(split.tests) @ line, split.answers),
            "shown_accuracy": share_right(shown(split.tests), split.answers),
            "widths": np.array(self.widths),
            "accuracy": accuracies.mean(axis=1),
            "lowest": accuracies.min(axis=1),
            "highest": accuracies.max(axis=1),
            "line_sides": (with_one(places) @ line).reshape(MESH, MESH),
            "layer_sides": shown(places).reshape(MESH, MESH),
        }
        table = (
            Column("width", "宽度", ["-", *self.widths]),
            Column("accuracy", "准确率", [values["linear_accuracy"], *values["accuracy"]]),
            Column("lowest", "最低", [values["linear_accuracy"], *values["lowest"]]),
            Column("highest", "最高", [values["linear_accuracy"], *values["highest"]]),
        )
        return Numbers(values, table)

    def _layer(
        self, width: int, points: np.ndarray, labels: np.ndarray, random: np.random.Generator
    ) -> Layer:
        weights = random.standard_normal((2, width))
        bias = random.standard_normal(width) if self.activation else np.full(width, np.inf)
        return Layer(weights, bias, fitted(with_one(hidden(points, weights, bias)), labels))

    def _accuracies(self, width: int, split: Split, random: np.random.Generator) -> list[float]:
        """Of `repeats` random layers, on points that they were not fitted to."""
        layers = [self._layer(width, split.points, split.labels, random) for _ in range(self.repeats)]
        return [share_right(layer(split.tests), split.answers) for layer in layers]

    def sentences(self, values: dict[str, Any], say: Say) -> list[str]:
        found = [
            say(
                "No line separates a ring from the ring around it: {linear} right, chance is 50 %.",
                "没有直线能把内环和外环分开：准确率 {linear}，随机为 50%。",
            ).format(linear=percent(values["linear_accuracy"], say)),
            say(
                "In the {width} dimensions of a random layer with a ReLU a plane does: {wide} on new "
                "points, mean "
                "of {repeats} layers. With {first} dimensions it is {narrow}.",
                "在 {width} 维的随机 ReLU 层中，一个超平面就能分开：新点上的准确率为 {wide}（{repeats} "
                "个随机层的平均）；只有 {first} 维时为 {narrow}。",
            ),
        ]
        if not self.activation:
            found[1] = say(
                "Without an activation a layer of {width} dimensions is still linear: {wide}.",
                "没有激活函数时，{width} 维的层仍是线性的：{wide}。",
            )
        found[1] = found[1].format(
            width=self.widths[-1],
            first=self.widths[0],
            wide=percent(values["accuracy"][-1], say),
            narrow=percent(values["accuracy"][0], say),
            repeats=self.repeats,
        )
        return found

    def draw(self, figure: Any, values: dict[str, Any], say: Say) -> None:
        before, after, curve = figure.subplots(1, 3)
        names = (
            say("in the plane: {share}", "在原平面上：{share}").format(
                share=percent(values["linear_accuracy"], say)
            ),
            say("after a layer of {width}: {share}", "经过宽度 {width} 的层：{share}").format(
                width=self.widths[-1], share=percent(values["shown_accuracy"], say)
            ),
        )
        for axis, name, sides in zip((before, after), names, ("line_sides", "layer_sides"), strict=True):
            plane(axis, LIMIT)
            span = (-LIMIT, LIMIT, -LIMIT, LIMIT)
            colors = [ORANGE, BLUE]
            axis.contourf(values[sides], levels=[-np.inf, 0, np.inf], colors=colors, alpha=0.13, extent=span)
            for label, color in ((-1, ORANGE), (1, BLUE)):
                axis.scatter(*values["points"][values["labels"] == label].T, s=6, color=color)
            axis.set_title(name)
        curve.fill_between(values["widths"], values["lowest"], values["highest"], color=GREY, alpha=0.5)
        curve.plot(values["widths"], values["accuracy"], "o-", color=BLUE)
        curve.axhline(0.5, color=ORANGE, linestyle=":", linewidth=1)
        curve.set_xscale("log")
        curve.set_xticks(values["widths"], [str(width) for width in values["widths"]])
        curve.minorticks_off()
        curve.set(
            title=say("accuracy on new points", "新点上的准确率"),
            xlabel=say("width of the layer", "层的宽度"),
        )
        curves(curve, legend=False)


def rings(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of an inner and an outer ring, and which of them each is in: -1 or 1."""
    labels = np.where(np.arange(count) % 2, 1, -1)
    angles = random.uniform(0, 2 * np.pi, count)
    radii = np.where(labels > 0, *RADII[::-1]) + NOISE * random.standard_normal(count)
    return radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1), labels


def hidden(points: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The hidden layer; an infinite bias stands for no activation, as nothing is cut off then."""
    if np.isinf(bias).any():
        return points @ weights
    return np.maximum(points @ weights + bias, 0)


def with_one(features: np.ndarray) -> np.ndarray:
    """A component of 1 beside the others, for the bias."""
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def fitted(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The plane by least squares, with a little ridge."""
    square = features.T @ features + RIDGE * np.eye(features.shape[1])
    return np.linalg.solve(square, features.T @ labels)


def share_right(scores: np.ndarray, labels: np.ndarray) -> float:
    """How many scores are on the right side; 0, of a layer in which no unit is active, counts as one side."""
    return float((np.where(scores >= 0, 1, -1) == labels).mean())


def mesh() -> np.ndarray:
    """Points all over the picture."""
    steps = np.linspace(-LIMIT, LIMIT, MESH)
    x, y = np.meshgrid(steps, steps)
    return np.stack([x.ravel(), y.ravel()], axis=1)
