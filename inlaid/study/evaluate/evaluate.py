"""Scores on tasks, with coverage and confidence intervals; two models compared, several runs summarized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from inlaid import registry
from inlaid.collect.charset_detection import UTF8
from inlaid.config import Seed
from inlaid.errors import SettingError, SourceError
from inlaid.messages import LANGUAGES, Listed
from inlaid.neural.kinds import AnyModel
from inlaid.report import Note, Report, counted, silent
from inlaid.study.analysis import analysis, local_only
from inlaid.study.evaluate import statistics
from inlaid.study.evaluate.model_space import known_words, words_of
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.study.evaluate.scores import (
    IN_VOCABULARY,
    Difference,
    Differences,
    Score,
    Scores,
    Summaries,
    Summary,
    flattened,
)
from inlaid.study.evaluate.statistics import NONE, Statistic, interval, paired, student, value_of
from inlaid.study.evaluate.task_files import read_tasks
from inlaid.study.evaluate.tasks import Measurement, Task
from inlaid.study.evaluate.world_tasks import is_of_world
from inlaid.vectors import Vectors

ENOUGH = 10
"""Items from which a bootstrap interval means something: that of two pairs may be 1.000 to 1.000."""
Named = str | Path | Task
"""The name of a task, a file or folder of tasks, or a task."""


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(OOVSettings):
    """How vectors are scored."""

    sections: bool = False
    """Also show the sections of each task."""
    seed: Seed = 1
    """Seed of the bootstrap, which gives the intervals."""
    charset: str = UTF8
    """Character encoding of task files and of text files of vectors: utf-8, gb18030 (also for gbk and
    gb2312), big5, utf-16 or another codec of Python; auto decides for each file. In TOML and Python:
    charset."""


GENSIM = EvaluateSettings(top=300_000, fold_case=True, subwords=False)
"""The defaults of gensim's evaluate_word_pairs and evaluate_word_analogies."""


@dataclass(frozen=True, eq=False)
class Items:
    """Which items of a task count, each as a mask over all items."""

    known: np.ndarray
    """Their words have vectors."""
    counts: np.ndarray
    """The metric is computed over them."""
    in_vocabulary: np.ndarray
    """Their words are in the vocabulary."""


