"""SGNS: skip-gram and CBOW with negative sampling (word2vec).

A word is known by the company it keeps: its vector should score high with the words that stand near it and
low with words drawn at random. Reading the text again and again, each pair moves two vectors a little.
Mikolov et al. 2013, both papers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.feed.blocks import Block, Blocks, in_threads
from inlaid.jobs.init_from import context_table
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.kernels import draw, rounds_cpu, sgns_cpu, softmax_cpu, tile_cpu
from inlaid.kernels.columns import parts_of, pieces, put, table_in_parts, whole
from inlaid.kernels.compile import is_compiled
from inlaid.kernels.rows import row_width, table_of
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

    abilities: ClassVar = Abilities(steps=True, held_out=True, init_from=True, freeze=True)

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
    deterministic: bool = False
    """The same bits for any number of workers, at some cost in speed."""

    def __post_init__(self) -> None:
        check(self)

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """The tables as they are before the first step."""
        sampled = rounds_cpu.rounds_kernel if self.deterministic else sgns_cpu.train_kernel
        if not is_compiled(sampled if self.loss == "sampled" else softmax_cpu.softmax):
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

    @property
    def state(self) -> State:
        return State(self.arrays)

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
        self.fixed = [table_in_parts(0, settings.dim) for _ in range(2)]
        """Rows of both tables, those of the first words, that never change."""
        self._begin(in_parts=settings.deterministic and settings.loss == "sampled")

    def _begin(self, *, in_parts: bool) -> None:
        size = len(self.blocks.corpus.vocabulary)
        dim = self.settings.dim
        table = table_in_parts if in_parts else table_of
        self.in_parts = in_parts
        self.arrays = {"table": table(size, dim), "contexts": table(size, dim)}
        # twice as far from nothing as in word2vec's own code, as gensim does it: analogies of CBOW are .004
        # higher
        for column, piece in pieces(self.arrays["table"], dim):
            draw.uniform(draw.key_of(self.settings.seed, 0), piece, 1 / dim, column)

    def init_from(self, vectors: Vectors, *, freeze: bool, report: Report = silent) -> None:
        """Earlier words start from their earlier rows; frozen, they keep them."""
        if freeze and self.settings.loss == "softmax":
            raise SettingError(
                "freeze is set, and softmax changes every word. Use loss sampled, or leave out freeze."
            )
        contexts = context_table(vectors, freeze=freeze, report=report)
        tables = (
            {"table": vectors.table} if contexts is None else {"table": vectors.table, "contexts": contexts}
        )
        if freeze:
            self._begin(in_parts=True)
            self.fixed = [table_in_parts(len(rows), self.settings.dim) for rows in tables.values()]
            for table, rows in zip(self.fixed, tables.values(), strict=True):
                put(table, rows)
        for name, rows in tables.items():
            put(self.arrays[name], rows)

    def step(self, done: int) -> Step:
        """Learn from the next few blocks after `done` words."""
        blocks = self.blocks.after(done)
        loss, pairs = self._together(blocks) if self.in_parts else self._apart(blocks)
        done = self.blocks.done(blocks[-1])
        return Step(done, float(loss), float(pairs), {"learning_rate": self.blocks.rate_after(done)})

    def held_out_loss(self) -> float | None:
        """The average loss per pair on sentences never trained on, with the same windows and noise in every
        run; None without such."""
        if not self.blocks.held:
            return None
        stream, kept = self.blocks.thin_held()
        sums = np.zeros(2)
        shared = self.blocks.shared_to_measure
        self._kernel(stream, kept, np.array([0.0, 0.0, self.settings.negatives / shared]), sums, shared)
        return float(sums[0] / max(sums[1], 1))

    def result(self) -> Vectors:
        """What was learned so far."""
        table, contexts = (whole(each, self.settings.dim) for each in self.arrays.values())
        notes = ()
        if self.settings.workers > 1 and not self.in_parts and self.settings.loss == "sampled":
            notes = (
                f"{self.settings.workers} workers without locks: another run gives slightly different numbers.",
            )
        vocabulary = self.blocks.corpus.vocabulary
        return Vectors(vocabulary.words, table, vocabulary.counts, Card(notes=notes), contexts)

    def _apart(self, blocks: list[Block]) -> np.ndarray:
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

    def _together(self, blocks: list[Block]) -> np.ndarray:
        """All workers on one block, each on its columns; more of them than cores would only wait for each
        other."""
        workers = min(self.settings.workers, os.cpu_count() or 1, parts_of(row_width(self.settings.dim)))
        desk = self._desk(self._sizes())
        tables = (*self.arrays.values(), *self.fixed)
        counters = [rounds_cpu.counters_of_rounds() for _ in blocks]
        streams = [self.blocks.stream() for _ in blocks]

        def thin(me: int) -> np.ndarray:
            return np.array(
                [self.blocks.thin(blocks[n], streams[n]) for n in range(me, len(blocks), workers)]
            )

        def work(me: int) -> np.ndarray:
            sums = np.zeros(2)
            for n, block in enumerate(blocks):
                noise = self.blocks.noise
                pace = self.blocks.pace(block)
                party = (counters[n], me, workers)
                rounds_cpu.train_rounds(
                    streams[n], kept[n], tables, desk, noise, pace, self._sizes(), sums, party
                )
            return sums

        kept = np.empty(len(blocks), np.int64)
        for me, found in enumerate(in_threads(thin, workers)):
            kept[me::workers] = found
        return sum(in_threads(work, workers), np.zeros(2))

    def _kernel(self, stream: np.ndarray, kept: int, pace: np.ndarray, sums: np.ndarray, shared: int) -> None:
        table = self.arrays["table"]
        contexts = self.arrays["contexts"]
        sizes = self._sizes(shared)
        if self.settings.loss == "softmax":
            room = np.empty(len(table), np.float32), np.empty((2, table.shape[1]), np.float32)
            softmax_cpu.softmax(stream, kept, table, contexts, pace, self.objective, sums, *room)
        elif self.in_parts:
            tables = (table, contexts, *self.fixed)
            alone = (rounds_cpu.counters_of_rounds(), 0, 1)
            rounds_cpu.train_rounds(
                stream, kept, tables, self._desk(sizes), self.blocks.noise, pace, sizes, sums, alone
            )
        else:
            sgns_cpu.train(stream, kept, table, contexts, self.blocks.noise, pace, sizes, sums)

    def _desk(self, sizes: tuple[int, int, int, int]) -> tuple[np.ndarray, ...]:
        return rounds_cpu.desk_of(
            row_width(self.settings.dim), sizes, self.blocks.round_of(self.tile, rounds_cpu.ROUND)
        )

    def _sizes(self, shared: int | None = None) -> tuple[int, int, int, int]:
        return self.objective, self.tile, shared or self.blocks.shared, self.settings.window
