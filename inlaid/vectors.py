"""Vectors: words, their table, and a card that says how they were made."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload, runtime_checkable

import numpy as np

from inlaid.analysis_methods import AnalysisMethods
from inlaid.arrays import row_numbers
from inlaid.card import Card, Mark, Outcome, Reason
from inlaid.collect.normalize import each, normalizer
from inlaid.encode.ngrams import NGrams
from inlaid.encode.subwords.spelling import follows_space, forms, mark_of
from inlaid.encode.tokenizers import Char
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, MissingExtra, OutOfVocabulary, SettingError
from inlaid.messages import Listed, Message
from inlaid.notebook import html_of
from inlaid.shapes import Counts, Int8Codes, LazyTable, Lengths, Rows, Table, Vector
from inlaid.suggestions import suggestion

if TYPE_CHECKING:
    from inlaid.encode.subwords.tokenizer import Subwords as Tokenizer

__all__ = ["Card", "Int8Table", "Mark", "Outcome", "Reason", "Subwords", "Vectors", "lengths", "suggestion"]
SHOWN_WORDS = 8
"""Words that a representation shows."""
FRAMES = ("pandas", "polars")
"""Libraries that `to_frame` knows; the first that is installed is taken."""
MARKED_AMONG = 10_000
"""How many words are searched for the marks of subwords."""
BLOCK = 1 << 14
"""Rows converted at a time."""
LONGEST_SHOWN = 100
"""Characters of a word that an error shows."""


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
        return "\n".join(map(str, self._description()))

    def _repr_html_(self) -> str:
        some = list(zip(self.words[:SHOWN_WORDS], self.rows(range(min(SHOWN_WORDS, len(self)))), strict=True))
        more = ("…",) if self.dim > SHOWN_WORDS else ()
        table = [(word, *(f"{value:.3f}" for value in row[:SHOWN_WORDS]), *more) for word, row in some]
        return html_of([*self._description()[:2], *table])

    def _description(self) -> list[Message]:
        """What they are, how they were made, and the first words."""
        parts = {"counts": self.counts, "contexts": self.contexts, "subwords": self.subwords}
        beside = [name for name, part in parts.items() if part is not None]
        if self.tokenizer_json is not None:
            beside.append("tokenizer")
        more = ", …" if len(self) > SHOWN_WORDS else ""
        return [
            Message("Vectors: {words:,} words x {dim} dimensions", words=len(self), dim=self.dim),
            Message(
                "method: {method}; beside the table: {parts}",
                method=self.card.method or Message("not known"),
                parts=Listed(beside) or Message("nothing"),
            ),
            Message("words: {some}{more}", some=Listed(self.words[:SHOWN_WORDS]), more=more),
        ]

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, has the fields; what is computed from them is left behind."""
        return {each.name: self.__dict__[each.name] for each in fields(self)}

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

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) is not None

    def __iter__(self) -> Iterator[str]:
        """The words, in the order of their ids."""
        return iter(self.words)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.table, dtype=dtype, copy=copy)

    @overload
    def __getitem__(self, word: str) -> Vector: ...
    @overload
    def __getitem__(self, word: Iterable[str]) -> Rows: ...
    def __getitem__(self, word: Any) -> Vector | Rows:
        """The vector of a word, or the vectors of several as rows of a matrix; for an out-of-vocabulary word
        composed of its subwords, if there are any."""
        if isinstance(word, str):
            return self._vector(word)
        if isinstance(word, (int, np.integer, slice)) or not isinstance(word, Iterable):
            raise SettingError(
                "Vectors are found by word: expected text, or a list of words; found {kind}. "
                "vectors.table has the rows by number.",
                kind=type(word).__name__,
            )
        rows = [self._vector(str(each)) for each in word]
        return np.stack(rows) if rows else np.zeros((0, self.dim), np.float32)

    def _vector(self, word: str) -> Vector:
        id = self.find(word)
        if id is None:
            composed = self.composed(word)
            if composed is not None:
                return composed
            id = self.id(word)  # raises OutOfVocabulary
        return self.rows([id])[0]

    def get(self, word: str, default: Any = None) -> Any:
        """The vector of a word, as `vectors[word]` gives it; `default` where it has none.

        >>> vectors.get("xyzzy") is None
        True
        """
        try:
            return self[word]
        except OutOfVocabulary:
            return default

    def select(self, words: Iterable[str]) -> Vectors:
        """New vectors of these words alone, in this order, each once. A word out of the vocabulary is
        composed of its subwords, where there are any, and otherwise raises OutOfVocabulary.

        >>> list(vectors.select(["queen", "king"]))
        ['queen', 'king']
        """
        if isinstance(words, str):
            raise SettingError("words is {words!r}; expected a list of words.", words=words)
        asked = list(words)
        found = [self.find(word) for word in asked]
        if not any(
            id is None and self._vector(word) is not None for id, word in zip(found, asked, strict=True)
        ):
            return self._with_rows(np.array([*dict.fromkeys(found)], np.int64))
        ids = np.array([-1 if id is None else id for id in found], np.int64)
        return self._with_composed(asked, ids)

    def top(self, n: int) -> Vectors:
        """New vectors of the first n words, which are the most frequent ones in most files. Only their rows
        are read."""
        if n < 1:
            raise SettingError("n is {n}; expected at least 1.", n=n)
        return self if n >= len(self) else self._with_rows(np.arange(n))

    def _with_rows(self, ids: np.ndarray) -> Vectors:
        """New vectors of the words with these ids."""
        subwords = self.subwords
        if isinstance(subwords, NGrams):
            subwords = subwords.with_words(subwords.own_rows(ids))
        return replace(
            self,
            words=Words.of_bytes([self.words.bytes_of(id) for id in ids.tolist()]),
            stored=self.rows(ids),
            counts=None if self.counts is None else self.counts[ids],
            contexts=None if self.contexts is None else _rows_of(self.contexts, ids),
            subwords=subwords,
        )

    def _with_composed(self, words: Sequence[str], ids: np.ndarray) -> Vectors:
        """New vectors of words of which some (with id -1) are composed of subwords. They were not trained: so
        there is no table of contexts, and they have count 0."""
        names = [word if id < 0 else self.words[id] for word, id in zip(words, ids.tolist(), strict=True)]
        first = {name: place for place, name in reversed([*enumerate(names)])}
        places = sorted(first.values())
        kept = ids[places]
        composed = kept < 0
        rows = self[[names[place] for place in places]]
        subwords = self.subwords
        if isinstance(subwords, NGrams):
            own = subwords.own_rows(np.maximum(kept, 0)).copy()
            own[composed] = rows[composed]  # the mean with the n-grams, whose mean it is, is the same
            subwords = subwords.with_words(own)
        counts = None if self.counts is None else np.where(composed, 0, self.counts[np.maximum(kept, 0)])
        return replace(
            self,
            words=Words.of([names[place] for place in places]),
            stored=rows,
            counts=counts,
            contexts=None,
            subwords=subwords,
        )

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """A data frame: in pandas the words are the index, in polars the column "word"; a column for each
        dimension. Of the two libraries the one that is named, otherwise the one that is installed, pandas
        first.

        >>> vectors.to_frame().loc["king"]
        """
        names = FRAMES if library is None else (library,)
        found = next((name for name in names if importlib.util.find_spec(name)), None)
        if found is None:
            raise MissingExtra(
                "{libraries} is not installed: run `pip install {first}`, or use `np.asarray(vectors)`.",
                libraries=" or ".join(names),
                first=names[0],
            )
        frames = importlib.import_module(found)
        words = list(self.words)
        if found == "pandas":
            index = frames.Index(words, name="word")
            return frames.DataFrame(self.table, index=index, copy=True)
        columns = {str(at): self.table[:, at] for at in range(self.dim)}
        return frames.DataFrame({"word": words, **columns})

    def find(self, word: str) -> int | None:
        """The id of `word`: as written, otherwise normalized as the training text was. Among subwords, the id
        of the token that is the whole word, with or without the mark for the start of a word."""
        if not self.mark:
            found = self.words.find(word)
            return self.words.find(self.normalized(word)) if found is None else found
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
            return self.subwords.vector(forms(self.mark, self.normalized(word))[0])
        pieces = self.pieces(word)
        ids = [self.words.find(piece) for piece in pieces]
        known = [id for id in ids if id is not None]
        if not known or len(known) < len(pieces):
            return None
        return self.rows(known).mean(axis=0, dtype=np.float32)

    def composed_rows(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """What `composed` says of many words: a row for each, and whether it has one."""
        if isinstance(self.subwords, NGrams) and words:
            return self.subwords.vectors(
                [forms(self.mark, word)[0] for word in each(self._normalizer, words)]
            )
        made = [self.composed(word) for word in words]
        rows = [np.zeros(self.dim, np.float32) if row is None else row for row in made]
        has_row = np.array([row is not None for row in made], bool)
        return np.array(rows, np.float32).reshape(len(words), self.dim), has_row

    def pieces(self, word: str) -> list[str]:
        """The subword tokens of a word, or its characters where these are the words; otherwise none."""
        if self.tokenizer is not None:
            return self.tokenizer.pieces(self.normalized(word))
        return Char().words(self.normalized(word)) if self._are_characters else []

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
        """Like `find`, but an out-of-vocabulary word raises OutOfVocabulary, with the closest known word."""
        found = self.find(word)
        if found is None:
            raise OutOfVocabulary(
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
        for text in (word, self.normalized(word)):
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

    def normalized(self, word: str) -> str:
        """A word as the training text would have it."""
        return self._normalizer(word)

    @functools.cached_property
    def _normalizer(self) -> Callable[[str], str]:
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


def _rows_of(table: Table | LazyTable, ids: np.ndarray) -> Rows:
    return table[ids] if isinstance(table, np.ndarray) else table.rows(ids)


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
