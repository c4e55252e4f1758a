"""Sparse counts of words that meet, put aside on disk when large.

Counting goes row by row. The text is laid out in memory, with a list of the places where each word stands; a
row of the table is what stands around those places, summed in an array with one number a word. That array
stays in the cache, no pair is ever written down, and rows can be shared among workers. A text too large for
memory is counted part by part: each part leaves a run of rows, and the runs are added up at the end.
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
from inlaid.report import Progress, Report, silent

MEMORY = 4000
"""Megabytes counting may use, if nothing else is said."""
PIECE = 1 << 22
"""Cells that one worker makes room for at a time, at most; a single row may take more."""
FINEST = 1 << 32
"""Counts are kept in whole parts of one: as many as make 1/d whole, or this many where those would be
more."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A symmetric sparse table of counts: row r holds columns[starts[r]:starts[r+1]], in rising order.

    What did not fit in memory is mapped from a nameless file, which goes when the cells go.
    """

    starts: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def dense(self) -> np.ndarray:
        """The whole table with its zeros; for small vocabularies and for looking at."""
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
    """Count the words that meet inside a sentence, at most `window` apart (None: anywhere in it).

    With `decay`, words d apart count 1/d. Sums are of whole numbers, so the result is the same for any number
    of workers and any `memory` (in MB, about; beyond it temporary files are used).
    """
    if decay and window is None:
        raise SettingError("decay needs a window: with the whole sentence as window, distance means nothing.")
    longest = int(np.diff(corpus.offsets).max(initial=0))
    reach = longest if window is None else min(window, longest)
    weights, unit = _weights(reach, decay)
    counting = _Counting(corpus, weights, workers, memory * 1_000_000, report)
    for first, last in counting.parts():
        counting.count(first, last)
    starts, columns, sums = counting.merged()
    counts = sums.view(
        np.float64
    )  # the numbers change their form where they lie: there may be no room for a second array
    for start in range(0, len(sums), PIECE):
        counts[start : start + PIECE] = sums[start : start + PIECE] / unit
    return Cells(starts, columns, counts)


def _weights(reach: int, decay: bool) -> tuple[np.ndarray, int]:
    """What a meeting counts by its distance, in whole parts of one, and how many parts there are.

    Sums of whole numbers do not depend on their order. Up to a window of 22 all 1/d are whole in lcm(1, ...,
    window) parts; beyond that they are rounded to one part in 4 billion.
    """
    if not decay:
        return np.ones(reach + 1, np.int64), 1
    unit = min(math.lcm(*range(1, reach + 1)), FINEST)
    return np.array([0] + [round(unit / d) for d in range(1, reach + 1)], np.int64), unit


class _Counting:
    """Runs of rows, one for each part of the text; every run lies behind the others in the same two
    spools."""

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
        self.own = threading.local()
        self._start()

    def _start(self) -> None:
        self.columns = Spool(np.int32, keep=self.memory // 6, spill=True)
        self.sums = Spool(np.int64, keep=self.memory // 3, spill=True)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Sentences first..last of about as many tokens as memory allows; one sentence may be longer."""
        offsets = self.corpus.offsets
        first = 0
        while first < len(offsets) - 1:
            last = max(
                first + 1,
                int(np.searchsorted(offsets, offsets[first] + min(self.tokens, 1 << 30), "right")) - 1,
            )
            yield first, last
            first = last

    def count(self, first: int, last: int) -> None:
        """Add the run of sentences first..last."""
        ids = self.corpus.ids[self.corpus.offsets[first] : self.corpus.offsets[last]]
        starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=self.size))])
        text = np.empty(len(ids) + last - first + 1, np.int32)
        places = np.empty(len(ids), np.int32)
        cpu.lay_out(self.corpus.ids, self.corpus.offsets, first, last, text, starts[:-1].copy(), places)
        done = int(self.corpus.offsets[first])

        def fill(row: int, room: _Room, lengths: np.ndarray) -> None:
            cpu.count_rows(
                text,
                starts,
                places,
                row,
                self.weights,
                room.sums,
                room.marks,
                lengths,
                room.columns,
                room.counts,
            )

        met = np.diff(starts) * 2 * (len(self.weights) - 1)  # no word can meet more than these
        self._run(
            met,
            fill,
            lambda row: self.report(
                Progress("counting", done + int(starts[row]), len(self.corpus.ids), "words")
            ),
        )

    def merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, columns and sums of all runs added up."""
        if not self.runs:
            return np.zeros(self.size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        if len(self.runs) == 1:
            return self.runs[0], self.columns.whole(), self.sums.whole()
        starts = np.array(self.runs)
        columns = self.columns.whole()
        sums = self.sums.whole()
        self._start()

        def fill(row: int, room: _Room, lengths: np.ndarray) -> None:
            cpu.merge_rows(
                starts, columns, sums, row, room.sums, room.marks, lengths, room.columns, room.counts
            )

        met = np.diff(starts).sum(axis=0)
        self._run(met, fill, lambda row: self.report(Progress("merging", row, self.size, "rows")))
        return self.runs[-1] - self.runs[-1][0], self.columns.whole(), self.sums.whole()

    def _run(self, met: np.ndarray, fill: Callable[..., None], tell: Callable[[int], None]) -> None:
        """Fill the rows piece by piece and put them aside in order."""
        behind = self.columns.size
        found = list[np.ndarray]()

        def work(first: int, last: int) -> _Piece:
            if not hasattr(self.own, "room"):
                self.own.room = _Room(self.size, max(self.piece, self.size))
            room: _Room = self.own.room
            lengths = np.empty(last - first, np.int64)
            fill(first, room, lengths)
            filled = int(lengths.sum())
            return _Piece(lengths, room.columns[:filled].copy(), room.counts[:filled].copy())

        with ThreadPoolExecutor(self.workers) as pool:
            pending: deque[tuple[int, Future[_Piece]]] = deque()
            for first, last in _pieces(np.minimum(met, self.size), self.piece):
                pending.append((last, pool.submit(work, first, last)))
                if len(pending) > self.workers:
                    found.append(self._put(*pending.popleft(), tell))
            while pending:
                found.append(self._put(*pending.popleft(), tell))
        self.runs.append(behind + np.concatenate([[0], np.cumsum(np.concatenate(found))]))

    def _put(self, last: int, future: Future[_Piece], tell: Callable[[int], None]) -> np.ndarray:
        piece = future.result()
        self.columns.append(piece.columns)
        self.sums.append(piece.sums)
        tell(last)
        return piece.lengths


class _Room:
    """What one worker counts in: a sum and a mark for each word, all zero between rows, and room for the
    cells of a piece."""

    def __init__(self, size: int, cells: int) -> None:
        self.sums = np.zeros(size, np.int64)
        self.marks = np.zeros((size >> 12) + (size >> 6) + 2, np.uint64)
        self.columns = np.empty(cells + 1, np.int32)
        self.counts = np.empty(cells, np.int64)


@dataclass(frozen=True)
class _Piece:
    """Some rows: how many cells each has, and the cells."""

    lengths: np.ndarray
    columns: np.ndarray
    sums: np.ndarray


def _pieces(most: np.ndarray, room: int) -> Iterator[tuple[int, int]]:
    """Rows first..last that have at most `room` cells, if each has as many as it can; a single row may have
    more."""
    ends = np.concatenate([[0], np.cumsum(most)])
    first = 0
    while first < len(most):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + room, "right")) - 1)
        yield first, last
        first = last
