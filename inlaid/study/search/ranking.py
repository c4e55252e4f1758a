"""The best n of many words for many queries: exact, in blocks, equal scores in the order of their ids.

Fast float32 scores, whose error has a known bound, say which words may be among the best. Those few are
scored again in float64, each from its own row alone. So neither blocks, threads, BLAS nor kernels can change
a result: only the time.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

import numpy as np

from inlaid.shapes import Doubles, Lengths, Rows, Table
from inlaid.vectors import Int8Table

SCORES = 1 << 22
"""Scores held at once; with their ids and masks they stay under some hundred megabytes."""
QUERIES = 256
"""Queries that share one reading of the table."""
FEW = 16
"""Up to so many queries the table is read as fast as memory gives it; for more, BLAS multiplies faster."""
SMALL = 1 << 22
"""Below so many multiplications loading Numba would take longer than the work."""
WIDEST = 130_000
"""Dimensions whose sum of products of codes fits 32 bits."""
GATHERED = 1 << 13
"""Rows scored in float64 at once."""


@dataclass(frozen=True)
class Found:
    """The best words of one query, best first."""

    ids: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class Penalties:
    """What is taken off the cosine of each query and word: words @ queries, of few columns."""

    words: Doubles
    """(word, k)"""
    queries: Doubles
    """(query, k)"""


@dataclass(frozen=True)
class Filter:
    """Int8 codes of a table, and how far each row is from them: enough to rule out most words without reading
    their rows."""

    codes: Int8Table
    factors: Lengths
    """What turns a whole number into a cosine: the scale of the row over its length."""
    errors: Lengths
    """Length of what rounding lost, of a row of length 1."""

    def first(self, top: int) -> Filter:
        """The same for the first words only."""
        return Filter(
            Int8Table(self.codes.codes[:top], self.codes.scales[:top]), self.factors[:top], self.errors[:top]
        )


def best(
    table: Table,
    lengths: Lengths,
    queries: Rows,
    *,
    n: int,
    without: Sequence[Sequence[int]] = (),
    penalties: Penalties | None = None,
    filter: Filter | None = None,
) -> list[Found]:
    """The `n` words with the highest cosine minus penalties, for each query; `without` lists ids each may
    not find.

    A row of zeros has cosine 0 with everything. Fewer than `n` come back where there are fewer words.
    """
    found: list[Found] = []
    left_out = without or [()] * len(queries)
    for start in range(0, len(queries), QUERIES):
        here = slice(start, start + QUERIES)
        taken = penalties and Penalties(penalties.words, penalties.queries[here])
        asked = _Asked(table, lengths, _unit(queries[here]), n, left_out[here], taken)
        kernels = (
            _kernels()
            if filter and not penalties and len(asked.queries) <= FEW and table.shape[1] <= WIDEST
            else None
        )
        found += _by_codes(asked, filter, kernels) if filter and kernels else _by_floats(asked)
    return found


@dataclass(frozen=True)
class _Asked:
    """One block of queries, of length 1 and in float64, and what they are asked of."""

    table: Table
    lengths: Lengths
    queries: Doubles
    n: int
    without: Sequence[Sequence[int]]
    penalties: Penalties | None

    def exact(self, query: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Scores of pairs of a query and a word in float64. A sum over one row is the same wherever the row
        stands."""
        scores = np.empty(len(ids))
        for start in range(0, len(ids), GATHERED):
            some = slice(start, start + GATHERED)
            rows = self.table[ids[some]].astype(np.float64)
            lengths = np.sqrt((rows * rows).sum(axis=1))
            scores[some] = (rows * self.queries[query[some]]).sum(axis=1) / np.where(lengths == 0, 1, lengths)
            if self.penalties:
                scores[some] -= (self.penalties.words[ids[some]] * self.penalties.queries[query[some]]).sum(
                    axis=1
                )
        return scores

    def slack(self) -> np.ndarray:
        """No float32 score of a query is further than this from the exact one: each operation may lose 2^-24
        of what it handles."""
        size = np.ones(len(self.queries))
        if self.penalties and len(self.penalties.words):
            size += np.abs(self.penalties.queries) @ np.abs(self.penalties.words).max(axis=0)
        return (self.table.shape[1] + 16) * 2.0**-24 * size


