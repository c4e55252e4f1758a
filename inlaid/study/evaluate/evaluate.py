"""Scores on tasks, with coverage and confidence intervals; two models compared, several runs summarized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from inlaid import registry
from inlaid.collect import world
from inlaid.config import Seed
from inlaid.errors import SettingError, SourceError
from inlaid.report import Note, Report, counted, silent
from inlaid.study.analysis import analysis
from inlaid.study.evaluate import statistics
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.study.evaluate.scores import (
    Difference,
    Differences,
    Score,
    Scores,
    Summaries,
    Summary,
    flattened,
)
from inlaid.study.evaluate.statistics import Statistic, interval, paired, student, value_of
from inlaid.study.evaluate.task_files import read_tasks
from inlaid.study.evaluate.tasks import Measurement, Task
from inlaid.vectors import Vectors

LANGUAGES: tuple[world.Language, ...] = ("zh", "en")
Named = str | Path | Task
"""The name of a task, a file or folder of tasks, or a task."""


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(OOVSettings):
    """How vectors are scored."""

    sections: bool = False
    """Also show the sections of each task."""
    seed: Seed = 1
    """Seed of the bootstrap, which gives the intervals."""


GENSIM = EvaluateSettings(top=300_000, fold_case=True)
"""The defaults of gensim's evaluate_word_pairs and evaluate_word_analogies."""


@overload
def evaluate(  # pyright: ignore[reportOverlappingOverload]
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    against: Vectors,
    report: Report = silent,
    **keywords: Any,
) -> Differences: ...
@overload
def evaluate(
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    also: tuple[Vectors, ...],
    report: Report = silent,
    **keywords: Any,
) -> Summaries: ...
@overload
def evaluate(
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    report: Report = silent,
    **keywords: Any,
) -> Scores: ...
@analysis
def evaluate(
    vectors: Vectors,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    against: Vectors | None = None,
    also: tuple[Vectors, ...] = (),
    report: Report = silent,
) -> Scores | Differences | Summaries:
    """Score vectors on tasks with known answers.

    One score for each task, with its further metrics and sections in `others`; tasks without a known item are
    left out. With `against`, two models are compared on the items both know, by the paired bootstrap; with
    `also`, the mean over all models and its interval.

    Args:
        vectors: a file of vectors
        tasks: names of tasks, or files and folders of task files; all named tasks when none is given
        against: other vectors, compared on the items both know
        also: more vectors of the same kind, such as other seeds; means and their intervals are shown
    """
    settings = settings or EvaluateSettings()
    if against is not None and also:
        raise SettingError("`against` compares two models and `also` averages several; give one of them.")
    if against is not None:
        return _compared(vectors, against, tasks, settings, report)
    scores = _scored(vectors, tasks, settings, report)
    if not also:
        return scores
    runs = [scores, *(_scored(each, tasks, settings, report) for each in also)]
    return replace(summarize(runs), sections=settings.sections)


def summarize(runs: Sequence[Sequence[Score]]) -> Summaries:
    """Several runs, such as one for each seed, as means with their 95 % intervals.

    A score that some run lacks is left out.
    """
    flat = [
        {(each.task, each.language, each.metric, each.section): each.value for each in flattened(run)}
        for run in runs
    ]
    shared = [key for key in (flat[0] if flat else {}) if all(key in run for run in flat)]
    if not shared:
        raise SettingError("The runs have no score in common: there is nothing to summarize.")
    return Summaries(tuple(_summary(key, tuple(run[key] for run in flat)) for key in shared))


def _scored(vectors: Vectors, tasks: Sequence[Named], settings: EvaluateSettings, report: Report) -> Scores:
    asked = _asked(tasks, report)
    space = KnownWords(vectors, settings)
    scores: list[Score] = []
    for task in counted(asked, "evaluating", unit="tasks", report=report, every=1):
        known = task.known(space)
        if known.any():
            scores.append(_score(task, space, known, settings, report))
        elif tasks:
            report(
                Note(
                    "{task} ({language}): none of its {count:,} items is known; left out.",
                    task=task.name,
                    language=task.language,
                    count=len(known),
                )
            )
    _refuse_nothing(scores, asked)
    return Scores(tuple(scores), settings.sections)


