"""Swivel: a method written as one file, with one line in the registry; the proof that no more is needed.

The PMI matrix is factorised block by block. A pair that occurs is fitted to its PMI; a pair that does not is
only pushed below the PMI it would have with one occurrence (Shazeer et al. 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.report import Report, silent
from inlaid.vectors import Vectors

BLOCK = 256
"""Rows of the matrix that a step factorises."""


@dataclass(frozen=True, kw_only=True)
class Swivel:
    """Vectors whose dot products are the PMI of two words, unseen pairs included."""

    abilities: ClassVar = Abilities(steps=True, counts=True)

    dim: Positive = 50
    """Vector dimension."""
    window: Positive = 5
    """Context words on each side of a center."""
    learning_rate: Annotated[float, Range(1e-6)] = 0.1
    """Initial learning rate; AdaGrad lowers it for each parameter."""
    epochs: Positive = 20
    """Passes over the matrix."""
    confidence: Fraction = 0.5
    """Exponent of the weight that a count gives its pair."""
    seed: Count = 1
    """Seed of the initial vectors."""

    def __post_init__(self) -> None:
        check(self)

    def start(self, data: Corpus, report: Report = silent) -> SwivelTraining:
        counts = cooccurrence(data, window=self.window, decay=True, report=report).dense()
        return SwivelTraining(self, counts, data)

    def memory_for(self, data: Corpus) -> int:
        return 4 * len(data.vocabulary) * self.dim * 4


class SwivelTraining:
    """Steps of AdaGrad over blocks of rows."""

    unit = "rows"

    def __init__(self, settings: Swivel, counts: np.ndarray, data: Corpus) -> None:
        self.settings = settings
        self.data = data
        self.seen = counts > 0
        sums = np.maximum(counts.sum(axis=0), 1e-9)
        self.pmi = np.log(np.maximum(counts, 1) * counts.sum() / np.outer(sums, sums))
        self.weights = np.where(self.seen, 0.1 + counts**settings.confidence, 1.0)
        self.total = settings.epochs * len(counts)
        random = np.random.Generator(np.random.Philox(settings.seed))
        size = (len(counts), settings.dim)
        tables = {name: random.normal(0, settings.dim**-0.5, size) for name in ("words", "contexts")}
        self.state = State({**tables, **{f"{name}.squares": np.ones(size) for name in tables}})

    def step(self, done: int) -> Step:
        first = done % len(self.pmi)
        rows = slice(first, min(first + BLOCK, len(self.pmi)))
        words = self.state["words"][rows]
        contexts = self.state["contexts"]
        error = words @ contexts.T - self.pmi[rows]
        sigmoid = 1 / (1 + np.exp(-error))
        gradient = self.weights[rows] * np.where(self.seen[rows], error, sigmoid)
        losses = self.weights[rows] * np.where(self.seen[rows], error**2 / 2, np.logaddexp(0, error))
        updates = {"words": (rows, gradient @ contexts), "contexts": (slice(None), gradient.T @ words)}
        for name, (where, update) in updates.items():
            squares = self.state[f"{name}.squares"][where]
            squares += update**2
            self.state[name][where] -= self.settings.learning_rate * update / np.sqrt(squares)
        return Step(done + len(error), float(losses.sum()), float(losses.size))

    def held_out_loss(self) -> float | None:
        return None

    def result(self) -> Vectors:
        table = (self.state["words"] + self.state["contexts"]).astype(np.float32)
        return Vectors(self.data.vocabulary.words, table, self.data.vocabulary.counts)
