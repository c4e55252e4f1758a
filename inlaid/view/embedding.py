"""Embedding: texts to vectors as `inlaid embed` makes them, at the speed of a lookup or in batches.

By word vectors, a text that is one word of the vocabulary has its vector; any other is cut into words as the
training text was, and is the mean of their vectors. Words without a vector are reported, and a text without
any known word is an error, never a vector of zeros. By a model, the text is what the model makes of it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from inlaid.errors import SettingError
from inlaid.report import silent
from inlaid.study.use.embed import EmbedSettings, by_model, by_words
from inlaid.study.use.encoding import unknown_parts, unknown_tokens
from inlaid.view.batching import Batcher
from inlaid.view.exchange import Reply, Request, json_reply
from inlaid.view.limits import refuse_long
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Space
from inlaid.view.threads import Threads

REPORTED = 16
"""Texts whose unknown words are listed."""
AT_ONCE = 20_000
"""Characters that are embedded by word vectors in the event loop; more of them take longer than a thread."""
WRITTEN_AT_ONCE = 50_000
"""Numbers that are written as JSON in the event loop."""
EACH = 20
"""Bytes of memory for each number of an answer: the number, once more at length 1, and its digits."""


@dataclass(frozen=True)
class Unknown:
    """Words of a text that have no vector, or parts of it that the tokenizer of a model does not know."""

    index: int
    words: list[str]


@dataclass(frozen=True)
class Embeddings:
    """Vectors of texts, in their order."""

    rows: np.ndarray
    """(text, dim) float32"""
    tokens: int
    """Words, or tokens of a model, in all texts."""
    unknown: tuple[Unknown, ...] = ()
    """Of texts with unknown words the first ones."""

    def reported(self) -> dict[str, Any]:
        """The unknown words, as a field of a reply; nothing where all are known."""
        return {"out_of_vocabulary": [asdict(each) for each in self.unknown]} if self.unknown else {}


class Embedder:
    """Embeds texts by any space: word vectors at once, models in batches of several clients."""

    def __init__(self, settings: ServeSettings, threads: Threads) -> None:
        self.settings = settings
        self.threads = threads
        self.batcher = Batcher(self.model_rows, threads, size=settings.batch, window=settings.window / 1000)
        self._of_words: weakref.WeakKeyDictionary[Space, _Words] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    async def embed(
        self, space: Space, texts: list[str], request: Request, *, truncate: bool = False
    ) -> Embeddings:
        """The vectors of texts; a SettingError names the first text that has none."""
        refuse_long(texts, self.settings)
        value: Any = space.value
        dim = value.dim if space.vectors is not None else value.config.dim
        if len(texts) * dim > WRITTEN_AT_ONCE:
            request.reserve(len(texts) * dim * EACH)
        if space.vectors is not None:
            return await self._by_words(space, texts)
        found: Sequence[_Row] = []
        for start in range(0, len(texts), self.settings.batch):
            some = texts[start : start + self.settings.batch]
            found = [*found, *await self.batcher.ask((space, truncate), some)]
        for index, row in enumerate(found):
            if row.vector is None:
                raise _without_vector(index, texts[index])
        rows = np.stack([each.vector for each in found if each.vector is not None])
        unknown = [Unknown(index, row.unknown) for index, row in enumerate(found) if row.unknown]
        return Embeddings(rows, sum(each.tokens for each in found), tuple(unknown[:REPORTED]))

    async def _by_words(self, space: Space, texts: list[str]) -> Embeddings:
        """A few texts at once; many in a thread, so that nobody else waits for them."""
        words = self._of_words.get(space)
        if words is None or sum(map(len, texts)) > AT_ONCE:
            return await self.threads.run(lambda: self.words(space).embed_locked(texts))
        found = words.looked_up(texts)
        if found is not None:
            return found
        if not words.lock.acquire(blocking=False):
            return await self.threads.run(words.embed_locked, texts)
        try:
            return words.embed(texts)
        finally:
            words.lock.release()

    async def written(self, value: Any, rows: np.ndarray) -> Reply:
        """A reply that has these rows; a large one is written in a thread."""
        if rows.size <= WRITTEN_AT_ONCE:
            return json_reply(value)
        return await self.threads.run(json_reply, value)

    @staticmethod
    def model_rows(key: tuple[Space, bool], texts: Sequence[str]) -> list[_Row]:
        """The vectors of texts of several clients by one model."""
        space, truncate = key
        computed = by_model(space.model, EmbedSettings(truncate=truncate))
        rows, known = computed.vectors(texts)
        made = list[_Row]()
        for text, row, is_known, (count, unknown) in zip(
            texts, rows, known, unknown_tokens(space.model, texts), strict=True
        ):
            parts = unknown_parts(space.model, text) if unknown and is_known else []
            made.append(_Row(row if is_known else None, count, parts))
        return made

    def words(self, space: Space) -> _Words:
        """What is kept for each space, made once."""
        known = self._of_words.get(space)
        if known is None:
            with self._lock:
                known = self._of_words.setdefault(space, _Words(space, self.settings.embedding))
        return known


class _Words:
    """Texts by the vectors of their words."""

    def __init__(self, space: Space, weights: Any) -> None:
        vectors: Any = space.vectors
        self.vectors = vectors
        self.by_words = by_words(vectors, EmbedSettings(weights=weights), silent)
        self.plain = vectors.tokenizer_json is None and not vectors.mark and weights == "mean"
        self.lock = threading.Lock()
        """The words that were composed of subwords so far are kept, and grow."""

    def looked_up(self, texts: list[str]) -> Embeddings | None:
        """The vector of a text that is one word of the vocabulary."""
        id = self.vectors.words.find(texts[0]) if self.plain and len(texts) == 1 else None
        if id is None or self.vectors.lengths[id] == 0:
            return None
        return Embeddings(self.vectors.table[id : id + 1], 1)

    def embed(self, texts: list[str]) -> Embeddings:
        """The vectors of texts; the caller holds the lock."""
        found = self.looked_up(texts)
        if found is not None:
            return found
        rows, counts = self.by_words.counted(texts)
        known = (counts[:, 0] > 0) & rows.any(axis=1)
        if not known.all():
            index = int(np.flatnonzero(~known)[0])
            raise _without_vector(index, texts[index])
        partly = np.flatnonzero(counts[:, 0] < counts[:, 1])[:REPORTED].tolist()
        without = self.by_words.known.without_vector
        unknown = tuple(Unknown(index, without(texts[index])) for index in partly)
        return Embeddings(rows, int(counts[:, 1].sum()), unknown)

    def embed_locked(self, texts: list[str]) -> Embeddings:
        with self.lock:
            return self.embed(texts)


class _Row(NamedTuple):
    """The vector of one text, if it has one, its number of tokens, and what the tokenizer does not know."""

    vector: np.ndarray | None
    tokens: int
    unknown: list[str]


def _without_vector(index: int, text: str) -> SettingError:
    return SettingError(
        "Text {index} ({text!r}) has no vector: it is empty, or has no word that is known.",
        index=index,
        text=text[:60],
    )


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    lengths = np.sqrt(np.einsum("td,td->t", rows, rows))[:, None]
    return rows / np.where(lengths == 0, 1, lengths)


def shortened(rows: np.ndarray, dimensions: int | None) -> np.ndarray:
    """The first components of each row."""
    if dimensions is None or dimensions == rows.shape[1]:
        return rows
    if not 1 <= dimensions < rows.shape[1]:
        raise SettingError(
            "dimensions is {found}; the vectors have {dim} dimensions.", found=dimensions, dim=rows.shape[1]
        )
    return rows[:, :dimensions]
