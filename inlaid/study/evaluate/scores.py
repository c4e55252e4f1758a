"""What an evaluation returns: scores with intervals, differences of two models, summaries of several runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from inlaid.messages import Message
from inlaid.study.analysis import Cell, Row, plain

T = TypeVar("T")
WORLD = "world-"
"""How the names of the tasks of the embedded world start."""
_NAMES = (Message("task"), Message("language"), Message("metric"))
"""The columns that every table of scores starts with."""
IN_VOCABULARY = " in vocabulary"
"""Ends the name of a metric over the items whose words are in the vocabulary, where others are scored too:
vectors with subwords have vectors for out-of-vocabulary words."""
RECALL = "recall@"
MACRO = " macro"
"""Ends the name of a metric that is averaged over the sections of a task."""
METRICS: Mapping[str, Message] = {
    "accuracy": Message("accuracy"),
    "context": Message("context"),
    "exact": Message("exact"),
    "pearson": Message("pearson"),
    "position": Message("outlier position"),
    "purity": Message("purity"),
    "spearman": Message("spearman"),
    "word": Message("word"),
}
"""How metrics are shown whose names are words; 3CosAdd, AUC and BLEU are the same in every language."""


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
    """Items whose words all have vectors, made from subwords or not."""
    total: int
    denominator: int
    """Items the value is computed over: those used, or all of them where out-of-vocabulary ones count as
    wrong."""
    in_vocabulary: int = 0
    """Items whose words are all in the vocabulary; for sentences, those with a word that is."""
    too_few: bool = False
    """Whether it is computed over so few items that the interval says nothing: `low` and `high` are NaN."""
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
        of_world = [score for score in self.items if score.task.startswith(WORLD)]
        others = [score for score in self.items if not score.task.startswith(WORLD)]
        rows = self._table(others) if others else []
        line = Message("Tasks of the embedded world, for vectors trained on its text (`inlaid world`):")
        return [*rows, line, *self._table(of_world)] if of_world else rows

    def _table(self, scores: Sequence[Score]) -> list[Row]:
        shown = [
            (
                each.task,
                each.language,
                metric_name(each.metric, each.section),
                _cell(each.value),
                _interval(each),
                Message("{known:,} of {total:,}", known=each.in_vocabulary, total=each.total),
                Message("{used:,} of {total:,}", used=each.used, total=each.total),
            )
            for score in scores
            for each in _differing(score)
            if self.sections or not each.section
        ]
        head = (*_NAMES, Message("score"), Message("95 %"), Message("in vocabulary"), Message("scored"))
        return [head, *shown]

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
                metric_name(each.metric),
                _cell(each.first),
                _cell(each.second),
                _cell(each.difference),
                _interval(each),
                _cell(each.p),
                Message("{used:,} of {total:,}", used=each.used, total=each.total),
            )
            for each in self.items
        ]
        compared = (Message("first"), Message("second"), Message("difference"))
        head = (*_NAMES, *compared, Message("95 %"), "p", Message("both know"))
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
                metric_name(each.metric, each.section),
                _cell(each.mean),
                _interval(each),
                str(len(each.values)),
            )
            for each in self.items
            if self.sections or not each.section
        ]
        return [(*_NAMES, Message("mean"), Message("95 %"), Message("runs")), *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"summaries": plain(self.items)}


def flattened(scores: Sequence[Score]) -> Iterator[Score]:
    """Every score, each followed by its others."""
    for score in scores:
        yield replace(score, others=())
        yield from score.others


def metric_name(metric: str, section: str = "") -> Cell:
    """A metric as tables show it, with the section of the task that it is about.

    >>> str(metric_name("accuracy macro in vocabulary"))
    'accuracy macro in vocabulary'
    """
    if metric.endswith(IN_VOCABULARY):
        inner = metric_name(metric.removesuffix(IN_VOCABULARY))
        return _with_section(Message("{metric} in vocabulary", metric=inner), section)
    if metric.endswith(MACRO):
        inner = metric_name(metric.removesuffix(MACRO))
        return _with_section(Message("{metric} macro", metric=inner), section)
    if metric.startswith(RECALL):
        return _with_section(Message("recall@{depth}", depth=metric.removeprefix(RECALL)), section)
    return _with_section(METRICS.get(metric, metric), section)


def _with_section(metric: Cell, section: str) -> Cell:
    return Message("{metric} {section}", metric=metric, section=section) if section else metric


def _differing(score: Score) -> Iterator[Score]:
    """A score and its others, without those over the vocabulary that equal the score over all words."""
    everything = {(each.metric, each.section): (each.value, each.used) for each in (score, *score.others)}
    for each in (score, *score.others):
        whole = everything.get((each.metric.removesuffix(IN_VOCABULARY), each.section))
        if not each.metric.endswith(IN_VOCABULARY) or whole != (each.value, each.used):
            yield each


def _cell(value: float) -> Cell:
    return Message("undefined") if value != value else f"{value:.3f}"


def _interval(each: Score | Difference | Summary) -> Cell:
    if isinstance(each, Score) and each.too_few:
        return Message("too few items")
    if each.low != each.low:
        return Message("none")
    return Message("{low} to {high}", low=_cell(each.low), high=_cell(each.high))
