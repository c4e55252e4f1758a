"""One space onto another: a rotation learned from a dictionary, words translated through it, both in one
space.

The rotation is that of orthogonal Procrustes over the pairs of the dictionary, each space centred and brought
to length 1. Refinement goes on from there: frequent words that are each other's nearest by CSLS join the
dictionary, and the rotation is learned again. For translating alone, directions are then weighed by how well
the pairs agree along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inlaid.config import Count, Fraction, Positive, check
from inlaid.errors import SettingError
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Table
from inlaid.study.compare.bilingual import Between, By, Precision, mutual, precision
from inlaid.study.compare.dictionaries import Pairs, directed, known_ids, split
from inlaid.study.compare.joint import joined
from inlaid.study.compare.procrustes import Straight, procrustes, weighed
from inlaid.study.search.neighbors import Neighbor
from inlaid.vectors import Card, Vectors

Sides = tuple[np.ndarray, np.ndarray]
"""Rows of pairs: the words of the source, and their translations."""
SETTLED = 1.01
"""Refinement goes on while a round finds more pairs than this times those of the round before."""
ENOUGH = 2
"""Pairs for each dimension from which on it can be told how well they agree along it."""


@dataclass(frozen=True, kw_only=True)
class Aligning:
    """How one space is turned onto another."""

    held_out: Fraction = 0.2
    """Share of the dictionary's words that alignment never sees; precision is measured on them."""
    refine: Count = 5
    """Rounds of refinement at most, it ends when no more pairs are found; 0 keeps the rotation of the
    dictionary."""
    frequent: Positive = 10_000
    """First words of each space among which refinement looks for pairs (those of rare words are mostly
    wrong), and by which CSLS judges how crowded it is around a word."""
    among: Positive = 200_000
    """First words of the target among which translations are looked for."""
    weigh: bool = True
    """Translate by directions that count by how well the pairs agree along them, where there are pairs
    enough; the joint space is turned in either case, and nothing else."""
    seed: Count = 1
    """Chooses what is held out, and the draws of the intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two spaces of which one has been turned onto the other."""

    source: Vectors
    """Centred, brought to length 1 and turned."""
    target: Vectors
    """Centred and brought to length 1."""
    between: Between
    """What translates: both, with their directions weighed or not."""
    rotation: Table
    pairs: int
    """Pairs of the dictionary that the rotation was learned from."""
    refined: tuple[int, ...]
    """Pairs that each round of refinement found by itself."""
    precision: tuple[Precision, ...]

    def translate(self, words: Sequence[str], *, n: int = 10, by: By = "csls") -> list[list[Neighbor]]:
        """For each word of the source the `n` words of the target that it most likely means; by CSLS, scores
        say no more than the order."""
        found = self.between.answers([self.source.id(word) for word in words], n=n, by=by)
        return [
            [
                Neighbor(self.target.words[int(id)], float(score))
                for id, score in zip(each.ids, each.scores, strict=True)
            ]
            for each in found
        ]

    def joint(self, labels: tuple[str, str] = ("source", "target"), *, report: Report = silent) -> Vectors:
        """Both vocabularies in one space, frequent words first; its rows are made as they are asked for.

        A word of both belongs to the side where it ranks higher (to the target, where equal); on the other it
        gets a label in front: water of an English space stays water, and the one that stands in Chinese text
        becomes "zh:water".
        """
        return joined(self.source, self.target, labels, self._card(labels), report)

    def _card(self, labels: tuple[str, str]) -> Card:
        cards = (self.source.card, self.target.card)
        steps = [step for card in cards for step in card.encoding.get("normalize", ())]
        return Card(
            method="align",
            encoding={"normalize": list(dict.fromkeys(steps))},
            version=self.target.card.version,
            settings={
                "labels": list(labels),
                "source": cards[0].method,
                "target": cards[1].method,
                "pairs": self.pairs,
            },
            scores={
                f"precision@{each.at}, {each.rotation}, {each.by}": each.value for each in self.precision
            },
        )


def align(
    source: Vectors,
    target: Vectors,
    dictionary: Path | Pairs,
    settings: Aligning | None = None,
    *,
    test: Path | Pairs | None = None,
    report: Report = silent,
) -> Alignment:
    """Turn `source` onto `target` with a dictionary of pairs (source word, target word), or the file of one.

    Precision is measured on `test`, or on the share of the dictionary that is held out. A dictionary that
    fits better the other way round is read so.

    >>> align(zh, en, Path("zh-en.txt")).translate(["猫"], n=1)
    """
    settings = settings or Aligning()
    if source.dim != target.dim:
        raise SettingError(
            f"The spaces have {source.dim} and {target.dim} dimensions; a rotation needs the same. Train both with one dim."
        )
    pairs = directed(dictionary, source, target, report)
    tested = test and directed(test, source, target, report)
    learned, asked = split(pairs, tested, settings.held_out, settings.seed)
    known = known_ids(source, target, learned, asked)
    if len(known) < source.dim:
        report(
            Note(
                f"The rotation is learned from {len(known):,} pairs; fewer than the {source.dim} dimensions leave some of it open."
            )
        )
    here, there = (Straight.of(each) for each in (source, target))

    def between(turn: Table, other: Table | None = None) -> Between:
        sides = (_vectors(replace(here, turn=turn)), _vectors(replace(there, turn=other)))
        return Between(*sides, among=settings.among, crowd=settings.frequent, report=report)

    rows = (here.rows(known[:, 0]), there.rows(known[:, 1]))
    refined = list[int]()
    best = between(rotation := procrustes(*rows))
    scores = precision(best, asked, "dictionary", seed=settings.seed)
    if settings.refine:
        rows, refined = _refined(here, there, rows, settings, report)
        best = between(rotation := procrustes(*rows))
        scores += precision(best, asked, "refined", seed=settings.seed)
    turned = best
    if settings.weigh and len(rows[0]) >= ENOUGH * source.dim:
        best = between(*weighed(*rows))
        scores += precision(best, asked, "weighed", seed=settings.seed)
    return Alignment(turned.source, turned.target, best, rotation, len(known), tuple(refined), tuple(scores))


def _refined(
    here: Straight, there: Straight, known: Sides, settings: Aligning, report: Report
) -> tuple[Sides, list[int]]:
    """The rows of the dictionary with those of frequent words that found each other, and how many pairs each
    round found."""
    rotation = procrustes(*known)
    rows = known
    refined = list[int]()
    frequent = [side.rows(np.arange(min(settings.frequent, len(side.space)))) for side in (here, there)]
    for round in range(settings.refine):
        found = mutual(frequent[0] @ rotation, frequent[1], report=report)
        refined.append(len(found))
        rows = (
            np.concatenate([known[0], frequent[0][found[:, 0]]]),
            np.concatenate([known[1], frequent[1][found[:, 1]]]),
        )
        rotation = procrustes(*rows)
        settled = len(refined) > 1 and len(found) <= SETTLED * refined[-2]
        done = settings.refine if settled else round + 1
        report(Progress("aligning", done, settings.refine, "rounds", {"pairs": float(len(rows[0]))}))
        if settled:
            break
    return rows, refined


def _vectors(side: Straight) -> Vectors:
    return Vectors(side.space.words, side, side.space.counts, side.space.card)
