"""Two vocabularies as one space: frequent words first, a label on words that both sides have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from inlaid.encode.vocabulary import Words
from inlaid.report import Report, counted, silent
from inlaid.shapes import Rows, Table
from inlaid.vectors import Card, Vectors

ROW_BLOCK = 1 << 14


def joint_space(
    source: Vectors, target: Vectors, labels: tuple[str, str], card: Card, report: Report = silent
) -> Vectors:
    """Both in one; rows are computed on demand, so saving both needs no third table in memory."""
    # Alternating by rank: the first words of a file are taken for the frequent ones.
    ranks = np.concatenate([np.arange(len(source)), np.arange(len(target))])
    order = np.argsort(ranks, kind="stable")
    source_words, target_words = _labelled(source.words, target.words, labels, report)
    words = source_words + target_words
    counts = None
    if source.counts is not None and target.counts is not None:
        counts = np.concatenate([source.counts, target.counts])[order]
    table = _JointTable(source, target, order)
    return Vectors(Words.of(words[id] for id in order.tolist()), table, counts, card)


@dataclass(frozen=True, eq=False)
class _JointTable:
    """The rows of two spaces in one order."""

    source: Vectors
    target: Vectors
    order: np.ndarray
    """For each row its id in the source, or len(source) plus its id in the target."""

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.order), self.target.dim

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        both_ids = self.order[np.asarray(ids, np.int64)]
        rows = np.empty((len(both_ids), self.target.dim), np.float32)
        from_source = both_ids < len(self.source)
        rows[from_source] = self.source.rows(both_ids[from_source])
        rows[~from_source] = self.target.rows(both_ids[~from_source] - len(self.source))
        return rows

    def whole(self) -> Table:
        table = np.empty(self.shape, np.float32)
        for start in range(0, len(table), ROW_BLOCK):
            stop = min(start + ROW_BLOCK, len(table))
            table[start:stop] = self.rows(np.arange(start, stop))
        return table


def _labelled(
    source: Words, target: Words, labels: tuple[str, str], report: Report
) -> tuple[list[str], list[str]]:
    """The words of both sides. A word that both have gets the label of the side where it ranks lower, with as
    many colons as make it a new word."""
    sides = (list(source), list(target))

    def taken(prefix: str) -> bool:
        ends = (word[len(prefix) :] for side in sides for word in side if word.startswith(prefix))
        return any(end in source and end in target for end in ends)

    separators = (":" * number for number in count(1))
    separator = next(each for each in separators if not any(taken(f"{label}{each}") for label in labels))
    source_words = tuple(sides[0])
    for rank, word in enumerate(counted(source_words, "joining", unit="words", report=report, every=100_000)):
        other_rank = target.find(word)
        if other_rank is None:
            continue
        if rank >= other_rank:
            sides[0][rank] = f"{labels[0]}{separator}{word}"
        else:
            sides[1][other_rank] = f"{labels[1]}{separator}{word}"
    return sides
