"""Two vocabularies in one space: words of the one find words of the other by cosine or CSLS, and how often
they are right."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.report import Report, counted, silent
from inlaid.shapes import Rows, Table
from inlaid.study.compare.dictionaries import Pairs
from inlaid.study.evaluate import statistics
from inlaid.study.search import ranking
from inlaid.study.search.ranking import Found, Penalties
from inlaid.vectors import Vectors, lengths

AT = (1, 5, 10)
NOWHERE = 4.0
"""How crowded it is around a word that points nowhere: no cosine makes up for it, so it translates
nothing."""
BLOCK = 1 << 12
"""Rows between two signs of progress."""
By = Literal["cosine", "csls"]
Rotation = Literal["dictionary", "refined", "weighed", ""]


@dataclass(frozen=True)
class Precision:
    """Share of words whose first `at` answers hold a translation, with its 95 % interval."""

    rotation: Rotation
    by: By
    at: int
    value: float
    low: float
    high: float
    used: int
    """Words with a vector and with a translation that has one: those that were asked."""
    total: int


@dataclass(frozen=True, eq=False)
class Between:
    """Two vocabularies in one space: words of the one find words of the other."""

    source: Vectors
    target: Vectors
    k: int = 10
    """Nearest words of the other side that say how crowded it is around a word."""
    among: int = 200_000
    """First words of the target that may be answers."""
    crowd: int = 10_000
    """First words of the source by which crowding is judged."""
    report: Report = silent

    @functools.cached_property
    def crowding(self) -> np.ndarray:
        return crowding(self._candidates, _first(self.source, self.crowd), self.k, self.report)

    @functools.cached_property
    def _candidates(self) -> Table:
        return _first(self.target, self.among)

    def answers(self, ids: Sequence[int], *, n: int, by: By) -> list[Found]:
        """The best words of the target for these words of the source, by cosine or CSLS."""
        return _best(self.source.rows(ids), self._candidates, n, self.crowding if by == "csls" else None)


def precision(
    between: Between, pairs: Pairs, rotation: Rotation = "", *, at: Sequence[int] = AT, seed: int = 1
) -> list[Precision]:
    """How many words find a translation among their first answers, by plain cosine and by CSLS; nothing if
    none can be asked."""
    wanted: dict[str, set[int | None]] = {}
    for word, answer in pairs:
        wanted.setdefault(word, set()).add(between.target.find(answer))
    found = [(between.source.find(word), answers - {None}) for word, answers in wanted.items()]
    rows = [(id, answers) for id, answers in found if id is not None and answers]
    scores: list[Precision] = []
    for by in ("cosine", "csls") if rows else ():
        found = between.answers([id for id, _ in rows], n=max(at), by=by)
        for k in at:
            right = np.array(
                [
                    not answers.isdisjoint(each.ids[:k].tolist())
                    for (_, answers), each in zip(rows, found, strict=True)
                ],
                float,
            )
            drawn = statistics.interval(right[:, None], statistics.mean, seed=seed)
            scores.append(
                Precision(rotation, by, k, float(right.mean()), drawn.low, drawn.high, len(rows), len(wanted))
            )
    return scores


def crowding(rows: Rows, others: Table, k: int, report: Report = silent) -> np.ndarray:
    """The mean cosine of each row with its nearest among the others."""
    found = np.empty(len(rows))
    for start in counted(range(0, len(rows), BLOCK), "judging crowds", unit="blocks", report=report, every=1):
        block = slice(start, start + BLOCK)
        found[block] = [each.scores.mean() for each in _best(rows[block], others, k, None)]
    return np.where(rows.any(axis=1), found, NOWHERE)


def mutual(here: Rows, there: Table, k: int = 10, report: Report = silent) -> np.ndarray:
    """Ids of words that are each other's nearest by CSLS."""
    onward, back = (
        np.array([each.ids[0] for each in _best(rows, others, 1, crowding(others, rows, k, report))])
        for rows, others in ((here, there), (there, here))
    )
    ids = np.flatnonzero((back[onward] == np.arange(len(onward))) & here.any(axis=1))
    return np.stack([ids, onward[ids]], axis=1)


def _first(vectors: Vectors, words: int) -> Table:
    """The rows of the first words."""
    return vectors.rows(np.arange(min(words, len(vectors))))


def _best(rows: Rows, others: Table, n: int, crowded: np.ndarray | None) -> list[Found]:
    correction = None if crowded is None else Penalties(crowded[:, None] / 2, np.ones((len(rows), 1)))
    return ranking.best(others, lengths(others), rows, n=n, penalties=correction)
