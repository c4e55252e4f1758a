"""Senses, referents, translations: tasks on words in sentences and across languages.

An item says where its words are (`Span`, in characters), so that a model that gives every occurrence a vector
of its own answers the same questions. Vectors of words give what they can: one vector for each word, and the
mean of the words around it.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inlaid.collect import world
from inlaid.collect.pairs import TextPair
from inlaid.collect.truth import Referent, Usage
from inlaid.report import Report
from inlaid.shapes import Rows, Vector
from inlaid.study.evaluate.analogies import unit
from inlaid.study.evaluate.bleu import bleu, counts_of
from inlaid.study.evaluate.model_space import ModelSpace
from inlaid.study.evaluate.oov import KnownWords
from inlaid.study.evaluate.tasks import Measurement, filled

HELD_OUT = 200
"""Pairs of sentences that models are asked about."""
HELD_OUT_SEED = 1_000_003
HELD_OUT_WORDS = 4_000
DEPTH = 5
"""Translations among which the right one is looked for by P@5."""


@dataclass(frozen=True)
class SenseQuestion:
    """Which of its senses does a word have in a sentence?"""

    word: str
    usage: Usage
    senses: tuple[tuple[str, ...], ...]
    """For each sense the words of its field, without `word`."""
    answer: int
    """The place of the right sense."""


@dataclass(frozen=True)
class Senses:
    """Word senses: is the sentence nearest to the field of the sense that the word has there?

    `context` asks the words around it: their mean, or a model's embedding of the sentence without the word.
    `word` asks the word's own vector. That of a model depends on the sentence. A vector of words is the same
    in every sentence: it is right as often as its sense comes up, half of the time for two.
    """

    kind: ClassVar[str] = "senses"
    name: str
    language: world.Language
    questions: tuple[SenseQuestion, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        words = space.alone([each.word for each in self.questions])[1]
        fields = [all(space.alone(field)[1].any() for field in each.senses) for each in self.questions]
        return words & np.array(fields, bool) & space.sentences(self._contexts)[1]

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        around = space.sentences(self._contexts)[0]
        inside = space.occurrences([each.usage for each in self.questions])[0]
        right = np.zeros((2, len(self.questions)))
        for number in np.flatnonzero(known).tolist():
            question = self.questions[number]
            for row, (vectors, ask) in enumerate(((around, space.texts_alone), (inside, space.alone))):
                fields = [_center(ask, field, question.usage.sentence) for field in question.senses]
                right[row, number] = (np.stack(fields) @ vectors[number]).argmax() == question.answer
        sections = tuple(each.word for each in self.questions)
        return [
            Measurement(metric, filled(known, row[known]), sections=sections)
            for metric, row in zip(("context", "word"), right, strict=True)
        ]

    @property
    def _contexts(self) -> list[str]:
        return [_without(each.usage) for each in self.questions]


@dataclass(frozen=True)
class Referents:
    """Coreference: is the pronoun's vector nearer to what it refers to than to the other candidate?"""

    kind: ClassVar[str] = "referents"
    name: str
    language: world.Language
    questions: tuple[Referent, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return np.logical_and.reduce([space.occurrences(usages)[1] for usages in self._usages])

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        pronouns, referents, others = (unit(space.occurrences(usages)[0]) for usages in self._usages)
        difference = np.einsum("nd,nd->n", pronouns, referents - others)[known]
        return [Measurement("accuracy", filled(known, (np.sign(difference) + 1) / 2))]

    @property
    def _usages(self) -> list[list[Usage]]:
        """Of each question the pronoun, what it refers to, and the other candidate."""
        spans = [(each.pronoun, each.referent, each.other) for each in self.questions]
        return [
            [Usage(each.sentence, span) for each, span in zip(self.questions, column, strict=True)]
            for column in zip(*spans, strict=True)
        ]


@dataclass(frozen=True)
class Translations:
    """Translation. `language` is that of what is asked for; `candidates` are words of the other.

    Of words in a space of two languages: is a translation the nearest word of the other one? A model is asked
    about `sentences`. If it translates, its translations are compared with the right ones; otherwise the
    embedding of a translation is to be the nearest of those of all translations.
    """

    kind: ClassVar[str] = "translations"
    name: str
    language: world.Language
    words: tuple[str, ...]
    translations: tuple[tuple[str, ...], ...]
    candidates: tuple[str, ...]
    pairs: Callable[[], Sequence[world.Pair]] | None = None
    """Gives pairs of sentences, which only models need."""

    @functools.cached_property
    def sentences(self) -> tuple[TextPair, ...]:
        """Sentences in `language`, and their translations."""
        found = () if self.pairs is None else self.pairs()
        if self.language == "zh":
            return tuple(TextPair(each.zh, each.en) for each in found)
        return tuple(TextPair(each.en, each.zh) for each in found)

    def known(self, space: KnownWords) -> np.ndarray:
        if isinstance(space, ModelSpace) and self.sentences:
            return space.readable([each.source for each in self.sentences])
        found = [(space.ids(each) >= 0).any() for each in self.translations]
        return (space.ids(self.words) >= 0) & np.array(found, bool)

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        if isinstance(space, ModelSpace) and self.sentences:
            return self._translated(space, known) if space.translates else self._retrieved(space, known)
        ids = space.ids(self.candidates)
        offered = [word for word, id in zip(self.candidates, ids.tolist(), strict=True) if id >= 0]
        targets = unit(space.table[ids[ids >= 0]])
        sources = unit(space.table[space.ids(self.words)[known]])
        nearest = np.argsort(-(sources @ targets.T), axis=1, kind="stable")[:, :DEPTH]
        wanted = [self.translations[number] for number in np.flatnonzero(known).tolist()]
        hits = np.array(
            [
                [offered[id] in right for id in row] + [False] * (DEPTH - len(row))
                for row, right in zip(nearest.tolist(), wanted, strict=True)
            ],
            bool,
        ).reshape(-1, DEPTH)
        return [
            Measurement(f"P@{depth}", filled(known, np.asarray(hits[:, :depth].any(axis=1))))
            for depth in (1, DEPTH)
        ]

    def _translated(self, space: ModelSpace, known: np.ndarray) -> list[Measurement]:
        """Translations that are right to the letter, and BLEU. What cannot be read has an empty one."""
        asked = [each.source for each, held in zip(self.sentences, known.tolist(), strict=True) if held]
        found = iter(space.translations(asked))
        texts = [next(found) if held else "" for held in known.tolist()]
        right = [each.target for each in self.sentences]
        exact = [one == two for one, two in zip(texts, right, strict=True)]
        counts = counts_of(texts, right, "en" if self.language == "zh" else "zh")
        return [Measurement("exact", np.array(exact, float)[:, None]), Measurement("BLEU", counts, bleu)]

    def _retrieved(self, space: ModelSpace, known: np.ndarray) -> list[Measurement]:
        """Whether the translation of a sentence is the nearest of all translations, or among the nearest."""
        sources, targets = (unit(space.sentences(side)[0]) for side in zip(*self.sentences, strict=True))
        cosines = sources @ targets.T
        before = (cosines > np.diag(cosines)[:, None]).sum(axis=1)[known]
        return [Measurement(f"P@{depth}", filled(known, before < depth)) for depth in (1, DEPTH)]


# ---- The embedded world's


def world_senses(language: world.Language) -> Senses:
    """The planted sentences of ambiguous words."""
    truth = world.truth(language)
    fields = {group.field: group.words for group in truth.groups}
    questions = [
        SenseQuestion(
            word=ambiguity.word,
            usage=usage,
            senses=tuple(_other(fields[each.field], ambiguity.word) for each in ambiguity.senses),
            answer=answer,
        )
        for ambiguity in truth.senses
        for answer, sense in enumerate(ambiguity.senses)
        for usage in sense.usages
    ]
    return Senses("world-senses", language, tuple(questions))


def world_referents(language: world.Language) -> Referents:
    """The planted sentences with a pronoun and two people."""
    return Referents("world-referents", language, world.truth(language).referents)


def world_translations(language: world.Language) -> Translations:
    """The words of every concept in both languages; for models, held-out sentences."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pair in world.truth(language).translations:
        word, translation = (pair.zh, pair.en) if language == "zh" else (pair.en, pair.zh)
        found[word].append(translation)
    return Translations(
        "world-translations",
        language,
        words=tuple(found),
        translations=tuple(map(tuple, found.values())),
        candidates=tuple(dict.fromkeys(word for each in found.values() for word in each)),
        pairs=held_out_pairs,
    )


@functools.cache
def held_out_pairs() -> tuple[world.Pair, ...]:
    """Pairs of sentences that the text of the world as it is written by default does not have."""
    seen = {pair.zh for pair in world.pairs()}
    new = {pair.zh: pair for pair in world.pairs(words=HELD_OUT_WORDS, seed=HELD_OUT_SEED)}
    kept = [pair for zh, pair in new.items() if zh not in seen]
    return tuple(kept[:HELD_OUT])


# ---- What they share


def _other(words: Sequence[str], word: str) -> tuple[str, ...]:
    return tuple(each for each in words if each != word)


def _without(usage: Usage) -> str:
    start, end = usage.span
    return f"{usage.sentence[:start]} {usage.sentence[end:]}"


def _center(
    ask: Callable[[Sequence[str]], tuple[Rows, np.ndarray]], words: Sequence[str], sentence: str
) -> Vector:
    """The mean direction of words; those that the sentence names would give the answer away."""
    kept = [word for word in words if word not in sentence.lower()]
    rows, known = ask(kept or words)
    rows = unit(rows[known]) if kept and known.any() else np.zeros((1, rows.shape[1]), np.float32)
    return unit(rows.mean(axis=0, keepdims=True))[0]
