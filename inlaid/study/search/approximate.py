"""Approximate search through faiss: some neighbours missed, how many is measured and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, check
from inlaid.errors import SettingError, need
from inlaid.report import Note, Report, silent
from inlaid.study.search.neighbors import Neighbor, Query, ids_of, ranking, row_of
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class Approximate:
    """How to build an approximate index, and how hard it is to look."""

    kind: Literal["hnsw", "ivf"] = "hnsw"
    """hnsw: a graph of near words, fast to ask and slow to build; ivf: words in lists around centers, of
    which a few are read."""
    links: Positive = 32
    """hnsw: near words each word is linked with."""
    care: Positive = 100
    """hnsw: words looked at for the links of one word while building."""
    effort: Positive = 128
    """hnsw: words kept in view while asking; more find more and take longer."""
    lists: Positive | None = None
    """ivf: how many lists; four times the square root of the words when None."""
    probes: Positive = 32
    """ivf: lists read for a query."""
    seed: int = 1
    """Which words recall is measured on, and where the centers of lists begin."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class Nearby:
    """An approximate index of a space. It holds a second table, of unit vectors."""

    vectors: Vectors
    settings: Approximate
    index: Any
    recall: float
    """The share of the 10 nearest words it finds, over `queries` words of the space."""
    queries: int

    def neighbors(self, query: Query, *, n: int = 10, include: bool = False) -> list[Neighbor]:
        """Like `inlaid.neighbors`, of those that the index finds; their scores are exact."""
        return self.neighbors_of_each([query], n=n, include=include)[0]

    def neighbors_of_each(
        self, queries: Sequence[Query], *, n: int = 10, include: bool = False
    ) -> list[list[Neighbor]]:
        """The same for many queries, one list each."""
        if n < 1:
            raise SettingError(f"n is {n}; expected at least 1.")
        if not len(queries):
            return []
        known = [ids_of(self.vectors, query) for query in queries]
        rows = np.stack([row_of(self.vectors, query, ids) for query, ids in zip(queries, known, strict=True)])
        more = 0 if include else max(map(len, known))
        found = _ask(self.index, rows, min(n + more, len(self.vectors)))
        return [
            self._scored(row, [id for id in ids if id >= 0 and (include or id not in given)], n)
            for row, ids, given in zip(rows, found.tolist(), known, strict=True)
        ]

    def _scored(self, row: np.ndarray, ids: list[int], n: int) -> list[Neighbor]:
        few = np.sort(np.array(ids, np.int64))
        table = self.vectors.table
        best = ranking.best(table[few], self.vectors.lengths[few], row[None], n=n)[0]
        pairs = zip(few[best.ids].tolist(), best.scores.tolist(), strict=True)
        return [Neighbor(self.vectors.words[id], score) for id, score in pairs]


def approximate(
    vectors: Vectors, settings: Approximate | None = None, *, queries: int = 200, report: Report = silent
) -> Nearby:
    """Build an approximate index and measure its recall against exact search. Building on several threads
    varies a little."""
    faiss = need("faiss", extra="ann")
    settings = settings or Approximate()
    if not len(vectors):
        raise SettingError("There are no words to build an index of.")
    if settings.kind == "hnsw":
        index = faiss.IndexHNSWFlat(vectors.dim, settings.links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = settings.care
        index.hnsw.efSearch = settings.effort
    else:
        lists = min(settings.lists or int(4 * len(vectors) ** 0.5), len(vectors))
        index = faiss.IndexIVFFlat(
            faiss.IndexFlatIP(vectors.dim), vectors.dim, lists, faiss.METRIC_INNER_PRODUCT
        )
        index.nprobe = min(settings.probes, lists)
        index.cp.seed = settings.seed
        index.cp.min_points_per_centroid = 1  # it warns otherwise; recall is measured anyway
        index.train(_unit_rows(vectors, slice(None, None, max(1, len(vectors) // (64 * lists)))))
    for start in range(0, len(vectors), 1 << 16):  # in blocks: no third table
        index.add(_unit_rows(vectors, slice(start, start + (1 << 16))))
    recall, asked = _recall(vectors, index, min(queries, len(vectors)), settings.seed)
    report(Note(f"{settings.kind}: finds {recall:.1%} of the 10 nearest words, measured on {asked:,} words"))
    return Nearby(vectors, settings, index, recall, asked)


def _recall(vectors: Vectors, index: Any, queries: int, seed: int) -> tuple[float, int]:
    """Of the 10 nearest by exact search, the share the index finds, for words drawn with the seed."""
    random = np.random.Generator(np.random.Philox(seed))
    ids = random.choice(len(vectors), queries, replace=False)
    rows = vectors.table[ids]
    asked = rows[rows.any(axis=1)]
    n = min(10, len(vectors))
    exact = ranking.best(vectors.table, vectors.lengths, asked, n=n)
    found = _ask(index, asked, n)
    hits = [
        len(set(each.ids.tolist()) & set(got)) / n for each, got in zip(exact, found.tolist(), strict=True)
    ]
    return float(np.mean(hits)) if hits else 1.0, len(asked)


def _unit_rows(vectors: Vectors, some: slice) -> np.ndarray:
    size = np.where(vectors.lengths[some] == 0, 1, vectors.lengths[some])[:, None]
    return np.ascontiguousarray(vectors.table[some] / size, np.float32)


def _ask(index: Any, rows: np.ndarray, n: int) -> np.ndarray:
    return index.search(np.ascontiguousarray(rows, np.float32), n)[1]
