"""Classifier: bags of words and n-grams, and a softmax over labels, trained end to end.

The vector of a text is the mean of the rows of its features: words, n-grams of words, n-grams of characters,
the last two hashed into buckets. Rows and output layer are trained together by gradient descent, with a
learning rate that falls linearly to zero. Joulin et al. 2017 (fastText).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from inlaid.classifier import BagEmbedder, Classifier
from inlaid.config import MAX_DIM, Epochs, Fraction, Range, Seed, check
from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError
from inlaid.feed.bags import BagIds, Bags, BagSettings, hashed_features, known_words, spelled, with_rows
from inlaid.feed.labelled_corpus import LabelledCorpus
from inlaid.feed.subsampled import in_threads
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.kernels import random
from inlaid.kernels.classifier import cpu
from inlaid.kernels.classifier.reference import Examples, Network, Schedule
from inlaid.report import Report, silent

STEP = 1_000_000
"""Features in a step, about: a fraction of a second."""
FEWEST_HELD_OUT = 10
"""Texts that must be held out for a loss to be measured."""


@dataclass(frozen=True, kw_only=True)
class NGramClassifier:
    """Bags of words and n-grams with a softmax over labels, trained end to end, as fastText's supervised
    mode.

    The result is bit-identical with one worker.
    """

    abilities: ClassVar = Abilities(steps=True, held_out=True, model=True)
    encoding_defaults: ClassVar = {"min_count": 1}

    dim: Annotated[int, Range(1, MAX_DIM)] = 100
    """Dimension of the rows and of the vector of a text."""
    word_ngrams: Annotated[int, Range(1, 10)] = 2
    """Most words of an n-gram; 1 is words alone."""
    min_n: Annotated[int, Range(0, 100)] = 0
    """Minimum length of character n-grams, where max_n is set; < and > mark the ends of a word and count
    too."""
    max_n: Annotated[int, Range(0, 100)] = 0
    """Maximum length of character n-grams; 0: none. They help with misspellings and inflected words."""
    buckets: Annotated[int, Range(1, (1 << 30))] = 2_000_000
    """Hash buckets of n-grams; only those that occur take memory."""
    learning_rate: Annotated[float, Range(1e-6, 100)] = 0.5
    """Initial learning rate; it falls linearly to zero."""
    epochs: Epochs = 10
    """Passes over the texts."""
    held_out: Fraction = 0.0
    """Share of the texts that is held out to measure the loss on, for early stopping."""
    workers: Annotated[int, Range(1, 1024)] = 1
    """Threads. One gives the same bits in every run; several update the tables without locks, and runs differ
    slightly."""
    seed: Seed = 1
    """Random seed of the initial rows and of the order of the texts."""

    def __post_init__(self) -> None:
        check(self)
        if self.max_n and self.min_n > self.max_n:
            raise SettingError(
                "min_n is {min_n} and max_n {max_n}. Make min_n at most max_n.",
                min_n=self.min_n,
                max_n=self.max_n,
            )
        if self.min_n and not self.max_n:
            raise SettingError("min_n is set and max_n is not. Set the maximum length of n-grams, too.")
        if self.held_out > 0.9:
            raise SettingError(
                "held_out is {held_out:g}; leave at least a tenth to train on.", held_out=self.held_out
            )

    @property
    def bag_settings(self) -> BagSettings:
        return BagSettings(
            word_ngrams=self.word_ngrams,
            min_n=max(self.min_n, 1) if self.max_n else 0,
            max_n=self.max_n,
            buckets=self.buckets,
        )

    def start(self, data: LabelledCorpus, report: Report = silent) -> ClassifierTraining:
        return ClassifierTraining(self, data)

    def memory_for(self, data: LabelledCorpus) -> int:
        """At most: n-grams that occur several times share a row."""
        characters = 0
        if self.max_n:
            words = len(data.vocabulary.words.blob) + len(data.rare.blob)
            characters = words * (self.max_n - max(self.min_n, 1) + 1)
        hashed = min(self.buckets, len(data.ids) * (self.word_ngrams - 1) + characters)
        return 4 * self.dim * (len(data.vocabulary) + hashed + len(data.names))


class ClassifierTraining:
    """Steps of gradient descent over labelled texts, in another order in every epoch."""

    unit = "texts"
    clock = 0.0

    def __init__(self, settings: NGramClassifier, corpus: LabelledCorpus) -> None:
        self.settings = settings
        self.corpus = corpus
        texts = len(corpus.offsets) - 1
        self.bags, features = _features(corpus, settings.bag_settings)
        self.examples = Examples(features.ids, features.bounds, corpus.labels[:texts])
        mixed = np.random.Generator(np.random.Philox([settings.seed, 0])).permutation(texts)
        held = round(texts * settings.held_out)
        self.held_out = np.sort(mixed[:held])
        self.texts = np.sort(mixed[held:])
        self.held_out_from = round(FEWEST_HELD_OUT / settings.held_out) if settings.held_out else 0
        self.total = settings.epochs * len(self.texts)
        mean_size = max(len(features.ids) / max(texts, 1), 1)
        self.step_texts = max(round(STEP / mean_size), 1)
        self.state = State(
            {
                "table": np.empty((self.bags.size, settings.dim), np.float32),
                "output": np.zeros((len(corpus.names), settings.dim), np.float32),
                "bias": np.zeros(len(corpus.names), np.float32),
            }
        )
        random.uniform(random.key_of(settings.seed, 0), self.state["table"], 1 / settings.dim)

    def step(self, done: int) -> Step:
        """Train on the next texts after `done`, never beyond the epoch; each worker takes its part."""
        epoch, inside = divmod(done, len(self.texts))
        order = self._order(epoch)[inside : inside + self.step_texts]
        schedule = Schedule(self._learning_rate(done), self._learning_rate(done + len(order)))
        workers = min(self.settings.workers, len(order))
        parts = np.array_split(order, workers)

        def work(worker: int) -> np.ndarray:
            return np.array(self._train_on(parts[worker], schedule))

        loss = float(np.sum(in_threads(work, workers)))
        figures = {"epoch": float(epoch + 1), "learning_rate": schedule.last_learning_rate}
        return Step(done + len(order), loss, float(len(order)), figures)

    def held_out_loss(self) -> float | None:
        """The mean loss of the held-out texts; None if they are too few."""
        if len(self.held_out) < FEWEST_HELD_OUT:
            return None
        return self._train_on(self.held_out, Schedule(0.0, 0.0)) / len(self.held_out)

    def result(self) -> Classifier:
        return Classifier(
            labels=self.corpus.names,
            embedder=BagEmbedder(self.bags, np.array(self.state["table"])),
            output=np.array(self.state["output"]),
            bias=np.array(self.state["bias"]),
        )

    def _train_on(self, order: np.ndarray, schedule: Schedule) -> float:
        network = Network(self.state["table"], self.state["output"], self.state["bias"])
        hidden = np.empty((2, self.settings.dim), np.float32)
        shares = np.empty(len(self.corpus.names), np.float32)
        return cpu.train(network, self.examples, order, schedule, hidden, shares)

    def _learning_rate(self, done: int) -> float:
        return self.settings.learning_rate * (1 - min(max(done / self.total, self.clock), 1.0))

    @functools.lru_cache(maxsize=1)  # noqa: B019 - one epoch of one training
    def _order(self, epoch: int) -> np.ndarray:
        """The texts in the order of an epoch: a pure function of seed and epoch."""
        drawn = np.random.Generator(np.random.Philox([self.settings.seed, epoch + 1]))
        return drawn.permutation(self.texts)


def _features(corpus: LabelledCorpus, settings: BagSettings) -> tuple[Bags, BagIds]:
    """How texts become features, and the features of the texts of the corpus."""
    words = corpus.vocabulary.words
    tokens = corpus.tokens
    encoding = corpus.manifest["encoding"]
    if not settings.hashed:
        return Bags(words=words, encoding=encoding, settings=settings), known_words(tokens, len(words))
    everything = Words.of_bytes([*words.all_bytes(), *corpus.rare.all_bytes()])
    grams = spelled(everything.blob, everything.offsets, settings)
    found = hashed_features(tokens, len(words), settings, grams)
    rows = np.full(settings.buckets, -1, np.int32)
    rows[found.ids[found.ids >= len(words)] - len(words)] = 0
    kept = np.flatnonzero(rows == 0).astype(np.int32)
    rows[kept] = len(words) + np.arange(len(kept), dtype=np.int32)
    bags = Bags(words=words, encoding=encoding, settings=settings, kept=kept)
    return bags, with_rows(found, len(words), rows)
