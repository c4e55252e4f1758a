"""GloVe: vectors whose products are the logarithms of co-occurrence counts.

How often two words meet is a number; ask of their vectors that word . context + bias + bias be its logarithm.
Frequent cells weigh more than rare ones, up to a bound, and the squared errors are made small by AdaGrad
(Pennington, Socher and Manning 2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.feed.cooccurrence import MEMORY, Cells, cooccurrence
from inlaid.feed.tiles import Tile, Tiles, shared, tiles
from inlaid.jobs.run import Step, carry
from inlaid.kernels.glove import cpu
from inlaid.report import Report, silent
from inlaid.vectors import Vectors

LINE = 16
"""Numbers in a cache line; a row is padded to whole lines."""
HUGE = 1e38
"""The AdaGrad sum of a number that is not to be learned: divided by its root, every step is nothing."""
CACHED = 4_000_000
"""Bytes the rows of a tile may take, so that they stay in the cache while its cells are visited."""
FEWEST = 8
CELLS = 2000
"""Parts words are dealt into at least; and the cells a tile should have, or there are more tiles than
work."""
SMALL = 2000
UNSEEN = 20
"""Words of a vocabulary whose unseen pairs are learned from too, and how many of those there are at most for
each seen one."""
STEP = 2_000_000
"""Cells in a step, about: some tenths of a second."""


@dataclass(frozen=True, kw_only=True)
class GloVe:
    """Products of vectors learn the logarithms of co-occurrence counts. The same bits for any number of
    workers."""

    dim: Positive = 100
    """Numbers a word gets."""
    window: Positive = 10
    """Words on each side that count as contexts; one d words away counts 1/d."""
    x_max: Annotated[float, Range(1)] = 100.0
    """Counts from here on weigh the same."""
    alpha: Fraction = 0.75
    """Smaller counts weigh (count / x_max) to this power."""
    learning_rate: Annotated[float, Range(1e-6)] = 0.05
    """Size of the first steps; AdaGrad makes later ones smaller."""
    epochs: Positive = 50
    """Times every cell is visited."""
    zero_weight: Fraction = 0.05
    """In a vocabulary of at most 2,000 words, the weight of pairs that never meet; 0 leaves them out, as the
    original does."""
    combine: Literal["sum", "input"] = "sum"
    """A word's vector is the sum of its vectors as word and as context, or the first alone, with the second
    kept beside it."""
    memory: Positive = MEMORY
    """MB that counting, and then the cells, may take; beyond it temporary files are used."""
    workers: Positive = 1
    """Threads."""
    seed: Count = 1
    """Chooses the first vectors and the order of the cells."""

    def __post_init__(self) -> None:
        check(self)

    def fit(self, corpus: Corpus, report: Report = silent) -> Vectors:
        training = self.start(corpus, report)
        carry(training, report)
        return training.vectors(corpus)

    def start(self, corpus: Corpus, report: Report = silent) -> Training:
        """Count, sort the cells into tiles, and make the first vectors."""
        cells = cooccurrence(
            corpus, window=self.window, decay=True, workers=self.workers, memory=self.memory, report=report
        )
        if not len(cells):
            raise SourceError(
                "No two words meet: every sentence is one word. Put each sentence, not each word, on a line."
            )
        if self.zero_weight and cells.size <= SMALL:
            cells = _with_unseen(cells, float(self.zero_weight), self.seed)
        parts = _parts(cells.size, len(cells), _width(self.dim))
        made = tiles(
            cells,
            parts=parts,
            x_max=float(self.x_max),
            alpha=float(self.alpha),
            seed=self.seed,
            workers=self.workers,
            memory=self.memory,
        )
        return Training(self, made, cells.size)

    def memory_for(self, corpus: Corpus) -> int:
        return 4 * len(corpus.vocabulary) * _width(self.dim) * 4


class Training:
    """Steps over tiles. `arrays` is all that changes; a step is a function of them, the settings, the tiles
    and `done`."""

    unit = "cells"

    def __init__(self, settings: GloVe, tiles: Tiles, size: int) -> None:
        self.settings = settings
        self.tiles = tiles
        self.total = settings.epochs * len(tiles)
        self.arrays = _first_rows(size, settings.dim, settings.seed)
        # What vectors of zeros would be charged. Worse than knowing nothing is a run that has gone wrong.
        self.nothing = max(float(np.mean(tiles.numbers[:, 3] * tiles.numbers[:, 2] ** 2)), 1e-3)

    def step(self, done: int) -> Step:
        """The next rounds from `done` cells on, about STEP cells, never beyond the epoch."""
        epoch, inside = divmod(done, len(self.tiles))
        passed = visited = 0
        loss = 0.0
        for round in self.tiles.epoch(epoch):
            size = sum(tile.stop - tile.start for tile in round)
            passed += size
            if passed <= inside:
                continue
            loss += math.fsum(shared(self.settings.workers, round, self._visit))
            visited += size
            if visited >= STEP:
                break
        if not loss / visited <= 10 * self.nothing:  # also true of NaN
            loss = math.inf  # worse than knowing nothing: whoever carries the work through stops it here
        return Step(done + visited, loss, float(visited), {"epoch": float(epoch + 1)})

    def held_out(self, done: int) -> float | None:
        """Cells are counts of the whole text; none are set apart."""
        return None

    def vectors(self, corpus: Corpus) -> Vectors:
        dim = self.settings.dim
        words, contexts = (
            np.ascontiguousarray(self.arrays[name][:, 0, :dim]) for name in ("words", "contexts")
        )
        if self.settings.combine == "sum":
            return Vectors(corpus.vocabulary.words, words + contexts, corpus.vocabulary.counts)
        return Vectors(corpus.vocabulary.words, words, corpus.vocabulary.counts, contexts=contexts)

    def _visit(self, tile: Tile) -> float:
        if tile.start == tile.stop:
            return 0.0
        places = self.tiles.places[tile.start : tile.stop]
        numbers = self.tiles.numbers[tile.start : tile.stop]
        rate = np.float32(self.settings.learning_rate)
        return cpu.glove_tile(
            self.arrays["words"], self.arrays["contexts"], places, numbers, tile.first, tile.stride, rate
        )


def _with_unseen(cells: Cells, weight: float, seed: int) -> Cells:
    """The cells, and pairs that never meet, drawn at random; those have minus their weight for a count.

    A small vocabulary says most by what it never says, and counts leave that out. In a large one nearly all
    pairs are unseen, mostly because the text is short, and there are too many to visit.
    """
    table = cells.dense()
    zeros = table == 0
    random = np.random.Generator(np.random.Philox(seed))
    share = min(1.0, UNSEEN * len(cells) / max(int(zeros.sum()), 1))
    table[zeros & (random.random(table.shape) < share)] = -weight
    rows, columns = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cells.size))])
    return Cells(starts, columns.astype(np.int32), table[rows, columns])


def _width(dim: int) -> int:
    """Numbers in one side of a row: the vector, its bias and the constant 1, in whole cache lines."""
    return -(-(dim + 2) // LINE) * LINE


def _parts(size: int, cells: int, width: int) -> int:
    """Parts to deal the words into. The number of workers has no say in it, nor then in the result."""
    to_fit = math.ceil(2 * size * width * 8 / CACHED)
    return min(max(to_fit, FEWEST), max(math.isqrt(cells // CELLS), 1), size)


def _first_rows(size: int, dim: int, seed: int) -> dict[str, np.ndarray]:
    """Small random vectors and biases, both sides of every row as in cpu."""
    random = np.random.Generator(np.random.Philox(seed))
    arrays = {name: _on_lines((size, 2, _width(dim))) for name in ("words", "contexts")}
    for (bias, one), rows in zip(((dim, dim + 1), (dim + 1, dim)), arrays.values(), strict=True):
        rows[:, 0] = 0
        rows[:, 1] = 1
        first = (random.random((size, dim + 1), np.float32) - np.float32(0.5)) / np.float32(dim)
        rows[:, 0, :dim] = first[:, :dim]
        rows[:, 0, bias] = first[:, dim]
        rows[:, 0, one] = 1
        rows[:, 1, one] = HUGE
    return arrays


def _on_lines(shape: tuple[int, ...]) -> np.ndarray:
    """An array that starts on a cache line, or a row would take one line more."""
    raw = np.empty(math.prod(shape) + LINE, np.float32)
    start = -raw.ctypes.data % 64 // 4
    return raw[start : start + math.prod(shape)].reshape(shape)
