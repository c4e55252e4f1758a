"""Bilingual lexicon induction: translations retrieved by cosine or CSLS, and precision at k."""

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
"""The k of precision at k."""
NEVER = 4.0
"""Mean similarity assigned to a zero vector: larger than any cosine can make up for, so CSLS never returns
it."""
QUERY_BLOCK = 1 << 12
"""Rows between two progress events."""
By = Literal["cosine", "csls"]
Mapping = Literal["procrustes", "refinement", "reweighting", ""]
"""How the source space was mapped: orthogonal Procrustes over the dictionary; the same after refinement;
whitening and re-weighting after that."""


@dataclass(frozen=True)
class Precision:
    """Precision at k: share of words with a correct translation among the first `at` retrieved, with its 95 %
    interval."""

    mapping: Mapping
    by: By
    at: int
    value: float
    low: float
    high: float
    used: int
    """Words that were tested: those with a vector and at least one translation that has a vector."""
    total: int


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Retrieval of target words for source words, both vocabularies in one space."""

    source: Vectors
    target: Vectors
    k: int = 10
    """Nearest neighbors over which CSLS averages."""
    among: int = 200_000
    """Retrieve only among this many first words of the target."""
    csls_words: int = 10_000
    """First words of the source among which CSLS looks for the neighbors of a target word."""
    report: Report = silent

    @functools.cached_property
    def mean_similarities(self) -> np.ndarray:
        return mean_similarities(self._candidates, _first(self.source, self.csls_words), self.k, self.report)

    @functools.cached_property
    def _candidates(self) -> Table:
        return _first(self.target, self.among)

    def best(self, ids: Sequence[int], *, n: int, by: By) -> list[Found]:
        """The `n` best target words for each of these source words."""
        similarities = self.mean_similarities if by == "csls" else None
        return _best(self.source.rows(ids), self._candidates, n, similarities)


def precision(
    retrieval: Retrieval, pairs: Pairs, mapping: Mapping = "", *, at: Sequence[int] = AT, seed: int = 1
) -> list[Precision]:
    """Precision at each k of `at`, by cosine and by CSLS; empty if none of the pairs can be tested."""
    translations: dict[str, set[int | None]] = {}
    for word, translation in pairs:
        translations.setdefault(word, set()).add(retrieval.target.find(translation))
    found = [(retrieval.source.find(word), correct - {None}) for word, correct in translations.items()]
    tested = [(id, correct) for id, correct in found if id is not None and correct]
    if not tested:
        return []
    scores: list[Precision] = []
    ways: tuple[By, ...] = ("cosine", "csls")
    for by in ways:
        retrieved = retrieval.best([id for id, _ in tested], n=max(at), by=by)
        for k in at:
            hits = [
                not correct.isdisjoint(each.ids[:k].tolist())
                for (_, correct), each in zip(tested, retrieved, strict=True)
            ]
            right = np.array(hits, float)
            interval = statistics.interval(right[:, None], statistics.mean, seed=seed)
            scores.append(
                Precision(
                    mapping=mapping,
                    by=by,
                    at=k,
                    value=float(right.mean()),
                    low=interval.low,
                    high=interval.high,
                    used=len(tested),
                    total=len(translations),
                )
            )
    return scores


def mean_similarities(rows: Rows, others: Table, k: int, report: Report = silent) -> np.ndarray:
    """The mean cosine of each row with its `k` nearest among the others (r of CSLS, Conneau et al. 2018)."""
    found = np.empty(len(rows))
    starts = range(0, len(rows), QUERY_BLOCK)
    for start in counted(starts, "computing CSLS similarities", unit="blocks", report=report, every=1):
        block = slice(start, start + QUERY_BLOCK)
        found[block] = [each.scores.mean() for each in _best(rows[block], others, k, None)]
    return np.where(rows.any(axis=1), found, NEVER)


def mutual_neighbors(source: Rows, target: Table, k: int = 10, report: Report = silent) -> np.ndarray:
    """(pair, 2): ids of words that are each other's nearest neighbor by CSLS."""
    forward = _nearest(source, target, k, report)
    backward = _nearest(target, source, k, report)
    mutual = backward[forward] == np.arange(len(forward))
    ids = np.flatnonzero(mutual & source.any(axis=1))
    return np.stack([ids, forward[ids]], axis=1)


def _nearest(rows: Rows, others: Table, k: int, report: Report) -> np.ndarray:
    """The id of the nearest of the others by CSLS, for each row."""
    similarities = mean_similarities(others, rows, k, report)
    return np.array([each.ids[0] for each in _best(rows, others, 1, similarities)])


def _first(vectors: Vectors, words: int) -> Table:
    """The rows of the first words."""
    return vectors.rows(np.arange(min(words, len(vectors))))


def _best(rows: Rows, others: Table, n: int, similarities: np.ndarray | None) -> list[Found]:
    """By cosine; by CSLS where the mean similarities of the others are given. Those of the rows do not change
    the order."""
    penalties = None
    if similarities is not None:
        penalties = Penalties(similarities[:, None] / 2, np.ones((len(rows), 1)))
    return ranking.best(others, lengths(others), rows, n=n, penalties=penalties)
