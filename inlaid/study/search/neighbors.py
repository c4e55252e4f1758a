"""Neighbors and formulas ("king - man + woman"); exact, many at once, by cosine, CSLS or free of
frequency."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.config import Positive, check
from inlaid.errors import SettingError
from inlaid.shapes import Rows, Vector
from inlaid.study.search import ranking
from inlaid.study.search.csls import By, Density, index_of
from inlaid.study.search.formulas import Formula, parse
from inlaid.vectors import Int8Table, Vectors

Query = str | Sequence[str] | np.ndarray
"""A word; several, whose unit vectors are averaged; or a vector."""


@dataclass(frozen=True)
class Neighbor:
    """A word and its score with the query: the cosine, unless another was asked for."""

    word: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to search."""

    n: Positive = 10
    """How many words to find."""
    by: By = "cosine"
    """cosine; csls takes off how crowded it is around a word; frequency takes off what words of its frequency
    score anyway."""
    top: Positive | None = None
    """Only among so many first words, which files list by frequency; all when None."""
    include: bool = False
    """Let the words of the query be found too."""

    def __post_init__(self) -> None:
        check(self)


def neighbors(
    vectors: Vectors,
    query: Query,
    *,
    n: int = 10,
    by: By = "cosine",
    top: int | None = None,
    include: bool = False,
    codes: Int8Table | None = None,
) -> list[Neighbor]:
    """The `n` words closest to a word, to the mean of several, or to a vector; nearest first, without the
    words asked about.

    With `codes` of the same table (`Int8Table.of(vectors.table)`) the result is the same and most rows are never
    read.

    >>> neighbors(vectors, "上海", n=3)
    >>> neighbors(vectors, ["king", "queen"], by="csls", top=50_000)
    """
    return neighbors_of_each(vectors, [query], n=n, by=by, top=top, include=include, codes=codes)[0]


def neighbors_of_each(
    vectors: Vectors,
    queries: Sequence[Query] | Rows,
    *,
    n: int = 10,
    by: By = "cosine",
    top: int | None = None,
    include: bool = False,
    codes: Int8Table | None = None,
) -> list[list[Neighbor]]:
    """`neighbors` of many queries at once, one list each: the table is read once for hundreds of them."""
    settings = Search(n=n, by=by, top=top, include=include)
    known = [ids_of(vectors, query) for query in queries]
    rows = [row_of(vectors, query, ids) for query, ids in zip(queries, known, strict=True)]
    return _search(vectors, rows, known, settings, codes)


def analogy(
    vectors: Vectors,
    formula: str | Formula,
    *,
    n: int = 10,
    by: By = "cosine",
    top: int | None = None,
    include: bool = False,
    codes: Int8Table | None = None,
) -> list[Neighbor]:
    """The `n` words closest to a sum of words, without the words of the formula; `inlaid.study.search.formulas` has
    the grammar.

    >>> analogy(vectors, "king - man + woman", n=1)[0].word
    'queen'
    """
    settings = Search(n=n, by=by, top=top, include=include)
    read = parse(formula, vectors.__contains__) if isinstance(formula, str) else formula
    ids = [vectors.id(term.word) for term in read.terms]
    # Unit vectors, as Mikolov et al. 2013 do it: otherwise the longest word decides.
    row = np.array([term.weight for term in read.terms]) @ _units(vectors, ids)
    return _search(vectors, [_pointing(row, f"'{read}'")], [ids], settings, codes)[0]


def nearest(vectors: Vectors, query: Vector, *, n: int = 10, without: Iterable[int] = ()) -> list[Neighbor]:
    """The `n` words whose vectors point most nearly where `query` points; `without` lists ids to pass over.

    A query of zeros points nowhere: every word then scores 0.
    """
    row = row_of(vectors, query, []) if query.any() else query
    return _search(vectors, [row], [[int(id) for id in without]], Search(n=n), None)[0]


def _search(
    vectors: Vectors,
    rows: list[np.ndarray],
    known: list[list[int]],
    settings: Search,
    codes: Int8Table | None,
) -> list[list[Neighbor]]:
    if not rows:
        return []
    index = index_of(vectors)
    queries = np.stack(rows)
    top = min(settings.top or len(vectors), len(vectors))
    found = ranking.best(
        vectors.table[:top],
        vectors.lengths[:top],
        queries,
        n=settings.n,
        without=[() if settings.include else ids for ids in known],
        correction=index.correction(queries, settings.by, top),
        filter=index.filter(codes).first(top) if codes is not None else None,
    )
    if settings.by == "csls":  # as published; it changes no order
        found = [
            ranking.Found(each.ids, 2 * each.scores - crowd)
            for each, crowd in zip(found, _crowds(vectors, queries, known), strict=True)
        ]
    return [
        [
            Neighbor(vectors.words[id], score)
            for id, score in zip(each.ids.tolist(), each.scores.tolist(), strict=True)
        ]
        for each in found
    ]


