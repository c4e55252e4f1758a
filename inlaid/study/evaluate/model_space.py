"""What a model knows of a task: texts and words in their sentences are embedded, words alone looked up."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inlaid.collect.truth import Span, Usage
from inlaid.encode.tokenizers import Token
from inlaid.errors import SettingError
from inlaid.neural.kinds import AnyModel, uses_of
from inlaid.report import Report, silent
from inlaid.shapes import Rows
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.study.use.encoding import encode
from inlaid.study.use.translate import translate
from inlaid.vectors import Vectors


@dataclass(eq=False)
class ModelSpace(KnownWords):
    """The words of a model's input table, and its embeddings of texts. Each text is embedded once."""

    model: Any = field(kw_only=True)
    """A `Model`; its class needs torch."""
    report: Report = silent
    _embedded: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    _alone: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def sentences(self, texts: Sequence[str], weights: np.ndarray | None = None) -> tuple[Rows, np.ndarray]:
        """The embedding of each text, as the model makes it, and whether it is a text. Weights of words are
        for means of word vectors; a model has none."""
        known = np.array([bool(text.strip()) for text in texts], bool)
        new = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._embedded]
        if new:
            rows = self.model.embed(new, truncate=True, report=self.report)
            self._embedded |= dict(zip(new, rows, strict=True))
        return _stacked(texts, self._embedded), known

    def alone(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        """The hidden states of each word as a text of its own."""
        new = [word for word in dict.fromkeys(words) if word.strip() and word not in self._alone]
        if new:
            rows = self._at([Usage(word, _whole(word)) for word in new])
            self._alone |= dict(zip(new, rows, strict=True))
        rows = _stacked(words, self._alone)
        return rows, np.asarray(rows.any(axis=1))

    def texts_alone(self, words: Sequence[str]) -> tuple[Rows, np.ndarray]:
        return self.sentences(words)

    @property
    def translates(self) -> bool:
        """Whether the model is one that translates."""
        return "translate" in uses_of(self.model) and self.model.network.head is not None

    def readable(self, texts: Sequence[str]) -> np.ndarray:
        """Which texts the model can read: a translator refuses a text of which it knows nothing, or that is
        too long."""
        if not self.translates:
            return np.ones(len(texts), bool)
        found = np.zeros(len(texts), bool)
        for place, text in enumerate(texts):
            with contextlib.suppress(SettingError):
                encode(self.model, text, silent)
                found[place] = True
        return found

    def translations(self, texts: Sequence[str]) -> list[str]:
        """What the model translates texts to."""
        found = translate(self.model, list(texts), report=silent)
        return [each.translation.strip() for each in found.translations]

    def occurrences(self, usages: Sequence[Usage]) -> tuple[Rows, np.ndarray]:
        """The hidden states of each word in its sentence."""
        rows = self._at(usages)
        return rows, np.asarray(rows.any(axis=1))

    def _at(self, usages: Sequence[Usage]) -> Rows:
        """The mean of the last hidden states of the tokens of each span; zeros where it has no token."""
        cuts = _Spans(iter([each.span for each in usages]))
        found = self.model.embed_words([each.sentence for each in usages], tokenizer=cuts)
        rows = [each.table[0] if len(each.table) else each.table.sum(axis=0) for each in found]
        return np.stack(rows)


def known_words(vectors: Vectors | AnyModel, settings: OOVSettings, report: Report = silent) -> KnownWords:
    """What vectors or a model know of a task."""
    if isinstance(vectors, Vectors):
        return KnownWords(vectors, settings)
    model: Any = vectors
    return ModelSpace(words_of(model), settings, model=model, report=report)


def words_of(model: Any) -> Vectors:
    """The words of a model by themselves: its input table, or what it makes of their characters."""
    if model.network.tokens is not None or model.tokenizer is None:
        return model.input_vectors()
    known = model.tokenizer.get_vocab(with_added_tokens=False)
    words = sorted(known, key=known.__getitem__)
    return Vectors.of(words, model.embed(words, layer=0, report=silent), model.card)


@dataclass(frozen=True)
class _Spans:
    """A tokenizer that gives one token for each text, in the order of the texts."""

    spans: Iterator[tuple[int, int]]

    def tokenize(self, text: str) -> list[Token]:
        start, end = next(self.spans)
        return [Token(text[start:end], start, end)]

    def words(self, text: str) -> list[str]:
        return [token.text for token in self.tokenize(text)]


def _whole(word: str) -> Span:
    return Span(0, len(word))


def _stacked(texts: Sequence[str], rows: dict[str, np.ndarray]) -> Rows:
    """The row of each text; zeros where there is none."""
    dim = len(next(iter(rows.values()))) if rows else 1
    zeros = np.zeros(dim, np.float32)
    return np.stack([rows.get(text, zeros) for text in texts]).astype(np.float32)
