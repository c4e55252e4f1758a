"""Which words of a task are in the vocabulary, and what to do about the others; vectors of sentences."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.collect.normalize import Step, normalizer
from inlaid.config import Positive, check, settings_of
from inlaid.encode.corpus import Encoding
from inlaid.encode.tokenizers import Word
from inlaid.shapes import Rows, Table
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class OOVSettings:
    """Which words count as known, and what happens to items with out-of-vocabulary words."""

    top: Positive | None = None
    """Use only the first n words, as answers too; files list frequent words first. All by default."""
    fold_case: bool = False
    """Treat words that differ only in case as one word: the first of them."""
    oov: Literal["skip", "wrong"] = "skip"
    """Items with an out-of-vocabulary word: skip them, or count them as wrong (as similarity 0)."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class KnownWords:
    """The words and rows of some vectors that take part in a task."""

    vectors: Vectors
    settings: OOVSettings = OOVSettings()

    @property
    def table(self) -> Table:
        return self.vectors.table[: self.settings.top]

    def find(self, word: str) -> int | None:
        """The id of a word as `vectors.find` has it or, with `fold_case`, of the first word that differs only
        in case."""
        if self.settings.fold_case:
            found = self._folded.get(word.upper())
            return self._folded.get(self._normalize(word).upper()) if found is None else found
        found = self.vectors.find(word)
        return found if found is not None and found < len(self.table) else None

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The ids of words; -1 for out-of-vocabulary ones."""
        found = {word: self.find(word) for word in dict.fromkeys(words)}
        return np.array([-1 if (id := found[word]) is None else id for word in words], np.int64)

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
        """The mean of the word vectors of each text, and whether any word of it is known."""
        rows = np.zeros((len(texts), self.vectors.dim), np.float32)
        known = np.zeros(len(texts), bool)
        ids: dict[str, int | None] = {}
        for number, text in enumerate(texts):
            words = self._tokenize(text)
            for word in words:
                if word not in ids:
                    found = self.find(word)
                    ids[word] = self.find(word.lower()) if found is None else found
            held = [id for word in words if (id := ids[word]) is not None]
            if held:
                rows[number] = self.table[held].mean(axis=0)
                known[number] = True
        return rows, known

    @functools.cached_property
    def _tokenize(self) -> Callable[[str], list[str]]:
        """As the training text was tokenized; by the word tokenizer where nothing is known about that."""
        if not self.vectors.card.encoding:
            return Word().words
        tokenizer = settings_of(Encoding, self.vectors.card.encoding).make_tokenizer()
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
