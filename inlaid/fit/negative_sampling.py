"""Negative sampling: the settings and the training that sgns and fasttext share.

They differ in what a word's vector is made of, one row or many. What they are trained on, and in which steps,
is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from inlaid.config import MAX_DIM, Epochs, Fraction, Range, Seed, check
from inlaid.encode.corpus import Corpus
from inlaid.feed.subsampled import FEWEST_HELD_OUT, HELD_OUT_EVERY, SubsampledText, in_threads
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.kernels.sgns.cpu import LOSS, PAIRS
from inlaid.kernels.sgns.reference import Schedule
from inlaid.kernels.sgns.stream import Stream
from inlaid.messages import Message

UNIT = "words"


@dataclass(frozen=True, kw_only=True)
class NegativeSampling:
    """Settings of skip-gram and CBOW with negative sampling."""

    abilities: ClassVar = Abilities(steps=True, held_out=True, init_from=True, freeze=True)

    objective: Literal["skipgram", "cbow"] = "skipgram"
    """Predict contexts from the center, or the center from its contexts."""
    dim: Annotated[int, Range(1, MAX_DIM)] = 100
    """Vector dimension."""
    window: Annotated[int, Range(1, 10_000)] = 5
    """Maximum window: words on each side that can be contexts. Each center draws its own, from 1 to this."""
    negatives: Annotated[int, Range(1, 10_000)] = 5
    """Noise words drawn for each positive pair."""
    learning_rate: Annotated[float, Range(1e-9)] = 0.05
    """Initial learning rate; decays linearly."""
    epochs: Epochs = 5
    """Passes over the text."""
    subsample: Fraction | None = None
    """Subsampling threshold for frequent words; 0 keeps all. By default 1e-4, or 1 / vocabulary size where
    that is higher."""
    noise_exponent: Fraction = 0.75
    """Exponent of the noise distribution: a noise word is drawn with probability proportional to its count to
    this power."""
    seed: Seed = 1
    """Random seed of initial vectors, windows and negatives."""
    workers: Annotated[int, Range(1, 1024)] = 1
    """Threads. One gives the same bits in every run; several update the tables without locks, and runs differ
    slightly."""

    def __post_init__(self) -> None:
        check(self)

    def subsampled(self, corpus: Corpus, *, fewest_shared: int, most_shared: int) -> SubsampledText:
        """The text as training reads it; its tiles share from `fewest_shared` to `most_shared` negatives."""
        return SubsampledText(
            corpus=corpus,
            window=self.window,
            negatives=self.negatives,
            subsample=self.subsample,
            noise_exponent=self.noise_exponent,
            learning_rate=self.learning_rate,
            epochs=self.epochs,
            seed=self.seed,
            fewest_shared=fewest_shared,
            most_shared=most_shared,
        )


class SampledTraining(ABC):
    """Training with negative sampling: tables, and steps that change them in place.

    With one worker, a step is a pure function of the tables, the settings, the corpus and the words done so
    far.
    """

    unit = UNIT
    held_out_from = HELD_OUT_EVERY * FEWEST_HELD_OUT
    """Sentences from which some are held out."""
    state: State
    clock = 0.0

    def __init__(self, text: SubsampledText, dim: int, workers: int) -> None:
        self.text = text
        self.dim = dim
        self.workers = workers
        self.total = text.total
        text.need_kept_pairs()

    @abstractmethod
    def train_on(self, stream: Stream, schedule: Schedule, shared_negatives: int, sums: np.ndarray) -> None:
        """Train on a stream, or with learning rate 0 measure it, with `shared_negatives` for each tile; the
        loss and the number of positive pairs are added to `sums`."""

    def step(self, done: int) -> Step:
        """Train on the next few spans after `done` words; each worker takes its share of them."""
        spans = self.text.spans_after(done)
        workers = min(self.workers, len(spans))

        def work(worker: int) -> np.ndarray:
            stream = self.text.empty_stream()
            sums = np.zeros(2)
            for span in spans[worker::workers]:
                filled = self.text.read(span, stream)
                self.train_on(filled, self.text.schedule(span, self.clock), self.text.shared_negatives, sums)
            return sums

        sums = sum(in_threads(work, workers), np.zeros(2))
        done = self.text.done_after(spans[-1])
        figures = {"learning_rate": self.text.learning_rate_after(done, self.clock)}
        return Step(done, float(sums[LOSS]), float(sums[PAIRS]), figures)

    def held_out_loss(self) -> float | None:
        """The average loss per pair on the held-out sentences, with the same windows and negatives in every
        run; None if there are none."""
        if not self.text.held_out_every:
            return None
        sums = np.zeros(2)
        measure = Schedule(first_learning_rate=0.0, last_learning_rate=0.0)
        self.train_on(self.text.read_held_out(), measure, self.text.shared_negatives_to_measure, sums)
        return float(sums[LOSS] / max(sums[PAIRS], 1))

    def rows(self) -> dict[str, np.ndarray]:
        """The rows of the words as vectors and as contexts."""
        size = len(self.text.corpus.vocabulary)
        return {name: self.state[name][:size, : self.dim] for name in ("table", "contexts")}

    def examples_of(self, words: np.ndarray, done: int, enough: int) -> np.ndarray:
        return self.text.centers_with_contexts(words, done, enough)

    def notes(self) -> tuple[str, ...]:
        """What the card of the vectors says about how they were trained."""
        if self.workers == 1:
            return ()
        note = Message(
            "{workers} workers without locks: another run gives slightly different values.",
            workers=self.workers,
        )
        return (note.in_language("en"),)
