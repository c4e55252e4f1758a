"""The vectors of words in their sentences, layer by layer: of a model all layers, of word vectors the one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.collect.truth import Span, Usage
from inlaid.encode.tokenizers import Token
from inlaid.errors import SettingError
from inlaid.neural.kinds import AnyModel, check_use
from inlaid.report import Note, Progress, Report, silent
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.vectors import Vectors

CHUNK = 256
"""Sentences computed between two reports of progress."""
STATIC = "static"
"""The layer of word vectors: the same vector in every sentence."""


@dataclass(frozen=True, eq=False)
class States:
    """A vector for each word in its sentence after each layer."""

    table: np.ndarray
    """(usage, layer, dim)"""
    known: np.ndarray
    """(usage,): whether it has a vector; zeros otherwise."""
    layers: tuple[str, ...]
    """0 is the input of the first block; word vectors have one layer, `static`."""


def states_of(model: Vectors | AnyModel, usages: Sequence[Usage], report: Report = silent) -> States:
    """The vectors of words in their sentences. Each sentence is computed once."""
    if not usages:
        raise SettingError("There are no words to look at.")
    if isinstance(model, Vectors):
        rows, known = KnownWords(model, OOVSettings()).occurrences(usages)
        return States(rows[:, None, :], known, (STATIC,))
    return _of_model(check_use(model, "embed"), usages, report)


def fitting(model: Vectors | AnyModel, texts: Sequence[str], report: Report = silent) -> list[bool]:
    """Which texts a model can read whole; a note says how many it cannot. Word vectors read any."""
    limit = None if isinstance(model, Vectors) else check_use(model, "embed").config.max_length
    loaded: Any = model
    if limit is None or loaded.tokenizer is None:
        return [True] * len(texts)
    found = [len(each.ids) <= limit for each in loaded.tokenizer.encode_batch(list(texts))]
    if not all(found):
        report(
            Note(
                "{count:,} of {total:,} sentences have more than {limit:,} tokens. They are left out.",
                count=found.count(False),
                total=len(found),
                limit=limit,
            )
        )
    return found


def _of_model(model: Any, usages: Sequence[Usage], report: Report) -> States:
    places: dict[str, list[int]] = {}
    for place, usage in enumerate(usages):
        places.setdefault(usage.sentence, []).append(place)
    spans = {text: [usages[place].span for place in held] for text, held in places.items()}
    texts = sorted(places, key=len)  # those of one length need no padding
    layers = model.config.layers + 1
    table = np.zeros((len(usages), layers, 0), np.float32)
    known = np.zeros(len(usages), bool)
    for start in range(0, len(texts), CHUNK):
        some = texts[start : start + CHUNK]
        for text, found in zip(some, model.word_layers(some, tokenizer=_Cuts(spans)), strict=True):
            if not table.shape[2]:
                table = np.zeros((len(usages), layers, found.table.shape[2]), np.float32)
            rows = [places[text][int(number)] for number in found.words]
            table[rows] = found.table
            known[rows] = True
        report(Progress("hidden states", start + len(some), len(texts), "sentences"))
    return States(table, known, tuple(map(str, range(layers))))


@dataclass(frozen=True)
class _Cuts:
    """A tokenizer that cuts each text into the spans that are asked for; a token is called by its number."""

    spans: Mapping[str, Sequence[Span]]

    def tokenize(self, text: str) -> list[Token]:
        return [Token(str(number), *span) for number, span in enumerate(self.spans[text])]

    def words(self, text: str) -> list[str]:
        return [token.text for token in self.tokenize(text)]
