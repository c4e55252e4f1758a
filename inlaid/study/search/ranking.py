"""The best n words for many queries: exact, in blocks, ties in the order of ids.

Fast float32 scores, whose error has a known bound, select the words that may be among the best. Those few
are scored again in float64, each from its own row alone. So blocks, threads, BLAS and kernels change the
time, but never the result.
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
"""Scores in memory at a time; with their ids and masks they take a few hundred megabytes at most."""
QUERIES = 256
"""Queries that share one pass over the table."""
FEW = 16
"""Up to this number of queries, a kernel limited by memory bandwidth; for more, BLAS is faster."""
SMALL = 1 << 22
"""With fewer multiplications than this, loading Numba would take longer than the work."""
ALONE = 1 << 23
"""With fewer multiplications than this, starting threads takes longer than they save."""
WIDEST = 130_000
"""Most dimensions for which a dot product of int8 codes fits into 32 bits."""
GATHERED = 1 << 13
"""Rows scored in float64 at a time."""


@dataclass(frozen=True)
class Found:
    """The best words of one query, best first."""

    ids: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class Penalties:
    """What is subtracted from the cosine of each query and word: a product of low rank, words @ queries."""

    words: Doubles
    """(word, k)"""
    queries: Doubles
    """(query, k)"""


@dataclass(frozen=True)
class Filter:
    """int8 codes of a table and a bound on their error: enough to rule out most words without their rows."""

    codes: Int8Table
    factors: Lengths
    """What turns a dot product of codes into a cosine: the scale of the row over its length."""
    errors: Lengths
    """Length of the rounding error, for a row of length 1."""

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
    """The `n` words with the highest cosine minus penalty, for each query, without the ids in `without`.

    A row of zeros has cosine 0 with everything. Fewer than `n` are returned where there are fewer words.
    """
    found: list[Found] = []
    left_out = without or [()] * len(queries)
    for start in range(0, len(queries), QUERIES):
        here = slice(start, start + QUERIES)
        of_block = penalties and Penalties(penalties.words, penalties.queries[here])
        block = _QueryBlock(table, lengths, _unit(queries[here]), n, left_out[here], of_block)
        few = len(block.queries) <= FEW and table.shape[1] <= WIDEST
        kernels = _kernels() if filter and few and not penalties else None
        if filter and kernels:
            found += _by_codes(block, filter, kernels)
        else:
            found += _by_floats(block)
    return found


def all_scores(table: Table, lengths: Lengths, query: np.ndarray) -> np.ndarray:
    """The cosine of one query with every word, as `best` scores them."""
    block = _QueryBlock(table, lengths, _unit(query[None]), 1, [()], None)
    return block.exact(np.zeros(len(table), np.int64), np.arange(len(table)))


@dataclass(frozen=True)
class _QueryBlock:
    """One block of unit queries in float64, and the table they are searched in."""

    table: Table
    lengths: Lengths
    queries: Doubles
    n: int
    without: Sequence[Sequence[int]]
    penalties: Penalties | None

    def exact(self, query: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Scores of pairs of a query and a word in float64: sums over one row, whatever block it is in."""
        scores = np.empty(len(ids))
        for start in range(0, len(ids), GATHERED):
            some = slice(start, start + GATHERED)
            rows = self.table[ids[some]].astype(np.float64)
            lengths = np.sqrt((rows * rows).sum(axis=1))
            scores[some] = (rows * self.queries[query[some]]).sum(axis=1) / np.where(lengths == 0, 1, lengths)
            if self.penalties:
                of_words = self.penalties.words[ids[some]]
                scores[some] -= (of_words * self.penalties.queries[query[some]]).sum(axis=1)
        return scores

    def slack(self) -> np.ndarray:
        """A bound on the error of float32 scores for each query: an operation loses up to 2^-24."""
        size = np.ones(len(self.queries))
        if self.penalties and len(self.penalties.words):
            size += np.abs(self.penalties.queries) @ np.abs(self.penalties.words).max(axis=0)
        return (self.table.shape[1] + 16) * 2.0**-24 * size


def _by_floats(asked: _QueryBlock) -> list[Found]:
    """For each block of words: fast scores, then exact scores of all that may still be among the best."""
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


def _by_codes(asked: _QueryBlock, filter: Filter, kernels: ModuleType) -> list[Found]:
    """For each query: the best by codes give a threshold, and only rows that may exceed it are read."""
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
        same_query = np.full(len(first), number)
        by_codes = _Best(same_query, first, asked.exact(same_query, first)).joined(None, asked.n)
        # Cauchy-Schwarz: the row's error times the query, and the query's error times the rounded row.
        scores[0] += filter.errors * np.float32(1 + lost)
        threshold = by_codes.scores[-1] - lost - 1e-5 if len(by_codes.ids) == asked.n else -np.inf
        ids = np.flatnonzero((scores[0] >= threshold) & (scores[0] > -np.inf))
        exact = asked.exact(np.full(len(ids), number), ids)
        found += _Best(np.zeros(len(ids), np.int64), ids, exact).joined(None, asked.n).split(1)
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
        """The score of the n-th word of each query; minus infinity where there are fewer so far."""
        place = np.searchsorted(self.query, np.arange(queries), "right") - 1
        full = np.bincount(self.query, minlength=queries) >= n
        return np.where(full, self.scores[place], -np.inf) if len(self.query) else np.full(queries, -np.inf)

    def split(self, queries: int) -> list[Found]:
        bounds = np.searchsorted(self.query, np.arange(queries + 1)).tolist()
        return [Found(self.ids[a:b], self.scores[a:b]) for a, b in pairwise(bounds)]


def _cosines(table: Table, lengths: Lengths, queries: Rows) -> np.ndarray:
    """(query, word), in float32. Rows are not copied: their lengths divide the dot products."""
    with np.errstate(divide="ignore", over="ignore"):
        # The reciprocal of a denormal length is infinity: such a row counts as zeros.
        factors = np.where(lengths >= np.finfo(np.float32).tiny, 1 / lengths, 0).astype(np.float32)
    fast = len(queries) <= FEW and table.size * len(queries) >= SMALL and _kernels()
    if fast:
        out = np.empty((len(queries), len(table)), np.float32)
        _shared(fast.dots, table, factors, queries, out)
        return out
    out = queries @ table.T if len(queries) != 1 else (table @ queries[0])[None]
    out *= factors
    return out


def _shared(kernel, rows: np.ndarray, factors: np.ndarray, queries: np.ndarray, out: np.ndarray) -> None:
    """Run a kernel over all rows, a part of them in each thread."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1 or rows.size * len(np.atleast_2d(queries)) < ALONE:
        kernel(rows, factors, queries, out)
        return
    cuts = np.linspace(0, len(rows), cores + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(cores) as pool:
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        list(pool.map(lambda part: kernel(rows[part], factors[part], queries, out[..., part]), parts))


@functools.cache
def _kernels() -> ModuleType | None:
    """The compiled loops; None on a machine without Numba, where NumPy does all the work."""
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
    """For each query a score that at least `n` words reach, close to the n-th best, without sorting.

    The words are divided into groups: if the best words of n groups reach a score, n words reach it.
    """
    queries, words = scores.shape
    if words < n:
        return np.full(queries, -np.inf)
    size = max(1, min(256, words // (16 * n)))
    groups = words // size
    # A group is every `groups`-th word, so that the maximum is over whole rows.
    top = scores[:, : groups * size].reshape(queries, size, groups).max(axis=1) if size > 1 else scores
    return np.partition(top, groups - n, axis=1)[:, groups - n].astype(np.float64)
