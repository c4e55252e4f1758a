"""SGNS: skip-gram and CBOW with negative sampling (word2vec).

A word is known by the company it keeps: its vector should score high with the words that stand near it and low with words
drawn at random. Reading the text again and again, each pair moves two vectors a little. Mikolov et al. 2013, both papers.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from inlay.config import Count, Fraction, Positive, Range, check
from inlay.encode.corpus import Corpus
from inlay.errors import SettingError, SourceError
from inlay.jobs.run import Step, carry
from inlay.kernels import draw, sgns_cpu, softmax_cpu, tile_cpu
from inlay.kernels.compile import is_compiled
from inlay.kernels.rows import row_width, table_of
from inlay.kernels.sgns_cpu import SPARE
from inlay.report import Note, Report, silent
from inlay.shapes import Ids, Offsets
from inlay.vectors import Card, Vectors

BLOCK, BLOCKS = 1 << 16, 8
"""Words that are thinned at once, so that they stay in the cache; blocks in a step, a fraction of a second of work."""
TILES = {"skipgram": (16, 16), "cbow": (8, 8)}
"""Centers that share negatives, and how many of those they share: more negatives make each step surer and slower."""
CAP = 4.0
"""Times that a word is expected in a round of `deterministic` up to which it takes all changes."""
FLOOR = 1e-4
"""The rate falls from its start to this part of it."""
HELD, MOST_HELD, LEAST_HELD = 200, 2000, 100
"""One sentence in so many is set apart to measure on, but no more than so many, and none where that makes too few."""
SMALL = 20_000
"""Words up to which the exact softmax is a sensible thing to ask for."""


@dataclass(frozen=True, kw_only=True)
class SGNS:
    """Each word learns to tell the words around it from noise: word2vec's skip-gram, or CBOW, with negative sampling."""

    objective: Literal["skipgram", "cbow"] = "skipgram"
    """Predict contexts from the center, or the center from its contexts."""
    dim: Positive = 100
    """Numbers a word gets."""
    window: Positive = 5
    """Words on each side that may be contexts; each center draws its own window, from 1 to this."""
    negatives: Positive = 5
    """Noise words for each pair."""
    rate: Annotated[float, Range(1e-9)] = 0.05
    """How far each step goes, at the start; it falls to nothing in a straight line."""
    epochs: Positive = 5
    """Times the text is read."""
    threshold: Fraction | None = None
    """Words with a larger share of the text than this are read less often; 0 reads all. None: 1e-4, or in a vocabulary of fewer than
    10,000 words 1 / words, the share a word has on average."""
    power: Fraction = 0.75
    """Noise words are drawn by their counts to this power; below 1 rare words are drawn more often."""
    hidden: Literal["mean", "sum"] = "mean"
    """What CBOW makes of the contexts of a center."""
    loss: Literal["sampled", "softmax"] = "sampled"
    """Tell pairs from noise, or predict among all words exactly: for small vocabularies."""
    seed: Count = 1
    """Chooses first vectors, windows and noise."""
    workers: Positive = 1
    """Threads. Several change the tables without waiting for each other: fast, but no two runs are the same."""
    deterministic: bool = False
    """The same bits for any number of workers, at some cost in speed."""

    def __post_init__(self) -> None:
        check(self)

    def fit(self, corpus: Corpus, report: Report = silent) -> Vectors:
        training = self.start(corpus, report)
        carry(training, report)
        return training.vectors(corpus)

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """The tables as they are before the first step."""
        sampled = sgns_cpu.train_rounds if self.deterministic else sgns_cpu.train
        if not is_compiled(sampled if self.loss == "sampled" else softmax_cpu.softmax):
            report(Note("Compiling the training kernels; this takes some seconds, once."))
        return Training(self, corpus)

    def memory_for(self, corpus: Corpus) -> int:
        return 2 * len(corpus.vocabulary) * row_width(self.dim) * 4


