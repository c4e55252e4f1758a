"""What an evaluation returns: scores with intervals, differences of two models, summaries of several runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from inlaid.study.analysis import Row, plain

T = TypeVar("T")


@dataclass(frozen=True)
class Score:
    """One metric of one task with its 95 % interval, and how much of the task it is computed on."""

    task: str
    language: str
    metric: str
    value: float
    """NaN where it is undefined: a correlation of one pair, or of scores that are all the same."""
    low: float
    high: float
    used: int
    """Items whose words all have vectors."""
    total: int
    denominator: int
    """Items the value is computed over: those used, or all of them where out-of-vocabulary ones count as
    wrong."""
    kind: str = ""
    section: str = ""
    others: tuple[Score, ...] = ()
    """Further metrics and sections of the same task."""


@dataclass(frozen=True)
class Difference:
    """One metric of two models, on the items both know."""

    task: str
    language: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    """By the paired bootstrap, two-sided."""
    used: int
    total: int


@dataclass(frozen=True)
class Summary:
    """One metric of one task over several runs: the mean, and its 95 % interval by Student's t."""

    task: str
    language: str
    metric: str
    section: str
    mean: float
    low: float
    high: float
    values: tuple[float, ...]


class _Listed(Sequence[T]):
    """A sequence of the field `items`."""

    items: tuple[T, ...]

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        return self.items[at]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Scores(_Listed[Score]):
    """The score of every task; a sequence of `Score`."""

    items: tuple[Score, ...]
    sections: bool = False
    """Whether `rows` shows the sections of tasks too."""

    def rows(self) -> Sequence[Row]:
        shown = [
            (
                each.task,
                each.language,
                f"{each.metric} {each.section}".strip(),
                _cell(each.value),
                _interval(each),
                f"{each.used:,} of {each.total:,}",
            )
            for score in self.items
            for each in (score, *score.others)
            if self.sections or not each.section
        ]
        return [("task", "language", "metric", "score", "95 %", "known"), *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"scores": plain(self.items)}


@dataclass(frozen=True)
class Differences(_Listed[Difference]):
    """The difference of two models in every metric; a sequence of `Difference`."""

    items: tuple[Difference, ...]

    def rows(self) -> Sequence[Row]:
        shown = [
            (
                each.task,
                each.language,
                each.metric,
                _cell(each.first),
                _cell(each.second),
                _cell(each.difference),
                _interval(each),
                _cell(each.p),
                f"{each.used:,} of {each.total:,}",
            )
            for each in self.items
        ]
        head = ("task", "language", "metric", "first", "second", "difference", "95 %", "p", "both know")
        return [head, *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"differences": plain(self.items)}


@dataclass(frozen=True)
class Summaries(_Listed[Summary]):
    """The mean of several runs in every metric; a sequence of `Summary`."""

    items: tuple[Summary, ...]
    sections: bool = False
    """Whether `rows` shows the sections of tasks too."""

    def rows(self) -> Sequence[Row]:
        shown = [
            (
                each.task,
                each.language,
                f"{each.metric} {each.section}".strip(),
                _cell(each.mean),
                _interval(each),
                str(len(each.values)),
            )
            for each in self.items
            if self.sections or not each.section
        ]
        return [("task", "language", "metric", "mean", "95 %", "runs"), *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"summaries": plain(self.items)}


def flattened(scores: Sequence[Score]) -> Iterator[Score]:
    """Every score, each followed by its others."""
    for score in scores:
        yield replace(score, others=())
        yield from score.others


def _cell(value: float) -> str:
    return "undefined" if value != value else f"{value:.3f}"


def _interval(each: Score | Difference | Summary) -> str:
    return f"{_cell(each.low)} to {_cell(each.high)}" if each.low == each.low else "none"
