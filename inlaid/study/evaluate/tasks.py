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
from inlaid.study.evaluate.oov import Lookup
from inlaid.study.evaluate.statistics import Statistic


@dataclass(frozen=True, eq=False)
class Measurement:
    """One metric of a task: a row of numbers an item, and the statistic that makes one number of them.

    A row whose item is not known holds what a wrong answer would: 0 right, or similarity 0.
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
    def known(self, lookup: Lookup) -> np.ndarray:
        """For each item, whether the vectors have what it takes."""
        ...

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        """The metrics, the main one first, from the items `known` says; all of these are known indeed."""
        ...


@dataclass(frozen=True)
class WordPairs:
    """Word similarity: do cosines rank pairs of words as people do?"""

    kind: ClassVar[str] = "word similarity"
    name: str
    language: world.Language
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return _ids(lookup, self.pairs, 2).min(axis=1) >= 0

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        ids = _ids(lookup, self.pairs, 2)[known]
        items = np.zeros((len(self.pairs), 2))
        items[:, 0] = self.scores
        items[known, 1] = _cosines(lookup.table[ids[:, 0]], lookup.table[ids[:, 1]])
        return [
            Measurement("spearman", items, statistics.spearman),
            Measurement("pearson", items, statistics.pearson),
        ]


@dataclass(frozen=True)
class Analogies:
    """a is to b as c is to d: which word do 3CosAdd and 3CosMul put first, other than a, b and c?"""

    kind: ClassVar[str] = "analogies"
    name: str
    language: world.Language
    questions: tuple[tuple[str, str, str, str], ...]
    sections: tuple[str, ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return _ids(lookup, self.questions, 4).min(axis=1) >= 0

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        ids = _ids(lookup, self.questions, 4)[known]
        solved = analogies.solve(lookup.table, ids[:, :3], lookup.variants(ids[:, :3]), report)
        return [
            Measurement(metric, filled(known, lookup.first(answers) == ids[:, 3]), sections=self.sections)
            for metric, answers in (("3CosAdd", solved.add), ("3CosMul", solved.multiply))
        ]


@dataclass(frozen=True)
class Categories:
    """Categorization: k-means with as many clusters as categories; a word is right if its category leads in
    its cluster."""

    kind: ClassVar[str] = "categorization"
    name: str
    language: world.Language
    words: tuple[str, ...]
    categories: tuple[str, ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return lookup.ids(self.words) >= 0

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        right = np.zeros(int(known.sum()))
        if len(right):
            items = [
                (category, word)
                for category, word, held in zip(self.categories, self.words, known.tolist(), strict=True)
                if held
            ]
            order = sorted(
                range(len(items)), key=items.__getitem__
            )  # the order of a file must not change the clusters
            categories = [items[number][0] for number in order]
            points = unit(lookup.table[lookup.ids([items[number][1] for number in order])])
            right[order] = grouping.right_of(grouping.kmeans(points, len(set(categories))), categories)
        return [Measurement("purity", filled(known, right))]


@dataclass(frozen=True)
class Outliers:
    """Outlier detection: of the words of a set, is the last, which does not belong, the least like the
    others?"""

    kind: ClassVar[str] = "outliers"
    name: str
    language: world.Language
    sets: tuple[tuple[str, ...], ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return np.array([(lookup.ids(words) >= 0).all() for words in self.sets], bool)

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        found = np.zeros(len(self.sets))
        place = np.zeros(len(self.sets))
        for number in np.flatnonzero(known).tolist():
            rows = unit(lookup.table[lookup.ids(self.sets[number])]).astype(np.float64)
            cosines = rows @ rows.T
            alike = cosines.sum(axis=1) - np.diag(cosines)
            place[number] = (alike[:-1] > alike[-1]).mean()
            found[number] = place[number] == 1
        return [Measurement("accuracy", found[:, None]), Measurement("position", place[:, None])]


@dataclass(frozen=True)
class SentencePairs:
    """Sentence similarity: the cosine of mean word vectors against what people said, a grade or a yes and
    no."""

    kind: ClassVar[str] = "sentence similarity"
    name: str
    language: world.Language
    pairs: tuple[tuple[str, str], ...]
    scores: tuple[float, ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return np.logical_and(*(lookup.sentences(side)[1] for side in self._sides))

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        one, two = (lookup.sentences(side)[0] for side in self._sides)
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
    """Classification: logistic regression on mean word vectors, fitted to one part of the texts, asked about
    the other."""

    kind: ClassVar[str] = "classification"
    name: str
    language: world.Language
    train: tuple[tuple[str, str], ...]
    """Pairs of label and text; so is `test`."""
    test: tuple[tuple[str, str], ...]

    def known(self, lookup: Lookup) -> np.ndarray:
        return lookup.sentences([text for _, text in self.test])[1]

    def measure(self, lookup: Lookup, known: np.ndarray, report: Report) -> list[Measurement]:
        rows, held = lookup.sentences([text for _, text in sorted(self.train)])
        labels = [label for label, _ in sorted(self.train)]
        names = {name: number for number, name in enumerate(sorted(set(labels)))}
        asked = lookup.sentences([text for _, text in self.test])[0][known]
        if not len(asked) or not held.any():
            return [Measurement("accuracy", filled(known, np.zeros(len(asked))))]
        numbers = np.array([names[label] for label in labels])[held]
        found = classify.classify(
            rows[held].astype(np.float64), numbers, asked.astype(np.float64), classes=len(names)
        )
        wanted = np.array([names.get(label, -1) for label, _ in self.test])[known]
        return [Measurement("accuracy", filled(known, found == wanted))]


# --- tasks out of tasks
# -----------------------------------------------------------------------------------------------


def categories_of(task: Analogies, name: str = "") -> Categories:
    """Categories out of analogies, such as CA8's: operas, universities, currencies, each a kind of b or d of
    one relation."""
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
# -----------------------------------------------------------------------------------------------


def columns(pairs: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(one for one, _ in pairs), tuple(two for _, two in pairs)


def _ids(lookup: Lookup, items: tuple[tuple[str, ...], ...], width: int) -> np.ndarray:
    return lookup.ids([word for item in items for word in item]).reshape(-1, width)


def filled(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One column: the values where known, 0 elsewhere."""
    items = np.zeros((len(known), 1))
    items[known, 0] = values
    return items


def _cosines(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Of row with row; 0 where a row is all zeros."""
    return np.einsum("nd,nd->n", unit(one.astype(np.float64)), unit(two.astype(np.float64)))
