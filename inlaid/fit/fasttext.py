"""FastText: skip-gram and CBOW whose words are made of their characters; unseen words get vectors too.

A word is the mean of a row of its own and of rows for its character n-grams, which it shares with words spelt
like it. What one learns the others know: forms of a word, compounds, misspellings, and words that were never
seen. Bojanowski et al. 2017.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.encode.ngrams import Mixed, NGrams, bucket_ids
from inlaid.encode.vocabulary import Words
from inlaid.errors import SettingError
from inlaid.feed.blocks import Block, Blocks, in_threads
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.kernels import draw, fasttext_cpu, rounds_cpu, tile_cpu
from inlaid.kernels.columns import parts_of, pieces, put, table_in_parts, whole
from inlaid.kernels.compile import is_compiled
from inlaid.kernels.rows import row_width, table_of
from inlaid.report import Note, Report, silent
from inlaid.vectors import Card, Vectors

TILE = 4
"""Words that share negatives: most of the time goes into rows of n-grams, so that words may well have more of
their own. With 16 SimLex is .01 lower."""
SHARED = {"skipgram": {}, "cbow": {"shared_least": 8, "shared_most": 8}}
"""How many they share, where that is not as in SGNS. The mean of a hundred rows starts small and learns
slowly, and more slowly the surer its steps are: analogies of CBOW are .41 with 8, .40 with 16 and 32."""


@dataclass(frozen=True, kw_only=True)
class FastText:
    """Word2vec with words made of their character n-grams: forms of a word share what they learn, unseen
    words have vectors."""

    abilities: ClassVar = Abilities(steps=True, held_out=True)

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
    noise_exponent: Fraction = 0.5
    """Noise words are drawn by their counts to this power; below 1 rare words are drawn more often."""
    min_n: Positive = 3
    """Characters of the min_n n-gram, with < before and > behind the word."""
    max_n: Positive = 6
    """Characters of the max_n."""
    buckets: Annotated[int, Range(1, (1 << 31) - 1)] = 2_000_000
    """N-grams are hashed into so many; only those that occur take memory."""
    position_weights: bool = False
    """CBOW learns how much each place of the window weighs, for each number of a vector (Mikolov et al.
    2018)."""
    seed: Count = 1
    """Chooses first vectors, windows and noise."""
    workers: Positive = 1
    """Threads. Several change the tables without waiting for each other: fast, but no two runs are the
    same."""
    deterministic: bool = False
    """The same bits for any number of workers, at some cost in speed."""

    def __post_init__(self) -> None:
        check(self)
        if self.min_n > self.max_n:
            raise SettingError(f"min_n is {self.min_n} and max_n {self.max_n}. Make min_n at most max_n.")
        if self.position_weights and self.objective != "cbow":
            raise SettingError(
                "position_weights is for objective cbow: skip-gram has one context at a time, and nothing to weigh."
            )

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """The tables as they are before the first step."""
        if not is_compiled(fasttext_cpu.rounds_kernel if self.deterministic else fasttext_cpu.train_kernel):
            report(Note("Compiling the training kernels; this takes some seconds, once."))
        return Training(self, corpus)

    def memory_for(self, corpus: Corpus) -> int:
        rows = 2 * len(corpus.vocabulary) + len(Bags.of(corpus.vocabulary.words, self).kept)
        return rows * row_width(self.dim) * 4


@dataclass(frozen=True, eq=False)
class Bags:
    """Which rows each word is the mean of: its own, then those of its n-grams, which lie behind all words'
    own."""

    bounds: np.ndarray
    ids: np.ndarray
    """Word w has rows ids[bounds[w]:bounds[w + 1]]."""
    kept: np.ndarray
    """The buckets that occur, in rising order."""

    @classmethod
    def of(cls, words: Words, settings: FastText) -> Bags:
        found, starts = bucket_ids(
            words.blob,
            words.offsets,
            min_n=settings.min_n,
            max_n=settings.max_n,
            buckets=settings.buckets,
        )
        kept, places = np.unique(found, return_inverse=True)
        bounds = starts + np.arange(len(starts))
        ids = np.insert(
            (len(words) + places).astype(np.int32), starts[:-1], np.arange(len(words), dtype=np.int32)
        )
        return cls(bounds, ids, kept)


class Training:
    """A run of FastText over a corpus: rows of words and n-grams, contexts, and steps that change them in
    place.

    A step is a pure function of the tables, the settings, the corpus and the words done so far; so is, with
    several workers, all but the last bits.
    """

    unit = "words"

    @property
    def state(self) -> State:
        return State(self.arrays)

    def __init__(self, settings: FastText, corpus: Corpus) -> None:
        size = len(corpus.vocabulary)
        dim = settings.dim
        self.settings = settings
        self.bags = Bags.of(corpus.vocabulary.words, settings)
        self.blocks = Blocks(
            corpus=corpus,
            window=settings.window,
            negatives=settings.negatives,
            subsample=settings.subsample,
            noise_exponent=settings.noise_exponent,
            learning_rate=settings.learning_rate,
            epochs=settings.epochs,
            seed=settings.seed,
            **SHARED[settings.objective],
        )
        self.total = self.blocks.total
        objectives = {
            "skipgram": tile_cpu.SKIPGRAM,
            "cbow": fasttext_cpu.WEIGHTED if settings.position_weights else fasttext_cpu.PLAIN,
        }
        self.sizes = objectives[settings.objective], TILE, self.blocks.shared, settings.window
        table = table_in_parts if settings.deterministic else table_of
        self.arrays = {"table": table(size + len(self.bags.kept), dim), "contexts": table(size, dim)}
        self.arrays["places"] = table(2 * settings.window + 1, dim)
        put(self.arrays["places"], np.ones((2 * settings.window + 1, dim)))
        for column, piece in pieces(self.arrays["table"], dim):
            draw.uniform(draw.key_of(settings.seed, 0), piece, 1 / dim, column)

    def step(self, done: int) -> Step:
        """Learn from the next few blocks after `done` words."""
        blocks = self.blocks.after(done)
        loss, pairs = self._together(blocks) if self.settings.deterministic else self._apart(blocks)
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
        self._train(stream, kept, np.array([0.0, 0.0, self.settings.negatives / shared]), sums, shared)
        return float(sums[0] / max(sums[1], 1))

    def result(self) -> Vectors:
        """What was learned so far."""
        vocabulary = self.blocks.corpus.vocabulary
        dim = self.settings.dim
        settings = self.settings
        size = len(vocabulary)
        table, contexts = (whole(self.arrays[name], dim) for name in ("table", "contexts"))
        ngrams = NGrams(
            own=table[:size],
            buckets=table[size:],
            size=settings.buckets,
            min_n=settings.min_n,
            max_n=settings.max_n,
            kept=self.bags.kept,
        )
        notes = ()
        if settings.workers > 1 and not settings.deterministic:
            notes = (
                f"{settings.workers} workers without locks: another run gives slightly different numbers.",
            )
        return Vectors(
            vocabulary.words,
            Mixed.of(vocabulary.words, ngrams),
            vocabulary.counts,
            Card(notes=notes),
            contexts,
            ngrams,
        )

    def _apart(self, blocks: list[Block]) -> np.ndarray:
        """Each worker takes its share of the blocks; the tables are everyone's."""
        workers = min(self.settings.workers, len(blocks))

        def work(me: int) -> np.ndarray:
            stream = self.blocks.stream()
            sums = np.zeros(2)
            for block in blocks[me::workers]:
                self._train(
                    stream, self.blocks.thin(block, stream), self.blocks.pace(block), sums, self.blocks.shared
                )
            return sums

        return sum(in_threads(work, workers), np.zeros(2))

    def _together(self, blocks: list[Block]) -> np.ndarray:
        """All workers on one block, each on its columns; more of them than cores would only wait for each
        other."""
        workers = min(self.settings.workers, os.cpu_count() or 1, parts_of(row_width(self.settings.dim)))
        desk = self._desk(self.sizes)
        tables = tuple(self.arrays.values())
        bags = (self.bags.bounds, self.bags.ids)
        counters = [rounds_cpu.counters_of_rounds() for _ in blocks]

        def work(me: int) -> np.ndarray:
            stream = self.blocks.stream()
            sums = np.zeros(2)
            for n, block in enumerate(blocks):
                kept = self.blocks.thin(block, stream)
                pace = self.blocks.pace(block)
                party = (counters[n], me, workers)
                fasttext_cpu.train_rounds(
                    stream, kept, tables, bags, desk, self.blocks.noise, pace, self.sizes, sums, party
                )
            return sums

        return sum(in_threads(work, workers), np.zeros(2))

    def _train(self, stream: np.ndarray, kept: int, pace: np.ndarray, sums: np.ndarray, shared: int) -> None:
        objective, tile, _, window = self.sizes
        tables = (self.arrays["table"], self.arrays["contexts"], self.arrays["places"])
        sizes = (objective, tile, shared, window)
        bags = (self.bags.bounds, self.bags.ids)
        noise = self.blocks.noise
        if self.settings.deterministic:
            alone = rounds_cpu.counters_of_rounds(), 0, 1
            fasttext_cpu.train_rounds(
                stream, kept, tables, bags, self._desk(sizes), noise, pace, sizes, sums, alone
            )
        else:
            fasttext_cpu.train(stream, kept, tables, bags, noise, pace, sizes, sums)

    def _desk(self, sizes: tuple[int, int, int, int]) -> tuple[np.ndarray, ...]:
        return rounds_cpu.desk_of(
            row_width(self.settings.dim), sizes, self.blocks.round_of(TILE, rounds_cpu.ROUND)
        )