@overload
def evaluate(  # pyright: ignore[reportOverlappingOverload]
    vectors: Vectors | AnyModel,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    against: Vectors | AnyModel,
    report: Report = silent,
    **keywords: Any,
) -> Differences: ...
@overload
def evaluate(
    vectors: Vectors | AnyModel,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    also: tuple[Vectors | AnyModel, ...],
    report: Report = silent,
    **keywords: Any,
) -> Summaries: ...
@overload
def evaluate(
    vectors: Vectors | AnyModel,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    report: Report = silent,
    **keywords: Any,
) -> Scores: ...
@analysis
@local_only("tasks", "charset")
def evaluate(
    vectors: Vectors | AnyModel,
    tasks: Sequence[Named] = (),
    settings: EvaluateSettings | None = None,
    *,
    against: Vectors | AnyModel | None = None,
    also: tuple[Vectors | AnyModel, ...] = (),
    report: Report = silent,
) -> Scores | Differences | Summaries:
    """Score vectors or a model on tasks with known answers.

    One score for each task, with its further metrics and sections in `others`; tasks without a known item are
    left out. Vectors with subwords are scored on out-of-vocabulary words too; their scores over the
    vocabulary alone are in `others`, under the metric with " in vocabulary" after it. With `against`, two
    models are compared on the items both know, by the paired bootstrap; with `also`, the mean over all models
    and its interval.

    Args:
        vectors: a file of vectors, or the folder of a model: it embeds texts, and words in sentences; words
            alone are those of its input table
        tasks: names of tasks, or files and folders of task files; when none is given, all tasks of the
            embedded world, for vectors trained on its text
        against: other vectors or another model, compared on the items both know
        also: more vectors or models of the same kind, such as other seeds; means and their intervals are
            shown

    Examples:
        inlaid evaluate vectors.inlaid wordsim.tsv analogies.txt
        inlaid evaluate vectors.inlaid world-analogies --against earlier.inlaid
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


def _scored(
    vectors: Vectors | AnyModel, tasks: Sequence[Named], settings: EvaluateSettings, report: Report
) -> Scores:
    asked = _asked(tasks, settings, report, vectors)
    spaces = _spaces(vectors, settings, report)
    scores: list[Score] = []
    for task in counted(asked, "evaluating", unit="tasks", report=report, every=1):
        known = [task.known(space) for space in spaces]
        if known[0].any():
            scores.append(_score(task, spaces, known, settings, report))
        elif tasks:
            report(
                Note(
                    "{task} ({language}): none of its {count:,} items is known; left out.",
                    task=task.name,
                    language=task.language,
                    count=len(known[0]),
                )
            )
    _refuse_nothing(scores, asked)
    return Scores(tuple(scores), settings.sections)


def _spaces(vectors: Vectors | AnyModel, settings: EvaluateSettings, report: Report) -> list[KnownWords]:
    """All words with vectors; then, where some of these are out of the vocabulary, the vocabulary alone."""
    every = known_words(vectors, settings, report)
    if not every.composes:
        return [every]
    return [every, known_words(vectors, replace(settings, subwords=False), report)]


def _compared(
    first: Vectors | AnyModel,
    second: Vectors | AnyModel,
    tasks: Sequence[Named],
    settings: EvaluateSettings,
    report: Report,
) -> Differences:
    """Every metric of every task: the difference on the items both models know, its interval and its p."""
    asked = _asked(tasks, settings, report, first, second)
    spaces = [_spaces(each, settings, report) for each in (first, second)]
    every = [each[0] for each in spaces]
    vocabularies = [each[-1] for each in spaces]
    composing = any(space.composes for space in every)
    found: list[Difference] = []
    for task in counted(asked, "comparing", unit="tasks", report=report, every=1):
        found += _differences(task, every, settings, "", report)
        if composing:
            found += _differences(task, vocabularies, settings, IN_VOCABULARY, report)
    _refuse_nothing(found, asked)
    return Differences(tuple(found))


def _differences(
    task: Task, spaces: Sequence[KnownWords], settings: EvaluateSettings, suffix: str, report: Report
) -> Iterator[Difference]:
    """Every metric of a task on the items that both spaces know; none where there is no such item."""
    wrong = settings.oov == "wrong"
    known = [task.known(space) for space in spaces]
    if len(known[0]) != len(known[1]):
        report(_unlike(task))
        return
    both = known[0] & known[1]
    if not both.any():
        return
    measured = [
        task.measure(space, own if wrong else both, report) for space, own in zip(spaces, known, strict=True)
    ]
    if [each.metric for each in measured[0]] != [each.metric for each in measured[1]]:
        report(_unlike(task))
        return
    for one, two in zip(*measured, strict=True):
        named = replace(one, metric=one.metric + suffix)
        yield _difference(task, named, two, both, both | wrong, settings.seed)


def _unlike(task: Task) -> Note:
    return Note(
        "{task} ({language}) asks the two about different things, so they are not compared; left out.",
        task=task.name,
        language=task.language,
    )


def _asked(
    tasks: Sequence[Named], settings: EvaluateSettings, report: Report, *vectors: Vectors | AnyModel
) -> list[Task]:
    """Names select both languages; paths are read together, so that train and test files find each
    other. Without any, all named tasks, which are about the text of the embedded world."""
    if isinstance(tasks, (str, Path)):
        raise SettingError("tasks is {tasks!r}; expected a list: [{tasks!r}].", tasks=str(tasks))
    named = [entry.name for entry in registry.entries("task")]
    if not tasks and not any(is_of_world(_table_of(each)) for each in vectors):
        raise SettingError(
            "The tasks that come with Inlaid are for vectors trained on the text of the embedded world, and "
            "these are not. Name a file of tasks, such as word pairs with grades, or one of these tasks: "
            "{names}.",
            names=Listed(named),
        )
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
    return asked + (read_tasks(paths, report, charset=settings.charset) if paths else [])


def _table_of(vectors: Vectors | AnyModel) -> Vectors:
    return vectors if isinstance(vectors, Vectors) else words_of(vectors)


def _score(
    task: Task,
    spaces: Sequence[KnownWords],
    known: Sequence[np.ndarray],
    settings: EvaluateSettings,
    report: Report,
) -> Score:
    """The first metric over all words with vectors; all others, and those over the vocabulary, beside it."""
    made: list[Score] = []
    for space, own, suffix in zip(spaces, known, ("", IN_VOCABULARY), strict=False):
        if own.any():
            items = Items(own, own | (settings.oov == "wrong"), known[-1])
            for each in task.measure(space, own, report):
                named = replace(each, metric=each.metric + suffix)
                made += _with_sections(task, named, items, settings.seed)
    return replace(made[0], others=tuple(made[1:]))


def _with_sections(task: Task, measured: Measurement, items: Items, seed: int) -> Iterator[Score]:
    """The whole; then, where there is more than one section, the mean over sections and each section."""
    counts = items.counts
    names, numbers = _numbered(measured.sections, len(counts))

    def made(
        metric: str, values: np.ndarray, statistic: Statistic, section: str, members: np.ndarray
    ) -> Score:
        too_few = len(values) < ENOUGH
        found = NONE if too_few else interval(values, statistic, seed=seed, strata=numbers[counts & members])
        return Score(
            task=task.name,
            language=task.language,
            metric=metric,
            value=value_of(values, statistic),
            low=found.low,
            high=found.high,
            used=int((items.known & members).sum()),
            total=int(members.sum()),
            denominator=int((counts & members).sum()),
            in_vocabulary=int((items.in_vocabulary & members).sum()),
            too_few=too_few,
            kind=task.kind,
            section=section,
        )

    everything = np.ones(len(counts), bool)
    yield made(measured.metric, measured.items[counts], measured.statistic, "", everything)
    if len(names) > 1:
        by_section = np.column_stack([measured.items[:, 0], numbers])[counts]
        yield made(_macro(measured.metric), by_section, statistics.macro, "", everything)
        for number, name in enumerate(names):
            members = numbers == number
            yield made(measured.metric, measured.items[counts & members], measured.statistic, name, members)


def _macro(metric: str) -> str:
    """The name of the mean over sections: 3CosAdd macro in vocabulary."""
    if metric.endswith(IN_VOCABULARY):
        return f"{metric.removesuffix(IN_VOCABULARY)} macro{IN_VOCABULARY}"
    return f"{metric} macro"


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


CORRELATIONS = ("spearman", "pearson", "Spearman", "Pearson")
"""How the names of metrics begin that may be negative."""


def _summary(key: tuple[str, str, str, str], values: tuple[float, ...]) -> Summary:
    task, language, metric, section = key
    lowest = -1.0 if metric.startswith(CORRELATIONS) else 0.0
    bounded = all(lowest <= value <= 1 for value in values)
    found = student(values, lowest, 1.0) if bounded else student(values)
    return Summary(task, language, metric, section, float(np.mean(values)), found.low, found.high, values)


def _refuse_nothing(found: Sequence[Score | Difference], asked: Sequence[Task]) -> None:
    if not found:
        raise SourceError(
            "The vectors know no word of {tasks}. Evaluate them on tasks of their own language and domain.",
            tasks=" or ".join(dict.fromkeys(task.name for task in asked)),
        )
