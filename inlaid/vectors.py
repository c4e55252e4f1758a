"""Vectors: words, their table, and a card that says how they were made."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from inlaid.analysis_methods import AnalysisMethods
from inlaid.arrays import row_numbers
from inlaid.collect.normalize import nfkc, normalizer, simplified, traditional
from inlaid.encode.subwords.spelling import follows_space, forms, mark_of
from inlaid.encode.tokenizers import Char
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, SettingError, UnknownWord, did_you_mean
from inlaid.messages import Message
from inlaid.shapes import Counts, Int8Codes, LazyTable, Lengths, Rows, Table, Vector

if TYPE_CHECKING:
    from inlaid.encode.subwords.tokenizer import Subwords as Tokenizer

Reason = Literal["finished", "stopped early", "interrupted", "out of time", "diverged"]
SUGGESTED_FROM = 50_000
"""How many words are searched for the one a user may have meant: the first ones, which are the most
frequent."""
MARKED_AMONG = 10_000
"""How many words are searched for the marks of subwords."""
BLOCK = 1 << 14
"""Rows converted at a time."""
CHINESE = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
LONGEST_SHOWN = 100
"""Characters of a word that an error shows."""


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
    unmoved: int = 0
    """Words whose vectors are as they were before training, although there were examples for them."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to resume."""
        return self.reason in ("finished", "stopped early")


@dataclass(frozen=True, kw_only=True)
class Card:
    """How vectors were made, and what is known about them. Files keep it as JSON (`formats.cards`)."""

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    corpus: str = ""
    """Hash of the corpus they were trained on."""
    encoding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How text became words; a query goes through the same normalization. `spelling` is the mark of subwords:
    Ġ or ▁ before a word, ## before a piece that continues one."""
    version: str = ""
    """The version of Inlaid that made them."""
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome | None = None
    """How the training ended; None for vectors that were not trained here."""
    notes: tuple[str, ...] = ()


@runtime_checkable
class Subwords(Protocol):
    """Composes the vector of an out-of-vocabulary word from parts of the word."""

    def vector(self, word: str) -> Vector | None: ...


