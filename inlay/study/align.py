"""One space onto another: a rotation learned from a dictionary, words translated through it, both in one space.

    W = argmin ||X W - Y||  over orthogonal W  =  U Vᵀ, where Xᵀ Y = U S Vᵀ         (orthogonal Procrustes)

X and Y hold the vectors of the dictionary's pairs, each space centred and brought to length 1. An orthogonal matrix keeps
every inner product, so nothing that a space has learned is lost. Refinement goes on from there: frequent words that are
each other's nearest by CSLS join the dictionary, and the rotation is learned again.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np

from inlay.config import Count, Fraction, Positive, check
from inlay.encode.vocabulary import Words
from inlay.errors import SettingError, SourceError
from inlay.report import Note, Progress, Report, silent
from inlay.shapes import Rows, Table
from inlay.study import ranking, statistics
from inlay.study.dictionaries import Pairs, read_dictionary
from inlay.study.ranking import Correction, Found
from inlay.study.search import Neighbor
from inlay.vectors import Card, Vectors, lengths

AT = (1, 5, 10)
FLAT = 1e-5
"""A row shorter than this share of the others is what rounding left: it points nowhere."""
NOWHERE = 4.0
"""How crowded it is around a word that points nowhere: no cosine makes up for it, so it translates nothing."""
SETTLED = 1.01
"""Refinement goes on while a round finds more pairs than this times those of the round before."""
By = Literal["cosine", "csls"]


@dataclass(frozen=True, kw_only=True)
class Aligning:
    """How one space is turned onto another."""

    held_out: Fraction = 0.2
    """Share of the dictionary's words that alignment never sees; precision is measured on them."""
    refine: Count = 5
    """Rounds of refinement at most, it ends when no more pairs are found; 0 keeps the rotation of the dictionary."""
    frequent: Positive = 10_000
    """First words of each space among which refinement looks for pairs (those of rare words are mostly wrong), and by which
    CSLS judges how crowded it is around a word."""
    among: Positive = 200_000
    """First words of the target among which translations are looked for."""
    seed: Count = 1
    """Chooses what is held out, and the draws of the intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Precision:
    """Share of words whose first `at` answers hold a translation, with its 95 % interval."""

    rotation: Literal["dictionary", "refined", ""]
    by: By
    at: int
    value: float
    low: float
    high: float
    used: int
    """Words with a vector and with a translation that has one: those that were asked."""
    total: int


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two spaces of which one has been turned onto the other."""

    between: Between
    rotation: Table
    pairs: int
    """Pairs of the dictionary that the rotation was learned from."""
    refined: tuple[int, ...]
    """Pairs that each round of refinement found by itself."""
    precision: tuple[Precision, ...]

    @property
    def source(self) -> Vectors:
        """Centred, brought to length 1 and turned."""
        return self.between.source

    @property
    def target(self) -> Vectors:
        """Centred and brought to length 1."""
        return self.between.target

    def translate(self, words: Sequence[str], *, n: int = 10, by: By = "csls") -> list[list[Neighbor]]:
        """For each word of the source the `n` words of the target that it most likely means; by CSLS, scores say no more than the order."""
        found = self.between.answers([self.source.id(word) for word in words], n=n, by=by)
        return [
            [Neighbor(self.target.words[int(id)], float(score)) for id, score in zip(each.ids, each.scores, strict=True)] for each in found
        ]

    def joint(self, labels: tuple[str, str] = ("source", "target")) -> Vectors:
        """Both vocabularies in one space, frequent words first.

        A word of both belongs to the side where it ranks higher (to the target, where equal); on the other it gets a label in
        front: water of an English space stays water, and the one that stands in Chinese text becomes "zh:water".
        """
        sides = (self.source, self.target)
        words = [list(side.words) for side in sides]
        ranks = [{word: rank for rank, word in enumerate(some)} for some in words]
        both = ranks[0].keys() & ranks[1].keys()
        foreign = [{word for word in both if ranks[0][word] >= ranks[1][word]}, {word for word in both if ranks[0][word] < ranks[1][word]}]
        taken = set(words[0]).union(words[1])
        marks = (":" * number for number in count(1))
        mark = next(mark for mark in marks if not any(f"{label}{mark}{word}" in taken for word in both for label in labels))
        named = [
            [f"{label}{mark}{each}" if each in others else each for each in some]
            for label, some, others in zip(labels, words, foreign, strict=True)
        ]
        # By rank, one of each language in turn: the first words of a file are taken for the frequent ones.
        order = np.argsort(np.concatenate([np.arange(len(side)) for side in sides]), kind="stable")
        places = np.split(np.argsort(order), [len(self.source)])
        table, all_words = np.empty((len(order), self.target.dim), np.float32), named[0] + named[1]
        for side, place in zip(sides, places, strict=True):
            table[place] = side.table
        counts = [side.counts for side in sides if side.counts is not None]
        return Vectors(
            Words.of(all_words[id] for id in order.tolist()), table,
            np.concatenate(counts)[order] if len(counts) == 2 else None, self._card(labels),
        )  # fmt: skip

    def _card(self, labels: tuple[str, str]) -> Card:
        cards = (self.source.card, self.target.card)
        steps = [step for card in cards for step in card.encoding.get("normalize", ())]
        return Card(
            method="align", encoding={"normalize": list(dict.fromkeys(steps))}, version=self.target.card.version,
            settings={"labels": list(labels), "source": cards[0].method, "target": cards[1].method, "pairs": self.pairs},
            scores={f"precision@{each.at}, {each.rotation}, {each.by}": each.value for each in self.precision},
        )  # fmt: skip


