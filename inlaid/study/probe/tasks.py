"""What a probe is asked: labelled words or texts, split so that the test is new."""

from __future__ import annotations

import functools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from inlaid.collect.archives import file_of
from inlaid.collect.truth import Span, Usage
from inlaid.errors import SettingError, UnknownName, did_you_mean
from inlaid.messages import Language, Listed, Message
from inlaid.report import Note, Report, silent
from inlaid.study.evaluate.task_files import Labelled, read_file
from inlaid.study.evaluate.tasks import Texts
from inlaid.study.probe.classifiers import Control
from inlaid.study.probe.tagged import LabelledSentence, read_tagged
from inlaid.study.probe.world_words import world_senses, world_sentences

TASKS = ("pos", "word", "frequency", "number", "tense", "sense", "field", "sentiment")
WORLD = "world"
Split = Literal["sentence", "word"]
SPLITS: dict[str, Split] = {"frequency": "word", "field": "word"}
"""Where every occurrence of a word has the same label, the test has words that training has not: a probe that
only remembers words must fail. In all other tasks the test has other sentences."""
CONTROLS: dict[str, Control] = {"sense": "within words", "word": "permuted", "sentiment": "permuted"}
"""Control tasks other than a random label for each word."""
FEWEST = 10
"""Examples that a label needs; those of rarer labels are left out."""
WORDS = 50
"""Words that the task `word` tells apart: the most frequent."""
BINS = 4
"""Classes of frequency: quarters of the words."""
PER_WORD = 5
"""Examples of one word where training and test have different words."""


