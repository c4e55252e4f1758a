"""What dimensions hold: what is lost as they are removed, what each goes with, and what a rotation
changes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.collect import world
from inlaid.config import Count, Positive, check
from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError
from inlaid.report import Report, counted, silent
from inlaid.study.evaluate.evaluate import Named, Score, evaluate
from inlaid.study.evaluate.statistics import ranks, student
from inlaid.study.evaluate.world_tasks import world_groups
from inlaid.vectors import Vectors

TASKS = ("world-fields", "world-analogies")
LEAST = 5
"""Fields with fewer words in the space are too small to go with anything."""

Order = Literal["most", "least", "random"]
"""Which dimensions go first: those along which words vary most, those along which they vary least, or any."""


@dataclass(frozen=True, kw_only=True)
class Removing:
    """Which dimensions are removed, and how many at a time."""

    steps: Positive = 10
    """Points of the curve; `dim` of them remove one dimension at a time."""
    runs: Positive = 5
    """Random orders."""
    top: Positive = 50_000
    """Of a larger space only the first so many words are scored, and are answers: every point of the curve
    asks all of them."""
    seed: Count = 1

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Point:
    """A score with some dimensions left and its 95 % interval: of random orders the mean over them, otherwise
    over items."""

    order: Order
    task: str
    language: str
    metric: str
    left: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Trait:
    """What a dimension goes with: Spearman's correlation over words, and its p, corrected for all that were
    looked at."""

    dimension: int
    trait: str
    correlation: float
    p: float
    """Benjamini-Hochberg over all dimensions and traits."""


@dataclass(frozen=True)
class Dimensions:
    """What dimensions hold."""

    removal: list[Point]
    traits: list[Trait]


def dimensions(
    vectors: Vectors,
    tasks: Sequence[Named] = TASKS,
    *,
    settings: Removing | None = None,
    report: Report = silent,
) -> Dimensions:
    """Scores as dimensions are removed, and what single ones go with."""
    settings = settings or Removing()
    return Dimensions(
        removal(vectors, tasks, settings=settings, report=report), traits(vectors, seed=settings.seed)
    )


def removal(
    vectors: Vectors,
    tasks: Sequence[Named] = TASKS,
    *,
    settings: Removing | None = None,
    report: Report = silent,
) -> list[Point]:
    """Score vectors as their dimensions are removed, by variance from both ends and in random orders.

    >>> [point.value for point in removal(vectors) if point.order == "random"]
    """
    settings = settings or Removing()
    spread = _spread(vectors)
    vectors = _first(vectors, settings.top)
    random = np.random.Generator(np.random.Philox(settings.seed))
    orders: list[tuple[Order, np.ndarray]] = [
        ("most", np.argsort(-spread, kind="stable")),
        ("least", np.argsort(spread, kind="stable")),
        *(("random", random.permutation(vectors.dim)) for _ in range(settings.runs)),
    ]
    lefts = sorted(
        {max(1, round(vectors.dim * step / settings.steps)) for step in range(1, settings.steps + 1)},
        reverse=True,
    )
    work: list[tuple[Order, np.ndarray, int]] = [
        (name, order, left) for name, order in orders for left in lefts
    ]
    found: dict[tuple[Order, str, str, str, int], list[Score]] = {}
    for name, order, left in counted(work, "removing dimensions", unit="scores", report=report, every=1):
        for score in evaluate(keeping(vectors, order[vectors.dim - left :]), tasks):
            found.setdefault((name, score.task, score.language, score.metric, left), []).append(score)
    return [Point(*key, *_summary(scores)) for key, scores in found.items()]


def _summary(scores: list[Score]) -> tuple[float, float, float]:
    if len(scores) == 1:
        return scores[0].value, scores[0].low, scores[0].high
    values = [score.value for score in scores]
    over = student(values)
    return float(np.mean(values)), over.low, over.high


def _first(vectors: Vectors, top: int) -> Vectors:
    if len(vectors) <= top:
        return vectors
    words = Words.of(vectors.words[:top])
    counts = None if vectors.counts is None else vectors.counts[:top]
    return dataclasses.replace(
        vectors, words=words, stored=vectors.rows(np.arange(top)), counts=counts, contexts=None, subwords=None
    )


def keeping(vectors: Vectors, dimensions: np.ndarray) -> Vectors:
    """The same words with some of their dimensions."""
    return dataclasses.replace(
        vectors,
        stored=np.ascontiguousarray(vectors.table[:, np.sort(dimensions)]),
        contexts=None,
        subwords=None,
    )


def rotated(vectors: Vectors, *, seed: int = 1) -> Vectors:
    """The same space turned at random: every cosine stays, every dimension is another."""
    random = np.random.Generator(np.random.Philox(seed))
    turn, shape = np.linalg.qr(random.standard_normal((vectors.dim, vectors.dim)))
    turn *= np.sign(np.diag(shape))  # without this the turns are not evenly drawn
    return dataclasses.replace(
        vectors, stored=(vectors.table @ turn).astype(np.float32), contexts=None, subwords=None
    )


def traits(
    vectors: Vectors, known: Mapping[str, np.ndarray] | None = None, *, sample: int = 20_000, seed: int = 1
) -> list[Trait]:
    """What single dimensions go with, the strongest first: log frequency, word length, fields of the embedded
    world.

    `known` adds traits of your own: a number for each word. Spaces of more than `sample` words are sampled.
    """
    if len(vectors) < 4:
        raise SettingError(
            f"{len(vectors)} words are too few to correlate anything over; expected at least 4."
        )
    ids = np.arange(len(vectors))
    if len(vectors) > sample:
        ids = np.sort(np.random.Generator(np.random.Philox(seed)).choice(len(vectors), sample, replace=False))
    held = {name: np.asarray(values, float)[ids] for name, values in (known or {}).items()} | _usual(
        vectors, ids
    )
    names = [name for name, values in held.items() if np.ptp(values) > 0]
    table = vectors.table[ids]
    columns = _standard(np.stack([_ranked(held[name]) for name in names], axis=1))
    correlations = np.stack(
        [_standard(_ranked(table[:, id])[:, None])[:, 0] @ columns for id in range(vectors.dim)]
    ) / len(ids)
    # Under chance a correlation of n fixed values has variance 1 / (n - 1), whatever the values are.
    p = np.array(
        [math.erfc(abs(each) * math.sqrt((len(ids) - 1) / 2)) for each in correlations.ravel().tolist()]
    )
    corrected = _corrected(p).reshape(correlations.shape)
    order = np.argsort(-np.abs(correlations), axis=None, kind="stable").tolist()
    places = (divmod(place, len(names)) for place in order)
    return [
        Trait(row, names[column], float(correlations[row, column]), float(corrected[row, column]))
        for row, column in places
    ]


def _usual(vectors: Vectors, ids: np.ndarray) -> dict[str, np.ndarray]:
    words = [vectors.words[id] for id in ids.tolist()]
    seen = vectors.counts if vectors.counts is not None and (vectors.counts > 0).all() else None
    found = {
        "log frequency": np.log(seen[ids]) if seen is not None else -np.log(ids + 1.0),
        "length": np.array([len(word) for word in words], float),
    }
    languages: tuple[world.Language, ...] = ("zh", "en")
    for language in languages:
        for field, members in world_groups(language).items():
            inside = np.array([word in members for word in words], float)
            if inside.sum() >= LEAST:
                found[f"{field} ({language})"] = inside
    return found


def _spread(vectors: Vectors) -> np.ndarray:
    total = np.zeros(vectors.dim)
    squares = np.zeros(vectors.dim)
    for start in range(0, len(vectors), 1 << 14):
        rows = vectors.table[start : start + (1 << 14)].astype(np.float64)
        total = total + rows.sum(axis=0)
        squares = squares + (rows**2).sum(axis=0)
    return squares / len(vectors) - (total / len(vectors)) ** 2


def _ranked(values: np.ndarray) -> np.ndarray:
    return ranks(values, np.ones((1, len(values))))[0]


def _standard(columns: np.ndarray) -> np.ndarray:
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1)


def _corrected(p: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg 1995: the smallest share of false finds at which each would still be found."""
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    out = np.empty(len(p))
    out[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1)
    return out
