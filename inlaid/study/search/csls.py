"""Scores that correct for hubs (CSLS) and for frequency; what they need of a space is computed once and kept.

csls       2 cos(q, w) - r(q) - r(w), where r is the mean cosine with the k nearest words (Conneau 2018,
           section 2.3): a hub, which is near to everything, must be nearer still to count.
frequency  cos(q, w) minus the cosine that a word of that frequency has with q on average: over all words, the
           cosine with q is regressed on log rank and its square (on log count, where counts are known). A
           regression is linear in what it explains, so one regression of the vectors holds for every query.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from inlaid.config import Positive, check
from inlaid.shapes import Doubles, Lengths, Rows
from inlaid.study.search import ranking
from inlaid.study.search.ranking import Filter, Penalties
from inlaid.vectors import Int8Table, Vectors, lengths

By = Literal["cosine", "csls", "frequency"]
ROWS = 1 << 14
"""Rows handled at a time."""


@dataclass(frozen=True, kw_only=True)
class CSLSSettings:
    """Which neighbors make up r, the mean similarity of a word."""

    k: Positive = 10
    """Nearest words that count."""
    among: Positive = 20_000
    """They are searched among the first n words; all against all would take hours for a million."""

    def __post_init__(self) -> None:
        check(self)


class FrequencyFit(NamedTuple):
    """The regression of unit rows on frequency."""

    terms: Doubles
    """(word, 3): 1, f, f squared."""
    directions: Doubles
    """(3, dim)"""


@dataclass(eq=False)
class Index:
    """What searches of one space share; each part is made when first needed."""

    vectors: Vectors
    _approximate: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @functools.cached_property
    def filter(self) -> Filter:
        """int8 codes of the table, with what rounding lost of each row."""
        return filter_of(self.vectors, Int8Table.of(self.vectors.table))

    @functools.cached_property
    def mean_similarity(self) -> np.ndarray:
        return mean_similarity(self.vectors)

    @functools.cached_property
    def frequency(self) -> FrequencyFit:
        return frequency(self.vectors)

    def approximate(self, settings: Any, build: Callable[[], Any]) -> Any:
        """The approximate index of these settings; only the last one is kept."""
        if settings not in self._approximate:
            self._approximate = {settings: build()}
        return self._approximate[settings]

    def penalties(self, queries: Rows, by: By, top: int) -> Penalties | None:
        """What to subtract from the cosines of these queries with the first `top` words."""
        if by == "csls":
            return Penalties(self.mean_similarity[:top, None] / 2, np.ones((len(queries), 1)))
        if by == "frequency":
            unit = queries / np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
            of_queries = unit.astype(np.float64) @ self.frequency.directions.T
            return Penalties(self.frequency.terms[:top], of_queries)
        return None


_INDEXES: weakref.WeakKeyDictionary[Vectors, Index] = weakref.WeakKeyDictionary()


def index_of(vectors: Vectors) -> Index:
    """The index of these vectors: the same one for as long as they live."""
    if vectors not in _INDEXES:
        _INDEXES[vectors] = Index(weakref.proxy(vectors))  # a real reference would keep them alive forever
    return _INDEXES[vectors]


def mean_similarity(vectors: Vectors, settings: CSLSSettings | None = None) -> np.ndarray:
    """CSLS's r: for each word the mean cosine with its k nearest other words; in blocks, never all pairs at
    once."""
    settings = settings or CSLSSettings()
    candidates = vectors.table[: settings.among]
    sizes = vectors.lengths[: settings.among]
    found = np.zeros(len(vectors))
    for start in range(0, len(vectors), ranking.QUERIES):
        ids = range(start, min(start + ranking.QUERIES, len(vectors)))
        itself = [[id] if id < len(candidates) else [] for id in ids]
        rows = vectors.table[start : start + ranking.QUERIES]
        best = ranking.best(candidates, sizes, rows, n=settings.k, without=itself)
        found[start : start + len(best)] = [each.scores.mean() if len(each.scores) else 0 for each in best]
    return found


def frequency(vectors: Vectors) -> FrequencyFit:
    """Least squares of the unit rows on 1, f and f squared, f being the standardized log count or log
    rank."""
    counts = vectors.counts
    if counts is not None and (counts > 0).all():
        scale = np.log(counts)
    else:
        scale = -np.log(np.arange(1, len(vectors) + 1))
    spread = scale.std()
    scale = (scale - scale.mean()) / (spread if spread > 0 else 1)
    terms = np.stack([np.ones(len(scale)), scale, scale**2], axis=1)
    sums = np.zeros((3, vectors.dim))
    for start in range(0, len(vectors), ROWS):
        block = slice(start, start + ROWS)
        size = np.where(vectors.lengths[block] == 0, 1, vectors.lengths[block]).astype(np.float64)
        sums += (terms[block] / size[:, None]).T @ vectors.table[block]
    return FrequencyFit(terms, np.linalg.lstsq(terms.T @ terms, sums, rcond=None)[0])


def filter_of(vectors: Vectors, codes: Int8Table) -> Filter:
    """Codes with the factor that turns their products into cosines, and the share of each row that rounding
    lost."""
    size = np.where(vectors.lengths == 0, 1, vectors.lengths).astype(np.float32)
    lost: Lengths = np.empty(len(codes), np.float32)
    for start in range(0, len(codes), ROWS):
        block = slice(start, start + ROWS)
        lost[block] = lengths(vectors.table[block] - codes.rows(block))
    factors = np.where(vectors.lengths == 0, 0, codes.scales / size).astype(np.float32)
    # A little more than computed: the bound must hold after rounding.
    errors = (lost / size * np.float32(1.0001)).astype(np.float32)
    return Filter(codes, factors, errors)
