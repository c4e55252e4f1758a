"""Tasks -> a table with coverage and confidence intervals; two models compared, several seeds summarised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inlaid import registry
from inlaid.collect import world
from inlaid.errors import SettingError, SourceError
from inlaid.report import Note, Report, counted, silent
from inlaid.study.evaluate import statistics
from inlaid.study.evaluate.oov import Lookup, Policy
from inlaid.study.evaluate.statistics import Statistic, interval, paired, student, value_of
from inlaid.study.evaluate.task_files import read_tasks
from inlaid.study.evaluate.tasks import Measurement, Task
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class Score:
    """One number of one task with its 95 % interval, and how much of the task it rests on."""

    task: str
    language: str
    metric: str
    value: float
    """NaN where it is not defined: a correlation of one pair, or of scores that are all the same."""
    low: float
    high: float
    used: int
    """Items whose words all have vectors."""
    total: int
    denominator: int
    """Items the value is computed over: those used, or all of them where unknown ones count as wrong."""
    kind: str = ""
    section: str = ""
    others: tuple[Score, ...] = ()
    """Further metrics and sections of the same task."""


@dataclass(frozen=True)
class Difference:
    """How far two models lie apart on the items both know."""

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
    """One number of one task over several runs: their mean, and its 95 % interval by Student's t."""

    task: str
    language: str
    metric: str
    section: str
    mean: float
    low: float
    high: float
    values: tuple[float, ...]


Named = str | Path | Task


def evaluate(
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    *,
    policy: Policy | None = None,
    seed: int = 1,
    report: Report = silent,
) -> list[Score]:
    """Score vectors on tasks: names (in both languages), files or folders of task files, or tasks; all named
    ones by default.

    One score a task, with its further metrics and sections in `others`; tasks of which no item is known are
    left out.
    """
    asked = _asked(tasks, report)
    lookup = Lookup(vectors, policy or Policy())
    scores: list[Score] = []
    for task in counted(asked, "evaluating", unit="tasks", report=report, every=1):
        known = task.known(lookup)
        if known.any():
            scores.append(_score(task, lookup, known, seed, report))
        elif tasks:
            report(
                Note(f"{task.name} ({task.language}): none of its {len(known):,} items is known; left out.")
            )
    _refuse_nothing(scores, asked)
    return scores


def evaluate_against(
    first: Vectors,
    second: Vectors,
    tasks: Sequence[Named] = (),
    *,
    policy: Policy | None = None,
    seed: int = 1,
    report: Report = silent,
) -> list[Difference]:
    """Compare two models on the items both know: every metric of every task, with the difference, its
    interval and its p."""
    asked = _asked(tasks, report)
    lookups = [Lookup(each, policy or Policy()) for each in (first, second)]
    found: list[Difference] = []
    for task in counted(asked, "comparing", unit="tasks", report=report, every=1):
        known = [task.known(lookup) for lookup in lookups]
        both = known[0] & known[1]
        if both.any():
            wrong = lookups[0].policy.unknown == "wrong"
            measured = [
                task.measure(lookup, own if wrong else both, report)
                for lookup, own in zip(lookups, known, strict=True)
            ]
            found += [
                _difference(task, one, two, both, both | wrong, seed)
                for one, two in zip(*measured, strict=True)
            ]
    _refuse_nothing(found, asked)
    return found


def summarize(runs: Sequence[Sequence[Score]]) -> list[Summary]:
    """Several runs, such as one for each seed, as means with their 95 % intervals; what some run lacks is
    left out."""
    flat = [
        {(each.task, each.language, each.metric, each.section): each.value for each in flattened(run)}
        for run in runs
    ]
    shared = [key for key in (flat[0] if flat else {}) if all(key in run for run in flat)]
    if not shared:
        raise SettingError("The runs have no score in common: there is nothing to summarise.")
    values = {key: tuple(run[key] for run in flat) for key in shared}
    return [_summary(key, values[key]) for key in shared]


def flattened(scores: Sequence[Score]) -> Iterator[Score]:
    """Every score, each followed by its others."""
    for score in scores:
        yield replace(score, others=())
        yield from score.others