def _crowds(vectors: Vectors, queries: Rows, known: list[list[int]]) -> list[float]:
    """How crowded it is around each query: known for a word, looked for otherwise."""
    usual = Density()
    density = index_of(vectors).density
    crowds = [float(density[ids[0]]) if len(ids) == 1 else None for ids in known]
    asked = [number for number, crowd in enumerate(crowds) if crowd is None]
    found = ranking.best(
        vectors.table[: usual.among],
        vectors.lengths[: usual.among],
        queries[asked],
        n=usual.k,
        without=[known[number] for number in asked],
    )
    means = iter([float(each.scores.mean()) if len(each.scores) else 0.0 for each in found])
    return [next(means) if crowd is None else crowd for crowd in crowds]


def ids_of(vectors: Vectors, query: Query) -> list[int]:
    """The ids of the words asked about; a vector names none, nor does an unseen word that its subwords give a
    vector."""
    if isinstance(query, np.ndarray):
        return []
    words = [query] if isinstance(query, str) else list(query)
    if not words:
        raise SettingError("A query of no words has no neighbors. Name at least one.")
    if not all(isinstance(word, str) for word in typing.cast("list[object]", words)):
        raise SettingError(
            "A query is a word, a list of words or a NumPy vector; found a list of something else."
        )
    return [vectors.id(word) for word in words if vectors.find(word) is not None or not _made(vectors, word)]


def _made(vectors: Vectors, word: str) -> bool:
    return vectors.subwords is not None and vectors.subwords.vector(word) is not None


def row_of(vectors: Vectors, query: Query, ids: list[int]) -> np.ndarray:
    if not isinstance(query, np.ndarray):
        named = query if isinstance(query, str) else " ".join(query)
        words = [query] if isinstance(query, str) else list(query)
        if len(ids) < len(words):  # some have no row of their own
            return _pointing(
                np.mean([_pointing(vectors[word], f"'{word}'") for word in words], axis=0), f"'{named}'"
            )
        return _pointing(
            vectors.table[ids[0]] if len(ids) == 1 else _units(vectors, ids).mean(axis=0), f"'{named}'"
        )
    if query.shape != (vectors.dim,):
        raise SettingError(
            f"The query has shape {query.shape}; these vectors have {vectors.dim} numbers each."
        )
    if not np.isfinite(query).all():
        raise SettingError("The query holds NaN or infinity; nothing is near to that.")
    return _pointing(query, "The query")


def _pointing(row: np.ndarray, name: str) -> np.ndarray:
    """The row as float32 of length 1; float64 on the way, so that very long and very short ones keep their
    direction."""
    wide = row.astype(np.float64)
    largest = np.abs(wide).max(initial=0)
    if largest == 0:
        raise SettingError(f"{name} is a vector of zeros: it points nowhere, so nothing is nearest to it.")
    wide /= largest
    return (wide / np.linalg.norm(wide)).astype(np.float32)


def _units(vectors: Vectors, ids: Sequence[int]) -> np.ndarray:
    rows = vectors.table[list(ids)].astype(np.float64)
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(sizes == 0, 1, sizes)


@dataclass(frozen=True)
class PackingLoss:
    """What a table in fewer bits has lost: cosines of each word with itself, and neighbours that are no
    longer there."""

    mean: float
    worst: float
    kept: float
    """Share of the 10 nearest neighbours that are still among the 10 nearest."""
    looked_at: int

    def __str__(self) -> str:
        return (
            f"of {self.looked_at:,} words each lies at a cosine of {self.mean:.5f} to what it was (worst {self.worst:.5f}); "
            f"{100 * self.kept:.1f} % of their 10 nearest neighbours are the same"
        )


def loss_of_packing(before: Vectors, after: Vectors, *, words: int = 500) -> PackingLoss:
    """Compare two tables of the same words on the most frequent of them."""
    looked_at = np.arange(min(words, len(before)))
    cosines = np.einsum("wd,wd->w", before.unit[looked_at], after.unit[looked_at])
    n = min(10, len(before) - 1)
    kept = (
        [
            len(
                {each.word for each in nearest(before, before.table[id], n=n, without=[id])}
                & {each.word for each in nearest(after, after.table[id], n=n, without=[id])}
            )
            for id in looked_at.tolist()
        ]
        if n
        else [0]
    )
    return PackingLoss(
        float(cosines.mean()), float(cosines.min()), sum(kept) / max(1, n * len(kept)), len(looked_at)
    )
