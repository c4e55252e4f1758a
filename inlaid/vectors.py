"""Vectors: words, their table, and a card saying how they came to be."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from inlaid.collect.normalize import nfkc, normalizer, simplified, traditional
from inlaid.encode.spelling import spellings
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, UnknownWord, did_you_mean
from inlaid.shapes import Bytes, Counts, LazyTable, Lengths, Rows, Table, Vector

Reason = Literal["finished", "stopped early", "interrupted", "out of time", "diverged"]
LOOKED_AT = 50_000
"""How many of the first words are searched for the one a user may have meant; files list frequent words
first."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What was known at one point of a training."""

    done: int
    loss: float | None = None
    """The moving average of the training loss per pair."""
    held_out: float | None = None
    """The loss per pair on held-out sentences."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a training ended."""

    reason: Reason
    done: int
    """Units done."""
    total: int
    """Units of the whole run."""
    kept: int
    """Units after which the vectors are taken: `done`, or fewer where an earlier state was better."""
    unit: str = "words"
    seconds: float = 0.0
    """Time it took, over all its parts if it was resumed."""
    marks: tuple[Mark, ...] = ()
    """The course of the losses, one mark every 5 % of the run."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to resume."""
        return self.reason in ("finished", "stopped early")


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
    """The Inlaid that made them."""
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome | None = None
    """How the training ended; None for vectors that were not trained here."""
    notes: tuple[str, ...] = ()


@runtime_checkable
class Subwords(Protocol):
    """What gives a vector to a word that has no row."""

    def vector(self, word: str) -> Vector | None: ...


@dataclass(frozen=True, eq=False)
class Codes:
    """A table in a quarter of its memory: whole numbers from -127 to 127 and, for each row, what one of them
    is worth.

    >>> Codes.of(np.array([[1.0, -0.5]], np.float32)).codes
    array([[127, -64]], dtype=int8)
    """

    codes: Bytes
    scales: Lengths

    @classmethod
    def of(cls, table: Table) -> Codes:
        """Round every number to the nearest code; the largest of a row becomes 127 or -127."""
        codes = np.empty(table.shape, np.int8)
        scales = np.empty(len(table), np.float32)
        for block in _blocks(len(table)):
            rows = table[block]
            scales[block] = np.abs(rows).max(axis=1, initial=0) / np.float32(127)
            worth = np.where(scales[block] == 0, 1, scales[block])[:, None]
            codes[block] = np.clip(
                np.rint(rows / worth), -127, 127
            )  # tiny scales round, and may put 128 there
        return cls(codes, scales)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def rows(self, ids: Any) -> Rows:
        """The rows of these ids (or of a slice) as floats again."""
        return self.codes[ids].astype(np.float32) * self.scales[ids][:, None]

    def whole(self) -> Table:
        return self.rows(slice(None))

    def __len__(self) -> int:
        return len(self.codes)


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
            raise FormatError(
                f"{len(self.words):,} words need a table with as many rows; found one of shape {self.stored.shape}."
            )
        if self.contexts is not None and self.contexts.shape[0] != len(self.words):
            raise FormatError(
                f"{len(self.words):,} words need as many contexts; found a table of shape {self.contexts.shape}."
            )
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
        """The id of `word` as written or, failing that, as the training text, or the tokenizer, would have
        written it."""
        found = self.words.find(word)
        if found is None:
            written = self._normalize(word)
            tries = (written, *spellings(self.card.encoding.get("spelling", ""), written))
            found = next((id for each in tries if (id := self.words.find(each)) is not None), None)
        return found

    def id(self, word: str) -> int:
        """Like `find`, but a word without a row raises UnknownWord with the closest known one."""
        found = self.find(word)
        if found is None:
            raise UnknownWord(f"'{word}' is not among the {len(self):,} words.{suggestion(word, self)}")
        return found

    @functools.cached_property
    def lengths(self) -> Lengths:
        """The length of each row; with these at hand a search needs no second table."""
        return lengths(self.table)

    @functools.cached_property
    def unit(self) -> Table:
        """The table with every row scaled to length 1; a row of zeros stays zeros."""
        lengths = np.linalg.norm(self.table, axis=1, keepdims=True)
        return self.table / np.where(lengths == 0, 1, lengths).astype(np.float32)

    @functools.cached_property
    def _normalize(self):
        return normalizer(self.card.encoding.get("normalize", ()))

    def _refuse_nan(self, rows: np.ndarray, ids: Sequence[int] | np.ndarray) -> None:
        # A sum is finite only if all its terms are: one pass and no mask, and the search below runs for the
        # unlucky only.
        if not np.isfinite(rows.sum(dtype=np.float64)) and not np.isfinite(rows).all():
            row = int(ids[np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]])
            raise FormatError(f"The vector of '{self.words[row]}' (row {row}) holds NaN or infinity.")


def lengths(table: Table) -> Lengths:
    """The length of every row, summed in float64, so that 1e30 and 1e-30 have one too."""
    found = np.empty(len(table), np.float32)
    for block in _blocks(len(table)):
        rows = table[block].astype(np.float64)
        found[block] = np.sqrt(np.einsum("wd,wd->w", rows, rows))
    return found


def _blocks(rows: int, size: int = 1 << 14) -> list[slice]:
    return [slice(start, start + size) for start in range(0, rows, size)]


def suggestion(word: str, vectors: Vectors) -> str:
    """A sentence naming known words a user may have meant by an unknown one, or nothing.

    First the same word written otherwise (case, width, traditional or simplified, joined by _ or -); then,
    for Chinese, words that share at least half their characters; for all others the closest in spelling.
    """
    for other in _spellings(word):
        if vectors.find(other) is not None:
            return f" Did you mean '{other}'?"
    some = vectors.words[:LOOKED_AT]
    if re.search(r"[\u3400-\u9fff\U00020000-\U0003ffff]", word):
        near = " or ".join(f"'{each}'" for each in _sharing(word, some))
        return f" Did you mean {near}?" if near else ""
    return str(did_you_mean(vectors._normalize(word), some))


def _spellings(word: str) -> list[str]:
    plain = nfkc(word).strip()
    forms = [plain, plain.lower(), plain.capitalize(), plain.title(), plain.upper()]
    if not plain.isascii():
        forms += [simplified(plain), traditional(plain)]
    forms += [re.sub(r"[\s_-]+", joint, form) for form in forms[:2] for joint in ("_", "-", "", " ")]
    return list(dict.fromkeys(forms))


def _sharing(word: str, known: list[str], most: int = 3) -> list[str]:
    """Up to three words, by the share of characters in common, then by rank; characters count in simplified
    form."""
    wanted = Counter(simplified(word))
    shares: list[tuple[float, int]] = []
    for rank, each in enumerate(known):
        if not wanted.keys().isdisjoint(each):
            common = sum((wanted & Counter(each)).values())
            shares.append((-2 * common / (len(word) + len(each)), rank))
    return [known[rank] for share, rank in sorted(shares)[:most] if share <= -0.5]
