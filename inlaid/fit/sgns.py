"""SGNS: skip-gram and CBOW with negative sampling (word2vec).

A word is known by the company it keeps: its vector should score high with the words that stand near it and
low with words drawn at random. Reading the text again and again, each pair moves two vectors a little.
Mikolov et al. 2013, both papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.feed.blocks import Block, Blocks, in_threads
from inlaid.jobs.run import Step, carry
from inlaid.kernels import random as draw
from inlaid.kernels.compile import is_compiled
from inlaid.kernels.sgns import cpu as sgns_cpu
from inlaid.kernels.sgns import softmax as softmax_cpu
from inlaid.kernels.sgns import tile as tile_cpu
from inlaid.kernels.simd.rows import row_width, table_of
from inlaid.report import Note, Report, silent
from inlaid.vectors import Card, Vectors

TILES = {"skipgram": 16, "cbow": 8}
SHARED = {"skipgram": 16, "cbow": 12}
"""Words that share negatives, and how many these are at a low rate. A center of CBOW meets what it meets
once, not with each context, so that fewer may share: with 8 negatives for 8 centers analogies were .009 lower
than with their own for each, with 12 they are the same."""
SMALL = 20_000
"""Words up to which the exact softmax is a sensible thing to ask for."""


@dataclass(frozen=True, kw_only=True)
class SGNS:
    """Each word learns to tell the words around it from noise: word2vec's skip-gram, or CBOW, with negative
    sampling."""

    objective: Literal["skipgram", "cbow"] = "skipgram"
    """Predict contexts from the center, or the center from its contexts."""
    dim: Positive = 100
    """Numbers a word gets."""
    window: Positive = 5
    """Words on each side that may be contexts; each center draws its own window, from 1 to this."""
    negatives: Positive = 5
    """Noise words for each pair."""
    learning_rate: Annotated[float, Range(1e-9)] = 0.05
    """How far each step goes, at the start; it falls to nothing in a straight line."""
    epochs: Positive = 5
    """Times the text is read."""
    subsample: Fraction | None = None
    """Words with a larger share of the text than this are read less often; 0 reads all. None: 1e-4, or in a
    vocabulary of fewer than 10,000 words 1 / words, the share a word has on average."""
    noise_exponent: Fraction = 0.75
    """Noise words are drawn by their counts to this power; below 1 rare words are drawn more often."""
    cbow_combine: Literal["mean", "sum"] = "mean"
    """What CBOW makes of the contexts of a center."""
    loss: Literal["sampled", "softmax"] = "sampled"
    """Tell pairs from noise, or predict among all words exactly: for small vocabularies."""
    seed: Count = 1
    """Chooses first vectors, windows and noise."""
    workers: Positive = 1
    """Threads. Several change the tables without waiting for each other: fast, but no two runs are the
    same."""

    def __post_init__(self) -> None:
        check(self)

    def fit(self, corpus: Corpus, report: Report = silent) -> Vectors:
        training = self.start(corpus, report)
        carry(training, report)
        return training.vectors(corpus)

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """The tables as they are before the first step."""
        if not is_compiled(sgns_cpu.train_kernel if self.loss == "sampled" else softmax_cpu.softmax):
            report(Note("Compiling the training kernels; this takes some seconds, once."))
        return Training(self, corpus)

    def memory_for(self, corpus: Corpus) -> int:
        return 2 * len(corpus.vocabulary) * row_width(self.dim) * 4


class Training:
    """A run of SGNS over a corpus: two tables, and steps that change them in place.

    A step is a pure function of the tables, the settings, the corpus and the words done so far; so is,
    without locks and with several workers, all but the last bits.
    """

    unit = "words"

    def __init__(self, settings: SGNS, corpus: Corpus) -> None:
        size = len(corpus.vocabulary)
        if settings.loss == "softmax" and size > SMALL:
            raise SettingError(
                f"loss is softmax, which is for up to {SMALL:,} words; this vocabulary has {size:,}. Use loss sampled."
            )
        self.settings = settings
        self.tile = TILES[settings.objective]
        self.blocks = Blocks(
            corpus=corpus,
            window=settings.window,
            negatives=settings.negatives,
            subsample=settings.subsample,
            noise_exponent=settings.noise_exponent,
            learning_rate=settings.learning_rate,
            epochs=settings.epochs,
            seed=settings.seed,
            shared_least=SHARED[settings.objective],
        )
        self.total = self.blocks.total
        objectives = {"mean": tile_cpu.CBOW_MEAN, "sum": tile_cpu.CBOW_SUM}
        self.objective = (
            tile_cpu.SKIPGRAM if settings.objective == "skipgram" else objectives[settings.cbow_combine]
        )
        dim = settings.dim
        self.arrays = {"table": table_of(size, dim), "contexts": table_of(size, dim)}
        self.frozen = table_of(0, dim), table_of(0, dim)
        """The first rows of both tables, where they are frozen."""
        # twice the range of word2vec's own code, as in gensim: analogies of CBOW are .004 higher
        draw.uniform(draw.key_of(settings.seed, 0), self.arrays["table"][:, :dim], 1 / dim)

    def init_from(self, earlier: Vectors, *, freeze: bool) -> None:
        """Start the first words from the rows of `earlier`; frozen, those rows never change."""
        if freeze and self.settings.loss == "softmax":
            raise SettingError(
                "freeze is set, and softmax moves every word. Use loss sampled, or do not freeze the earlier words."
            )
        size, dim = earlier.table.shape
        self.arrays["table"][:size, :dim] = earlier.table
        if earlier.contexts is not None:
            contexts = earlier.contexts
            self.arrays["contexts"][:size, :dim] = (
                contexts if isinstance(contexts, np.ndarray) else contexts.whole()
            )
        if freeze:
            self.frozen = self.arrays["table"][:size].copy(), self.arrays["contexts"][:size].copy()

    def step(self, done: int) -> Step:
        """Learn from the next few blocks after `done` words."""
        blocks = self.blocks.after(done)
        loss, pairs = self._train(blocks)
        done = self.blocks.done(blocks[-1])
        return Step(done, float(loss), float(pairs), {"learning_rate": self.blocks.rate_after(done)})

    def held_out(self, done: int) -> float | None:
        """The average loss per pair on sentences never trained on, with the same windows and noise in every
        run; None without such."""
        if not self.blocks.held:
            return None
        stream, kept = self.blocks.thin_held()
        sums = np.zeros(2)
        shared = self.blocks.shared_to_measure
        self._kernel(stream, kept, np.array([0.0, 0.0, self.settings.negatives / shared]), sums, shared)
        return float(sums[0] / max(sums[1], 1))

    def vectors(self, corpus: Corpus) -> Vectors:
        """What was learned so far."""
        table, contexts = (each[:, : self.settings.dim].copy() for each in self.arrays.values())
        notes = ()
        if self.settings.workers > 1 and self.settings.loss == "sampled":
            notes = (
                f"{self.settings.workers} workers without locks: another run gives slightly different numbers.",
            )
        vocabulary = corpus.vocabulary
        return Vectors(vocabulary.words, table, vocabulary.counts, Card(notes=notes), contexts)

    def _train(self, blocks: list[Block]) -> np.ndarray:
        """Each worker takes its share of the blocks; the tables are everyone's."""
        workers = min(self.settings.workers, len(blocks)) if self.settings.loss == "sampled" else 1

        def work(me: int) -> np.ndarray:
            stream = self.blocks.stream()
            sums = np.zeros(2)
            for block in blocks[me::workers]:
                self._kernel(
                    stream, self.blocks.thin(block, stream), self.blocks.pace(block), sums, self.blocks.shared
                )
            return sums

        return sum(in_threads(work, workers), np.zeros(2))

    def _kernel(self, stream: np.ndarray, kept: int, pace: np.ndarray, sums: np.ndarray, shared: int) -> None:
        table = self.arrays["table"]
        contexts = self.arrays["contexts"]
        sizes = self._sizes(shared)
        if self.settings.loss == "softmax":
            room = np.empty(len(table), np.float32), np.empty((2, table.shape[1]), np.float32)
            softmax_cpu.softmax(stream, kept, table, contexts, pace, self.objective, sums, *room)
        else:
            sgns_cpu.train(stream, kept, table, contexts, self.frozen, self.blocks.noise, pace, sizes, sums)

    def _sizes(self, shared: int | None = None) -> tuple[int, int, int, int]:
        return self.objective, self.tile, shared or self.blocks.shared, self.settings.window
