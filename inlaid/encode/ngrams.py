"""Hashed character n-grams, exactly as in fastText: vectors for out-of-vocabulary words, and tables.

The n-grams of a word, enclosed in < and >, have `min_n` to `max_n` characters. Each is hashed into a bucket,
and each bucket has a row. The vector of a word is the mean of its own row and the rows of its n-grams; that
of an out-of-vocabulary word is the mean of the rows of its n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from inlaid.arrays import row_numbers
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.kernels.text import reference
from inlaid.shapes import Blob, Buckets, Ids, LazyTable, Offsets, Rows, Table, Vector

BLOCK = 1 << 14
"""Words whose n-grams are in memory at once while a table is computed."""

LIMITS = {"size": (1, (1 << 31) - 1), "min_n": (0, 1000), "max_n": (0, 1000)}
"""The smallest and the largest value of each setting; anything beyond is damage."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NGrams:
    """The rows of words and n-gram buckets. Tables may be in a file; only the rows needed are read."""

    own: Table | LazyTable
    """The row of each word, without its n-grams."""
    buckets: Buckets | LazyTable
    """A row for each bucket, or, in a pruned table, for each bucket of `kept`."""
    size: int
    """Number of buckets that n-grams are hashed into."""
    min_n: int
    """Length of the shortest n-grams in characters, < and > included."""
    max_n: int
    """Length of the longest n-grams."""
    kept: Ids | None = None
    """The buckets that have a row, in ascending order: row r is bucket kept[r]. None: all have one."""

    def __post_init__(self) -> None:
        rows = self.size if self.kept is None else len(self.kept)
        if self.buckets.shape[0] != rows or self.own.shape[1:] != self.buckets.shape[1:]:
            raise FormatError(
                "Expected a table of {rows:,} n-gram buckets by {dim} components, found the shape {found}. "
                "The file is damaged: download or copy it again.",
                rows=rows,
                dim=self.own.shape[1],
                found=self.buckets.shape,
            )
        for name, (least, most) in LIMITS.items():
            if not least <= getattr(self, name) <= most:
                raise FormatError(
                    "{name} of the n-grams is {found}; expected a number from {least} to {most:,}. "
                    "The file is damaged: download or copy it again.",
                    name=name,
                    found=getattr(self, name),
                    least=least,
                    most=most,
                )
        if self.kept is None or not len(self.kept):
            return
        if self.kept[0] < 0 or self.kept[-1] >= self.size or (np.diff(self.kept) <= 0).any():
            raise FormatError(
                "The list of n-gram buckets is not in ascending order without repeats, from 0 to {last:,}. "
                "The file is damaged: download or copy it again.",
                last=self.size - 1,
            )

    def ids(self, word: str) -> Ids:
        """The buckets of the n-grams of a word, in order, including buckets without a row."""
        try:
            encoded = word.encode("utf-8")
        except UnicodeEncodeError:
            return np.zeros(0, np.int32)  # a lone surrogate
        return np.array(reference.ngrams(encoded, self.min_n, self.max_n, self.size), np.int32)

    def vector(self, word: str) -> Vector | None:
        """The mean of the rows of a word's n-grams; None if it has none (fastText returns zeros).

        >>> vectors.subwords.vector("unseen")
        """
        ids = self.ids(word)
        ids, _ = self._rows_of(ids, np.array([0, len(ids)]))
        if not len(ids):
            return None
        rows = self.buckets[ids] if isinstance(self.buckets, np.ndarray) else self.buckets.rows(ids)
        with np.errstate(over="ignore"):
            total = rows.sum(axis=0, dtype=np.float32)  # in this order, as in fastText
            mean = total * np.float32(1 / len(ids))
        if not np.isfinite(mean).all():
            raise FormatError(
                "The n-grams of '{word}' (rows {rows} of the buckets) give NaN or infinity. "
                "The file is damaged: download or copy it again.",
                word=word,
                rows=ids.tolist(),
            )
        return mean

    def vectors(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """What `vector` says of many words, which are UTF-8: a row for each, and whether it has n-grams."""
        from inlaid.kernels.bags import cpu  # it imports Numba

        encoded = [word.encode("utf-8") for word in words]
        blob = np.frombuffer(b"".join(encoded), np.uint8)
        offsets = np.cumsum([0, *map(len, encoded)])
        ids, bounds = self._rows_of(
            *bucket_ids(blob, offsets, min_n=self.min_n, max_n=self.max_n, buckets=self.size)
        )
        buckets, ids = self._buckets_of(ids)
        rows = np.empty((len(words), self.buckets.shape[1]), np.float32)
        cpu.means(buckets, ids, bounds, rows)
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            self.vector(words[int(wrong[0])])  # raises FormatError with the rows that are damaged
        return rows, np.diff(bounds) > 0

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, Vector]]:
        """The vectors whose mean is the vector of a word: its own row, if any, and those of its n-grams."""
        parts = [] if id is None else [(word, _rows(self.own, np.array([id]))[0])]
        spelled = reference.spelled(word.encode("utf-8"), self.min_n, self.max_n) if word != "</s>" else []
        for ngram in spelled:
            bucket = np.array([reference.fnv(ngram) % self.size], np.int32)
            ids, _ = self._rows_of(bucket, np.array([0, 1]))
            if len(ids):
                parts.append((ngram.decode(), _rows(self.buckets, ids)[0]))
        return parts

    def means(self, own: Rows, blob: Blob, offsets: Offsets) -> Rows:
        """For each word, the mean of its own row (passed in) and the rows of its n-grams."""
        ids, bounds = self._rows_of(
            *bucket_ids(blob, offsets, min_n=self.min_n, max_n=self.max_n, buckets=self.size)
        )
        buckets, ids = self._buckets_of(ids)
        kernels = fast()
        if kernels is None:
            with np.errstate(over="ignore"):  # callers check for infinity
                return reference.mean_with_ngrams(own, buckets, ids, bounds)
        rows = np.array(own, np.float32)
        kernels.mean_with_ngrams(rows, buckets, ids, bounds)
        return rows

    def _buckets_of(self, ids: np.ndarray) -> tuple[Rows, np.ndarray]:
        """A table with the rows of these ids, and their ids in it; from a file only these are read."""
        if isinstance(self.buckets, np.ndarray):
            return self.buckets, ids
        used, places = np.unique(ids, return_inverse=True)
        return self.buckets.rows(used), places.astype(np.int32)

    def with_words(self, own: Rows) -> NGrams:
        """For other words, with these rows of their own, and the same buckets."""
        return replace(self, own=own)

    def own_rows(self, ids: np.ndarray) -> Rows:
        """The rows of some words, without their n-grams."""
        return _rows(self.own, ids)

    def has_rows_for(self, words: Words) -> bool:
        """Whether every n-gram of these words has a row."""
        if self.kept is None:
            return True
        ids, _ = bucket_ids(words.blob, words.offsets, min_n=self.min_n, max_n=self.max_n, buckets=self.size)
        return bool(np.isin(ids, self.kept).all())

    def spread(self) -> NGrams:
        """With a row for every bucket: zeros for buckets that had none."""
        return self if self.kept is None else replace(self, buckets=_Spread(self, self.kept), kept=None)

    def _rows_of(self, ids: Ids, bounds: Offsets) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the buckets that have one, and the offsets of each word in them."""
        if self.kept is None:
            return ids, bounds
        if not len(self.kept):
            return np.zeros(0, np.int32), np.zeros_like(bounds)
        rows = np.minimum(np.searchsorted(self.kept, ids), len(self.kept) - 1).astype(np.int32)
        exists = self.kept[rows] == ids
        return rows[exists], np.concatenate([[0], np.cumsum(exists)])[bounds]


@dataclass(frozen=True, eq=False)
class _Spread:
    """A row for every bucket, computed when needed: zeros for buckets that were not kept."""

    ngrams: NGrams
    kept: Ids

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ngrams.size, self.ngrams.own.shape[1]

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = np.asarray(ids)
        rows = np.zeros((len(ids), self.shape[1]), np.float32)
        stored = np.searchsorted(self.kept, wanted)
        exists = np.flatnonzero(np.append(self.kept, -1)[stored] == wanted)
        rows[exists] = _rows(self.ngrams.buckets, stored[exists])
        return rows

    def whole(self) -> Table:
        return self.rows(np.arange(self.ngrams.size))


@dataclass(frozen=True, eq=False)
class NGramTable:
    """The table of words with n-grams; each row is computed when it is needed."""

    ngrams: NGrams
    blob: Blob
    offsets: Offsets
    """The UTF-8 of all words, concatenated, and the offset of each."""

    @classmethod
    def of(cls, words: Words, ngrams: NGrams) -> NGramTable:
        return cls(ngrams, words.blob, words.offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ngrams.own.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = row_numbers(ids, self.shape[0])
        words = [self.blob[self.offsets[id] : self.offsets[id + 1]] for id in wanted]
        blob = np.concatenate([np.zeros(0, np.uint8), *words])
        offsets = np.cumsum([0, *map(len, words)])
        return self.ngrams.means(_rows(self.ngrams.own, wanted), blob, offsets)

    def whole(self) -> Table:
        table = np.empty(self.shape, np.float32)
        for start in range(0, len(table), BLOCK):
            offsets = self.offsets[start : start + BLOCK + 1]
            blob = self.blob[offsets[0] : offsets[-1]]
            own = _rows(self.ngrams.own, np.arange(start, start + len(offsets) - 1))
            table[start : start + BLOCK] = self.ngrams.means(own, blob, offsets - offsets[0])
        return table


def bucket_ids(blob: Blob, offsets: Offsets, *, min_n: int, max_n: int, buckets: int) -> tuple[Ids, Offsets]:
    """The buckets of the n-grams of many words: those of word w are ids[bounds[w]:bounds[w + 1]]."""
    kernels = fast()
    if kernels is None:
        words = [blob[offsets[w] : offsets[w + 1]].tobytes() for w in range(len(offsets) - 1)]
        found = [reference.ngrams(word, min_n, max_n, buckets) for word in words]
        return np.array([id for ids in found for id in ids], np.int32), np.cumsum([0, *map(len, found)])
    bounds = np.zeros(len(offsets), np.int64)
    kernels.count_ngrams(blob, offsets, min_n, max_n, bounds)
    ids = np.empty(bounds[-1], np.int32)
    kernels.fill_ngrams(blob, offsets, min_n, max_n, np.uint32(buckets), bounds, ids)
    return ids, bounds


def fast() -> ModuleType | None:
    """The kernels, or None if Numba is missing."""
    try:
        from inlaid.kernels.text import ngrams
    except ImportError:
        return None
    return ngrams


def _rows(table: Table | LazyTable, ids: np.ndarray) -> Rows:
    return table[ids] if isinstance(table, np.ndarray) else table.rows(ids)
