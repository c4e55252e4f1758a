"""PPMI: co-occurrence counts, positive pointwise mutual information, truncated SVD.

Two words are alike when they keep the same company. Count which words meet, ask of each pair how much more
often it meets than chance would have it, and keep the directions in which those answers vary most.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from inlaid.config import Count, Fraction, Positive, Range, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError, SourceError
from inlaid.feed.cooccurrence import MEMORY, Cells, cooccurrence
from inlaid.kernels.cooccurrence import cpu
from inlaid.report import Progress, Report, silent
from inlaid.vectors import Vectors

DENSE = 1000
"""Vocabularies up to this size are decomposed exactly, larger ones by random projection."""
SPARE = 20
ROUNDS = 5
"""Directions beyond `dim`, and power iterations: enough for the singular values of real text to agree to a
thousandth."""


@dataclass(frozen=True, kw_only=True)
class PPMI:
    """How much more often words meet than chance would have it, squeezed into `dim` numbers a word."""

    dim: Positive = 100
    """Numbers a word gets."""
    window: Positive | None = 5
    """Words on each side that count as contexts; None takes the whole sentence."""
    smoothing: Fraction = 0.75
    """Power on context counts; below 1 it tames rare contexts."""
    shift: Annotated[float, Range(1)] = 1.0
    """Subtract the log of this from every PMI; k acts like k negative samples."""
    singular_exponent: Fraction = 0.5
    """Power on the singular values; 0 weighs all directions alike."""
    workers: Positive = 1
    """Threads; the result is the same for any number."""
    memory: Positive = MEMORY
    """MB that counting may take; beyond it temporary files are used."""
    seed: Count = 1
    """Chooses the random projection of large vocabularies."""

    def __post_init__(self) -> None:
        check(self)

    def fit(self, corpus: Corpus, report: Report = silent) -> Vectors:
        size = len(corpus.vocabulary)
        if self.dim > size:
            raise SettingError(
                f"dim is {self.dim}, but {size} words can fill at most {size}. Lower dim, or bring more text."
            )
        cells = cooccurrence(
            corpus, window=self.window, workers=self.workers, memory=self.memory, report=report
        )
        if not len(cells):
            raise SourceError(
                "No two words meet: every sentence is one word. Put each sentence, not each word, on a line."
            )
        table = self._dense(cells) if size <= DENSE else self._sparse(cells, report)
        return Vectors(corpus.vocabulary.words, table, corpus.vocabulary.counts)

    def _dense(self, cells: Cells) -> np.ndarray:
        forward, _ = self._associations(cells)
        left, strength, _ = np.linalg.svd(Cells(cells.starts, cells.columns, forward).dense())
        return self._rows(left, strength)

    def _sparse(self, cells: Cells, report: Report) -> np.ndarray:
        """Halko, Martinsson and Tropp 2011, algorithm 4.4: the matrix is only ever multiplied with."""
        forward, backward = (_above_zero(cells, values) for values in self._associations(cells))
        random = np.random.Generator(np.random.Philox(self.seed))
        basis = random.standard_normal((cells.size, min(self.dim + SPARE, cells.size)), np.float32)
        for round in range(ROUNDS):
            basis = _orthonormal(self._times(forward, basis))
            basis = _orthonormal(self._times(backward, basis))
            report(Progress("decomposing", round + 1, ROUNDS, "rounds"))
        basis = _orthonormal(self._times(forward, basis))
        small = self._times(backward, basis)
        left, strength, _ = np.linalg.svd(small.T, full_matrices=False)
        return self._rows(basis @ left, strength)

    def _associations(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Positive PMI of each cell, and the same matrix turned over (smoothing makes it lopsided)."""
        sums = cells.sums()
        with np.errstate(
            divide="ignore"
        ):  # a word that meets no other has no cells, so its -inf is never read
            word = np.log(sums / sums.sum())
            context = np.log(sums**self.smoothing / (sums**self.smoothing).sum())
        least = float(np.log(sums.sum() * self.shift))

        def values(word: np.ndarray, context: np.ndarray) -> np.ndarray:
            values = np.empty(len(cells), np.float32)
            self._share(
                cells.starts,
                cpu.ppmi_values,
                (cells.starts, cells.columns, cells.counts, word, context, least),
                values,
            )
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
