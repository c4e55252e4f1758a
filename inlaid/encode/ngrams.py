"""Hashed character n-grams, exactly as fastText hashes them: vectors for unseen words, and tables made with
them.

A word between < and > is cut into runs of `min_n` to `max_n` characters; each is hashed into a bucket,
and a bucket has a row. A known word is the mean of its own row and its n-grams' rows, an unseen word the mean
of its n-grams' rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.kernels.text import reference
from inlaid.shapes import Blob, Buckets, Ids, LazyTable, Offsets, Rows, Table, Vector

BLOCK = 1 << 14
"""Words whose n-grams are held at once while a table is made."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NGrams:
    """What gives a vector to an unseen word: its n-grams. Tables may lie in a file; only the rows asked for
    are read."""

    own: Table | LazyTable
    """Each word's own row, before n-grams."""
    buckets: Buckets | LazyTable
    """A row for each bucket; or for each bucket of `kept`, where most were thrown away."""
    size: int
    """How many buckets n-grams are hashed into."""
    min_n: int
    """Characters of the min_n n-gram, < and > included."""
    max_n: int
    """Characters of the max_n."""
    kept: Ids | None = None
    """The buckets that have a row, in rising order: row r is bucket kept[r]. None: all have."""

    def __post_init__(self) -> None:
        rows = self.size if self.kept is None else len(self.kept)
        if self.buckets.shape[0] != rows or self.own.shape[1:] != self.buckets.shape[1:]:
            raise FormatError(
                f"{rows:,} buckets beside rows of {self.own.shape[1]} numbers need a table of that shape; found {self.buckets.shape}."
            )
        if self.kept is not None and len(self.kept) and (self.kept[0] < 0 or (np.diff(self.kept) <= 0).any()):
            raise FormatError("The buckets that were kept are not in rising order, each once.")

    def ids(self, word: str) -> Ids:
        """The buckets of a word's n-grams, in order; those without a row, too."""
        try:
            encoded = word.encode("utf-8")
        except UnicodeEncodeError:
            return np.zeros(0, np.int32)  # half a surrogate pair is no text
        return np.array(reference.ngrams(encoded, self.min_n, self.max_n, self.size), np.int32)

    def vector(self, word: str) -> Vector | None:
        """The mean of the rows of a word's n-grams; None where it has none (fastText gives zeros).

        >>> vectors.subwords.vector("unseen")
        """
        ids = self.ids(word)
        ids, _ = self._rows_of(ids, np.array([0, len(ids)]))
        if not len(ids):
            return None
        rows = self.buckets[ids] if isinstance(self.buckets, np.ndarray) else self.buckets.rows(ids)
        with np.errstate(over="ignore"):
            mean = rows.sum(axis=0, dtype=np.float32) * np.float32(
                1 / len(ids)
            )  # in order, as fastText adds them up
        if not np.isfinite(mean).all():
            raise FormatError(
                f"The n-grams of '{word}' (rows {ids.tolist()} of the buckets) give NaN or infinity."
            )
        return mean

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, Vector]]:
        """What the vector of a word is the mean of: its own row, where it has one, and those of its
        n-grams."""
        own = [] if id is None else [(word, _rows(self.own, np.array([id]))[0])]
        spelled = reference.spelled(word.encode("utf-8"), self.min_n, self.max_n) if word != "</s>" else []
        with_rows = [
            (each, self._rows_of(np.array([reference.fnv(each) % self.size], np.int32), np.array([0, 1]))[0])
            for each in spelled
        ]
        return own + [(each.decode(), _rows(self.buckets, ids)[0]) for each, ids in with_rows if len(ids)]

    def means(self, own: Rows, blob: Blob, offsets: Offsets) -> Rows:
        """The mean of each word's own row, given, and its n-grams' rows."""
        ids, bounds = self._rows_of(
            *bucket_ids(blob, offsets, min_n=self.min_n, max_n=self.max_n, buckets=self.size)
        )
        buckets = self.buckets
        if not isinstance(buckets, np.ndarray):
            used, ids = np.unique(ids, return_inverse=True)
            buckets = buckets.rows(used)
            ids = ids.astype(np.int32)
        kernels = fast()
        if kernels is None:
            with np.errstate(over="ignore"):  # found by whoever takes the rows
                return reference.mean_with_ngrams(own, buckets, ids, bounds)
        rows = np.array(own, np.float32)
        kernels.mean_with_ngrams(rows, buckets, ids, bounds)
        return rows

    def first(self, top: int) -> NGrams:
        """For the first words alone; all buckets stay."""
        return replace(
            self, own=self.own[:top] if isinstance(self.own, np.ndarray) else self.own.rows(np.arange(top))
        )

    def has_rows_for(self, words: Words) -> bool:
        """Whether every n-gram of these words has a row."""
        if self.kept is None:
            return True
        ids, _ = bucket_ids(words.blob, words.offsets, min_n=self.min_n, max_n=self.max_n, buckets=self.size)
        return bool(np.isin(ids, self.kept).all())

    def spread(self) -> NGrams:
        """With a row for every bucket, zeros for one that had none."""
        return self if self.kept is None else replace(self, buckets=_Spread(self, self.kept), kept=None)

    def _rows_of(self, ids: Ids, bounds: Offsets) -> tuple[np.ndarray, np.ndarray]:
        """The rows of those buckets that have one, and where the rows of each word start."""
        if self.kept is None:
            return ids, bounds
        if not len(self.kept):
            return np.zeros(0, np.int32), np.zeros_like(bounds)
        places = np.minimum(np.searchsorted(self.kept, ids), len(self.kept) - 1).astype(np.int32)
        there = self.kept[places] == ids
        return places[there], np.concatenate([[0], np.cumsum(there)])[bounds]