def align(
    source: Vectors, target: Vectors, dictionary: Path | Pairs, settings: Aligning | None = None, *, test: Path | Pairs | None = None,
    report: Report = silent,
) -> Alignment:  # fmt: skip
    """Turn `source` onto `target` with a dictionary of pairs (source word, target word), or the file of one.

    Precision is measured on `test`, or on the share of the dictionary that is held out. A dictionary that fits better the
    other way round is read so.

    >>> align(zh, en, Path("zh-en.txt")).translate(["猫"], n=1)
    """
    settings = settings or Aligning()
    if source.dim != target.dim:
        raise SettingError(f"The spaces have {source.dim} and {target.dim} dimensions; a rotation needs the same. Train both with one dim.")
    learned, asked = _split(_directed(dictionary, source, target, report), test and _directed(test, source, target, report), settings)
    known = _known(source, target, learned, asked)
    if len(known) < source.dim:
        report(Note(f"The rotation is learned from {len(known):,} pairs; fewer than the {source.dim} dimensions leave some of it open."))
    here, there = (Vectors(each.words, straightened(each.table), each.counts, each.card) for each in (source, target))
    rotation = procrustes(here.table[known[:, 0]], there.table[known[:, 1]])
    between = _between(here, there, rotation, settings)
    scores, refined = precision(between, asked, "dictionary", seed=settings.seed), list[int]()
    for round in range(settings.refine):
        found = _mutual(here.table[: settings.frequent] @ rotation, there.table[: settings.frequent])
        refined.append(len(found))
        every = np.concatenate([known, found])
        rotation = procrustes(here.table[every[:, 0]], there.table[every[:, 1]])
        settled = len(refined) > 1 and len(found) <= SETTLED * refined[-2]
        done = settings.refine if settled else round + 1
        report(Progress("aligning", done, settings.refine, "rounds", {"pairs": float(len(every))}))
        if settled:
            break
    if settings.refine:
        between = _between(here, there, rotation, settings)
        scores += precision(between, asked, "refined", seed=settings.seed)
    return Alignment(between, rotation, len(known), tuple(refined), tuple(scores))


def procrustes(x: Rows, y: Rows) -> Table:
    """The orthogonal matrix, a rotation or a mirrored one, that brings the rows of `x` closest to those of `y`."""
    left, _, right = np.linalg.svd(x.astype(np.float64).T @ y.astype(np.float64))
    return (left @ right).astype(np.float32)


def straightened(table: Rows) -> Rows:
    """Every row at length 1, the mean of all taken off, and at length 1 again; rows that point nowhere are zeros."""
    table = unit(table)
    pointing = table.any(axis=1)
    table -= table.sum(axis=0, dtype=np.float64).astype(np.float32) / max(int(pointing.sum()), 1)
    pointing &= lengths(table) > FLAT
    if not pointing.any():
        raise SourceError(f"All {len(table):,} words of a space point the same way: there is nothing to turn. Train it on more text.")
    table[~pointing] = 0
    table /= np.where(pointing, lengths(table), 1)[:, None]
    return table


def unit(table: Rows) -> Rows:
    """A copy with every row at length 1; zeros stay zeros."""
    size = lengths(table)[:, None]
    return table / np.where(size == 0, 1, size)


def _between(here: Vectors, there: Vectors, rotation: Table, settings: Aligning) -> Between:
    turned = Vectors(here.words, here.table @ rotation, here.counts, here.card)
    return Between(turned, there, among=settings.among, crowd=settings.frequent)


# --- translating --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Between:
    """Two vocabularies in one space: words of the one find words of the other."""

    source: Vectors
    target: Vectors
    k: int = 10
    """Nearest words of the other side that say how crowded it is around a word."""
    among: int = 200_000
    """First words of the target that may be answers."""
    crowd: int = 10_000
    """First words of the source by which crowding is judged."""

    @functools.cached_property
    def crowding(self) -> np.ndarray:
        return crowding(self.target.table[: self.among], self.source.table[: self.crowd], self.k)

    def answers(self, ids: Sequence[int], *, n: int, by: By) -> list[Found]:
        """The best words of the target for these words of the source, by cosine or CSLS."""
        crowded = self.crowding if by == "csls" else None
        return _best(self.source.rows(ids), self.target.table[: self.among], n, crowded)


