"""Scores freed of crowding (CSLS) and of frequency; what they need of a space is computed once and kept with
it.

csls       2 cos(q, w) - r(q) - r(w), where r is the mean cosine with the k nearest words (Conneau et al.
2018, section 2.3):
           a word that is near to everything must be nearer still to count.
frequency  cos(q, w) minus the cosine that a word of that frequency has with q on average: over all words, the
cosine with q
           is regressed on log rank and its square (on log count, where counts are known). A regression is linear in what it
           explains, so one regression of the vectors themselves holds for every query.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.config import Positive, check
from inlaid.errors import SettingError
from inlaid.shapes import Doubles, Lengths, Rows
from inlaid.study.search import ranking
from inlaid.study.search.ranking import Correction, Filter
from inlaid.vectors import Int8Table, Vectors, lengths

By = Literal["cosine", "csls", "frequency"]


@dataclass(frozen=True, kw_only=True)
class Density:
    """How crowded it is around each word: the mean cosine with its nearest words."""

    k: Positive = 10
    """Nearest words that count."""
    among: Positive = 20_000
    """They are looked for among so many first words; all against all would take hours for a million."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(eq=False)
class Index:
    """What searches of one space share, each part made when first needed."""

    vectors: Vectors
    _filter: Filter | None = None

    def filter(self, codes: Int8Table) -> Filter:
        """Int8 codes of this table, with what rounding lost of each row."""
        if codes.codes.shape != self.vectors.table.shape:
            raise SettingError(
                f"The codes are of a table of {codes.codes.shape}; these vectors are {self.vectors.table.shape}."
            )
        if self._filter is None or self._filter.codes is not codes:
            self._filter = Filter(codes, *_losses(codes, self.vectors))
        return self._filter

    @functools.cached_property
    def density(self) -> np.ndarray:
        return density(self.vectors)

    @functools.cached_property
    def frequency(self) -> tuple[Doubles, Doubles]:
        return frequency(self.vectors)

    def correction(self, queries: Rows, by: By, top: int) -> Correction | None:
        """What to take off the cosines of these queries with the first `top` words."""
        if by == "csls":
            return Correction(self.density[:top, None] / 2, np.ones((len(queries), 1)))
        if by == "frequency":
            terms, directions = self.frequency
            unit = queries / np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
            return Correction(terms[:top], unit.astype(np.float64) @ directions.T)
        return None


_INDEXES: weakref.WeakKeyDictionary[Vectors, Index] = weakref.WeakKeyDictionary()


def index_of(vectors: Vectors) -> Index:
    """The index of these vectors: the same one for as long as they live."""
    if vectors not in _INDEXES:
        _INDEXES[vectors] = Index(weakref.proxy(vectors))  # a real reference would keep them alive for ever
    return _INDEXES[vectors]


def density(vectors: Vectors, settings: Density | None = None) -> np.ndarray:
    """For each word the mean cosine with its k nearest other words among the first; in blocks, without the
    whole of all pairs."""
    settings = settings or Density()
    crowd = vectors.table[: settings.among]
    found = np.zeros(len(vectors))
    for start in range(0, len(vectors), ranking.QUERIES):
        ids = range(start, min(start + ranking.QUERIES, len(vectors)))
        itself = [[id] if id < len(crowd) else [] for id in ids]
        rows = vectors.table[start : start + ranking.QUERIES]
        best = ranking.best(crowd, vectors.lengths[: settings.among], rows, n=settings.k, without=itself)
        found[start : start + len(best)] = [each.scores.mean() if len(each.scores) else 0 for each in best]
    return found


def frequency(vectors: Vectors) -> tuple[Doubles, Doubles]:
    """Terms of each word (1, f, f²) and the vectors that explain the space best by them, in the least squares
    of unit rows."""
    seen = vectors.counts if vectors.counts is not None and (vectors.counts > 0).all() else None
    scale = -np.log(np.arange(1, len(vectors) + 1)) if seen is None else np.log(seen)
    spread = scale.std()
    scale = (scale - scale.mean()) / (spread if spread > 0 else 1)
    terms = np.stack([np.ones(len(scale)), scale, scale**2], axis=1)
    sums = np.zeros((3, vectors.dim))
    for start in range(0, len(vectors), 1 << 14):
        block = slice(start, start + (1 << 14))
        size = np.where(vectors.lengths[block] == 0, 1, vectors.lengths[block]).astype(np.float64)
        sums += (terms[block] / size[:, None]).T @ vectors.table[block]
    return terms, np.linalg.lstsq(terms.T @ terms, sums, rcond=None)[0]


def _losses(codes: Int8Table, vectors: Vectors) -> tuple[Lengths, Lengths]:
    """What turns whole numbers into cosines, and the share of each row's length that its codes miss."""
    size = np.where(vectors.lengths == 0, 1, vectors.lengths).astype(np.float32)
    lost = np.empty(len(codes), np.float32)
    for start in range(0, len(codes), 1 << 14):
        block = slice(start, start + (1 << 14))
        lost[block] = lengths(vectors.table[block] - codes.rows(block))
    factors = np.where(vectors.lengths == 0, 0, codes.scales / size).astype(np.float32)
    return factors, (lost / size * np.float32(1.0001)).astype(np.float32)
