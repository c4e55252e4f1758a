"""What the layers of a model know: linear and non-linear probes beside control tasks.

A probe is a classifier on hidden states. That it succeeds may say more about the probe than about the model,
so each has a control task (Hewitt and Liang 2019): the same states, with a random label for each word. The
difference is its selectivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Language, Message
from inlaid.neural.kinds import AnyModel
from inlaid.report import Note, Progress, Report, silent
from inlaid.study import figures
from inlaid.study.analysis import Row, analysis, local_only, plain
from inlaid.study.evaluate.statistics import interval
from inlaid.study.model_line import model_line
from inlaid.study.probe.classifiers import (
    Control,
    Kind,
    control_labels,
    majority,
    majority_by_word,
    predicted,
)
from inlaid.study.probe.states import States, fitting, states_of
from inlaid.study.probe.tasks import Dataset, Split, check_tasks, dataset
from inlaid.study.probe.vocabulary import language_of_words
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """How probes are trained and tested."""

    language: Language | None = None
    """Of the embedded world; the one that the model has more words of when not given."""
    probes: Literal["linear", "mlp", "both"] = "both"
    """linear: logistic regression; mlp: with a hidden layer of 64 units before it."""
    examples: Positive = 3000
    """Most words in sentences for each task; a fifth of their sentences is to test on."""
    split: Split | None = None
    """What the test has that training has not: sentences, or words. By default words for the tasks frequency
    and field, where a word has one label, and sentences for all others."""
    shuffle: bool = False
    """Permute the labels over all examples: a probe must then score chance."""
    seed: Seed = 1
    """Seed of the examples, the split, the control tasks and the initial weights."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class ProbeScore:
    """One probe on one layer. `low` and `high` are 95 % intervals by the bootstrap over the sentences, or the
    words, of the test."""

    layer: str
    probe: Kind
    accuracy: float
    low: float
    high: float
    control: float
    """Accuracy on the control task."""
    selectivity: float
    """Accuracy minus that on the control task."""
    selectivity_low: float
    selectivity_high: float


@dataclass(frozen=True, kw_only=True)
class ProbedTask:
    """All probes of one task, and what can be had without the model."""

    task: str
    source: str
    split: Split
    control: Control
    """What the labels of the control task are."""
    classes: tuple[str, ...]
    train: int
    test: int
    majority: float
    """The share of the most frequent label: chance."""
    by_word: float
    """The accuracy of the most frequent label of each word: what a word without its sentence tells."""
    scores: tuple[ProbeScore, ...]

    @property
    def best(self) -> ProbeScore:
        """The linear probe with the highest accuracy, or another where there is none."""
        linear = [each for each in self.scores if each.probe == "linear"]
        return max(linear or self.scores, key=lambda each: each.accuracy)


@dataclass(frozen=True, kw_only=True)
class Probes:
    """What the layers of a model know."""

    model: Message
    tasks: tuple[ProbedTask, ...]
    name: str
    """Of the model or the vectors."""
    language: Language
    """Of the embedded world, where the data is from there, and of a picture."""
    settings: ProbeSettings
    output: str | None = None

    def rows(self) -> list[Row]:
        rows: list[Row] = [Message("{model}; seed {seed}", model=self.model, seed=self.settings.seed)]
        for number, task in enumerate(self.tasks):
            rows += [*([""] if number else []), *task_rows(task)]
        rows += figures.written(self.output)
        return rows

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


CONTROL_NAMES: dict[Control, Message] = {
    "by word": Message("at random for each word (Hewitt and Liang 2019)"),
    "within words": Message("permuted among the occurrences of each word"),
    "permuted": Message("permuted over all examples"),
}


def task_rows(task: ProbedTask) -> list[Row]:
    """The table of one task, below the lines that say what it is."""
    head = Message(
        "{task}: {classes} labels, {train:,} to train on, {test:,} to test on, other {split}s ({source})",
        task=task.task,
        classes=len(task.classes),
        train=task.train,
        test=task.test,
        split=task.split,
        source=task.source,
    )
    chance = Message(
        "chance {majority:.3f} (the most frequent label); {by_word:.3f} by the most frequent label of each "
        "word",
        majority=task.majority,
        by_word=task.by_word,
    )
    control = Message("control task: labels {control}", control=CONTROL_NAMES[task.control])
    rows: list[Row] = [head, chance, control]
    before = (Message("layer"), Message("probe"), Message("accuracy"), Message("95 %"))
    rows.append((*before, Message("control"), Message("selectivity"), Message("95 %")))
    for each in task.scores:
        rows.append(
            (
                each.layer,
                each.probe,
                f"{each.accuracy:.3f}",
                f"{each.low:.3f}-{each.high:.3f}",
                f"{each.control:.3f}",
                f"{each.selectivity:+.3f}",
                f"{each.selectivity_low:+.3f} {each.selectivity_high:+.3f}",
            )
        )
    return rows


