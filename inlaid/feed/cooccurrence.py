"""Sparse co-occurrence counts, kept on disk when large.

Counting goes row by row. The positions of each word in the text are listed first; a row of the table is the
sum over the contexts of those positions, in an array with one number for each word. That array stays in the
cache, no pair is ever written, and rows can be shared among workers. A text too large for memory is counted
part by part: each part gives a run of rows, and the runs are added up at the end.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.files import Spool
from inlaid.kernels.cooccurrence import cpu
from inlaid.memory import available_memory
from inlaid.report import Progress, Report, silent

MEMORY = 4000
"""Megabytes that counting may use by default."""
SHARE = 0.5
"""Part of the memory that is available which counting takes at most, whatever it may use."""
PIECE = 1 << 22
"""Cells that one worker allocates at a time, at most; a single row may need more."""
FINEST = 1 << 32
"""Counts are kept as integers, in units of 1/n: n is such that every 1/d is whole, or this where that would
be more."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A symmetric sparse table of counts: row r holds columns[starts[r]:starts[r+1]], in rising order.

    What does not fit in memory is mapped from an unnamed file, which is deleted with the cells.
    """

    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.columns.nbytes + self.counts.nbytes

    def dense(self) -> np.ndarray:
        """The whole table with its zeros; for small vocabularies."""
        table = np.zeros((self.size, self.size))
        table[np.repeat(np.arange(self.size), np.diff(self.starts)), self.columns] = self.counts
        return table

    def sums(self) -> np.ndarray:
        """The sum of each row, which is also that of each column."""
        sums = np.empty(self.size)
        cpu.row_sums(self.starts, self.counts, sums)
        return sums


def cooccurrence(
    corpus: Corpus,
    *,
    window: int | None = 5,
    decay: bool = False,
    workers: int = 1,
    memory: int = MEMORY,
    report: Report = silent,
) -> Cells:
    """Count how often words occur together in a sentence, at most `window` apart (None: anywhere in it).

    With `decay`, a pair of distance d counts 1/d. Sums are of integers, so the result is the same for any
    number of workers and any `memory` (about, in MB; beyond it temporary files are used).
    """
    if decay and window is None:
        raise SettingError("decay needs a window: with the whole sentence as window, distance means nothing.")
    longest = int(np.diff(corpus.offsets).max(initial=0))
    widest = longest if window is None else min(window, longest)
    weights, unit = _weights(widest, decay)
    bytes_to_use = min(memory * 1_000_000, int(available_memory() * SHARE))
    counting = _Counting(corpus, weights, workers, bytes_to_use, report)
    for first, last in counting.parts():
        counting.count(first, last)
    starts, columns, sums = counting.merged()
    counts = sums.view(np.float64)  # converted in place: there may be no memory for a second array
    for start in range(0, len(sums), PIECE):
        counts[start : start + PIECE] = sums[start : start + PIECE] / unit
    return Cells(starts, columns, counts)


def _weights(widest: int, decay: bool) -> tuple[np.ndarray, int]:
    """The count of a pair by its distance, in units of 1/n, and n.

    Sums of integers do not depend on their order. Up to a window of 22 all 1/d are whole with n = lcm(1, ...,
    window); beyond that they are rounded to one part in 4 billion.
    """
    if not decay:
        return np.ones(widest + 1, np.int64), 1
    unit = min(math.lcm(*range(1, widest + 1)), FINEST)
    return np.array([0] + [round(unit / d) for d in range(1, widest + 1)], np.int64), unit


class _Counting:
    """Runs of rows, one for each part of the text; all runs are in the same two spools, one after another."""

    def __init__(
        self, corpus: Corpus, weights: np.ndarray, workers: int, memory: int, report: Report
    ) -> None:
        self.corpus = corpus
        self.weights = weights
        self.workers = workers
        self.report = report
        self.size = len(corpus.vocabulary)
        # A quarter of the memory holds the text of a part (8 bytes a token), a quarter what the workers fill,
        # half the cells.
        self.tokens = max(memory // 32, 1)
        self.piece = max(min(PIECE, memory // 4 // (24 * (workers + 1))), 1)
        self.memory = memory
        self.runs: list[np.ndarray] = []
        self.local = threading.local()
        self._start()

    def _start(self) -> None:
        self.columns = Spool(np.int32, keep=self.memory // 6, spill=True)
        self.sums = Spool(np.int64, keep=self.memory // 3, spill=True)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Sentences first..last of about as many tokens as memory allows; one sentence may be longer."""
        offsets = self.corpus.offsets
        most = min(self.tokens, 1 << 30)
        first = 0
        while first < len(offsets) - 1:
            fitting = int(np.searchsorted(offsets, offsets[first] + most, "right")) - 1
            last = max(first + 1, fitting)
            yield first, last
            first = last

    def count(self, first: int, last: int) -> None:
        """Add the run of sentences first..last."""
        self.corpus.refuse_changed()
        offsets = self.corpus.offsets
        ids = self.corpus.ids[offsets[first] : offsets[last]]
        starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=self.size))])
        found = cpu.Occurrences(
            text=np.empty(len(ids) + last - first + 1, np.int32),
            starts=starts,
            positions=np.empty(len(ids), np.int32),
        )
        bounds = offsets[first : last + 1] - offsets[first]
        cpu.find_occurrences(ids, bounds, starts[:-1].copy(), found)
        done = int(offsets[first])

        def fill(row: int, buffers: cpu.RowBuffers, lengths: np.ndarray) -> None:
            cpu.count_rows(found, self.weights, row, buffers, lengths)

        def report_row(row: int) -> None:
            self.report(Progress("counting", done + int(starts[row]), len(self.corpus.ids), "words"))

        most = np.diff(starts) * 2 * (len(self.weights) - 1)  # no row can have more cells
        self._run(most, fill, report_row)

    def merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, columns and sums of all runs added up."""
        if not self.runs:
            return np.zeros(self.size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        if len(self.runs) == 1:
            return self.runs[0], self.columns.whole(), self.sums.whole()
        runs = cpu.Runs(np.array(self.runs), self.columns.whole(), self.sums.whole())
        self._start()

        def fill(row: int, buffers: cpu.RowBuffers, lengths: np.ndarray) -> None:
            cpu.merge_rows(runs, row, buffers, lengths)

        def report_row(row: int) -> None:
            self.report(Progress("merging", row, self.size, "rows"))

        self._run(np.diff(runs.starts).sum(axis=0), fill, report_row)
        return self.runs[-1] - self.runs[-1][0], self.columns.whole(), self.sums.whole()

    def _run(self, most: np.ndarray, fill: Callable[..., None], report_row: Callable[[int], None]) -> None:
        """Fill all rows piece by piece and append them to the spools in order; `most`: cells of each row."""
        before = self.columns.size
        lengths = list[np.ndarray]()
        with ThreadPoolExecutor(self.workers) as pool:
            pending: deque[tuple[int, Future[_Piece]]] = deque()
            for first, last in _pieces(np.minimum(most, self.size), self.piece):
                pending.append((last, pool.submit(self._piece, fill, first, last)))
                if len(pending) > self.workers:
                    lengths.append(self._append(*pending.popleft(), report_row))
            while pending:
                lengths.append(self._append(*pending.popleft(), report_row))
        self.runs.append(before + np.concatenate([[0], np.cumsum(np.concatenate(lengths))]))

    def _piece(self, fill: Callable[..., None], first: int, last: int) -> _Piece:
        """Rows first..last, made in the buffers of this thread."""
        if not hasattr(self.local, "buffers"):
            self.local.buffers = _buffers(self.size, max(self.piece, self.size))
        buffers: cpu.RowBuffers = self.local.buffers
        lengths = np.empty(last - first, np.int64)
        fill(first, buffers, lengths)
        filled = int(lengths.sum())
        return _Piece(lengths, buffers.columns[:filled].copy(), buffers.counts[:filled].copy())

    def _append(self, last: int, future: Future[_Piece], report_row: Callable[[int], None]) -> np.ndarray:
        piece = future.result()
        self.columns.append(piece.columns)
        self.sums.append(piece.sums)
        report_row(last)
        return piece.lengths


def _buffers(size: int, cells: int) -> cpu.RowBuffers:
    return cpu.RowBuffers(
        sums=np.zeros(size, np.int64),
        marks=np.zeros((size >> 12) + (size >> 6) + 2, np.uint64),
        columns=np.empty(cells + 1, np.int32),
        counts=np.empty(cells, np.int64),
    )


@dataclass(frozen=True)
class _Piece:
    """Some rows: how many cells each has, and the cells."""

    lengths: np.ndarray
    columns: np.ndarray
    sums: np.ndarray


def _pieces(most: np.ndarray, capacity: int) -> Iterator[tuple[int, int]]:
    """Rows first..last that have at most `capacity` cells, if each has as many as it can; a single row may
    have more."""
    ends = np.concatenate([[0], np.cumsum(most)])
    first = 0
    while first < len(most):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + capacity, "right")) - 1)
        yield first, last
        first = last
