"""Approximate search through faiss: some neighbors are missed, and the recall is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, overload

import numpy as np

from inlaid.config import Positive, Range, Seed, check
from inlaid.errors import SettingError, need
from inlaid.report import Note, Report, silent
from inlaid.study.search import ranking
from inlaid.study.search.found import Neighbor, NeighborLists, Neighbors
from inlaid.study.search.queries import Asked, Query, asked_for
from inlaid.vectors import Vectors

MAX_M = 1024
MAX_EF = 1 << 20
"""Beyond any use: the graph takes 8 M bytes for each word, and faiss counts candidates in 31 bits."""
ROWS = 1 << 16
"""Rows added to an index at a time, so that there is no third table."""


@dataclass(frozen=True, kw_only=True)
class ApproximateSettings:
    """How to build an approximate index, and how thoroughly to search it."""

    kind: Literal["hnsw", "ivf"] = "hnsw"
    """hnsw: a graph of near words, fast to search and slow to build; ivf: inverted lists, of which a few are
    read."""
    M: Annotated[int, Range(1, MAX_M)] = 32
    """hnsw: neighbors of each word in the graph."""
    ef_construction: Annotated[int, Range(1, MAX_EF)] = 100
    """hnsw: candidates kept while the graph is built."""
    ef_search: Annotated[int, Range(1, MAX_EF)] = 128
    """hnsw: candidates kept while searching; more find more and take longer."""
    nlist: Positive | None = None
    """ivf: number of lists; four times the square root of the number of words by default."""
    nprobe: Positive = 32
    """ivf: lists read for a query."""
    seed: Seed = 1
    """Which words recall is measured on, and where the centroids of the lists start."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class ApproximateIndex:
    """An approximate index of a space. It holds a second table, of unit vectors."""

    vectors: Vectors
    settings: ApproximateSettings
    index: Any
    recall: float
    """The share of the 10 nearest words it finds, over `queries` words of the space."""
    queries: int

    @overload
    def neighbors(self, words: Query, *, n: int = 10, include: bool = False) -> Neighbors: ...
    @overload
    def neighbors(
        self, words: list[Any] | tuple[Any, ...], *, n: int = 10, include: bool = False
    ) -> NeighborLists: ...
    def neighbors(
        self, words: Query | Sequence[Query], *, n: int = 10, include: bool = False
    ) -> Neighbors | NeighborLists:
        """Like `inlaid.neighbors`, of those that the index finds; their scores are exact."""
        alone = isinstance(words, (str, np.ndarray))
        queries = [words] if alone else words
        found = self.search(
            [asked_for(self.vectors, query, silent) for query in queries], n=n, include=include
        )
        return found[0] if alone else NeighborLists(tuple(found))

    def search(self, asked: Sequence[Asked], *, n: int, include: bool) -> list[Neighbors]:
        """The same for prepared queries."""
        if n < 1:
            raise SettingError("n is {n}; expected at least 1.", n=n)
        if not asked:
            return []
        rows = np.stack([each.row for each in asked])
        more = 0 if include else max(len(each.ids) for each in asked)
        found = _candidates(self.index, rows, min(n + more, len(self.vectors)))
        lists: list[Neighbors] = []
        for query, ids in zip(asked, found.tolist(), strict=True):
            kept = [id for id in ids if id >= 0 and (include or id not in query.ids)]
            lists.append(Neighbors(query.name, self._scored(query.row, kept, n)))
        return lists

    def _scored(self, row: np.ndarray, ids: list[int], n: int) -> tuple[Neighbor, ...]:
        few = np.sort(np.array(ids, np.int64))
        table = self.vectors.table
        best = ranking.best(table[few], self.vectors.lengths[few], row[None], n=n)[0]
        pairs = zip(few[best.ids].tolist(), best.scores.tolist(), strict=True)
        return tuple(Neighbor(self.vectors.words[id], score) for id, score in pairs)


def approximate(
    vectors: Vectors,
    settings: ApproximateSettings | None = None,
    *,
    queries: int = 200,
    report: Report = silent,
) -> ApproximateIndex:
    """Build an approximate index and measure its recall against exact search on `queries` words.

    Indexes built on several threads vary a little from run to run.
    """
    settings = settings or ApproximateSettings()
    if not len(vectors):
        raise SettingError("There are no words to build an index of.")
    index = _hnsw(vectors, settings) if settings.kind == "hnsw" else _ivf(vectors, settings)
    for start in range(0, len(vectors), ROWS):
        index.add(_unit_rows(vectors, slice(start, start + ROWS)))
    recall, asked = _recall(vectors, index, min(queries, len(vectors)), settings.seed)
    report(
        Note(
            "{kind} finds {recall:.1%} of the 10 nearest words, measured on {count:,} words.",
            kind=settings.kind,
            recall=recall,
            count=asked,
        )
    )
    return ApproximateIndex(vectors, settings, index, recall, asked)


def _hnsw(vectors: Vectors, settings: ApproximateSettings) -> Any:
    faiss = need("faiss", extra="ann")
    index = faiss.IndexHNSWFlat(vectors.dim, settings.M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = settings.ef_construction
    index.hnsw.efSearch = settings.ef_search
    return index


def _ivf(vectors: Vectors, settings: ApproximateSettings) -> Any:
    faiss = need("faiss", extra="ann")
    nlist = min(settings.nlist or int(4 * len(vectors) ** 0.5), len(vectors))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(vectors.dim), vectors.dim, nlist, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = min(settings.nprobe, nlist)
    index.cp.seed = settings.seed & 0x7FFFFFFF  # a C int
    index.cp.min_points_per_centroid = 1  # it warns otherwise; recall is measured anyway
    index.train(_unit_rows(vectors, slice(None, None, max(1, len(vectors) // (64 * nlist)))))
    return index


def _recall(vectors: Vectors, index: Any, queries: int, seed: int) -> tuple[float, int]:
    """Of the 10 nearest by exact search, the share the index finds, for words drawn with the seed."""
    random = np.random.Generator(np.random.Philox(seed))
    ids = random.choice(len(vectors), queries, replace=False)
    rows = vectors.table[ids]
    asked = rows[rows.any(axis=1)]
    n = min(10, len(vectors))
    exact = ranking.best(vectors.table, vectors.lengths, asked, n=n)
    found = _candidates(index, asked, n)
    shares = [
        len(set(each.ids.tolist()) & set(got)) / n for each, got in zip(exact, found.tolist(), strict=True)
    ]
    return float(np.mean(shares)) if shares else 1.0, len(asked)


def _unit_rows(vectors: Vectors, some: slice) -> np.ndarray:
    size = np.where(vectors.lengths[some] == 0, 1, vectors.lengths[some])[:, None]
    return np.ascontiguousarray(vectors.table[some] / size, np.float32)


def _candidates(index: Any, rows: np.ndarray, n: int) -> np.ndarray:
    return index.search(np.ascontiguousarray(rows, np.float32), n)[1]
