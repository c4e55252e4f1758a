"""Which words of a task have vectors, in the vocabulary or made from subwords; vectors of sentences."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from inlaid.collect.normalize import Step, each, normalizer
from inlaid.collect.truth import Usage
from inlaid.config import Positive, check
from inlaid.encode.subwords.spelling import forms
from inlaid.shapes import Rows, Table
from inlaid.vectors import Vectors

if TYPE_CHECKING:  # both import Numba, which tasks of words do without
    from inlaid.feed.bags import BagIds, Numbering, Subwords
    from inlaid.feed.word_rows import WordRows

NONE = -1
"""The id of a word without a vector."""
NUMBERING = "_numbering"
"""Where vectors keep the numbering of their words."""


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


class GrowingTable:
    """Rows that are appended; `rows` has those so far."""

    def __init__(self, dim: int) -> None:
        self._room = np.zeros((16, dim), np.float32)
        self.count = 0

    @property
    def rows(self) -> Rows:
        return self._room[: self.count]

    def extend(self, rows: Rows) -> None:
        count = self.count + len(rows)
        if count > len(self._room):
            more = np.zeros((max(count, len(self._room)), self._room.shape[1]), np.float32)
            self._room = np.concatenate([self._room, more])
        self._room[self.count : count] = rows
        self.count = count


def _numbering_of(vectors: Vectors) -> Numbering:
    """The numbering of the words of these vectors. They keep it: making it takes longer than a text."""
    from inlaid.feed.bags import Numbering, cleaner_of  # it imports Numba

    kept: Any = vectors.__dict__
    if NUMBERING not in kept:
        kept[NUMBERING] = Numbering(vectors.words, cleaner_of(vectors.card.encoding, vectors.words))
    return kept[NUMBERING]


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
        return self._with_composed(words, self.ids(words))

    def rows(self, ids: np.ndarray) -> Rows:
        """The vectors of the ids that `all_ids` gives."""
        return rows_of(self.table, self.composed, ids)

    @property
    def composed(self) -> Rows:
        """The vectors made from subwords so far."""
        return self._composed_table.rows

    @functools.cached_property
    def _composed_table(self) -> GrowingTable:
        return GrowingTable(self.vectors.dim)

    def _with_composed(self, words: Sequence[str], ids: np.ndarray) -> np.ndarray:
        """These ids, and those of words without one whose vectors are made from subwords. Where that is
        impossible, or where the word is in the vocabulary, beyond `top`, the id is NONE."""
        missing = np.flatnonzero(ids < 0).tolist()
        if not self.composes or not missing:
            return ids
        asked = [words[place] for place in missing]
        new = [word for word in dict.fromkeys(asked) if word not in self._composed_ids]
        if self.settings.top is not None:
            self._composed_ids |= dict.fromkeys(new, NONE)
            new = [word for word in new if word not in self.vectors]
        rows, has_row = self.vectors.composed_rows(new)
        has_row = has_row & rows.any(axis=1)
        first = len(self.table) + self._composed_table.count
        places = np.where(has_row, first - 1 + np.cumsum(has_row), NONE)
        self._composed_ids |= dict(zip(new, places.tolist(), strict=True))
        self._composed_table.extend(rows[has_row])
        ids[missing] = [self._composed_ids[word] for word in asked]
        return ids

    def _within_top(self, id: int | None) -> int | None:
        return id if id is not None and id < len(self.table) else None

    def forget(self, most: int) -> None:
        """Forget the words that were asked for and the composed vectors, each if there are more than this."""
        if len(self._found) > most:
            self._found.clear()
        if len(self._composed_ids) > most:
            self._composed_ids.clear()
            self._composed_table = GrowingTable(self.vectors.dim)
            self.__dict__.pop("_word_rows", None)

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

    def sentences(self, texts: Sequence[str], weights: np.ndarray | None = None) -> tuple[Rows, np.ndarray]:
        """The mean of the word vectors of each text, and whether any word of it has one. Each word of the
        table may have a weight; composed words weigh 1."""
        rows, counts = self.counted(texts, weights)
        return rows, counts[:, 0] > 0

    def counted(self, texts: Sequence[str], weights: np.ndarray | None = None) -> tuple[Rows, np.ndarray]:
        """The mean of the word vectors of each text; its words with a vector, and all its words: (text, 2).
        Subword tokenizers have a token for every text."""
        from inlaid.feed.bags import weighted_means  # it imports Numba

        if self._subwords is not None:
            bags = self._subwords.bags(texts)
            totals = np.diff(bags.bounds)
        else:
            bags, totals = self._word_rows.counted(texts)
        if weights is None:
            weights = self._equal_weights
        rows = weighted_means(self.table, self.composed, weights, bags)
        return rows, np.stack([np.diff(bags.bounds), totals], axis=1)

    def bags(self, texts: Sequence[str]) -> BagIds:
        """The ids of the words of each text that have a vector. Texts are cut as the training text was; by
        the word tokenizer where nothing is known about that."""
        if self._subwords is not None:
            return self._subwords.bags(texts)
        return self._word_rows.of(texts)

    def without_vector(self, text: str) -> list[str]:
        """The words of a text that have no vector. Subword tokenizers have a token for every text."""
        return [] if self._subwords is not None else self._word_rows.without_row(text)

    @functools.cached_property
    def _equal_weights(self) -> np.ndarray:
        return np.ones(len(self.table), np.float32)

    @functools.cached_property
    def _subwords(self) -> Subwords | None:
        from inlaid.feed.bags import Subwords  # it imports Numba

        vectors = self.vectors
        if vectors.tokenizer_json is None:
            return None
        words = itertools.islice(vectors.words, len(self.table))
        return Subwords(words, vectors.card.encoding, vectors.tokenizer_json)

    @functools.cached_property
    def _word_rows(self) -> WordRows:
        from inlaid.feed.word_rows import NOT_ASKED, WordRows  # it imports Numba

        first = np.full(len(self.vectors), NOT_ASKED)
        if self.vectors.mark or not self.settings.fold_case:
            first[: len(self.table)] = np.arange(len(self.table))
        return WordRows(_numbering_of(self.vectors), first, self._ids_in_text)

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

    def _ids_in_text(self, words: list[str]) -> np.ndarray:
        """The ids of tokens of texts that are not among the words as they are written; NONE for those without
        a vector. Subword tokens are looked up as they are: "king" is not "Ġking"."""
        ids = np.full(len(words), NONE)
        if self.vectors.mark:
            return ids
        if self.settings.fold_case:
            ids = self.ids(words)
        else:
            lowered = each(str.lower, words)
            for written in (each(self._normalize, words), lowered, each(self._normalize, lowered)):
                self._find_forms(words, written, ids)
        return self._with_composed(words, ids)

    def _find_forms(self, words: list[str], written: list[str], ids: np.ndarray) -> None:
        """Fill in the ids of words that have none yet and are known in another form."""
        pairs = enumerate(zip(words, written, strict=True))
        places = [place for place, (word, other) in pairs if other != word and ids[place] < 0]
        if places:
            found = self.vectors.words.ids([written[place] for place in places])
            ids[places] = np.where(found < len(self.table), found, NONE)

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
