"""What dimensions hold: scores under ablation, correlations, and what a rotation changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, Seed, check
from inlaid.encode.vocabulary import Words
from inlaid.messages import Message
from inlaid.report import Report, counted, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.evaluate.evaluate import Named, Score, evaluate
from inlaid.study.evaluate.scores import metric_name
from inlaid.study.evaluate.statistics import student
from inlaid.study.explain.traits import Held, Trait, held_traits, trait_name, traits
from inlaid.vectors import Vectors

TASKS = ("world-fields", "world-analogies")
ROW_BLOCK = 1 << 14

Order = Literal["most", "least", "random"]
"""Which dimensions are removed first: those of most variance, those of least variance, or a random order."""
ORDERS: dict[Order, Message] = {
    "most": Message("most"),
    "least": Message("least"),
    "random": Message("random"),
}
"""How tables show the orders."""


@dataclass(frozen=True, kw_only=True)
class DimensionsSettings:
    """How dimensions are removed, and how much is shown."""

    n: Positive = 10
    """How many correlations to show."""
    steps: Positive = 10
    """Points of the ablation curve; `dim` of them remove one dimension at a time."""
    runs: Positive = 5
    """Random orders."""
    top: Positive = 50_000
    """Score only this many first words of a larger space; every point of the curve searches all of them."""
    rotate: bool = False
    """Measure the same space after a random rotation, too: cosines stay, dimensions are mixed."""
    seed: Seed = 1
    """Seed of the random orders, of the rotation and of the sample of words."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class AblationPoint:
    """A score with some dimensions left and its 95 % interval: over runs for random orders, otherwise over
    items."""

    order: Order
    task: str
    language: str
    metric: str
    left: int
    value: float
    low: float
    high: float
    rotated: bool = False
    """Whether the space was rotated first."""


@dataclass(frozen=True, kw_only=True)
class Dimensions:
    """What dimensions hold."""

    ablation: tuple[AblationPoint, ...]
    traits: tuple[Trait, ...]
    """All of them, strongest correlation first."""
    held: tuple[Held, ...] = ()
    """What one dimension says about each trait, and what all say together; where `rotate` is set."""
    settings: DimensionsSettings
    output: str | None = None

    def rows(self) -> list[Row]:
        removed = (Message("removed first"), Message("left"))
        head = (Message("task"), Message("metric"), *removed, Message("score"), Message("95 %"))
        rows: list[Row] = [head]
        for each in self.ablation:
            interval = Message("none")
            if each.low == each.low:
                interval = Message("{low:.3f} to {high:.3f}", low=each.low, high=each.high)
            task = f"{each.task} {each.language}"
            if each.rotated:
                task = Message("{task}, rotated", task=task)
            metric = metric_name(each.metric)
            rows.append((task, metric, ORDERS[each.order], str(each.left), f"{each.value:.3f}", interval))
        titles = (Message("correlation"), "p", Message("dimension"), Message("correlates with"))
        rows += ["", titles]
        for each in self.traits[: self.settings.n]:
            rows.append(
                (f"{each.correlation:+.3f}", f"{each.p:.2g}", str(each.dimension), trait_name(each.trait))
            )
        if self.held:
            single = (Message("best dimension"), Message("after rotation"))
            rows += ["", (Message("trait"), *single, Message("all dimensions"))]
        for each in self.held[: self.settings.n]:
            rows.append(
                (trait_name(each.trait), f"{each.single:.3f}", f"{each.rotated:.3f}", f"{each.together:.3f}")
            )
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(replace(self, traits=self.traits[: self.settings.n]))