def _compared(
    first: Vectors, second: Vectors, tasks: Sequence[Named], settings: EvaluateSettings, report: Report
) -> Differences:
    """Every metric of every task: the difference on the items both models know, its interval and its p."""
    asked = _asked(tasks, report)
    spaces = [KnownWords(each, settings) for each in (first, second)]
    wrong = settings.oov == "wrong"
    found: list[Difference] = []
    for task in counted(asked, "comparing", unit="tasks", report=report, every=1):
        known = [task.known(space) for space in spaces]
        both = known[0] & known[1]
        if both.any():
            measured = [
                task.measure(space, own if wrong else both, report)
                for space, own in zip(spaces, known, strict=True)
            ]
            for one, two in zip(*measured, strict=True):
                found.append(_difference(task, one, two, both, both | wrong, settings.seed))
    _refuse_nothing(found, asked)
    return Differences(tuple(found))


def _asked(tasks: Sequence[Named], report: Report) -> list[Task]:
    """Names select both languages; paths are read together, so that train and test files find each
    other."""
    if isinstance(tasks, (str, Path)):
        raise SettingError("tasks is {tasks!r}; expected a list: [{tasks!r}].", tasks=str(tasks))
    named = [entry.name for entry in registry.entries("task")]
    asked: list[Task] = []
    paths: list[Path] = []
    for each in tasks or named:
        if not isinstance(each, (str, Path)):
            asked.append(each)
        elif str(each) in named:
            asked += [registry.find("task", str(each))(language) for language in LANGUAGES]
        elif isinstance(each, Path) or Path(each).exists() or "/" in each:
            paths.append(Path(each))
        else:
            registry.entry("task", each)  # raises UnknownName with the task that was meant
    return asked + (read_tasks(paths, report) if paths else [])


def _score(
    task: Task, space: KnownWords, known: np.ndarray, settings: EvaluateSettings, report: Report
) -> Score:
    counts = known | (settings.oov == "wrong")
    made = [
        score
        for each in task.measure(space, known, report)
        for score in _with_sections(task, each, known, counts, settings.seed)
    ]
    return replace(made[0], others=tuple(made[1:]))


def _with_sections(
    task: Task, measured: Measurement, known: np.ndarray, counts: np.ndarray, seed: int
) -> Iterator[Score]:
    """The whole; then, where there is more than one section, the mean over sections and each section."""
    names, numbers = _numbered(measured.sections, len(known))

    def made(
        metric: str, items: np.ndarray, statistic: Statistic, section: str, members: np.ndarray
    ) -> Score:
        found = interval(items, statistic, seed=seed, strata=numbers[counts & members])
        return Score(
            task=task.name,
            language=task.language,
            metric=metric,
            value=value_of(items, statistic),
            low=found.low,
            high=found.high,
            used=int((known & members).sum()),
            total=int(members.sum()),
            denominator=int((counts & members).sum()),
            kind=task.kind,
            section=section,
        )

    everything = np.ones(len(known), bool)
    yield made(measured.metric, measured.items[counts], measured.statistic, "", everything)
    if len(names) > 1:
        by_section = np.column_stack([measured.items[:, 0], numbers])[counts]
        yield made(f"{measured.metric} macro", by_section, statistics.macro, "", everything)
        for number, name in enumerate(names):
            members = numbers == number
            yield made(measured.metric, measured.items[counts & members], measured.statistic, name, members)


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
        raise SourceError(
            "The vectors know no word of {tasks}. Evaluate them on tasks of their own language and domain.",
            tasks=" or ".join(dict.fromkeys(task.name for task in asked)),
        )
