"""What changed between two spaces: neighbors that agree, words that moved, and what is more than chance.

Runs of one method differ too, by their seed or by the text they were trained on. Given such runs, `compare`
says which words moved further than runs do among themselves. Neighbors are those of `inlaid neighbors`, by
cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from inlaid.config import Positive, Seed, check
from inlaid.errors import SettingError, SourceError
from inlaid.messages import Message
from inlaid.report import Note, Progress, Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.compare.changes import Changes, changes, nearest_ids
from inlaid.study.compare.movement import distances, p_values
from inlaid.study.compare.procrustes import normalized
from inlaid.study.evaluate import statistics
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.vectors import Vectors

SIGNIFICANT = 0.05
"""False discovery rate among the words reported as moved."""
FEWEST = 3
"""Common words needed for a comparison."""


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """What is compared, and on how many words."""

    n: Positive = 10
    """Nearest neighbors of each word."""
    moved: Positive = 20
    """How many of the words that moved most to show."""
    among: Positive = 100_000
    """Compare only this many first common words; neighbors are among these too."""
    sample: Positive = 5000
    """Words whose neighbors are compared; where there are more, a random sample."""
    seed: Seed = 1
    """Seed of the sample and of the bootstrap intervals."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Overlap:
    """Mean share of a word's nearest neighbors that two spaces agree on, with its 95 % interval over
    words."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return str(
            Message(
                "{value:.3f} (95 %: {low:.3f} to {high:.3f})", value=self.value, low=self.low, high=self.high
            )
        )


@dataclass(frozen=True)
class Move:
    """A word and how far it moved."""

    word: str
    distance: float
    """1 minus the cosine of its two vectors, after orthogonal Procrustes."""
    p: float | None = None
    """p-value adjusted for all words (Benjamini and Hochberg 1995); None without other runs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Two spaces side by side."""

    common: int
    only_first: int
    only_second: int
    compared: int
    """Words whose neighbors were compared."""
    overlap: Overlap
    chance: Overlap | None
    """The same between runs of the first space; None without other runs."""
    moved: tuple[Move, ...]
    """All common words that were compared: largest distance first; with other runs, smallest p first."""
    words: tuple[Changes, ...]
    """The neighbors of the words that were asked for."""
    settings: CompareSettings

    @property
    def significant(self) -> int | None:
        """Words that moved further than runs do among themselves; None without other runs."""
        if self.chance is None:
            return None
        return sum(each.p is not None and each.p < SIGNIFICANT for each in self.moved)

    def rows(self) -> list[Row]:
        common = Message(
            "{common:,} words in common, {first:,} only in the first, {second:,} only in the second",
            common=self.common,
            first=self.only_first,
            second=self.only_second,
        )
        overlap = Message(
            "of {n} neighbors both give a word {overlap}, on {compared:,} words",
            n=self.settings.n,
            overlap=self.overlap,
            compared=self.compared,
        )
        rows: list[Row] = [common, overlap]
        if self.chance is not None:
            moved = Message(
                "{count:,} words moved further than chance moves them", count=self.significant or 0
            )
            rows.append(Message("between runs of the first: {chance}", chance=self.chance))
            rows.append(moved)
        shown = self.moved[: self.settings.moved]
        if self.chance is None:
            rows.append((Message("moved most"), Message("distance")))
            rows += [(each.word, f"{each.distance:.3f}") for each in shown]
        else:
            rows.append((Message("moved most"), Message("distance"), "p"))
            rows += [(each.word, f"{each.distance:.3f}", f"{each.p:.2g}") for each in shown]
        for each in self.words:
            rows += ["", *each.rows()]
        return rows

    def to_dict(self) -> dict[str, Any]:
        found = plain(self)
        found["moved"] = found["moved"][: self.settings.moved]
        found["significant"] = self.significant
        return found


@analysis
def compare(
    first: Vectors,
    second: Vectors,
    settings: CompareSettings | None = None,
    *,
    seeds: Sequence[Vectors] = (),
    words: Sequence[str] = (),
    report: Report = silent,
) -> Comparison:
    """What changed between two spaces: neighbors that agree, words that moved, and whether chance explains
    it.

    The vocabularies may differ, and the dimensions too.

    >>> compare(before, after, seeds=[run2, run3]).moved[0].word

    Args:
        first: a file of vectors
        second: another; its words and its dimension may differ
        seeds: two or more other runs of the first: how they differ from each other is chance
        words: show the neighbors that these words kept, lost and gained

    Examples:
        inlaid compare before.inlaid after.inlaid
        inlaid compare before.inlaid after.inlaid --seeds run2.inlaid run3.inlaid
    """
    settings = settings or CompareSettings()
    _refuse_one_seed(seeds)
    asked = [changes(first, second, word, n=settings.n, seeds=seeds) for word in words]
    spaces = [first, second, *seeds]
    steps = 2 * len(spaces) + 2
    report(Progress("comparing", 0, steps, "steps"))
    shared = len(common_words([first, second]))
    common, tables = _common_rows(spaces, settings.among, report)
    random = np.random.Generator(np.random.Philox(settings.seed))
    sample = np.sort(random.permutation(len(common))[: settings.sample])
    report(Progress("comparing", 1, steps, "steps"))
    near = list[np.ndarray]()
    rows = list[np.ndarray]()
    for table in tables:
        near.append(nearest_ids(table, sample, settings.n))
        rows.append(normalized(table))
        report(Progress("comparing", 1 + 2 * len(near), steps, "steps"))
    moved = _moves(common, rows)
    chance = None
    if seeds:
        chance = _overlap(list(combinations([near[0], *near[2:]], 2)), settings.seed)
    report(Progress("comparing", steps, steps, "steps"))
    return Comparison(
        common=shared,
        only_first=len(first) - shared,
        only_second=len(second) - shared,
        compared=len(sample),
        overlap=_overlap([(near[0], near[1])], settings.seed),
        chance=chance,
        moved=moved,
        words=tuple(asked),
        settings=settings,
    )


def _refuse_one_seed(seeds: Sequence[Vectors]) -> None:
    if len(seeds) == 1:
        raise SettingError(
            "One other run says little about chance. Give two or more runs of the first space, with other "
            "seeds."
        )


def common_words(spaces: Sequence[Vectors]) -> list[str]:
    """The words that all spaces have, in the order of the first."""
    first = spaces[0].words
    others = [set(space.words.all_bytes()) for space in spaces[1:] if space.words != first]
    return [word.decode("utf-8") for word in first.all_bytes() if all(word in other for other in others)]


def _ids(space: Vectors, words: Sequence[str]) -> list[int]:
    """The ids of words as the vocabulary writes them; `find` would take "Ġking" for "king"."""
    return [id for word in words if (id := space.words.find(word)) is not None]


def _common_rows(spaces: Sequence[Vectors], among: int, report: Report) -> tuple[list[str], list[np.ndarray]]:
    """The first words that all spaces have, and their rows in each; words with a zero vector are left out."""
    words = common_words(spaces)
    if len(words) < FEWEST:
        raise SourceError(
            "The spaces have {count} words in common: too few to compare. Check that language and case are "
            "the same.",
            count=len(words),
        )
    words = words[:among]
    tables = [space.rows(_ids(space, words)) for space in spaces]
    nonzero = np.all([table.any(axis=1) for table in tables], axis=0)
    if nonzero.all():
        return words, tables
    report(
        Note(
            "{count:,} of {total:,} common words have a zero vector in one of the spaces and are left out.",
            count=int((~nonzero).sum()),
            total=len(words),
        )
    )
    words = [word for word, held in zip(words, nonzero.tolist(), strict=True) if held]
    if len(words) < FEWEST:
        raise SourceError(
            "Only {count} common words have a vector other than zero: too few to compare.", count=len(words)
        )
    return words, [table[nonzero] for table in tables]


def _moves(words: list[str], rows: list[np.ndarray]) -> tuple[Move, ...]:
    """The words, those that moved most first; `rows` of the first space, of the second, and of other runs."""
    moved = distances(rows[0], rows[1])
    if len(rows) == 2:
        order = np.argsort(-moved, kind="stable")
        return tuple(Move(words[id], float(moved[id])) for id in order.tolist())
    p = benjamini_hochberg(p_values([rows[0], *rows[2:]], rows[1]))
    order = np.lexsort((-moved, p))
    return tuple(Move(words[id], float(moved[id]), float(p[id])) for id in order.tolist())


def _overlap(pairs: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Overlap:
    """Each word counts once, with its mean over the pairs of spaces."""
    shares = np.mean([_shares(one, other) for one, other in pairs], axis=0)
    interval = statistics.interval(shares[:, None], statistics.mean, seed=seed)
    return Overlap(float(shares.mean()), interval.low, interval.high)


def _shares(one: np.ndarray, other: np.ndarray) -> list[float]:
    """(word,): the share of neighbors that two spaces agree on."""
    return [len({*x} & {*y}) / len(x) for x, y in zip(one.tolist(), other.tolist(), strict=True)]
