"""Similarity, analogy, categorization, retrieval, classification; zh and en."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from inlay.collect import world
from inlay.vectors import Vectors


@runtime_checkable
class Task(Protocol):
    """A set of questions with known answers."""

    language: world.Language

    def outcomes(self, vectors: Vectors) -> np.ndarray:
        """One number a question, 1 for right and 0 for wrong; NaN where the vectors lack a word of it."""
        ...


@dataclass(frozen=True)
class WorldFields:
    """For each concept of the embedded world: is the nearest word one of the same field?"""

    language: world.Language

    def outcomes(self, vectors: Vectors) -> np.ndarray:
        fields: defaultdict[str, set[str]] = defaultdict(set)
        for group in world.truth(self.language).groups:
            for word in group.words:
                fields[word].add(group.field)
        words = sorted(_concept_words(self.language))
        ids = [vectors.find(word) for word in words]
        known = [id for id in ids if id is not None]
        scores = vectors.unit[known] @ vectors.unit.T
        scores[np.arange(len(known)), known] = -np.inf
        nearest = iter(scores.argmax(axis=1).tolist() if known else [])
        return np.array([
            np.nan if id is None else bool(fields[word] & fields[vectors.words[next(nearest)]]) for word, id in zip(words, ids, strict=True)
        ])  # fmt: skip


@dataclass(frozen=True)
class WorldAnalogies:
    """The planted analogies of the embedded world, by 3CosAdd: the word nearest to b - a + c, other than a, b and c."""

    language: world.Language

    def outcomes(self, vectors: Vectors) -> np.ndarray:
        questions = world.truth(self.language).analogies
        ids = [[vectors.find(word) for word in (each.a, each.b, each.c, each.d)] for each in questions]
        known = np.array([None not in each for each in ids])
        right = np.full(len(questions), np.nan)
        if known.any():
            a, b, c, d = np.array([each for each, whole in zip(ids, known, strict=True) if whole], np.int64).T
            scores = (vectors.unit[b] - vectors.unit[a] + vectors.unit[c]) @ vectors.unit.T
            for given in (a, b, c):
                scores[np.arange(len(given)), given] = -np.inf
            right[known] = scores.argmax(axis=1) == d
        return right


def _concept_words(language: world.Language) -> set[str]:
    return {(each.zh if language == "zh" else each.en).lower() for each in world.concepts()}