def _asked(tasks: Sequence[Named], report: Report) -> list[Task]:
    """Names stand for both languages; paths are read together, so that train and test files find each
    other."""
    if isinstance(tasks, (str, Path)):
        raise SettingError(f"tasks is {str(tasks)!r}; expected a list: [{str(tasks)!r}].")
    named = {entry.name for entry in registry.entries("task")}
    languages: tuple[world.Language, ...] = ("zh", "en")
    asked: list[Task] = []
    paths: list[Path] = []
    for each in tasks or sorted(named, key=[entry.name for entry in registry.entries("task")].index):
        if not isinstance(each, (str, Path)):
            asked.append(each)
        elif str(each) in named:
            asked += [registry.find("task", str(each))(language) for language in languages]
        elif isinstance(each, Path) or Path(each).exists() or "/" in each:
            paths.append(Path(each))
        else:
            registry.entry("task", each)  # which says what the name may have meant
    return asked + (read_tasks(paths, report) if paths else [])


def _score(task: Task, lookup: Lookup, known: np.ndarray, seed: int, report: Report) -> Score:
    counts = known | (lookup.policy.unknown == "wrong")
    made = [
        score
        for each in task.measure(lookup, known, report)
        for score in _with_sections(task, each, known, counts, seed)
    ]
    return replace(made[0], others=tuple(made[1:]))


def _with_sections(
    task: Task, measured: Measurement, known: np.ndarray, counts: np.ndarray, seed: int
) -> Iterator[Score]:
    """The whole, then, where there is more than one section: the mean over sections, and each section."""
    names, numbers = _numbered(measured.sections, len(known))

    def made(metric: str, items: np.ndarray, statistic: Statistic, section: str, held: np.ndarray) -> Score:
        found = interval(items, statistic, seed=seed, strata=numbers[counts & held])
        used, total, denominator = (int((each & held).sum()) for each in (known, known | True, counts))
        value = value_of(items, statistic)
        return Score(
            task.name,
            task.language,
            metric,
            value,
            found.low,
            found.high,
            used,
            total,
            denominator,
            task.kind,
            section,
        )

    everything = np.ones(len(known), bool)
    yield made(measured.metric, measured.items[counts], measured.statistic, "", everything)
    if len(names) > 1:
        mixed = np.column_stack([measured.items[:, 0], numbers])[counts]
        yield made(f"{measured.metric} macro", mixed, statistics.macro, "", everything)
        for number, name in enumerate(names):
            held = numbers == number
            yield made(measured.metric, measured.items[counts & held], measured.statistic, name, held)


def _numbered(sections: tuple[str, ...] | None, count: int) -> tuple[list[str], np.ndarray]:
    """The names of sections, and the number of each item's section."""
    names = sorted(set(sections or ("",)))
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers[each] for each in sections or ("",) * count], np.int64)


def _difference(
    task: Task, one: Measurement, two: Measurement, both: np.ndarray, counts: np.ndarray, seed: int
) -> Difference:
    _, numbers = _numbered(one.sections, len(both))
    first = one.items[counts]
    second = two.items[counts]
    found = paired(first, second, one.statistic, seed=seed, strata=numbers[counts])
    return Difference(
        task=task.name,
        language=task.language,
        metric=one.metric,
        first=value_of(first, one.statistic),
        second=value_of(second, one.statistic),
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        p=found.p,
        used=int(both.sum()),
        total=len(both),
    )


def _summary(key: tuple[str, str, str, str], values: tuple[float, ...]) -> Summary:
    task, language, metric, section = key
    found = student(values)
    return Summary(task, language, metric, section, float(np.mean(values)), found.low, found.high, values)


def _refuse_nothing(found: Sequence[Score | Difference], asked: Sequence[Task]) -> None:
    if not found:
        names = " or ".join(dict.fromkeys(task.name for task in asked))
        raise SourceError(
            f"The vectors know no word of {names}. Evaluate them on tasks of their own language and field."
        )
