"""Tasks from the embedded world, whose answers are known because they were planted."""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inlaid.collect import world
from inlaid.encode.subwords.spelling import plain
from inlaid.report import Report
from inlaid.study.evaluate import categorization as grouping
from inlaid.study.evaluate.oov import KnownWords
from inlaid.study.evaluate.tasks import (
    Analogies,
    Categories,
    Measurement,
    Outliers,
    SentencePairs,
    Texts,
    WordPairs,
    columns,
    filled,
)
from inlaid.vectors import Vectors

HELD = 1 << 26
"""Cosines in memory at a time: 256 MB."""


MOST_FREQUENT = 1000
SHARE = 0.8
"""Of the most frequent words, how many the text of the world has if vectors were trained on it: nearly all.
Those of Wikipedia: 0.28 of the words, 0.47 of byte-level subwords, 0.67 of the characters."""


def is_of_world(vectors: Vectors) -> bool:
    """Whether vectors were trained on the text of the embedded world, by their most frequent words."""
    ids = np.arange(len(vectors))
    if vectors.counts is not None:
        ids = np.argsort(-vectors.counts, kind="stable")[: np.count_nonzero(vectors.counts)]
    words = [plain(vectors.words[id]).lower() for id in ids[:MOST_FREQUENT].tolist()]
    text = _text()
    return sum(word in text for word in words) >= SHARE * len(words)


@functools.cache
def _text() -> str:
    """Some text of the world, in which most of its words occur."""
    return " ".join(world.sentences("both", words=20_000)).lower()


@dataclass(frozen=True)
class WorldFields:
    """For each concept of the embedded world: is the nearest word one of the same field?"""

    kind: ClassVar[str] = "fields"
    language: world.Language
    name: str = "world-fields"

    def known(self, space: KnownWords) -> np.ndarray:
        return space.ids(_concept_words(self.language)) >= 0

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        fields: defaultdict[str, set[str]] = defaultdict(set)
        for field, words in world_groups(self.language).items():
            for word in words:
                fields[word].add(field)
        words = [
            word for word, held in zip(_concept_words(self.language), known.tolist(), strict=True) if held
        ]
        nearest = _nearest(space, space.ids(words))
        right = [
            bool(fields[word] & fields[space.vectors.words[id]])
            for word, id in zip(words, nearest.tolist(), strict=True)
        ]
        return [Measurement("accuracy", filled(known, np.array(right)))]


def world_analogies(language: world.Language) -> Analogies:
    """The planted analogies."""
    asked = world.truth(language).analogies
    return Analogies(
        "world-analogies",
        language,
        tuple((q.a, q.b, q.c, q.d) for q in asked),
        tuple(q.relation for q in asked),
    )


def world_categories(language: world.Language) -> Categories:
    """The words of each field, with inflected forms; words of two fields are left out."""
    fields = _of_one_field(language)
    return Categories(
        "world-categories",
        language,
        *columns([(word, field) for field, words in fields.items() for word in words]),
    )


def world_outliers(language: world.Language) -> Outliers:
    """Eight words of a field and one of another."""
    return Outliers("world-outliers", language, tuple(grouping.with_outliers(_of_one_field(language))))


def world_similarity(language: world.Language) -> WordPairs:
    """Pairs of words, graded by how close their meanings were planted."""
    pairs = world.truth(language).word_pairs
    return WordPairs(
        "world-similarity",
        language,
        tuple((pair.one, pair.two) for pair in pairs),
        tuple(float(pair.grade) for pair in pairs),
    )


def world_sentences(language: world.Language) -> SentencePairs:
    """Pairs of sentences without a common word, graded by what they are about."""
    pairs = world.truth(language).sentence_pairs
    return SentencePairs(
        "world-sentences",
        language,
        tuple((pair.one, pair.two) for pair in pairs),
        tuple(float(pair.grade) for pair in pairs),
    )


def world_classification(language: world.Language) -> Texts:
    """The subject of a sentence, learned from words that no test sentence has."""
    texts = world.truth(language).texts
    return Texts(
        "world-classification",
        language,
        train=tuple((each.subject, each.text) for each in texts.train),
        test=tuple((each.subject, each.text) for each in texts.test),
    )


@functools.cache
def world_groups(language: world.Language) -> dict[str, tuple[str, ...]]:
    return {group.field: group.words for group in world.truth(language).groups}


@functools.cache
def _concept_words(language: world.Language) -> tuple[str, ...]:
    return tuple(sorted({(each.zh if language == "zh" else each.en).lower() for each in world.concepts()}))


def _of_one_field(language: world.Language) -> dict[str, list[str]]:
    counts: defaultdict[str, int] = defaultdict(int)
    for words in world_groups(language).values():
        for word in words:
            counts[word] += 1
    return {
        field: [word for word in words if counts[word] == 1]
        for field, words in world_groups(language).items()
    }


def _nearest(space: KnownWords, ids: np.ndarray) -> np.ndarray:
    """The nearest word of each, without itself and its case variants."""
    units = space.vectors.unit[: len(space.table)]
    found = np.empty(len(ids), np.int64)
    step = max(1, HELD // len(units))
    for start in range(0, len(ids), step):
        asked = ids[start : start + step]
        cosines = units[asked] @ units.T
        np.put_along_axis(cosines, space.variants(asked[:, None]), -np.inf, axis=1)
        found[start : start + step] = cosines.argmax(axis=1)
    return found
