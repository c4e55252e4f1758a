"""Two vocabularies as one space: frequent words first, a word that both have told apart by a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from inlaid.encode.vocabulary import Words
from inlaid.report import Report, counted, silent
from inlaid.shapes import Rows, Table
from inlaid.vectors import Card, Vectors

BLOCK = 1 << 14


def joined(
    source: Vectors, target: Vectors, labels: tuple[str, str], card: Card, report: Report = silent
) -> Vectors:
    """Both in one; rows are made as they are asked for, so that a file of both needs no third table in
    memory."""
    # By rank, one of each in turn: the first words of a file are taken for the frequent ones.
    order = np.argsort(np.concatenate([np.arange(len(source)), np.arange(len(target))]), kind="stable")
    words = [word for side in _apart(source.words, target.words, labels, report) for word in side]
    counts = (
        None
        if source.counts is None or target.counts is None
        else np.concatenate([source.counts, target.counts])[order]
    )
    return Vectors(Words.of(words[id] for id in order.tolist()), _Joined(source, target, order), counts, card)


@dataclass(frozen=True, eq=False)
class _Joined:
    """The rows of two spaces in an order of their own."""

    source: Vectors
    target: Vectors
    order: np.ndarray
    """For each row its place in the source, or behind all of it in the target."""

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.order), self.target.dim

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        places = self.order[np.asarray(ids, np.int64)]
        rows = np.empty((len(places), self.target.dim), np.float32)
        ours = places < len(self.source)
        rows[ours] = self.source.rows(places[ours])
        rows[~ours] = self.target.rows(places[~ours] - len(self.source))
        return rows

    def whole(self) -> Table:
        table = np.empty(self.shape, np.float32)
        for start in range(0, len(table), BLOCK):
            table[start : start + BLOCK] = self.rows(np.arange(start, min(start + BLOCK, len(table))))
        return table


def _apart(
    source: Words, target: Words, labels: tuple[str, str], report: Report
) -> tuple[list[str], list[str]]:
    """The words of both sides; one that both have gets, where it ranks lower, the label of its side, in a
    form that no word has."""
    sides = (list(source), list(target))

    def taken(prefix: str) -> bool:
        ends = (word[len(prefix) :] for side in sides for word in side if word.startswith(prefix))
        return any(end in source and end in target for end in ends)

    marks = (":" * number for number in count(1))
    mark = next(mark for mark in marks if not any(taken(f"{label}{mark}") for label in labels))
    for rank, word in enumerate(
        counted(tuple(sides[0]), "joining", unit="words", report=report, every=100_000)
    ):
        other = target.find(word)
        if other is not None:
            side, place = (0, rank) if rank >= other else (1, other)
            sides[side][place] = f"{labels[side]}{mark}{word}"
    return sides
