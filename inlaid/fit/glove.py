"""GloVe: vectors whose dot products are the logarithms of co-occurrence counts.

For a word and a context, word . context + bias + bias should be the logarithm of their co-occurrence count.
Frequent pairs have larger weights than rare ones, up to a bound. The weighted squared error is minimised by
AdaGrad (Pennington, Socher and Manning 2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from inlaid.config import MAX_DIM, Epochs, Fraction, Positive, Range, Seed, Window, check
from inlaid.encode.corpus import Corpus
from inlaid.encode.vocabulary import Vocabulary
from inlaid.feed.cooccurrence import MEMORY, Cells, cooccurrence
from inlaid.feed.pairs import need_pairs
from inlaid.feed.tiles import Tile, Tiles, shared, tiles
from inlaid.jobs.init_from import context_table
from inlaid.jobs.state import State
from inlaid.jobs.training import Abilities, Step
from inlaid.kernels.glove import cpu
from inlaid.report import Report, silent
from inlaid.vectors import Vectors

LINE = 16
"""Floats in a cache line; a row is padded to whole lines."""
HUGE = 1e38
"""The AdaGrad sum of a value that does not learn: its root divides every step down to nothing."""
CACHE = 4_000_000
"""Bytes that the rows of a tile may take, so that they stay in the cache while its cells are visited."""
MIN_PARTS = 8
"""Parts that the vocabulary is split into, at least."""
MIN_CELLS = 2000
"""Cells that a tile should have, at least: smaller tiles cost more than the work in them."""
SMALL = 2000
"""Size of a vocabulary up to which pairs that never co-occur are learned from too."""
MAX_ZEROS = 20
"""How many of those pairs there are, at most, for each pair that occurs."""
STEP = 2_000_000
"""Cells in a step, about: some tenths of a second."""


@dataclass(frozen=True, kw_only=True)
class GloVe:
    """Dot products of vectors fit the logarithms of co-occurrence counts.

    The result is bit-identical for any number of workers.
    """

    abilities: ClassVar = Abilities(steps=True, init_from=True, freeze=True, counts=True)

    dim: Annotated[int, Range(1, MAX_DIM)] = 100
    """Vector dimension."""
    window: Window = 10
    """Context words on each side of a center; a context d words away counts 1/d."""
    x_max: Annotated[float, Range(1, 1e9)] = 100.0
    """Co-occurrence count from which all pairs have the same weight."""
    alpha: Fraction = 0.75
    """Exponent of the weighting: smaller counts have the weight (count / x_max) ** alpha."""
    learning_rate: Annotated[float, Range(1e-6)] = 0.05
    """Initial learning rate; AdaGrad lowers it for each parameter."""
    epochs: Epochs = 50
    """Passes over all co-occurrence counts."""
    zero_weight: Fraction = 0.05
    """Weight of pairs that never co-occur, in a vocabulary of at most 2,000 words; 0 leaves them out, as the
    original does."""
    combine: Literal["sum", "input"] = "sum"
    """A word's vector is the sum of its word and context vectors, or the word vector alone, with the context
    vectors kept beside it."""
    memory: Positive = MEMORY
    """Memory for counting, and then for the counts, in MB; beyond it temporary files are used."""
    workers: Positive = 1
    """Threads."""
    seed: Seed = 1
    """Seed of the initial vectors and of the order of the counts."""

    def __post_init__(self) -> None:
        check(self)

    def start(self, data: Corpus, report: Report = silent) -> GloVeTraining:
        """Count co-occurrences, sort the counts into tiles, and initialise the vectors."""
        need_pairs(data)
        cells = cooccurrence(
            data, window=self.window, decay=True, workers=self.workers, memory=self.memory, report=report
        )
        if self.zero_weight and cells.size <= SMALL:
            cells = _with_zeros(cells, float(self.zero_weight), self.seed)
        made = tiles(
            cells,
            parts=_parts(cells.size, len(cells), _width(self.dim)),
            x_max=float(self.x_max),
            alpha=float(self.alpha),
            seed=self.seed,
            workers=self.workers,
            memory=self.memory,
        )
        return GloVeTraining(self, made, data.vocabulary)

    def memory_for(self, data: Corpus) -> int:
        return 4 * len(data.vocabulary) * _width(self.dim) * 4


class GloVeTraining:
    """Steps of AdaGrad over tiles of co-occurrence counts."""

    unit = "cells"

    def __init__(self, settings: GloVe, tiles: Tiles, vocabulary: Vocabulary) -> None:
        self.settings = settings
        self.tiles = tiles
        self.vocabulary = vocabulary
        self.total = settings.epochs * len(tiles)
        self.state = State(_first_rows(len(vocabulary), settings.dim, settings.seed))
        self.data_bytes = tiles.values.nbytes
        self.frozen: dict[str, np.ndarray] = {}
        """Vectors of the first words that never change."""
        # The loss of zero vectors. A run that is worse than that has diverged.
        errors = tiles.values[:, cpu.WEIGHT] * tiles.values[:, cpu.LOG_COUNT] ** 2
        self.zero_loss = max(float(np.mean(errors)), 1e-3)

    def init_from(self, vectors: Vectors, *, freeze: bool, report: Report = silent) -> None:
        """Start from earlier vectors; biases start from zero and always learn."""
        size = len(vectors)
        dim = self.settings.dim
        if self.settings.combine == "sum":  # half and half: the sum is the earlier vector, to the bit
            tables = {"words": vectors.table / 2, "contexts": vectors.table / 2}
        else:
            contexts = context_table(vectors, freeze=freeze, report=report)
            tables = {
                "words": vectors.table,
                "contexts": np.zeros_like(vectors.table) if contexts is None else contexts,
            }
        for name, rows in tables.items():
            self.state[name][:size, 0, :dim] = rows
            if freeze:
                self.state[name][:size, 1, :dim] = HUGE
                self.frozen[name] = np.array(rows, np.float32)

    def step(self, done: int) -> Step:
        """The next tiles after `done` cells, about STEP cells, never beyond the epoch."""
        epoch, inside = divmod(done, len(self.tiles))
        passed = visited = 0
        loss = 0.0
        for stratum in self.tiles.epoch(epoch):
            size = sum(tile.stop - tile.start for tile in stratum)
            passed += size
            if passed <= inside:
                continue
            loss += math.fsum(shared(self.settings.workers, stratum, self._visit))
            visited += size
            if visited >= STEP:
                break
        for name, rows in self.frozen.items():
            # Even divided by the root of HUGE, a step moves a value that is exactly zero: put it back.
            self.state[name][: len(rows), 0, : self.settings.dim] = rows
        if not loss / visited <= 10 * self.zero_loss:  # also true of NaN
            loss = math.inf  # the training loop stops here
        return Step(done + visited, loss, float(visited), {"epoch": float(epoch + 1)})

    def rows(self) -> dict[str, np.ndarray]:
        """The vectors of the words and of the contexts, without biases and AdaGrad sums."""
        return {name: self.state[name][:, 0, : self.settings.dim] for name in ("words", "contexts")}

    def examples_of(self, words: np.ndarray, done: int, enough: int) -> np.ndarray:
        """Cells of each word that were visited; those of an epoch that did not end are not counted."""
        cells = np.bincount(self.tiles.places[:, 0], minlength=len(self.vocabulary))[words]
        return np.minimum(cells * (done // len(self.tiles)), enough)

    def held_out_loss(self) -> float | None:
        """Counts are those of the whole text; none is held out."""
        return None

    def result(self) -> Vectors:
        """The vectors learned so far."""
        dim = self.settings.dim
        words = np.ascontiguousarray(self.state["words"][:, 0, :dim])
        contexts = np.ascontiguousarray(self.state["contexts"][:, 0, :dim])
        if self.settings.combine == "sum":
            return Vectors(self.vocabulary.words, words + contexts, self.vocabulary.counts)
        return Vectors(self.vocabulary.words, words, self.vocabulary.counts, contexts=contexts)

    def _visit(self, tile: Tile) -> float:
        if tile.start == tile.stop:
            return 0.0
        return cpu.glove_tile(
            self.state["words"],
            self.state["contexts"],
            self.tiles.places[tile.start : tile.stop],
            self.tiles.values[tile.start : tile.stop],
            tile.first,
            tile.stride,
            np.float32(self.settings.learning_rate),
        )


def _with_zeros(cells: Cells, weight: float, seed: int) -> Cells:
    """The cells, and a random sample of pairs that never co-occur, with minus their weight as the count.

    In a small vocabulary those pairs carry information that the counts leave out. In a large one nearly all
    pairs are zero, mostly because the text is short, and there are too many to visit.
    """
    table = cells.dense()
    zeros = table == 0
    random = np.random.Generator(np.random.Philox(seed))
    share = min(1.0, MAX_ZEROS * len(cells) / max(int(zeros.sum()), 1))
    table[zeros & (random.random(table.shape) < share)] = -weight
    rows, columns = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cells.size))])
    return Cells(starts, columns.astype(np.int32), table[rows, columns])


def _width(dim: int) -> int:
    """Floats in one side of a row: the vector, its bias and the constant 1, in whole cache lines."""
    return -(-(dim + 2) // LINE) * LINE


def _parts(size: int, cells: int, width: int) -> int:
    """Parts to split the vocabulary into. It must not depend on the workers, or the result would."""
    to_fit = math.ceil(2 * size * width * 8 / CACHE)
    return min(max(to_fit, MIN_PARTS), max(math.isqrt(cells // MIN_CELLS), 1), size)


def _first_rows(size: int, dim: int, seed: int) -> dict[str, np.ndarray]:
    """Small random vectors and biases; the layout of a row is that of kernels/glove/cpu.py."""
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
    """An array that starts on a cache line; otherwise every row would touch one line more."""
    raw = np.empty(math.prod(shape) + LINE, np.float32)
    start = -raw.ctypes.data % 64 // 4
    return raw[start : start + math.prod(shape)].reshape(shape)
