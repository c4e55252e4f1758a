"""Index: what searches of one space share, computed once and kept for as long as the vectors live."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlaid.shapes import Lengths, Rows
from inlaid.study.search.csls import By, FrequencyFit, frequency, mean_similarity
from inlaid.study.search.ranking import Filter, Penalties
from inlaid.vectors import Int8Table, Vectors, lengths

ROWS = 1 << 14
"""Rows handled at a time."""


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
