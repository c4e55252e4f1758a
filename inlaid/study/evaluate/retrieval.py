"""Retrieval: are the documents that answer a query the nearest ones? nDCG@10 and recall@10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inlaid.collect import world
from inlaid.report import Report
from inlaid.study.evaluate.analogies import unit
from inlaid.study.evaluate.oov import KnownWords
from inlaid.study.evaluate.tasks import Measurement, filled

DEPTH = 10
"""Documents that count, the nearest ones."""
HELD = 1 << 24
"""Cosines in memory at a time."""


@dataclass(frozen=True)
class Retrieval:
    """Queries, documents, and which of these are relevant to each query.

    `nDCG@10`: gains are the grades of relevance, divided by log2(rank + 1), as a share of the best order
    there is (Järvelin and Kekäläinen 2002; linear gains, as in trec_eval). `recall@10`: the share of the
    relevant documents that are among the ten nearest. Documents without a vector are never found.
    """

    kind: ClassVar[str] = "retrieval"
    name: str
    language: world.Language
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevance: tuple[Mapping[int, float], ...]
    """For each query the places of the relevant documents, and their grades."""

    def known(self, space: KnownWords) -> np.ndarray:
        return space.sentences(self.queries)[1]

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        documents, held = space.sentences(self.documents)
        queries = unit(space.sentences(self.queries)[0][known])
        nearest = _nearest(queries, unit(documents), held)
        asked = [self.relevance[number] for number in np.flatnonzero(known).tolist()]
        ndcg = [_ndcg(row, grades) for row, grades in zip(nearest.tolist(), asked, strict=True)]
        recall = [_recall(row, grades) for row, grades in zip(nearest.tolist(), asked, strict=True)]
        return [
            Measurement(f"nDCG@{DEPTH}", filled(known, np.array(ndcg))),
            Measurement(f"recall@{DEPTH}", filled(known, np.array(recall))),
        ]


def _nearest(queries: np.ndarray, documents: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The nearest documents of each query (query, DEPTH), nearest first; equal ones in their order; -1 where
    there are fewer."""
    found = np.full((len(queries), DEPTH), -1)
    step = max(1, HELD // max(len(documents), 1))
    for start in range(0, len(queries), step):
        cosines = queries[start : start + step] @ documents.T
        cosines[:, ~held] = -np.inf
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :DEPTH]
        found[start : start + step, : order.shape[1]] = np.where(
            np.isfinite(np.take_along_axis(cosines, order, 1)), order, -1
        )
    return found


def _ndcg(nearest: Sequence[int], grades: Mapping[int, float]) -> float:
    best = sorted(grades.values(), reverse=True)[:DEPTH]
    return _dcg([grades.get(place, 0.0) for place in nearest]) / _dcg(best)


def _dcg(gains: Sequence[float]) -> float:
    return float(sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, 1)))


def _recall(nearest: Sequence[int], grades: Mapping[int, float]) -> float:
    return sum(place in grades for place in nearest) / len(grades)
