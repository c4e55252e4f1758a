"""Which words of a task have vectors, in the vocabulary or made from subwords; vectors of sentences."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from inlaid.collect.normalize import Step, normalizer
from inlaid.collect.truth import Usage
from inlaid.config import Positive, check
from inlaid.encode.corpus import tokenizer_of
from inlaid.encode.joining import joining
from inlaid.encode.subwords.spelling import forms
from inlaid.encode.tokenizers import Word
from inlaid.shapes import Rows, Table, Vector
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class OOVSettings:
    """Which words count as known, and what happens to items with out-of-vocabulary words."""

    top: Positive | None = None
    """Use only the first n words, as answers too; files list frequent words first. All by default."""
    fold_case: bool = False
    """Treat words that differ only in case as one word: the first of them."""
    oov: Literal["skip", "wrong"] = "skip"
    """Items with a word that has no vector: skip them, or count them as wrong (as similarity 0)."""
    subwords: bool = True
    """Make vectors of out-of-vocabulary words from their subwords, where the vectors have subwords. The
    scores over the vocabulary alone are reported beside. `--no-subwords`: these alone."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(eq=False)
class KnownWords:
    """The words and rows of some vectors that take part in a task. It grows as it is asked.

    Words have the ids of their rows. Out-of-vocabulary words whose vectors are made from subwords have the
    ids after those of the table, in the order in which they were asked for; `rows` knows both. No score
    depends on that order.
    """

    vectors: Vectors
    settings: OOVSettings = OOVSettings()
    _found: dict[str, int | None] = field(default_factory=dict[str, int | None])
    """Ids of words that were asked for: the items of a task repeat a few thousand words."""
    _composed_ids: dict[str, int] = field(default_factory=dict[str, int])
    _composed_rows: list[Vector] = field(default_factory=list[Vector])

    @property
    def table(self) -> Table:
        return self.vectors.table[: self.settings.top]

    @property
    def composes(self) -> bool:
        """Whether out-of-vocabulary words may have vectors."""
        return self.settings.subwords and self.vectors.composes

    def find(self, word: str) -> int | None:
        """The id of a word as `vectors.find` has it or, with `fold_case`, of the first word that differs only
        in case."""
        if word not in self._found:
            self._found[word] = self._search(word)
        return self._found[word]

    def _search(self, word: str) -> int | None:
        if self.settings.fold_case:
            texts = (word, self._normalize(word))
            written = (form for text in texts for form in forms(self.vectors.mark, text))
            return next((id for form in written if (id := self._folded.get(form.upper())) is not None), None)
        return self._within_top(self.vectors.find(word))

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of words in the vocabulary; -1 for all others."""
        return np.array([-1 if (id := self.find(word)) is None else id for word in words], np.int64)

    def all_ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of words in the vocabulary, and of those whose vectors are made from subwords; -1 for words
        without a vector."""
        ids = self.ids(words)
        if self.composes:
            for place in np.flatnonzero(ids < 0).tolist():
                ids[place] = self._compose(words[place])
        return ids

    def rows(self, ids: np.ndarray) -> Rows:
        """The vectors of the ids that `all_ids` gives."""
        return rows_of(self.table, self.composed, ids)

    @property
    def composed(self) -> Rows:
        """The vectors made from subwords so far."""
        if not self._composed_rows:
            return np.zeros((0, self.vectors.dim), np.float32)
        return np.stack(self._composed_rows)

    def _compose(self, word: str) -> int:
        """The id of a word whose vector is made from subwords; -1 where that is impossible, or where the word
        is in the vocabulary, beyond `top`."""
        if word not in self._composed_ids:
            vector = None if word in self.vectors else self.vectors.composed(word)
            self._composed_ids[word] = -1
            if vector is not None and vector.any():
                self._composed_ids[word] = len(self.table) + len(self._composed_rows)
                self._composed_rows.append(vector)
        return self._composed_ids[word]

    def _within_top(self, id: int | None) -> int | None:
        return id if id is not None and id < len(self.table) else None

    def forget(self, most: int) -> None:
        """Forget the words that were asked for and the composed vectors, each if there are more than this."""
        if len(self._found) > most:
            self._found.clear()
        if len(self._composed_ids) > most:
            self._composed_ids.clear()
            self._composed_rows.clear()

    def variants(self, ids: np.ndarray) -> np.ndarray:
        """Ids (item, any) with those of all their case variants; rows are filled up by repeating their first
        id."""
        if not self.settings.fold_case or not self._variants:
            return ids
        rows = [[other for id in row for other in (id, *self._variants.get(id, ()))] for row in ids.tolist()]
        width = max(map(len, rows), default=0)
        filled = [row + row[:1] * (width - len(row)) for row in rows]
        return np.array(filled, np.int64).reshape(len(ids), width)

    def first(self, ids: np.ndarray) -> np.ndarray:
        """For each id the first of its case variants."""
        if not self.settings.fold_case or not self._variants:
            return ids
        first_of = {other: id for id, others in self._variants.items() for other in others}
        return np.array([first_of.get(id, id) for id in ids.tolist()], np.int64)

    def sentences(self, texts: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """The mean of the word vectors of each text, and whether any word of it has one."""
        cut = [self._tokenize(text) for text in texts]
        ids = {word: self._id_in_text(word) for word in dict.fromkeys(itertools.chain.from_iterable(cut))}
        composed = self.composed
        rows = np.zeros((len(texts), self.vectors.dim), np.float32)
        known = np.zeros(len(texts), bool)
        for number, words in enumerate(cut):
            held = [id for word in words if (id := ids[word]) >= 0]
            if held:
                rows[number] = rows_of(self.table, composed, np.array(held)).mean(axis=0)
                known[number] = True
        return rows, known

    def alone(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """The vector of each word by itself, and whether it has one."""
        ids = self.ids(words)
        return np.where((ids >= 0)[:, None], self.table[np.maximum(ids, 0)], 0), ids >= 0

    def texts_alone(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """The vector of each word as a text, which vectors of sentences can be compared with."""
        return self.alone(words)

    def occurrences(self, usages: Sequence[Usage]) -> tuple[Rows, np.ndarray]:
        """The vector of each word in its sentence, and whether it has one: vectors of words are the same in
        all sentences."""
        return self.sentences([each.sentence[slice(*each.span)] for each in usages])

    def _id_in_text(self, word: str) -> int:
        """The id of a token of a text; -1 for one without a vector. Subword tokens are looked up as they are:
        "king" is not "Ġking"."""
        if self.vectors.mark:
            found = self._within_top(self.vectors.words.find(word))
            return -1 if found is None else found
        found = self.find(word)
        if found is None:
            found = self.find(word.lower())
        if found is None and self.composes:
            return self._compose(word)
        return -1 if found is None else found

    @functools.cached_property
    def _tokenize(self) -> Callable[[str], list[str]]:
        """As the training text was tokenized; by the word tokenizer where nothing is known about that."""
        if not self.vectors.card.encoding:
            return Word().words
        recorded = self.vectors.card.encoding
        words = self.vectors.words
        tokenizer = self.vectors.tokenizer
        tokenizer = joining(tokenizer, recorded, words) if tokenizer else tokenizer_of(recorded, words)
        return lambda text: tokenizer.words(self._normalize(text))

    @functools.cached_property
    def _normalize(self) -> Step:
        return normalizer(self.vectors.card.encoding.get("normalize", ()))

    @functools.cached_property
    def _folded(self) -> dict[str, int]:
        words: dict[str, int] = {}
        for id, word in enumerate(itertools.islice(self.vectors.words, len(self.table))):
            words.setdefault(word.upper(), id)
        return words

    @functools.cached_property
    def _variants(self) -> dict[int, list[int]]:
        """First id -> the later ones that differ only in case, where there are any."""
        others: dict[int, list[int]] = {}
        if len(self._folded) < len(self.table):
            for id, word in enumerate(itertools.islice(self.vectors.words, len(self.table))):
                first = self._folded[word.upper()]
                if first != id:
                    others.setdefault(first, []).append(id)
        return others


def rows_of(table: Table, composed: np.ndarray, ids: np.ndarray) -> Rows:
    """The rows of ids (any), of which those from the length of the table on are in `composed` (n, dim)."""
    outside = ids >= len(table)
    if not outside.any():
        return table[ids]
    rows = table[np.where(outside, 0, ids)]
    rows[outside] = composed[ids[outside] - len(table)]
    return rows
