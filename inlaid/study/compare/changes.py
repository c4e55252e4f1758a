"""The neighbors of one word in several spaces: kept, lost and gained, and which of them every run finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.config import Positive, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.shapes import Rows
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.search import ranking
from inlaid.vectors import Vectors, lengths


@dataclass(frozen=True, kw_only=True)
class ChangesSettings:
    """How many neighbors are compared."""

    n: Positive = 10
    """Nearest neighbors of the word."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Ranked:
    """A neighbor and its rank in both spaces, from 1; None where a space does not have the word."""

    word: str
    first: int | None
    second: int | None
    stable: float | None = None
    """Share of the runs of the first space that have it among their nearest; None without runs."""


@dataclass(frozen=True)
class Changes:
    """The neighbors of one word in two spaces."""

    word: str
    kept: tuple[Ranked, ...]
    lost: tuple[Ranked, ...]
    gained: tuple[Ranked, ...]

    def rows(self) -> list[Row]:
        kinds = {
            Message("kept"): self.kept,
            Message("lost"): self.lost,
            Message("gained"): self.gained,
        }
        absent = Message("absent")
        with_runs = any(each.stable is not None for some in kinds.values() for each in some)
        header = (self.word, "", Message("first"), Message("second"))
        rows: list[Row] = [(*header, Message("in runs")) if with_runs else header]
        for kind, some in kinds.items():
            for each in some:
                places = [str(place) if place else absent for place in (each.first, each.second)]
                row = (each.word, kind, *places)
                rows.append((*row, f"{each.stable:.0%}") if with_runs else row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def changes(
    first: Vectors,
    second: Vectors,
    word: str,
    settings: ChangesSettings | None = None,
    *,
    seeds: Sequence[Vectors] = (),
    report: Report = silent,
) -> Changes:
    """Which neighbors of a word were kept, lost and gained from one space to another.

    Each space is searched with its whole vocabulary.

    >>> changes(before, after, "mouse", n=5).gained[0].word

    Args:
        first: a file of vectors
        second: another
        word: the word whose neighbors are compared
        seeds: other runs of the first: how many of them have each neighbor

    Examples:
        inlaid changes before.inlaid after.inlaid king
        inlaid changes before.inlaid after.inlaid king -n 20
    """
    settings = settings or ChangesSettings()
    before = _Neighborhood.of(first, word, settings.n)
    after = _Neighborhood.of(second, word, settings.n)
    shares: dict[str, float] = {}
    if seeds:
        shares = {each.word: each.share for each in stability(word, [first, *seeds], n=settings.n)}

    def ranked(words: list[str]) -> tuple[Ranked, ...]:
        return tuple(
            Ranked(each, before.rank(each), after.rank(each), shares.get(each, 0.0) if seeds else None)
            for each in words
        )

    return Changes(
        word,
        kept=ranked([each for each in before.near if each in after.near]),
        lost=ranked([each for each in before.near if each not in after.near]),
        gained=ranked([each for each in after.near if each not in before.near]),
    )


@dataclass(frozen=True)
class StableNeighbor:
    """A neighbor and how many runs agree on it."""

    word: str
    share: float
    """Share of the runs that have it among their nearest."""
    rank: float
    """Its mean rank in those runs."""


@dataclass(frozen=True)
class Stability(Sequence[StableNeighbor]):
    """Every neighbor that any run gives a word, those of most runs first."""

    word: str
    runs: int
    neighbors: tuple[StableNeighbor, ...]

    def __len__(self) -> int:
        return len(self.neighbors)

    def __getitem__(self, number: Any) -> Any:
        return self.neighbors[number]

    def rows(self) -> list[Row]:
        rows = [(each.word, f"{each.share:.0%}", f"{each.rank:.1f}") for each in self.neighbors]
        return [(self.word, Message("in runs"), Message("mean rank")), *rows]

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def stability(
    word: str, runs: Sequence[Vectors], settings: ChangesSettings | None = None, *, report: Report = silent
) -> Stability:
    """Which neighbors of a word several runs of one method agree on.

    >>> stability("mouse", [run1, run2, run3], n=5)[0].share

    Args:
        word: the word whose neighbors are compared
        runs: two or more files of vectors, trained with other seeds or on other samples of text

    Examples:
        inlaid stability king one.inlaid two.inlaid three.inlaid
        inlaid stability king one.inlaid two.inlaid -n 20 --json
    """
    settings = settings or ChangesSettings()
    if len(runs) < 2:
        raise SettingError(
            "Expected two or more runs, found {given}. Train the same method with other seeds.",
            given=len(runs),
        )
    ranks: dict[str, list[int]] = {}
    for run in runs:
        near_ids = nearest_ids(run.table, np.array([run.id(word)]), settings.n)[0].tolist()
        for rank, id in enumerate(near_ids, 1):
            ranks.setdefault(run.words[id], []).append(rank)
    neighbors = [
        StableNeighbor(each, len(found) / len(runs), sum(found) / len(found)) for each, found in ranks.items()
    ]
    neighbors.sort(key=lambda each: (-each.share, each.rank, each.word))
    return Stability(word, len(runs), tuple(neighbors))


@dataclass(frozen=True, eq=False)
class _Neighborhood:
    """The neighbors of one word in one space."""

    space: Vectors
    near: list[str]
    cosines: np.ndarray
    """With every word of the space; -infinity for the word itself."""

    @classmethod
    def of(cls, space: Vectors, word: str, n: int) -> _Neighborhood:
        id = space.id(word)
        # Divided by the lengths of the others alone: that of the word itself does not change the order.
        cosines = space.table @ space.table[id] / np.where(space.lengths == 0, 1, space.lengths)
        cosines[id] = -np.inf
        near_ids = nearest_ids(space.table, np.array([id]), n)[0].tolist()
        return cls(space, [space.words[each] for each in near_ids], cosines)

    def rank(self, word: str) -> int | None:
        if word in self.near:
            return self.near.index(word) + 1
        id = self.space.words.find(word)
        if id is None:
            return None
        nearer = int((self.cosines > self.cosines[id]).sum())
        return max(len(self.near), nearer) + 1


def nearest_ids(table: Rows, ids: np.ndarray, n: int) -> np.ndarray:
    """(id, rank): ids of the nearest words by cosine, without the word itself."""
    found = ranking.best(
        table, lengths(table), table[ids], n=min(n, len(table) - 1), without=[[id] for id in ids.tolist()]
    )
    return np.array([each.ids for each in found])
