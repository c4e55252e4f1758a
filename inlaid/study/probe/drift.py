"""One word through the layers: how far it moves from its static vector, and apart in several sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.collect.truth import Span, Usage
from inlaid.encode.tokenizers import Word
from inlaid.errors import OutOfVocabulary, SettingError
from inlaid.messages import Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.model_line import model_line
from inlaid.study.probe.clusters import unit_rows
from inlaid.study.probe.states import States, states_of
from inlaid.study.use.texts import shortened
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class SentenceDrift:
    """The word in one sentence. Cosines by layer."""

    text: str
    from_input: tuple[float, ...]
    """With layer 0: how much of the input is left."""
    from_before: tuple[float, ...]
    """With the layer before; 1 for layer 0."""
    among_others: tuple[float, ...]
    """The mean cosine with the other words of the sentence: near 1, all words of it are alike."""


@dataclass(frozen=True)
class PairDrift:
    """The word in two sentences, counted from 1: the cosine of its two vectors by layer."""

    first: int
    second: int
    cosines: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One word through the layers."""

    model: Message
    word: str
    layers: tuple[str, ...]
    sentences: tuple[SentenceDrift, ...]
    pairs: tuple[PairDrift, ...]
    output: str | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [self.model]
        rows += [f"{number} {each.text}" for number, each in enumerate(self.sentences, 1)]
        rows.append("")
        names: list[str | Message] = []
        names += [Message("{number}: layer 0", number=n + 1) for n in range(len(self.sentences))]
        names += [Message("{number}: before", number=n + 1) for n in range(len(self.sentences))]
        names += [f"{each.first} · {each.second}" for each in self.pairs]
        columns = [each.from_input for each in self.sentences]
        columns += [each.from_before for each in self.sentences]
        columns += [each.cosines for each in self.pairs]
        rows.append((Message("layer"), *names))
        for number, layer in enumerate(self.layers):
            rows.append((layer, *(f"{column[number]:.3f}" for column in columns)))
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def drift(
    model: Vectors | AnyModel,
    word: str,
    sentences: Sequence[str],
    *,
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Drift:
    """One word through the layers of a model, in one sentence or side by side in several.

    By layer: the cosine of its vector with its input (layer 0) and with the layer before, and the cosine of
    its vectors in two sentences. Word vectors have one layer, where it is 1 in any two sentences.

    >>> drift(model, "苹果", ["我喜欢吃苹果", "我喜欢苹果手机"]).pairs[0].cosines

    Args:
        model: the folder of a model, or a file of vectors
        word: the word; its first occurrence in each sentence is taken
        sentences: one or more sentences with the word
        output: draw the cosines by layer, as .png, or as a page with the table, as .html

    Examples:
        inlaid drift model bank "a river bank" "money in the bank"
        inlaid drift model 苹果 我吃苹果 苹果手机很贵 -o drift.png
    """
    if output is not None:
        figures.writable(output, Message("A picture of drift"), overwrite=overwrite)
    texts = [sentences] if isinstance(sentences, str) else list(sentences)
    if not texts:
        raise SettingError("There is no sentence. Give one or more with the word in it.")
    usages = [Usage(text, find_word(text, word)) for text in texts]
    others = [each for usage in usages for each in other_words(usage)]
    states = states_of(model, [*usages, *others], report)
    if not states.known[: len(usages)].all():
        raise OutOfVocabulary("'{word}' has no vector. Choose another word.", word=word)
    found = _drift(model_line(model), word, usages, others, states)
    if output is not None:
        from inlaid.study.probe.layer_pictures import draw_drift

        found = replace(found, output=str(output))
        figures.write(output, draw_drift(found, output.suffix.lower(), report))
    return found


def find_word(text: str, word: str) -> Span:
    """Where a word is in a sentence: as a word of it, or else as characters of it."""
    if not word.strip():
        raise SettingError("The word is empty. Write one.")
    wanted = word.lower()
    for token in Word(dictionary=(word,)).tokenize(text):
        if token.text.lower() == wanted:
            return Span(token.start, token.end)
    start = text.lower().find(wanted)
    if start < 0:
        raise OutOfVocabulary("'{word}' is not in the sentence '{text}'.", word=word, text=shortened(text))
    return Span(start, start + len(word))


def other_words(usage: Usage) -> list[Usage]:
    """The other words of a sentence."""
    spans = [Span(token.start, token.end) for token in Word().tokenize(usage.sentence)]
    start, end = usage.span
    return [Usage(usage.sentence, span) for span in spans if span.end <= start or span.start >= end]


def _drift(model: Message, word: str, usages: list[Usage], others: list[Usage], states: States) -> Drift:
    units = unit_rows(states.table.astype(np.float64))
    made = list[SentenceDrift]()
    for place, usage in enumerate(usages):
        own = units[place]
        near = [
            number
            for number, each in enumerate(others, len(usages))
            if each.sentence == usage.sentence and states.known[number]
        ]
        around = np.einsum("nld,ld->nl", units[near], own).mean(axis=0) if near else np.full(len(own), np.nan)
        before = np.einsum("ld,ld->l", own[1:], own[:-1])
        made.append(
            SentenceDrift(
                usage.sentence,
                tuple((own @ own[0]).tolist()),
                (1.0, *before.tolist()),
                tuple(around.tolist()),
            )
        )
    pairs = [
        PairDrift(one + 1, two + 1, tuple(np.einsum("ld,ld->l", units[one], units[two]).tolist()))
        for one, two in combinations(range(len(usages)), 2)
    ]
    return Drift(model=model, word=word, layers=states.layers, sentences=tuple(made), pairs=tuple(pairs))
