"""PPMI: co-occurrence counts, positive pointwise mutual information, truncated SVD.

Words with similar contexts get similar vectors. Count which words occur together, take the positive
pointwise mutual information of each pair, and keep the directions of largest variance (Levy, Goldberg and
Dagan 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from inlaid.blas import blas_threads
from inlaid.config import MAX_DIM, Fraction, Positive, Range, Seed, Window, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.feed.cooccurrence import MEMORY, Cells, cooccurrence
from inlaid.feed.pairs import need_pairs
from inlaid.jobs.training import Abilities, OneStep
from inlaid.kernels.cooccurrence import cpu
from inlaid.report import Progress, Report, silent
from inlaid.vectors import Vectors

DENSE = 1000
"""Vocabularies up to this size are decomposed exactly, larger ones by random projection."""
OVERSAMPLES = 20
POWER_ITERATIONS = 5
"""Directions beyond `dim`, and power iterations: enough for the singular values of real text to agree to a
thousandth."""


@dataclass(frozen=True, kw_only=True)
class PPMI:
    """Positive pointwise mutual information of words and contexts, reduced to `dim` dimensions by SVD."""

    abilities: ClassVar = Abilities(counts=True)

    dim: Annotated[int, Range(1, MAX_DIM)] = 100
    """Vector dimension."""
    window: Window | None = 5
    """Context words on each side of a center; None takes the whole sentence."""
    smoothing: Fraction = 0.75
    """Context distribution smoothing: exponent of context counts; below 1, rare contexts get lower PMI."""
    shift: Annotated[float, Range(1)] = 1.0
    """Shifted PPMI: the log of this is subtracted from every PMI; k corresponds to k negative samples."""
    singular_exponent: Fraction = 0.5
    """Exponent of the singular values (eigenvalue weighting); 0 gives all directions the same weight."""
    workers: Positive = 1
    """Threads; the result is the same for any number."""
    memory: Positive = MEMORY
    """Memory for counting in MB; beyond it temporary files are used."""
    seed: Seed = 1
    """Seed of the random projection for large vocabularies."""

    def __post_init__(self) -> None:
        check(self)

    def start(self, data: Corpus, report: Report = silent) -> OneStep:
        size = len(data.vocabulary)
        if self.dim > size:
            raise SettingError(
                "dim is {dim}, but {size} words have at most {size} dimensions. Lower dim, or add more text.",
                dim=self.dim,
                size=size,
            )
        need_pairs(data)
        cells = cooccurrence(
            data, window=self.window, workers=self.workers, memory=self.memory, report=report
        )
        associated = np.zeros((cells.size, 1), np.float32)

        def compute() -> Vectors:
            with blas_threads(self.workers):
                table = (
                    self._dense(cells, associated)
                    if cells.size <= DENSE
                    else self._sparse(cells, associated, report)
                )
            table[associated[:, 0] == 0] = 0  # of rounding alone, their direction would be any
            return Vectors(data.vocabulary.words, table, data.vocabulary.counts)

        return PPMITraining(compute, cells, associated)

    def memory_for(self, data: Corpus) -> int:
        size = len(data.vocabulary)
        if size <= DENSE:
            return size * size * 8
        return 4 * size * (self.dim + OVERSAMPLES) * 4

    def _dense(self, cells: Cells, associated: np.ndarray) -> np.ndarray:
        forward, _ = self._associations(cells)
        matrix = Cells(cells.starts, cells.columns, forward).dense()
        associated[:, 0] = (matrix > 0).sum(axis=1)
        left, strength, _ = np.linalg.svd(matrix)
        return self._rows(left, strength)

    def _sparse(self, cells: Cells, associated: np.ndarray, report: Report) -> np.ndarray:
        """Halko, Martinsson and Tropp 2011, algorithm 4.4: the matrix is only ever multiplied with."""
        forward, backward = (_above_zero(cells, values) for values in self._associations(cells))
        associated[:, 0] = np.diff(forward.starts)
        random = np.random.Generator(np.random.Philox(self.seed))
        basis = random.standard_normal((cells.size, min(self.dim + OVERSAMPLES, cells.size)), np.float32)
        for iteration in range(POWER_ITERATIONS):
            basis = _orthonormal(self._times(forward, basis))
            basis = _orthonormal(self._times(backward, basis))
            report(Progress("decomposing", iteration + 1, POWER_ITERATIONS, "iterations"))
        basis = _orthonormal(self._times(forward, basis))
        small = self._times(backward, basis)
        left, strength, _ = np.linalg.svd(small.T, full_matrices=False)
        return self._rows(basis @ left, strength)

    def _associations(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Positive PMI of each cell, and of its transpose (smoothing makes the matrix asymmetric)."""
        sums = cells.sums()
        with np.errstate(divide="ignore"):
            # a word that co-occurs with no other has no cells, so its -inf is never read
            word = np.log(sums / sums.sum())
            context = np.log(sums**self.smoothing / (sums**self.smoothing).sum())
        shifted_total = float(np.log(sums.sum() * self.shift))
        counted = cpu.CountedCells(cells.starts, cells.columns, cells.counts)

        def values(word: np.ndarray, context: np.ndarray) -> np.ndarray:
            values = np.empty(len(cells), np.float32)
            logs = cpu.LogProbabilities(word, context, shifted_total)
            self._share(cells.starts, cpu.ppmi_values, (counted, logs), values)
            return values

        return values(word, context), values(context, word)

    def _times(self, matrix: Matrix, dense: np.ndarray) -> np.ndarray:
        out = np.empty_like(dense)
        self._share(
            matrix.starts,
            cpu.sparse_times_dense,
            (matrix.starts, matrix.columns, matrix.values, dense),
            out,
        )
        return out

    def _share(
        self, starts: np.ndarray, kernel: Callable[..., None], given: tuple[Any, ...], out: np.ndarray
    ) -> None:
        """Call kernel(*given, first row, last row, out) for all rows, in threads; each row is one thread's,
        so the bits are the same."""
        # Rows are shared out by the work in them, not by their number: frequent words have long rows.
        cuts = np.searchsorted(starts, np.linspace(0, starts[-1], 8 * self.workers + 1))
        cuts[0] = 0
        cuts[-1] = len(starts) - 1
        with ThreadPoolExecutor(self.workers) as pool:
            for each in [
                pool.submit(kernel, *given, first, last, out) for first, last in pairwise(cuts.tolist())
            ]:
                each.result()

    def _rows(self, left: np.ndarray, strength: np.ndarray) -> np.ndarray:
        left = left[:, : self.dim]
        strength = strength[: self.dim]
        largest = np.abs(left).argmax(
            axis=0
        )  # a singular vector's sign is arbitrary: make its largest entry positive
        signs = np.sign(left[largest, np.arange(left.shape[1])])
        return np.ascontiguousarray(left * signs * strength**self.singular_exponent, np.float32)


class PPMITraining(OneStep):
    """The one step of PPMI. A word none of whose pairs has a positive PMI has a zero vector."""

    def __init__(self, compute: Callable[[], Vectors], cells: Cells, associated: np.ndarray) -> None:
        super().__init__(compute, data_bytes=cells.nbytes)
        self.cells = cells
        self.associated = associated
        """(words, 1): pairs of each word with a positive PMI, once they are computed."""

    def rows(self) -> dict[str, np.ndarray]:
        return {"associated": self.associated}

    def examples_of(self, words: np.ndarray, done: int, enough: int) -> np.ndarray:
        """Cells of each word."""
        return np.diff(self.cells.starts)[words]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A sparse matrix: row r holds columns[starts[r]:starts[r+1]] and values likewise."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def _above_zero(cells: Cells, values: np.ndarray) -> Matrix:
    """The cells whose value is not zero; `values` is used up."""
    starts = np.empty_like(cells.starts)
    columns = np.empty(len(cells) + 1, np.int32)
    cpu.drop_zeros(cells.starts, cells.columns, values, starts, columns)
    return Matrix(starts, columns[: starts[-1]].copy(), values[: starts[-1]].copy())


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    return np.linalg.qr(columns)[0]