class Example(NamedTuple):
    """A word in its sentence, or a text, and its label."""

    usage: Usage
    word: str
    label: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """The examples of a task, and which of them are to test on."""

    task: str
    examples: tuple[Example, ...]
    test: np.ndarray
    split: Split
    source: str

    @property
    def control(self) -> Control:
        return CONTROLS.get(self.task, "by word")

    def taken(self, chosen: np.ndarray) -> Dataset:
        """Some of the examples, by a mask."""
        kept = tuple(each for each, held in zip(self.examples, chosen.tolist(), strict=True) if held)
        return Dataset(self.task, kept, self.test[chosen], self.split, self.source)

    @property
    def classes(self) -> list[str]:
        return sorted({each.label for each in self.examples})

    @property
    def labels(self) -> np.ndarray:
        """(example,): the place of each label among the classes."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        return np.array([numbers[each.label] for each in self.examples])

    @property
    def words(self) -> list[str]:
        return [each.word for each in self.examples]

    @property
    def groups(self) -> np.ndarray:
        """(example,): the sentence or word that is on one side of the split as a whole."""
        keys = [_group(each, self.split) for each in self.examples]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys])


def check_tasks(tasks: Sequence[str]) -> None:
    for task in tasks:
        if task not in TASKS:
            hint = did_you_mean(task, TASKS) or Message(" There are: {names}.", names=Listed(TASKS))
            raise UnknownName("No probe task is called '{name}'.{hint}", name=task, hint=hint)


def dataset(
    task: str,
    data: str,
    language: Language,
    *,
    examples: int,
    seed: int,
    split: Split | None = None,
    report: Report = silent,
) -> Dataset:
    """The examples of a task from a file or from the embedded world, at most so many, and their split."""
    check_tasks([task])
    chosen: Split = split or SPLITS.get(task, "sentence")
    found = _from_world(task, language, examples, seed) if data == WORLD else _from_file(task, data, report)
    if not found:
        raise _no_labels(task, data, language)
    kept = _frequent(_sampled(found, task, chosen, examples, seed), task, report)
    if len({each.label for each in kept}) < 2:
        raise SettingError(
            "A probe needs two labels with {fewest} examples each; for '{task}' there are fewer in {data}.",
            fewest=FEWEST,
            task=task,
            data=data,
        )
    made = Dataset(task, tuple(kept), np.zeros(0, bool), chosen, data)
    return Dataset(task, made.examples, _test(made, seed), chosen, data)


def _no_labels(task: str, data: str, language: Language) -> SettingError:
    if data == WORLD and language == "zh" and task in ("number", "tense"):
        return SettingError("Chinese words have no form for {task}. Choose another task.", task=task)
    if data == WORLD and task in ("pos", "sentiment"):
        return SettingError(
            "The embedded world has no labels for '{task}'. Name a file: {expected}.",
            task=task,
            expected=Message("tagged text, word/tag or CoNLL-U")
            if task == "pos"
            else Message("texts with labels"),
        )
    return SettingError("{data} has no labels for '{task}'.", data=data, task=task)


# --- sources ------------------------------------------------------------------------------------------------


def _from_world(task: str, language: Language, examples: int, seed: int) -> list[Example]:
    if task == "sense":
        return _labelled(world_senses(language), task)
    return _derived(task, world_sentences(language, seed=seed, count=examples))


def _from_file(task: str, data: str, report: Report) -> list[Example]:
    path = Path(data)
    if task == "sentiment":
        return _texts(path, report)
    status = file_of(path)
    changed = status.stat().st_mtime_ns if status.exists() else 0
    return _derived(task, _tagged(path, changed, report))


@functools.lru_cache(maxsize=1)
def _tagged(path: Path, changed: int, report: Report) -> tuple[LabelledSentence, ...]:
    """Read once for all tasks; `changed` is when the file was written."""
    return tuple(read_tagged(path, report))


def _texts(path: Path, report: Report) -> list[Example]:
    read = read_file(path, report=report)
    items: Iterable[tuple[str, str]] = ()
    if isinstance(read, Labelled):
        items = read.items
    elif isinstance(read, Texts):
        items = (*read.train, *read.test)
    found = {text: label for label, text in items if text.strip()}
    return [Example(Usage(text, Span(0, len(text))), text, label) for text, label in found.items()]


def _derived(task: str, sentences: Iterable[LabelledSentence]) -> list[Example]:
    if task not in ("word", "frequency"):
        return _labelled(sentences, task)
    listed = list(sentences)
    counts = Counter(word.word for sentence in listed for word in sentence.words if word.word.isalnum())
    if task == "word":
        labels = {word: word for word, _ in counts.most_common(WORDS)}
    else:
        labels = frequency_classes(counts)
    return [
        Example(Usage(sentence.text, word.span), word.word, labels[word.word])
        for sentence in listed
        for word in sentence.words
        if word.word in labels
    ]


def frequency_classes(counts: Counter[str]) -> dict[str, str]:
    """Words by the quarter of their frequency: 1 has the rarest of those that occur at least twice."""
    ordered = sorted((word for word, count in counts.items() if count > 1), key=lambda w: (counts[w], w))
    return {word: f"{1 + BINS * place // len(ordered)}" for place, word in enumerate(ordered)}


def _labelled(sentences: Iterable[LabelledSentence], task: str) -> list[Example]:
    return [
        Example(Usage(sentence.text, word.span), word.word, word.labels[task])
        for sentence in sentences
        for word in sentence.words
        if task in word.labels
    ]


# --- choosing and splitting ---------------------------------------------------------------------------------


def _sampled(found: list[Example], task: str, split: Split, most: int, seed: int) -> list[Example]:
    """So many examples, of sentences in a random order; of each word only a few where the words are the
    question, because a handful of frequent ones would be nearly all, and of frequencies as many of each."""
    sentences: defaultdict[str, list[Example]] = defaultdict(list)
    for each in found:
        sentences[each.usage.sentence].append(each)
    order = list(sentences)
    random.Random(seed).shuffle(order)
    each_word = most
    if task == "word":
        each_word = max(FEWEST, most // WORDS)
    elif split == "word":
        each_word = PER_WORD
    each_label = most // BINS if task == "frequency" else most
    words = Counter[str]()
    labels = Counter[str]()
    kept = list[Example]()
    for each in (example for text in order for example in sentences[text]):
        if words[each.word] < each_word and labels[each.label] < each_label and len(kept) < most:
            words[each.word] += 1
            labels[each.label] += 1
            kept.append(each)
    return kept


def _frequent(found: list[Example], task: str, report: Report) -> list[Example]:
    counts = Counter(each.label for each in found)
    rare = sorted(label for label, count in counts.items() if count < FEWEST)
    if rare:
        report(
            Note(
                "{task}: {count:,} labels have fewer than {fewest} examples and are left out: {labels}.",
                task=task,
                count=len(rare),
                fewest=FEWEST,
                labels=Listed(rare[:10]),
            )
        )
    return [each for each in found if counts[each.label] >= FEWEST]


def _test(made: Dataset, seed: int) -> np.ndarray:
    """A fifth of the sentences, or of the words of each label, is to test on."""
    rng = random.Random(seed + 1)
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for each in made.examples:
        label = each.label if made.split == "word" else ""
        by_label[label].append(_group(each, made.split))
    chosen = set[str]()
    for label in sorted(by_label):
        groups = sorted(set(by_label[label]))
        rng.shuffle(groups)
        chosen.update(groups[: max(1, len(groups) // 5)])
    return np.array([_group(each, made.split) in chosen for each in made.examples])


def _group(example: Example, split: Split) -> str:
    return example.usage.sentence if split == "sentence" else example.word