def _by_floats(asked: _Asked) -> list[Found]:
    """Block after block of words: fast scores, then exact ones of all that may still be among the best."""
    words = len(asked.table)
    count = len(asked.queries)
    slack = asked.slack()
    best = _Best.none()
    step = max(1, SCORES // max(count, 1))
    queries = asked.queries.astype(np.float32)
    for start in range(0, words, step):
        block = slice(start, min(start + step, words))
        scores = _cosines(asked.table[block], asked.lengths[block], queries)
        if asked.penalties:
            scores -= (asked.penalties.queries @ asked.penalties.words[block].T).astype(np.float32)
        _leave_out(scores, asked.without, start)
        enough = np.maximum(_reached(scores, asked.n) - 2 * slack, best.last(asked.n, count) - slack)
        query, ids = np.nonzero((scores >= enough[:, None]) & (scores > -np.inf))
        ids += start
        best = best.joined(_Best(query, ids, asked.exact(query, ids)), asked.n)
    return best.split(count)


def _by_codes(asked: _Asked, filter: Filter, kernels: ModuleType) -> list[Found]:
    """One query after the other: the best by codes set a bar, and only rows that may pass it are read."""
    found: list[Found] = []
    for number, query in enumerate(asked.queries):
        scale = np.abs(query).max() / 127
        rounded = np.rint(query / scale)
        lost = float(np.linalg.norm(query - scale * rounded))
        scores = np.empty((1, len(asked.table)), np.float32)
        _shared(
            kernels.code_dots,
            filter.codes.codes,
            filter.factors * np.float32(scale),
            rounded.astype(np.int8),
            scores[0],
        )
        _leave_out(scores, asked.without[number : number + 1], 0)
        first = np.flatnonzero(scores[0] >= max(_reached(scores, asked.n)[0], np.finfo(np.float32).min))
        bar = _Best(
            np.full(len(first), number), first, asked.exact(np.full(len(first), number), first)
        ).joined(None, asked.n)
        # By Cauchy and Schwarz: what the row lost times the query, and what the query lost times the rounded
        # row.
        scores[0] += filter.errors * np.float32(1 + lost)
        enough = bar.scores[-1] - lost - 1e-5 if len(bar.ids) == asked.n else -np.inf
        ids = np.flatnonzero((scores[0] >= enough) & (scores[0] > -np.inf))
        best = _Best(np.zeros(len(ids), np.int64), ids, asked.exact(np.full(len(ids), number), ids)).joined(
            None, asked.n
        )
        found += best.split(1)
    return found


@dataclass(frozen=True)
class _Best:
    """Pairs of a query and a word with their scores."""

    query: np.ndarray
    ids: np.ndarray
    scores: np.ndarray

    @classmethod
    def none(cls) -> _Best:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    def joined(self, other: _Best | None, n: int) -> _Best:
        """The best `n` of each query among both: by score, then by id."""
        query = self.query
        ids = self.ids
        scores = self.scores
        if other is not None:
            query = np.concatenate([query, other.query])
            ids = np.concatenate([ids, other.ids])
            scores = np.concatenate([scores, other.scores])
        order = np.lexsort((ids, -scores, query))
        query = query[order]
        kept = np.arange(len(query)) - np.searchsorted(query, query) < n
        return _Best(query[kept], ids[order][kept], scores[order][kept])

    def last(self, n: int, queries: int) -> np.ndarray:
        """The score of the n-th word of each query; minus infinity where there are fewer yet."""
        place = np.searchsorted(self.query, np.arange(queries), "right") - 1
        full = np.bincount(self.query, minlength=queries) >= n
        return np.where(full, self.scores[place], -np.inf) if len(self.query) else np.full(queries, -np.inf)

    def split(self, queries: int) -> list[Found]:
        bounds = np.searchsorted(self.query, np.arange(queries + 1)).tolist()
        return [Found(self.ids[a:b], self.scores[a:b]) for a, b in pairwise(bounds)]


def _cosines(table: Table, lengths: Lengths, queries: Rows) -> np.ndarray:
    """(query, word), in float32; the rows are never copied, their lengths divide the products."""
    with np.errstate(divide="ignore"):
        factors = np.where(lengths > 0, 1 / lengths, 0).astype(np.float32)
    fast = len(queries) <= FEW and table.size * len(queries) >= SMALL and _kernels()
    if fast:
        out = np.empty((len(queries), len(table)), np.float32)
        _shared(fast.dots, table, factors, queries, out)
        return out
    out = queries @ table.T if len(queries) != 1 else (table @ queries[0])[None]
    out *= factors
    return out


def _shared(kernel, rows: np.ndarray, factors: np.ndarray, queries: np.ndarray, out: np.ndarray) -> None:
    """A kernel over all rows, each thread its part of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cuts = np.linspace(0, len(rows), cores + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(cores) as pool:
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        list(pool.map(lambda part: kernel(rows[part], factors[part], queries, out[..., part]), parts))


@functools.cache
def _kernels() -> ModuleType | None:
    """The compiled loops, or nothing on a machine without Numba: NumPy then does all the work."""
    try:
        from inlaid.kernels.search import cpu
    except ImportError:
        return None
    return cpu


def _unit(queries: Rows) -> Doubles:
    wide = queries.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return wide / np.where(lengths == 0, 1, lengths)


def _leave_out(scores: np.ndarray, without: Sequence[Sequence[int]], start: int) -> None:
    for row, ids in enumerate(without):
        for id in ids:
            if start <= id < start + scores.shape[1]:
                scores[row, id - start] = -np.inf


def _reached(scores: np.ndarray, n: int) -> np.ndarray:
    """For each query a score that at least `n` words reach, close to the n-th best; one reading and no
    sorting of words.

    The words are taken in groups: where n groups have a best word that good, there are n words that good.
    """
    queries, words = scores.shape
    if words < n:
        return np.full(queries, -np.inf)
    size = max(1, min(256, words // (16 * n)))
    groups = words // size
    # A group is every `groups`-th word: so the maximum is taken of whole rows at once.
    top = scores[:, : groups * size].reshape(queries, size, groups).max(axis=1) if size > 1 else scores
    return np.partition(top, groups - n, axis=1)[:, groups - n].astype(np.float64)