def precision(
    between: Between, pairs: Pairs, rotation: Literal["dictionary", "refined", ""] = "", *, at: Sequence[int] = AT, seed: int = 1
) -> list[Precision]:
    """How many words find a translation among their first answers, by plain cosine and by CSLS; nothing if none can be asked."""
    wanted: dict[str, set[int | None]] = {}
    for word, answer in pairs:
        wanted.setdefault(word, set()).add(between.target.find(answer))
    found = [(between.source.find(word), answers - {None}) for word, answers in wanted.items()]
    rows = [(id, answers) for id, answers in found if id is not None and answers]
    scores: list[Precision] = []
    for by in ("cosine", "csls") if rows else ():
        found = between.answers([id for id, _ in rows], n=max(at), by=by)
        for k in at:
            right = np.array([not answers.isdisjoint(each.ids[:k].tolist()) for (_, answers), each in zip(rows, found, strict=True)], float)
            drawn = statistics.interval(right[:, None], statistics.mean, seed=seed)
            scores.append(Precision(rotation, by, k, float(right.mean()), drawn.low, drawn.high, len(rows), len(wanted)))
    return scores


def crowding(rows: Rows, others: Table, k: int) -> np.ndarray:
    """The mean cosine of each row with its nearest among the others."""
    found = np.array([each.scores.mean() for each in _best(rows, others, k, None)])
    return np.where(rows.any(axis=1), found, NOWHERE)


def _best(rows: Rows, others: Table, n: int, crowded: np.ndarray | None) -> list[Found]:
    correction = None if crowded is None else Correction(crowded[:, None] / 2, np.ones((len(rows), 1)))
    return ranking.best(others, lengths(others), rows, n=n, correction=correction)


def _mutual(here: Rows, there: Table, k: int = 10) -> np.ndarray:
    """Ids of words that are each other's nearest by CSLS."""
    onward, back = (
        np.array([each.ids[0] for each in _best(rows, others, 1, crowding(others, rows, k))])
        for rows, others in ((here, there), (there, here))
    )
    ids = np.flatnonzero((back[onward] == np.arange(len(onward))) & here.any(axis=1))
    return np.stack([ids, onward[ids]], axis=1)


# --- dictionaries -------------------------------------------------------------------------------------------------------


def _directed(dictionary: Path | Pairs, source: Vectors, target: Vectors, report: Report) -> Pairs:
    """The pairs, each with its word of the source first."""
    pairs = read_dictionary(dictionary) if isinstance(dictionary, Path) else list(dictionary)
    turned = [(answer, word) for word, answer in pairs]
    fits = [len(set(_ids(source, target, each))) for each in (pairs, turned)]
    if not any(fits):
        shown = ", ".join(f"{word} {answer}" for word, answer in pairs[:3])
        raise SourceError(
            f"The spaces know none of the {len(pairs):,} pairs of the dictionary ({shown}, ...). Check its languages, script and case."
        )
    if fits[1] > fits[0]:
        report(Note(f"The dictionary is read from right to left: {fits[1]:,} of its pairs fit that way, {fits[0]:,} as written."))
    return turned if fits[1] > fits[0] else pairs


def _split(pairs: Pairs, test: Pairs | None, settings: Aligning) -> tuple[Pairs, Pairs]:
    """What to learn from and what to ask. A test asks only words that the dictionary does not have."""
    words = list(dict.fromkeys(word for word, _ in pairs))
    if test is not None:
        return pairs, [pair for pair in test if pair[0] not in set(words)]
    random = np.random.Generator(np.random.Philox(settings.seed))
    out = {words[n] for n in random.permutation(len(words))[: round(settings.held_out * len(words))].tolist()}
    return [pair for pair in pairs if pair[0] not in out], [pair for pair in pairs if pair[0] in out]


def _known(source: Vectors, target: Vectors, learned: Pairs, asked: Pairs) -> np.ndarray:
    """Ids of the pairs to learn from, without any that shares a word with what will be asked: synonyms would tell too."""
    hidden = [set(side) for side in zip(*_ids(source, target, asked), strict=True)] or [set[int](), set[int]()]
    pairs = sorted({pair for pair in _ids(source, target, learned) if pair[0] not in hidden[0] and pair[1] not in hidden[1]})
    if not pairs:
        raise SourceError("No pair of the dictionary is left to learn from. Lower held_out, or bring a larger dictionary.")
    return np.array(pairs, np.int64)


def _ids(source: Vectors, target: Vectors, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """The pairs that both spaces know."""
    for word, answer in pairs:
        one, other = source.find(word), target.find(answer)
        if one is not None and other is not None:
            yield one, other
