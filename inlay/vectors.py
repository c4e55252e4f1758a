"""Vectors: words, their table, and a card saying how they came to be."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from inlay.collect.normalize import normalizer
from inlay.encode.vocabulary import Words
from inlay.errors import FormatError, UnknownWord, did_you_mean
from inlay.shapes import Counts, Rows, Table, Vector

LOOKED_AT = 50_000
"""How many of the first words are searched for the one a user may have meant; files list frequent words first."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """How vectors came to be, and what is known about them."""

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    corpus: str = ""
    """Hash of the corpus they were learned from."""
    encoding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How the text became words; a query passes through the same normalisation."""
    version: str = ""
    """The Inlay that made them."""
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()


@runtime_checkable
class LazyTable(Protocol):
    """A table that lies elsewhere, in a file or in another form: rows become float32 as they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        """Some rows; where they lie in a file, those bytes are verified first."""
        ...

    def whole(self) -> Table:
        """All rows, verified."""
        ...


@runtime_checkable
class Subwords(Protocol):
    """What gives a vector to a word that has no row."""

    def vector(self, word: str) -> Vector | None: ...


@dataclass(frozen=True, eq=False)
class Codes:
    """A table in a quarter of the space: every number is a whole number from -127 to 127, times the scale of its row.

    >>> Codes.of(np.array([[127, 64], [0, 0]], np.float32)).codes
    array([[127,  64],
           [  0,   0]], dtype=int8)
    """

    codes: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, table: Table) -> Codes:
        largest = np.abs(table).max(axis=1, initial=0)
        scales = (np.where(largest == 0, 1, largest) / 127).astype(np.float32)
        return cls(np.rint(table / scales[:, None]).astype(np.int8), scales)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        return self.codes[ids] * self.scales[ids, None]

    def whole(self) -> Table:
        return self.codes * self.scales[:, None]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors; nothing about them changes once they are made.

    >>> vectors = Vectors.of(["cat", "猫"], [[1, 0], [0.9, 0.1]])
    >>> vectors["猫"]
    array([0.9, 0.1], dtype=float32)
    """

    words: Words
    stored: Table | LazyTable
    """The table as it lies; `table` is all of it in memory, `rows` some of it."""
    counts: Counts | None = None
    card: Card = field(default_factory=Card)
    contexts: Table | LazyTable | None = None
    """The other table of a method that has two: what a word looks like as a context."""
    subwords: Subwords | None = None
    """What gives a vector to an unseen word."""

    def __post_init__(self) -> None:
        if len(self.stored.shape) != 2 or self.stored.shape[0] != len(self.words):
            raise FormatError(f"{len(self.words):,} words need a table with as many rows; found one of shape {self.stored.shape}.")
        if self.contexts is not None and self.contexts.shape[0] != len(self.words):
            raise FormatError(f"{len(self.words):,} words need as many contexts; found a table of shape {self.contexts.shape}.")
        if isinstance(self.stored, np.ndarray):
            _ = self.table  # an array is checked at once, a table in a file as it is read

    @classmethod
    def of(cls, words: list[str], table: Any, card: Card | None = None) -> Vectors:
        """Vectors from a list of words and anything that makes a matrix; the numbers are copied."""
        return cls(Words.of(words), np.array(table, np.float32), card=card or Card())

    @functools.cached_property
    def table(self) -> Table:
        """All rows in memory (or mapped), verified, finite, read-only."""
        table = self.stored if isinstance(self.stored, np.ndarray) else self.stored.whole()
        self._refuse_nan(table, range(len(table)))
        table.setflags(write=False)
        return table

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        """Some rows; of a table in a file only these are read and verified."""
        if isinstance(self.stored, np.ndarray) or "table" in self.__dict__:
            return self.table[ids]
        rows = self.stored.rows(ids)
        self._refuse_nan(rows, ids)
        return rows

    @property
    def dim(self) -> int:
        return self.stored.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.find(word) is not None

    def __getitem__(self, word: str) -> Vector:
        """The vector of a word; one without a row gets it from its subwords, where the vectors have them."""
        id = self.find(word)
        if id is None and self.subwords is not None:
            made = self.subwords.vector(self._normalize(word))
            if made is not None:
                return made
        return self.rows([self.id(word) if id is None else id])[0]

    def find(self, word: str) -> int | None:
        """The id of `word` as written or, failing that, as the training text would have been written."""
        found = self.words.find(word)
        return self.words.find(self._normalize(word)) if found is None else found

    def id(self, word: str) -> int:
        """Like `find`, but a word without a row raises UnknownWord with the closest known one."""
        found = self.find(word)
        if found is None:
            hint = did_you_mean(self._normalize(word), self.words[:LOOKED_AT])
            raise UnknownWord(f"'{word}' is not among the {len(self):,} words.{hint}")
        return found

    @functools.cached_property
    def unit(self) -> Table:
        """The table with every row scaled to length 1; a row of zeros stays zeros."""
        lengths = np.linalg.norm(self.table, axis=1, keepdims=True)
        return self.table / np.where(lengths == 0, 1, lengths).astype(np.float32)

    @functools.cached_property
    def _normalize(self):
        return normalizer(self.card.encoding.get("normalize", ()))

    def _refuse_nan(self, rows: np.ndarray, ids: Sequence[int] | np.ndarray) -> None:
        # A sum is finite only if all its terms are: one pass and no mask, and the search below runs for the unlucky only.
        if not np.isfinite(rows.sum(dtype=np.float64)) and not np.isfinite(rows).all():
            row = int(ids[np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]])
            raise FormatError(f"The vector of '{self.words[row]}' (row {row}) holds NaN or infinity.")