@dataclass(frozen=True, eq=False)
class _Spread:
    """A row for every bucket: those that were kept, and zeros, made as they are asked for."""

    ngrams: NGrams
    kept: Ids

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ngrams.size, self.ngrams.own.shape[1]

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = np.asarray(ids)
        rows = np.zeros((len(ids), self.shape[1]), np.float32)
        places = np.searchsorted(self.kept, wanted)
        there = np.flatnonzero(np.append(self.kept, -1)[places] == wanted)
        rows[there] = _rows(self.ngrams.buckets, places[there])
        return rows

    def whole(self) -> Table:
        return self.rows(np.arange(self.ngrams.size))


@dataclass(frozen=True, eq=False)
class Mixed:
    """The table of words that have n-grams: a row is made when it is asked for."""

    ngrams: NGrams
    blob: Blob
    offsets: Offsets
    """The words end to end, and where each starts."""

    @classmethod
    def of(cls, words: Words, ngrams: NGrams) -> Mixed:
        return cls(ngrams, words.blob, words.offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.ngrams.own.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = np.asarray(ids, np.int64)
        words = [
            self.blob[self.offsets[id] : self.offsets[id + 1]]
            for id in wanted % max(len(self.offsets) - 1, 1)
        ]
        bounds = np.cumsum([0, *map(len, words)])
        return self.ngrams.means(
            _rows(self.ngrams.own, wanted), np.concatenate([np.zeros(0, np.uint8), *words]), bounds
        )

    def whole(self) -> Table:
        table = np.empty(self.shape, np.float32)
        for start in range(0, len(table), BLOCK):
            bounds = self.offsets[start : start + BLOCK + 1]
            own = _rows(self.ngrams.own, np.arange(start, start + len(bounds) - 1))
            table[start : start + BLOCK] = self.ngrams.means(
                own, self.blob[bounds[0] : bounds[-1]], bounds - bounds[0]
            )
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
    """The kernels, or None where Numba is missing."""
    try:
        from inlaid.kernels.text import ngrams as ngrams_cpu
    except ImportError:
        return None
    return ngrams_cpu


def _rows(table: Table | LazyTable, ids: np.ndarray) -> Rows:
    return table[ids] if isinstance(table, np.ndarray) else table.rows(ids)
