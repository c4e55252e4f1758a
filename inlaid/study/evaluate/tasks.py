"""Similarity, analogy, categorization, outliers, sentences, classification; zh and en."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from inlaid.collect import world
from inlaid.report import Report
from inlaid.study.evaluate import analogies, statistics
from inlaid.study.evaluate import categorization as grouping
from inlaid.study.evaluate import logistic as classify
from inlaid.study.evaluate.analogies import unit
from inlaid.study.evaluate.oov import KnownWords
from inlaid.study.evaluate.statistics import Statistic


@dataclass(frozen=True, eq=False)
class Measurement:
    """One metric of a task: a row of numbers for each item, and the statistic over them.

    The row of an item that is not known holds what a wrong answer would: 0 right, or similarity 0.
    """

    metric: str
    items: np.ndarray
    statistic: Statistic = statistics.mean
    sections: tuple[str, ...] | None = None
    """The section of each item, where the task has sections."""


@runtime_checkable
class Task(Protocol):
    """A set of items with known answers."""

    kind: ClassVar[str]

    @property
    def name(self) -> str: ...
    @property
    def language(self) -> world.Language: ...
    def known(self, space: KnownWords) -> np.ndarray:
        """For each item, whether its words have vectors."""
        ...

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        """The metrics of the items that are `known`, the main one first."""
        ...


@dataclass(frozen=True)
class WordPairs:
    """Word similarity: the correlation of cosines with human judgements of word pairs."""

    kind: ClassVar[str] = "word similarity"
    name: str
    language: world.Language
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return _ids(space, self.pairs, 2).min(axis=1) >= 0

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        ids = _ids(space, self.pairs, 2)[known]
        items = np.zeros((len(self.pairs), 2))
        items[:, 0] = self.scores
        items[known, 1] = _cosines(space.rows(ids[:, 0]), space.rows(ids[:, 1]))
        return [
            Measurement("spearman", items, statistics.spearman),
            Measurement("pearson", items, statistics.pearson),
        ]


@dataclass(frozen=True)
class Analogies:
    """a is to b as c is to d: is d the first answer of 3CosAdd and 3CosMul, without a, b and c?

    The vectors of a, b and c may be made from subwords; answers are words of the vocabulary, so d is one.
    """

    kind: ClassVar[str] = "analogies"
    name: str
    language: world.Language
    questions: tuple[tuple[str, str, str, str], ...]
    sections: tuple[str, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        ids = _ids(space, self.questions, 4)
        return (ids.min(axis=1) >= 0) & (ids[:, 3] < len(space.table))

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        ids = _ids(space, self.questions, 4)[known]
        given = ids[:, :3]
        solved = analogies.solve(space.table, given, space.variants(given), report, composed=space.composed)
        return [
            Measurement(metric, filled(known, space.first(answers) == ids[:, 3]), sections=self.sections)
            for metric, answers in (("3CosAdd", solved.add), ("3CosMul", solved.multiply))
        ]


@dataclass(frozen=True)
class Categories:
    """Categorization: purity of k-means with as many clusters as categories."""

    kind: ClassVar[str] = "categorization"
    name: str
    language: world.Language
    words: tuple[str, ...]
    categories: tuple[str, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return space.all_ids(self.words) >= 0

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        right = np.zeros(int(known.sum()))
        if len(right):
            items = [
                (category, word)
                for category, word, held in zip(self.categories, self.words, known.tolist(), strict=True)
                if held
            ]
            # The order of a file must not change the clusters.
            order = sorted(range(len(items)), key=items.__getitem__)
            categories = [items[number][0] for number in order]
            points = unit(space.rows(space.all_ids([items[number][1] for number in order])))
            right[order] = grouping.right_of(grouping.kmeans(points, len(set(categories))), categories)
        return [Measurement("purity", filled(known, right))]


@dataclass(frozen=True)
class Outliers:
    """Outlier detection: is the last word of a set, the outlier, the least similar to the others?"""

    kind: ClassVar[str] = "outliers"
    name: str
    language: world.Language
    sets: tuple[tuple[str, ...], ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return np.array([(space.all_ids(words) >= 0).all() for words in self.sets], bool)

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        found = np.zeros(len(self.sets))
        place = np.zeros(len(self.sets))
        for number in np.flatnonzero(known).tolist():
            rows = unit(space.rows(space.all_ids(self.sets[number]))).astype(np.float64)
            cosines = rows @ rows.T
            similarity = cosines.sum(axis=1) - np.diag(cosines)
            place[number] = (similarity[:-1] > similarity[-1]).mean()
            found[number] = place[number] == 1
        return [Measurement("accuracy", found[:, None]), Measurement("position", place[:, None])]


@dataclass(frozen=True)
class SentencePairs:
    """Sentence similarity: cosines of mean word vectors against human judgements, graded or yes and no."""

    kind: ClassVar[str] = "sentence similarity"
    name: str
    language: world.Language
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return np.logical_and(*(space.sentences(side)[1] for side in self._sides))

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        one, two = (space.sentences(side)[0] for side in self._sides)
        items = np.column_stack([self.scores, np.where(known, _cosines(one, two), 0)])
        if set(self.scores) <= {0.0, 1.0}:
            return [Measurement("AUC", items, statistics.area)]
        return [
            Measurement("spearman", items, statistics.spearman),
            Measurement("pearson", items, statistics.pearson),
        ]

    @property
    def _sides(self) -> tuple[list[str], list[str]]:
        return [one for one, _ in self.pairs], [two for _, two in self.pairs]


@dataclass(frozen=True)
class Texts:
    """Classification: logistic regression on mean word vectors, fitted to one part of the texts, tested on
    the other."""

    kind: ClassVar[str] = "classification"
    name: str
    language: world.Language
    train: tuple[tuple[str, str], ...]
    """Pairs of label and text, as in `test`."""
    test: tuple[tuple[str, str], ...]

    def known(self, space: KnownWords) -> np.ndarray:
        return space.sentences([text for _, text in self.test])[1]

    def measure(self, space: KnownWords, known: np.ndarray, report: Report) -> list[Measurement]:
        rows, held = space.sentences([text for _, text in sorted(self.train)])
        labels = [label for label, _ in sorted(self.train)]
        names = {name: number for number, name in enumerate(sorted(set(labels)))}
        asked = space.sentences([text for _, text in self.test])[0][known]
        if not len(asked) or not held.any():
            return [Measurement("accuracy", filled(known, np.zeros(len(asked))))]
        numbers = np.array([names[label] for label in labels])[held]
        found = classify.classify(
            rows[held].astype(np.float64), numbers, asked.astype(np.float64), classes=len(names)
        )
        wanted = np.array([names.get(label, -1) for label, _ in self.test])[known]
        return [Measurement("accuracy", filled(known, found == wanted))]


# --- tasks from tasks


def categories_of(task: Analogies, name: str = "") -> Categories:
    """Categories from analogies, such as CA8's: operas, universities, currencies, each the b or d of one
    relation."""
    found = grouping.grouped(task.questions, task.sections)
    pairs = [(word, category) for category, words in found.items() for word in words]
    return Categories(name or f"{task.name}-categories", task.language, *columns(pairs))


def outliers_of(task: Categories, name: str = "") -> Outliers:
    """Sets of eight words of a category and one of another, the same on every call."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word, category in zip(task.words, task.categories, strict=True):
        groups[category].append(word)
    return Outliers(name or f"{task.name}-outliers", task.language, tuple(grouping.with_outliers(groups)))


# --- what the tasks share


def columns(pairs: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(one for one, _ in pairs), tuple(two for _, two in pairs)


def _ids(space: KnownWords, items: tuple[tuple[str, ...], ...], width: int) -> np.ndarray:
    return space.all_ids([word for item in items for word in item]).reshape(-1, width)


def filled(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One column: the values of known items, 0 elsewhere."""
    items = np.zeros((len(known), 1))
    items[known, 0] = values
    return items


def _cosines(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The cosine of each row of `one` with the same row of `two`; 0 for a row of zeros."""
    return np.einsum("nd,nd->n", unit(one.astype(np.float64)), unit(two.astype(np.float64)))