@analysis
@local_only("tasks")
def dimensions(
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    settings: DimensionsSettings | None = None,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Dimensions:
    """What dimensions hold: scores as they are removed, and what single ones correlate with.

    Args:
        vectors: a file of vectors
        tasks: names of tasks or task files; those of the embedded world when none is given
        output: draw the scores, as .png, or as a page with the tables, as .html

    Examples:
        inlaid dimensions vectors.inlaid world-fields
        inlaid dimensions vectors.inlaid wordsim.tsv --rotate -o dimensions.png
    """
    settings = settings or DimensionsSettings()
    if output is not None:
        figures.writable(output, Message("A picture of dimensions"), overwrite=overwrite)
    found = Dimensions(
        ablation=tuple(ablation(vectors, tasks or TASKS, settings=settings, report=report)),
        traits=tuple(traits(vectors, seed=settings.seed)),
        held=tuple(held_traits(vectors, settings.seed)) if settings.rotate else (),
        settings=settings,
        output=None if output is None else str(output),
    )
    if output is not None:
        from inlaid.study.explain.dimensions_pictures import drawn

        figures.write(output, drawn(found, output.suffix.lower(), report))
    return found


def ablation(
    vectors: Vectors,
    tasks: Sequence[Named] = TASKS,
    *,
    settings: DimensionsSettings | None = None,
    report: Report = silent,
) -> list[AblationPoint]:
    """Score vectors as their dimensions are removed, by variance from both ends and in random orders.

    >>> [point.value for point in ablation(vectors) if point.order == "random"]
    """
    settings = settings or DimensionsSettings()
    whole = _first(vectors, settings.top)
    found = _ablated(whole, tasks, _orders(vectors, settings), settings, report)
    if settings.rotate:
        turned = rotated(vectors, seed=settings.seed)
        orders = _orders(turned, settings)
        turned_points = _ablated(_first(turned, settings.top), tasks, orders, settings, report)
        found += [replace(each, rotated=True) for each in turned_points]
    return found


def _ablated(
    vectors: Vectors,
    tasks: Sequence[Named],
    orders: list[tuple[Order, np.ndarray]],
    settings: DimensionsSettings,
    report: Report,
) -> list[AblationPoint]:
    steps = min(settings.steps, vectors.dim)  # more would repeat the same numbers of dimensions
    lefts = {max(1, round(vectors.dim * step / steps)) for step in range(1, steps + 1)}
    points: list[tuple[Order, np.ndarray, int]] = [
        (name, order, left) for name, order in orders for left in sorted(lefts, reverse=True)
    ]
    found: dict[tuple[Order, str, str, str, int], list[Score]] = {}
    for name, order, left in counted(points, "removing dimensions", unit="scores", report=report, every=1):
        for score in evaluate(keep_dimensions(vectors, order[vectors.dim - left :]), tasks):
            found.setdefault((name, score.task, score.language, score.metric, left), []).append(score)
    return [AblationPoint(*key, *_summary(scores)) for key, scores in found.items()]


def _orders(vectors: Vectors, settings: DimensionsSettings) -> list[tuple[Order, np.ndarray]]:
    """Orders in which dimensions are removed."""
    variance = _variance(vectors)
    random = np.random.Generator(np.random.Philox(settings.seed))
    return [
        ("most", np.argsort(-variance, kind="stable")),
        ("least", np.argsort(variance, kind="stable")),
        *(("random", random.permutation(vectors.dim)) for _ in range(settings.runs)),
    ]


def _summary(scores: list[Score]) -> tuple[float, float, float]:
    """Value, low and high: of one score its own, of several their mean and Student's interval."""
    if len(scores) == 1:
        return scores[0].value, scores[0].low, scores[0].high
    values = [score.value for score in scores]
    interval = student(values)
    return float(np.mean(values)), interval.low, interval.high


def _first(vectors: Vectors, top: int) -> Vectors:
    if len(vectors) <= top:
        return vectors
    return dataclasses.replace(
        vectors,
        words=Words.of(vectors.words[:top]),
        stored=vectors.rows(np.arange(top)),
        counts=None if vectors.counts is None else vectors.counts[:top],
        contexts=None,
        subwords=None,
    )


def keep_dimensions(vectors: Vectors, dimensions: np.ndarray) -> Vectors:
    """The same words with some of their dimensions."""
    table = np.ascontiguousarray(vectors.table[:, np.sort(dimensions)])
    return dataclasses.replace(vectors, stored=table, contexts=None, subwords=None)


def rotated(vectors: Vectors, *, seed: int = 1) -> Vectors:
    """The same space under a random orthogonal matrix: every cosine stays, every dimension changes."""
    random = np.random.Generator(np.random.Philox(seed))
    rotation, triangle = np.linalg.qr(random.standard_normal((vectors.dim, vectors.dim)))
    rotation *= np.sign(np.diag(triangle))  # without this the matrices are not uniformly distributed
    table = (vectors.table @ rotation).astype(np.float32)
    return dataclasses.replace(vectors, stored=table, contexts=None, subwords=None)


def _variance(vectors: Vectors) -> np.ndarray:
    """(dim,)"""
    total = np.zeros(vectors.dim)
    squares = np.zeros(vectors.dim)
    for start in range(0, len(vectors), ROW_BLOCK):
        rows = vectors.table[start : start + ROW_BLOCK].astype(np.float64)
        total = total + rows.sum(axis=0)
        squares = squares + (rows**2).sum(axis=0)
    return squares / len(vectors) - (total / len(vectors)) ** 2