class Training:
    """A run of SGNS over a corpus: two tables, and steps that change them in place.

    A step is a pure function of the tables, the settings, the corpus and the words done so far; so is, without locks and with
    several workers, all but the last bits.
    """

    unit = "words"

    def __init__(self, settings: SGNS, corpus: Corpus) -> None:
        counts, size = corpus.vocabulary.counts, len(corpus.vocabulary)
        if settings.loss == "softmax" and size > SMALL:
            raise SettingError(f"loss is softmax, which is for up to {SMALL:,} words; this vocabulary has {size:,}. Use loss sampled.")
        if (np.diff(corpus.offsets[:1_000_000]) < 2).all() and len(corpus.offsets) <= 1_000_000:
            raise SourceError("No two words meet: every sentence is one word. Put each sentence, not each word, on a line.")
        self.settings, self.corpus, self.words = settings, corpus, len(corpus.ids)
        self.total = self.words * settings.epochs
        self.keep = (keep_share(counts, settings.threshold) * 0xFFFFFFFF).astype(np.uint32)
        self.noise = draw.noise_table(counts**settings.power)
        self.tile, shared = TILES[settings.objective]
        self.shared = -(-settings.negatives // shared) * shared
        objectives = {"mean": tile_cpu.CBOW_MEAN, "sum": tile_cpu.CBOW_SUM}
        self.objective = tile_cpu.SKIPGRAM if settings.objective == "skipgram" else objectives[settings.hidden]
        self.arrays = {"table": table_of(size, settings.dim), "contexts": table_of(size, settings.dim)}
        draw.uniform(draw.key_of(settings.seed, 0), self.arrays["table"][:, : settings.dim], 0.5 / settings.dim)
        self.anchored = 0
        """So many words, the first ones, never change."""
        sentences = len(corpus.offsets) - 1
        spacing = max(HELD, sentences // MOST_HELD)
        self.held = spacing if sentences // spacing >= LEAST_HELD else 0
        """Every so manieth sentence is never trained on; 0: all are."""

    def go_on(self, tables: dict[str, np.ndarray], *, anchor: bool) -> None:
        """Old words start from rows learned earlier; anchored, they keep them, which the rounds of `deterministic` see to."""
        if anchor and self.settings.loss == "softmax":
            raise SettingError("anchor is set, and softmax moves every word. Use loss sampled, or let the old words move.")
        for name, rows in tables.items():
            self.arrays[name][: len(rows), : self.settings.dim] = rows
        self.anchored = len(tables["table"]) if anchor else 0

    def step(self, done: int) -> Step:
        """Learn from the next few blocks after `done` words."""
        epoch, position = divmod(done, self.words)
        blocks: list[tuple[int, int]] = []
        while position < self.words and len(blocks) < BLOCKS:
            blocks.append((position, self._block_end(position)))
            position = blocks[-1][1]
        sums = self._together(epoch, blocks) if self.settings.deterministic or self.anchored else self._apart(epoch, blocks)
        return Step(epoch * self.words + position, float(sums[0]), float(sums[1]), {"rate": self._rate(epoch * self.words + position)})

    def held_out(self, done: int) -> float | None:
        """The average loss per pair on sentences never trained on, with the same windows and noise in every run; None without such."""
        if not self.held:
            return None
        ids, offsets = _held_sentences(self.corpus, self.held)
        stream, sums, key = np.empty((4, len(ids) + SPARE + self.settings.window), np.int32), np.zeros(2), draw.key_of(0, 0)
        kept = sgns_cpu.thin(ids, offsets, 0, len(ids), 0, 0, key, self.keep, self.settings.window, stream)
        self._kernel(stream, kept, np.array([0.0, 0.0, self.settings.negatives / self.shared]), sums)
        return float(sums[0] / max(sums[1], 1))

    def vectors(self, corpus: Corpus) -> Vectors:
        """What was learned so far."""
        table, contexts = (np.ascontiguousarray(each[:, : self.settings.dim]) for each in self.arrays.values())
        notes = ()
        if self.settings.workers > 1 and not (self.settings.deterministic or self.anchored) and self.settings.loss == "sampled":
            notes = (f"{self.settings.workers} workers without locks: another run gives slightly different numbers.",)
        vocabulary = corpus.vocabulary
        return Vectors(vocabulary.words, table, vocabulary.counts, Card(notes=notes), contexts)

    def _apart(self, epoch: int, blocks: list[tuple[int, int]]) -> np.ndarray:
        """Each worker takes its share of the blocks; the tables are everyone's."""
        workers = min(self.settings.workers, len(blocks)) if self.settings.loss == "sampled" else 1

        def work(me: int) -> np.ndarray:
            stream, sums = self._stream(), np.zeros(2)
            for start, stop in blocks[me::workers]:
                kept = self._thin(epoch, start, stop, stream)
                self._kernel(stream, kept, self._pace(epoch, start, stop), sums)
            return sums

        return sum(_in_threads(work, workers), np.zeros(2))

    def _together(self, epoch: int, blocks: list[tuple[int, int]]) -> np.ndarray:
        """All workers on one block, in rounds; more of them than cores would only wait for each other."""
        if self.settings.loss == "softmax":
            return self._apart(epoch, blocks)
        workers = min(self.settings.workers, os.cpu_count() or 1)
        shares = round_share(self.corpus.vocabulary.counts, self.keep, sgns_cpu.ROUND * self.tile)
        shares[: self.anchored] = 0
        tables = (*self.arrays.values(), *sgns_cpu.rounds_room(self.arrays["table"].shape[1], self._sizes), shares)
        flags, streams = np.zeros((len(blocks), 8), np.int64), [self._stream() for _ in blocks]

        def thin(me: int) -> np.ndarray:
            return np.array([self._thin(epoch, *blocks[n], streams[n]) for n in range(me, len(blocks), workers)])

        def work(me: int) -> np.ndarray:
            sums = np.zeros(2)
            for n, (start, stop) in enumerate(blocks):
                pace = self._pace(epoch, start, stop)
                sgns_cpu.train_rounds(streams[n], kept[n], tables, self.noise, pace, self._sizes, sums, (flags[n], me, workers))
            return sums

        kept = np.empty(len(blocks), np.int64)
        for me, found in enumerate(_in_threads(thin, workers)):
            kept[me::workers] = found
        return sum(_in_threads(work, workers), np.zeros(2))

    def _kernel(self, stream: np.ndarray, kept: int, pace: np.ndarray, sums: np.ndarray) -> None:
        table, contexts = self.arrays["table"], self.arrays["contexts"]
        if self.settings.loss == "softmax":
            softmax_cpu.softmax(stream, kept, table, contexts, pace, self.objective, sums)
        else:
            sgns_cpu.train(stream, kept, table, contexts, self.noise, pace, self._sizes, sums)

    @property
    def _sizes(self) -> tuple[int, int, int, int]:
        return self.objective, self.tile, self.shared, self.settings.window

    def _stream(self) -> np.ndarray:
        return np.empty((4, BLOCK + SPARE + self.settings.window), np.int32)

    def _thin(self, epoch: int, start: int, stop: int, stream: np.ndarray) -> int:
        offsets, key = self.corpus.offsets, draw.key_of(self.settings.seed, epoch + 1)
        sentence = int(np.searchsorted(offsets, start, "right")) - 1
        return sgns_cpu.thin(self.corpus.ids, offsets, start, stop, sentence, self.held, key, self.keep, self.settings.window, stream)

    def _pace(self, epoch: int, start: int, stop: int) -> np.ndarray:
        passed = epoch * self.words
        return np.array([self._rate(passed + start), self._rate(passed + stop), self.settings.negatives / self.shared])

    def _rate(self, done: int) -> float:
        return self.settings.rate * max(1 - done / self.total, FLOOR)

    def _block_end(self, start: int) -> int:
        """The last end of a sentence within BLOCK words; a longer sentence is cut."""
        offsets = self.corpus.offsets
        end = int(offsets[np.searchsorted(offsets, start + BLOCK, "right") - 1])
        return end if end > start else min(start + BLOCK, self.words)


def keep_share(counts: np.ndarray, threshold: float | None) -> np.ndarray:
    """How many of a word's tokens are read: all of a rare word, fewer of a frequent one, as word2vec does it."""
    if threshold == 0:
        return np.ones(len(counts))
    threshold = max(1e-4, 1 / len(counts)) if threshold is None else threshold
    share = np.maximum(counts, 1) / counts.sum()
    return np.minimum(1, (np.sqrt(share / threshold) + 1) * threshold / share)


def round_share(counts: np.ndarray, keep: np.ndarray, size: int) -> np.ndarray:
    """How much of its changes a word takes in a round of `size` words: all, but less where so many add up that they would overshoot."""
    read = counts * (keep / 0xFFFFFFFF)
    return np.minimum(1, CAP * read.sum() / np.maximum(read * size, 1e-9)).astype(np.float32)


def _in_threads(work, workers: int) -> list[np.ndarray]:
    if workers == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(workers)))


def _held_sentences(corpus: Corpus, held: int) -> tuple[Ids, Offsets]:
    chosen = range(held - 1, len(corpus.offsets) - 1, held)
    parts = [corpus.ids[corpus.offsets[n] : corpus.offsets[n + 1]] for n in chosen]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.concatenate(parts), offsets
