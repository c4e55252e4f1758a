"""Vectors: words, their table, and a card saying how they came to be."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlay.collect.normalize import normalizer
from inlay.encode.vocabulary import Words
from inlay.errors import FormatError, UnknownWord, did_you_mean
from inlay.shapes import Counts, Table, Vector

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


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors; nothing about them changes once they are made.

    >>> vectors = Vectors.of(["cat", "猫"], [[1, 0], [0.9, 0.1]])
    >>> vectors["猫"]
    array([0.9, 0.1], dtype=float32)
    """

    words: Words
    table: Table
    counts: Counts | None = None
    card: Card = field(default_factory=Card)

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or len(self.table) != len(self.words):
            raise FormatError(f"{len(self.words):,} words need a table with as many rows; found one of shape {self.table.shape}.")
        if not np.isfinite(self.table).all():
            row = int(np.flatnonzero(~np.isfinite(self.table).all(axis=1))[0])
            raise FormatError(f"The vector of '{self.words[row]}' (row {row}) holds NaN or infinity.")
        self.table.setflags(write=False)

    @classmethod
    def of(cls, words: list[str], table: Any, card: Card | None = None) -> Vectors:
        """Vectors from a list of words and anything that makes a matrix; the numbers are copied."""
        return cls(Words.of(words), np.array(table, np.float32), card=card or Card())

    @property
    def dim(self) -> int:
        return self.table.shape[1]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.find(word) is not None

    def __getitem__(self, word: str) -> Vector:
        return self.table[self.id(word)]

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
