"""Tasks -> a table with coverage and confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inlay import registry
from inlay.errors import SourceError
from inlay.report import Report, counted, silent
from inlay.study.tasks import Task
from inlay.vectors import Vectors

DRAWS = 1000


@dataclass(frozen=True)
class Score:
    """The share of questions answered rightly, with its 95 % interval, over the questions whose words are known."""

    task: str
    language: str
    value: float
    low: float
    high: float
    used: int
    """Questions whose words all have vectors; the denominator of `value`."""
    total: int


def evaluate(vectors: Vectors, tasks: Sequence[str] = (), *, seed: int = 1, report: Report = silent) -> list[Score]:
    """Score vectors on the named tasks in both languages, or on all; tasks none of whose words are known are left out."""
    names = tasks or [entry.name for entry in registry.entries("task")]
    asked: list[tuple[str, Task]] = [(name, registry.find("task", name)(language)) for name in names for language in ("zh", "en")]
    scores = [_score(name, task, vectors, seed) for name, task in counted(asked, "evaluating", unit="tasks", report=report, every=1)]
    known = [score for score in scores if score.used]
    if not known:
        raise SourceError(f"The vectors know no word of {' or '.join(names)}. Evaluate them on tasks of their own language and field.")
    return known


def _score(name: str, task: Task, vectors: Vectors, seed: int) -> Score:
    outcomes = task.outcomes(vectors)
    used = outcomes[~np.isnan(outcomes)]
    if not len(used):
        return Score(name, task.language, np.nan, np.nan, np.nan, 0, len(outcomes))
    random = np.random.Generator(np.random.Philox(seed))
    means = used[random.integers(0, len(used), (DRAWS, len(used)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Score(name, task.language, float(used.mean()), float(low), float(high), len(used), len(outcomes))