@dataclass(frozen=True, eq=False)
class Int8Table:
    """A table in int8, a quarter of the memory: codes from -127 to 127, and a scale for each row.

    >>> Int8Table.of(np.array([[1.0, -0.5]], np.float32)).codes
    array([[127, -64]], dtype=int8)
    """

    codes: Int8Codes
    scales: Lengths
    """A row is its codes times its scale."""

    @classmethod
    def of(cls, table: Table) -> Int8Table:
        """Round every number to the nearest code; the largest of a row gets code 127 or -127."""
        codes = np.empty(table.shape, np.int8)
        scales = np.empty(len(table), np.float32)
        for block in _blocks(len(table)):
            rows = table[block]
            scales[block] = np.abs(rows).max(axis=1, initial=0) / np.float32(127)
            steps = np.where(scales[block] == 0, 1, scales[block])[:, None]
            # A denormal scale is rounded itself, and may lead to code 128.
            codes[block] = np.clip(np.rint(rows / steps), -127, 127)
        return cls(codes, scales)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def rows(self, ids: Any) -> Rows:
        """The rows of these ids (or of a slice) as float32."""
        return self.codes[ids].astype(np.float32) * self.scales[ids][:, None]

    def whole(self) -> Table:
        return self.rows(slice(None))

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Vectors(AnalysisMethods):
    """Words and their vectors; immutable. Analyses are methods: `vectors.neighbors("cat", n=5)`.

    >>> vectors = Vectors.of(["cat", "猫"], [[1, 0], [0.9, 0.1]])
    >>> vectors["猫"]
    array([0.9, 0.1], dtype=float32)
    """

    words: Words
    stored: Table | LazyTable
    """The table as it is stored. `table` gives all of it in memory, `rows` some rows."""
    counts: Counts | None = None
    card: Card = field(default_factory=Card)
    contexts: Table | LazyTable | None = None
    """The context table (output vectors) of a method that trains two tables."""
    subwords: Subwords | None = None
    """Composes vectors of out-of-vocabulary words."""
    tokenizer_json: str | None = field(default=None, repr=False)
    """The subword tokenizer whose tokens are the words, as Hugging Face's tokenizer.json."""

    def __repr__(self) -> str:
        method = f" by {self.card.method}" if self.card.method else ""
        first = ", ".join(self.words[:3])
        return f"<Vectors: {len(self.words):,} words x {self.stored.shape[1]}{method}: {first}, ...>"

    def __post_init__(self) -> None:
        self._refuse_other_types()
        if len(self.stored.shape) != 2 or self.stored.shape[0] != len(self.words):
            raise FormatError(
                "Expected a table with {words:,} rows, one for each word; found shape {shape}.",
                words=len(self.words),
                shape=self.stored.shape,
            )
        contexts = () if self.contexts is None else self.contexts.shape
        if self.contexts is not None and (len(contexts) != 2 or contexts[0] != len(self.words)):
            raise FormatError(
                "Expected a context table with {words:,} rows, one for each word; found shape {shape}.",
                words=len(self.words),
                shape=contexts,
            )
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise FormatError(
                "Expected {words:,} counts, one for each word; found shape {shape}.",
                words=len(self.words),
                shape=self.counts.shape,
            )
        if isinstance(self.stored, np.ndarray):
            _ = self._table  # an array is checked now, a table in a file when it is read

    def _refuse_other_types(self) -> None:
        """Raise SettingError now for what would fail, or be slow, only when it is searched."""
        if not isinstance(self.words, Words) or not _is_table(self.stored):
            raise SettingError(
                "Vectors(words, table) takes Words and a table of float32; found {words} and {table}. Use "
                "Vectors.of(words, table), which converts them.",
                words=type(self.words).__name__,
                table=_type_of(self.stored),
            )
        if self.contexts is not None and not _is_table(self.contexts):
            raise SettingError(
                "Expected a context table of float32, found {found}. Use np.array(contexts, np.float32).",
                found=_type_of(self.contexts),
            )
        if self.counts is not None and not _has_integers(self.counts):
            raise SettingError(
                "Expected an array of whole numbers as counts, found {found}. Use np.array(counts, int).",
                found=_type_of(self.counts),
            )

    @classmethod
    def of(cls, words: list[str], table: Any, card: Card | None = None) -> Vectors:
        """Vectors from a list of words and anything that NumPy makes a matrix of; it is copied."""
        return cls(Words.of(words), np.array(table, np.float32), card=card or Card())

    @property
    def table(self) -> Table:
        """All rows, in memory or memory-mapped; verified, finite, read-only. An array that was passed in is
        not copied, and stays writable for whoever made it."""
        if self._refuse_changed is not None:
            self._refuse_changed()
        return self._table

    @functools.cached_property
    def _refuse_changed(self) -> Callable[[], None] | None:
        """Raises FormatError if the file of a mapped table was cut or overwritten since it was opened."""
        return getattr(self.stored, "refuse_changed", None)

    @functools.cached_property
    def _table(self) -> Table:
        table = self.stored[:] if isinstance(self.stored, np.ndarray) else self.stored.whole()
        self._refuse_nan(table, range(len(table)))
        table.setflags(write=False)
        return table

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        """Some rows; from a table in a file only these are read and verified. IndexError if there is no such
        row: the last one is not row -1."""
        if isinstance(self.stored, np.ndarray) or "_table" in self.__dict__:
            return self.table[row_numbers(ids, len(self))]
        rows = self.stored.rows(row_numbers(ids, len(self)))
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
        """The vector of a word; for an out-of-vocabulary word composed of its subwords, if there are any."""
        id = self.find(word)
        if id is None:
            composed = self.composed(word)
            if composed is not None:
                return composed
            id = self.id(word)  # raises UnknownWord
        return self.rows([id])[0]

    def find(self, word: str) -> int | None:
        """The id of `word`: as written, otherwise normalized as the training text was. Among subwords, the id
        of the token that is the whole word, with or without the mark for the start of a word."""
        if not self.mark:
            found = self.words.find(word)
            return self.words.find(self._normalize(word)) if found is None else found
        found = self._ids_of_forms(word)
        return found[0] if found else None

    def forms(self, word: str) -> list[str]:
        """All words of the vocabulary that `word` may stand for, the one that `find` takes first. Only
        subwords have several: king and Ġking."""
        return [self.words[id] for id in self._ids_of_forms(word)]

    def composed(self, word: str) -> Vector | None:
        """A vector for an out-of-vocabulary word: from its n-grams, or the mean of its subword tokens or
        characters; None where there are none."""
        if self.subwords is not None:
            return self.subwords.vector(forms(self.mark, self._normalize(word))[0])
        pieces = self.pieces(word)
        ids = [self.words.find(piece) for piece in pieces]
        known = [id for id in ids if id is not None]
        if not known or len(known) < len(pieces):
            return None
        return self.rows(known).mean(axis=0, dtype=np.float32)

    def pieces(self, word: str) -> list[str]:
        """The subword tokens of a word, or its characters where these are the words; otherwise none."""
        if self.tokenizer is not None:
            return self.tokenizer.pieces(self._normalize(word))
        return Char().words(self._normalize(word)) if self._are_characters else []

    @property
    def composes(self) -> bool:
        """Whether out-of-vocabulary words can get a vector."""
        return self.subwords is not None or self.tokenizer_json is not None or self._are_characters

    @property
    def _are_characters(self) -> bool:
        """Whether the training text was cut into characters."""
        encoding = self.card.encoding
        return encoding.get("tokenizer") == "char" and not encoding.get("tokenizer_file")

    def id(self, word: str) -> int:
        """Like `find`, but an out-of-vocabulary word raises UnknownWord, with the closest known word."""
        found = self.find(word)
        if found is None:
            raise UnknownWord(
                "'{word}' is not among the {words:,} words.{suggestion}",
                word=word if len(word) <= LONGEST_SHOWN else f"{word[: LONGEST_SHOWN - 1]}…",
                words=len(self),
                suggestion=suggestion(word, self),
            )
        return found

    @functools.cached_property
    def lengths(self) -> Lengths:
        """The length of each row. With them a cosine search needs no second, scaled table."""
        return lengths(self.table)

    @functools.cached_property
    def unit(self) -> Table:
        """The table with every row scaled to length 1; a row of zeros is kept."""
        lengths = np.linalg.norm(self.table, axis=1, keepdims=True)
        return self.table / np.where(lengths == 0, 1, lengths).astype(np.float32)

    @functools.cached_property
    def mark(self) -> str:
        """The mark of the subwords; empty where words are whole words. Files of other tools have no card, so
        it is told from their first words."""
        if self.card.encoding:
            return str(self.card.encoding.get("spelling", ""))
        return mark_of(self.words[:MARKED_AMONG])

    @functools.cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The subword tokenizer whose tokens are the words."""
        if self.tokenizer_json is None:
            return None
        from inlaid.encode.subwords.tokenizer import Subwords  # imports the tokenizers library

        return Subwords.from_json(self.tokenizer_json)

    def _ids_of_forms(self, word: str) -> list[int]:
        """The ids of all forms of a word among subwords, the whole word first."""
        for text in (word, self._normalize(word)):
            ids = [self.words.find(form) for form in forms(self.mark, text)]
            found = [id for id in ids if id is not None]
            if found:
                return self._by_use(found, follows_space(text.strip()))
        pieces = self.pieces(word)  # the tokenizer may lower-case, too
        id = self.words.find(pieces[0]) if len(pieces) == 1 else None
        return [] if id is None else [id]

    def _by_use(self, ids: list[int], spaced: bool) -> list[int]:
        """Forms that the training text has come first; in scripts without spaces, where every form is a whole
        word, the most frequent one does."""
        if self.counts is None:
            return ids
        counts = {id: int(self.counts[id]) for id in ids}
        return sorted(ids, key=lambda each: counts[each] == 0 if spaced else -counts[each])

    @functools.cached_property
    def _normalize(self):
        return normalizer(self.card.encoding.get("normalize", ()))

    def _refuse_nan(self, rows: np.ndarray, ids: Sequence[int] | np.ndarray) -> None:
        # A sum is finite only if all its terms are: one pass and no mask for tables that are fine.
        if np.isfinite(rows.sum(dtype=np.float64)) or np.isfinite(rows).all():
            return
        row = int(ids[np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]])
        raise FormatError(
            "The vector of '{word}' (row {row}) holds NaN or infinity. Get the file again, or train again.",
            word=self.words[row],
            row=row,
        )


def _is_table(value: object) -> bool:
    return value.dtype == np.float32 if isinstance(value, np.ndarray) else isinstance(value, LazyTable)


def _has_integers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu"


def _type_of(value: object) -> str:
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def lengths(table: Table) -> Lengths:
    """The length of every row, summed in float64, so that rows of 1e30 and of 1e-30 have one, too."""
    found = np.empty(len(table), np.float32)
    for block in _blocks(len(table)):
        rows = table[block].astype(np.float64)
        found[block] = np.sqrt(np.einsum("wd,wd->w", rows, rows))
    return found


def _blocks(rows: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, rows, BLOCK)]


def suggestion(word: str, vectors: Vectors) -> Message:
    """A sentence that names known words a user may have meant by an unknown one; an empty message if none.

    First the same word in another form (case, width, traditional or simplified, joined by _ or -); then,
    for Chinese, words that share at least half their characters; for all others the closest in spelling.
    """
    for form in _forms(word):
        if vectors.find(form) is not None:
            return Message(" Did you mean '{word}'?", word=form)
    frequent = vectors.words[:SUGGESTED_FROM]
    if CHINESE.search(word):
        return _any_of(_sharing_characters(word, frequent))
    return did_you_mean(vectors._normalize(word), frequent)


def _any_of(words: list[str]) -> Message:
    """A suggestion of up to three words."""
    if not words:
        return Message("")
    if len(words) == 1:
        return Message(" Did you mean '{word}'?", word=words[0])
    if len(words) == 2:
        return Message(" Did you mean '{first}' or '{second}'?", first=words[0], second=words[1])
    return Message(
        " Did you mean '{first}' or '{second}' or '{third}'?", first=words[0], second=words[1], third=words[2]
    )


def _forms(word: str) -> list[str]:
    """The same word in other forms that a text may have."""
    plain = nfkc(word).strip()
    forms = [plain, plain.lower(), plain.capitalize(), plain.title(), plain.upper()]
    if not plain.isascii():
        forms += [simplified(plain), traditional(plain)]
    forms += [re.sub(r"[\s_-]+", joint, form) for form in forms[:2] for joint in ("_", "-", "", " ")]
    return list(dict.fromkeys(forms))


def _sharing_characters(word: str, known: list[str]) -> list[str]:
    """Up to three words, by the share of characters in common (Dice coefficient, at least a half), then by
    rank. The word asked for counts in simplified form."""
    wanted = Counter(simplified(word))
    shares: list[tuple[float, int]] = []
    for rank, each in enumerate(known):
        if not wanted.keys().isdisjoint(each):
            common = sum((wanted & Counter(each)).values())
            shares.append((-2 * common / (len(word) + len(each)), rank))
    return [known[rank] for share, rank in sorted(shares)[:3] if share <= -0.5]
