"""The nearest words of words and vectors: exact, many at once, by cosine, CSLS or without frequency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, overload

import numpy as np

from inlaid.config import Positive, Range, check
from inlaid.errors import SettingError
from inlaid.report import Report, silent
from inlaid.shapes import Rows, Vector
from inlaid.study.analysis import analysis
from inlaid.study.search import ranking
from inlaid.study.search.approximate import MAX_EF, MAX_M, ApproximateSettings, approximate
from inlaid.study.search.csls import By, CSLSSettings
from inlaid.study.search.found import Neighbor, NeighborLists, Neighbors
from inlaid.study.search.index import index_of
from inlaid.study.search.queries import Asked, Query, asked_for
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What every exact search can be asked."""

    n: Positive = 10
    """How many words to return."""
    by: By = "cosine"
    """cosine; csls, which corrects for hubs; frequency, which subtracts what words of that frequency score
    anyway."""
    top: Positive | None = None
    """Search only among the first n words, which files list by frequency; all by default."""
    include: bool = False
    """Let the words of the query be answers too."""
    int8: bool = False
    """Read int8 codes of the table first and only the rows they cannot rule out; the result is the same."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class NeighborsSettings(SearchSettings):
    """How to search for neighbors, exactly or through an approximate index."""

    approximate: Literal["hnsw", "ivf"] | None = None
    """Search through a faiss index, by cosine: hnsw (a graph) or ivf (inverted lists). Its recall is
    measured."""
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.approximate and (self.by != "cosine" or self.top is not None or self.int8):
            raise SettingError("Approximate search is by cosine, over all words: leave out by, top and int8.")


@overload
def neighbors(
    vectors: Vectors,
    words: Query,
    settings: NeighborsSettings | None = None,
    *,
    report: Report = silent,
    **keywords: Any,
) -> Neighbors: ...
@overload
def neighbors(
    vectors: Vectors,
    words: list[Any] | tuple[Any, ...],
    settings: NeighborsSettings | None = None,
    *,
    report: Report = silent,
    **keywords: Any,
) -> NeighborLists: ...
@analysis
def neighbors(
    vectors: Vectors,
    words: Query | Sequence[Query],
    settings: NeighborsSettings | None = None,
    *,
    report: Report = silent,
) -> Neighbors | NeighborLists:
    """The words nearest to a word, without the word itself.

    A word or a vector gives one list of neighbors; a list of them gives a list for each, and the table is
    read once for hundreds of queries. A word out of the vocabulary is answered through its subwords, where
    the vectors have them.

    >>> neighbors(vectors, "上海", n=3)[0].word
    >>> neighbors(vectors, ["king", "queen"], by="csls", top=50_000)

    Args:
        vectors: a file of vectors
        words: the words to search around; several are shown side by side

    Examples:
        inlaid neighbors vectors.inlaid king -n 5
        inlaid neighbors vectors.inlaid - --skip-oov --json < words.txt
    """
    settings = settings or NeighborsSettings()
    alone = isinstance(words, (str, np.ndarray))
    asked = [asked_for(vectors, query, report) for query in ([words] if alone else words)]
    if settings.approximate:
        found = _approximately(vectors, asked, settings, report)
    else:
        found = search(vectors, asked, settings)
    return found[0] if alone else NeighborLists(tuple(found))


def search(vectors: Vectors, asked: Sequence[Asked], settings: SearchSettings) -> list[Neighbors]:
    """Exact search for prepared queries."""
    if not asked:
        return []
    index = index_of(vectors)
    queries = np.stack([each.row for each in asked])
    top = min(settings.top or len(vectors), len(vectors))
    found = ranking.best(
        vectors.table[:top],
        vectors.lengths[:top],
        queries,
        n=settings.n,
        without=[() if settings.include else each.ids for each in asked],
        penalties=index.penalties(queries, settings.by, top),
        filter=index.filter.first(top) if settings.int8 else None,
    )
    if settings.by == "csls":  # as published; the order stays the same
        found = [
            ranking.Found(each.ids, 2 * each.scores - mean)
            for each, mean in zip(found, _mean_similarities(vectors, queries, asked), strict=True)
        ]
    return [
        Neighbors(query.name, tuple(_named(vectors, each))) for query, each in zip(asked, found, strict=True)
    ]


def nearest(vectors: Vectors, query: Vector, *, n: int = 10, without: Iterable[int] = ()) -> Neighbors:
    """The `n` words nearest to a vector; `without` lists ids to leave out. With a zero vector every word
    scores 0."""
    row = asked_for(vectors, query, silent).row if query.any() else query
    asked = Asked("vector", row, tuple(int(id) for id in without))
    return search(vectors, [asked], SearchSettings(n=n))[0]


def _named(vectors: Vectors, found: ranking.Found) -> Iterator[Neighbor]:
    for id, score in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
        yield Neighbor(vectors.words[id], score)


def _mean_similarities(vectors: Vectors, queries: Rows, asked: Sequence[Asked]) -> list[float]:
    """CSLS's r of each query: known for a word of the vocabulary, searched for otherwise."""
    usual = CSLSSettings()
    of_words = index_of(vectors).mean_similarity
    means = {at: float(of_words[each.ids[0]]) for at, each in enumerate(asked) if len(each.ids) == 1}
    others = [at for at in range(len(asked)) if at not in means]
    found = ranking.best(
        vectors.table[: usual.among],
        vectors.lengths[: usual.among],
        queries[others],
        n=usual.k,
        without=[asked[at].ids for at in others],
    )
    for at, each in zip(others, found, strict=True):
        means[at] = float(each.scores.mean()) if len(each.scores) else 0.0
    return [means[at] for at in range(len(asked))]


def _approximately(
    vectors: Vectors, asked: Sequence[Asked], settings: NeighborsSettings, report: Report
) -> list[Neighbors]:
    of_index = ApproximateSettings(
        kind=settings.approximate or "hnsw",
        M=settings.M,
        ef_construction=settings.ef_construction,
        ef_search=settings.ef_search,
        nlist=settings.nlist,
        nprobe=settings.nprobe,
    )
    shared = index_of(vectors)
    # Built on the weak reference of the shared index, which would otherwise keep the vectors alive forever.
    index = shared.approximate(of_index, lambda: approximate(shared.vectors, of_index, report=report))
    return index.search(asked, n=settings.n, include=settings.include)
