"""Blocks of words that a predictive method reads: thinned to a stream, with noise to draw from and a rate
that falls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.kernels import random as draw
from inlaid.kernels.sgns import cpu as sgns_cpu
from inlaid.kernels.sgns.cpu import SPARE
from inlaid.shapes import Ids, Offsets

BLOCK = 1 << 16
BLOCKS = 8
"""Words that are thinned at once, so that they stay in the cache; blocks in a step, a fraction of a second of
work."""
CALM = 0.025
"""The rate at which the fewest negatives will do."""
SHARED = 16
"""Negatives that are shared at a higher rate, for each time that it is as high."""
FLOOR = 1e-4
"""The rate falls from its start to this part of it."""
HELD = 200
MOST_HELD = 2000
LEAST_HELD = 100
"""One sentence in so many is set apart to measure on, but no more than so many, and none where that makes too
few."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Words start to stop of the text, read in this epoch."""

    epoch: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks:
    """A text as `epochs` passes over it meet it; everything is a function of the settings and of where we
    are."""

    corpus: Corpus
    window: int
    negatives: int
    subsample: float | None
    noise_exponent: float
    learning_rate: float
    epochs: int
    seed: int
    shared_least: int = SHARED
    shared_most: int = 64
    """Negatives that the words of a tile share at a low rate, and at most. What chance adds to a step grows
    with the rate, and falls with their number: at rate 0.05 analogies of skip-gram are .02 higher with 32
    than with 16, at 0.025 they are the same."""

    def __post_init__(self) -> None:
        offsets = self.corpus.offsets
        if (np.diff(offsets[:1_000_000]) < 2).all() and len(offsets) <= 1_000_000:
            raise SourceError(
                "No two words meet: every sentence is one word. Put each sentence, not each word, on a line."
            )

    @property
    def words(self) -> int:
        return len(self.corpus.ids)

    @property
    def total(self) -> int:
        return self.words * self.epochs

    @property
    def shared(self) -> int:
        """Noise words of a tile: at least as many as a pair would have, and more at a higher rate."""
        times = round(self.learning_rate / CALM)
        return max(self._asked_for, min(SHARED * times if times > 1 else self.shared_least, self.shared_most))

    @property
    def shared_to_measure(self) -> int:
        """Noise words of a tile that is only measured: the same at every rate, so that losses can be
        compared."""
        return max(self._asked_for, self.shared_most)

    @property
    def _asked_for(self) -> int:
        return -(-self.negatives // self.shared_least) * self.shared_least

    @cached_property
    def keep(self) -> np.ndarray:
        return (keep_share(self.corpus.vocabulary.counts, self.subsample) * 0xFFFFFFFF).astype(np.uint32)

    @cached_property
    def noise(self) -> np.ndarray:
        return draw.noise_table(self.corpus.vocabulary.counts**self.noise_exponent)

    @property
    def held(self) -> int:
        """Every so manieth sentence is never trained on; 0: all are."""
        sentences = len(self.corpus.offsets) - 1
        spacing = max(HELD, sentences // MOST_HELD)
        return spacing if sentences // spacing >= LEAST_HELD else 0

    def after(self, done: int) -> list[Block]:
        """The next few blocks after `done` words, all of one epoch."""
        epoch, start = divmod(done, self.words)
        blocks: list[Block] = []
        while start < self.words and len(blocks) < BLOCKS:
            blocks.append(Block(epoch=epoch, start=start, stop=self._end(start)))
            start = blocks[-1].stop
        return blocks

    def done(self, block: Block) -> int:
        """Words done at its end, over all epochs."""
        return block.epoch * self.words + block.stop

    def stream(self, words: int = 0) -> np.ndarray:
        """Room for a block, thinned."""
        return np.empty((4, max(words, min(BLOCK, self.words)) + SPARE + self.window), np.int32)

    def thin(self, block: Block, stream: np.ndarray) -> int:
        """Fill the stream with what is read of a block; returns how many words that is."""
        offsets = self.corpus.offsets
        key = draw.key_of(self.seed, block.epoch + 1)
        sentence = int(np.searchsorted(offsets, block.start, "right")) - 1
        return sgns_cpu.thin(
            self.corpus.ids,
            offsets,
            block.start,
            block.stop,
            sentence,
            self.held,
            key,
            self.keep,
            self.window,
            stream,
        )

    def thin_held(self) -> tuple[np.ndarray, int]:
        """A stream of the sentences set apart, with the same windows in every run, and how many words it
        has."""
        ids, offsets = _held_sentences(self.corpus, self.held)
        stream = self.stream(len(ids))
        key = draw.key_of(0, 0)
        return stream, sgns_cpu.thin(ids, offsets, 0, len(ids), 0, 0, key, self.keep, self.window, stream)

    def pace(self, block: Block) -> np.ndarray:
        """The rate at the first and the last word, and what a shared negative weighs."""
        passed = block.epoch * self.words
        return np.array(
            [
                self.rate_after(passed + block.start),
                self.rate_after(passed + block.stop),
                self.negatives / self.shared,
            ]
        )

    def rate_after(self, done: int) -> float:
        return self.learning_rate * max(1 - done / self.total, FLOOR)

    def _end(self, start: int) -> int:
        """The last end of a sentence within BLOCK words; a longer sentence is cut."""
        offsets = self.corpus.offsets
        end = int(offsets[np.searchsorted(offsets, start + BLOCK, "right") - 1])
        return end if end > start else min(start + BLOCK, self.words)


def keep_share(counts: np.ndarray, subsample: float | None) -> np.ndarray:
    """How many of a word's tokens are read: all of a rare word, fewer of a frequent one, as word2vec does
    it."""
    if subsample == 0:
        return np.ones(len(counts))
    subsample = max(1e-4, 1 / len(counts)) if subsample is None else subsample
    share = np.maximum(counts, 1) / counts.sum()
    return np.minimum(1, (np.sqrt(share / subsample) + 1) * subsample / share)


def in_threads(work: Callable[[int], np.ndarray], workers: int) -> list[np.ndarray]:
    """What each worker found, in their order."""
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