@analysis
@local_only("data")
def probe(
    model: Vectors | AnyModel,
    settings: ProbeSettings | None = None,
    *,
    task: Sequence[str] = ("field",),
    data: str = "world",
    output: Path | None = None,
    overwrite: bool = False,
    report: Report = silent,
) -> Probes:
    """What the layers of a model know: probes of each layer, beside control tasks.

    pos, number and tense need tagged text: word/tag on lines (Brown, People's Daily) or CoNLL-U. sentiment
    needs texts with labels. word and frequency take either tagged text or the embedded world, which also has
    field, sense and, in English, number and tense. Word vectors have a single layer.

    >>> probe(model, task=["pos", "number"], data="brown.zip")

    Args:
        model: the folder of a model, or a file of vectors
        task: what to probe for: pos, word, frequency, number, tense, sense, field or sentiment
        data: a file of tagged text, a file of texts with labels, or world
        output: draw accuracy by layer, as .png, or as a page with the tables, as .html

    Examples:
        inlaid probe model
        inlaid probe model --task word --language zh -o probe.png
    """
    settings = settings or ProbeSettings()
    check_tasks(task)
    if not task:
        raise SettingError("There is no task. Name one or more with task.")
    if output is not None:
        figures.writable(output, Message("A picture of probes"), overwrite=overwrite)
    language = settings.language or language_of_words(model)
    found = [probed(model, each, data, language, settings, report) for each in task]
    result = Probes(
        model=model_line(model),
        tasks=tuple(found),
        name=model_name(model),
        language=language,
        settings=settings,
        output=None if output is None else str(output),
    )
    if output is not None:
        from inlaid.study.probe.probe_pictures import drawn

        figures.write(output, drawn(result, output.suffix.lower(), report))
    return result


def model_name(model: Any) -> str:
    """What a model says it is: its method, or the kind of its network."""
    method = model.card.method
    return str(method or getattr(getattr(model, "config", None), "kind", ""))


def probed(
    model: Vectors | AnyModel,
    task: str,
    data: str,
    language: Language,
    settings: ProbeSettings,
    report: Report,
) -> ProbedTask:
    """All probes of one task."""
    made = dataset(
        task,
        data,
        language,
        examples=settings.examples,
        seed=settings.seed,
        split=settings.split,
        report=report,
    )
    made = _readable(model, made, report)
    states = states_of(model, [each.usage for each in made.examples], report)
    made, states = _known(made, states, report)
    if settings.shuffle:
        made = _shuffled(made, settings.seed)
    return probe_states(states, made, settings, report)


def _readable(model: Vectors | AnyModel, made: Dataset, report: Report) -> Dataset:
    texts = list(dict.fromkeys(each.usage.sentence for each in made.examples))
    fits = dict(zip(texts, fitting(model, texts, report), strict=True))
    return made.taken(np.array([fits[each.usage.sentence] for each in made.examples]))


def _known(made: Dataset, states: States, report: Report) -> tuple[Dataset, States]:
    """The examples that have vectors."""
    known = states.known
    if known.all():
        return made, states
    report(
        Note(
            "{task}: {count:,} of {total:,} words have no vector and are left out.",
            task=made.task,
            count=int((~known).sum()),
            total=len(known),
        )
    )
    return made.taken(known), States(states.table[known], known[known], states.layers)


def _shuffled(made: Dataset, seed: int) -> Dataset:
    order = np.random.Generator(np.random.Philox(seed)).permutation(len(made.examples)).tolist()
    labels = [made.examples[place].label for place in order]
    examples = [each._replace(label=label) for each, label in zip(made.examples, labels, strict=True)]
    return Dataset(made.task, tuple(examples), made.test, made.split, made.source)


def probe_states(
    states: States, made: Dataset, settings: ProbeSettings, report: Report = silent
) -> ProbedTask:
    """Probes of every layer of states (example, layer, dim)."""
    train = ~made.test
    if len(set(made.labels[train].tolist())) < 2 or not made.test.any():
        raise SettingError("{task}: too few examples are left to train and test on.", task=made.task)
    kinds: tuple[Kind, ...] = ("linear", "mlp") if settings.probes == "both" else (settings.probes,)
    labels = made.labels
    words = made.words
    controls = control_labels(words, labels, seed=settings.seed, control=made.control)
    scores: list[ProbeScore] = []
    for number, layer in enumerate(states.layers):
        rows = states.table[:, number].astype(np.float64)
        for kind in kinds:
            scores.append(_score(layer, kind, rows, labels, controls, made, settings.seed))
            report(Progress("probes", len(scores), len(kinds) * len(states.layers), "probes"))
    kept = [word for word, is_test in zip(words, made.test.tolist(), strict=True) if not is_test]
    asked = [word for word, is_test in zip(words, made.test.tolist(), strict=True) if is_test]
    return ProbedTask(
        task=made.task,
        source=made.source,
        split=made.split,
        control=made.control,
        classes=tuple(made.classes),
        train=int(train.sum()),
        test=int(made.test.sum()),
        majority=float(majority(labels[train], labels[made.test]).mean()),
        by_word=float(majority_by_word(kept, labels[train], asked, labels[made.test]).mean()),
        scores=tuple(scores),
    )


def _score(
    layer: str,
    kind: Kind,
    rows: np.ndarray,
    labels: np.ndarray,
    controls: np.ndarray,
    made: Dataset,
    seed: int,
) -> ProbeScore:
    test = made.test
    right = []
    for wanted in (labels, controls):
        guesses = predicted(
            kind, rows[~test], wanted[~test], rows[test], classes=len(made.classes), seed=seed
        )
        right.append((guesses == wanted[test]).astype(float))
    groups = made.groups[test]
    around = by_group(right[0], groups, seed)
    difference = by_group(right[0] - right[1], groups, seed)
    return ProbeScore(
        layer=layer,
        probe=kind,
        accuracy=float(right[0].mean()),
        low=around[0],
        high=around[1],
        control=float(right[1].mean()),
        selectivity=float((right[0] - right[1]).mean()),
        selectivity_low=difference[0],
        selectivity_high=difference[1],
    )


def by_group(values: np.ndarray, groups: np.ndarray, seed: int) -> tuple[float, float]:
    """The 95 % interval of a mean by the bootstrap over groups: words of one sentence are not independent."""
    numbers = np.unique(groups, return_inverse=True)[1]
    totals = np.column_stack([np.bincount(numbers, values), np.bincount(numbers)])
    found = interval(totals, _ratio, seed=seed)
    return found.low, found.high


def _ratio(items: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (weights @ items[:, 0]) / (weights @ items[:, 1])
