"""Sparse counts of words that meet."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from inlay.encode.corpus import Corpus
from inlay.errors import SettingError
from inlay.kernels import cells_cpu
from inlay.report import Progress, Report, silent

BLOCK = 1 << 23
"""Pairs counted at a time by one worker: 64 MB of keys."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A symmetric sparse table of counts: row r holds columns[starts[r]:starts[r+1]], in rising order."""

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
        return np.bincount(np.repeat(np.arange(self.size), np.diff(self.starts)), self.counts, self.size)


def cooccurrence(corpus: Corpus, *, window: int | None = 5, decay: bool = False, workers: int = 1, report: Report = silent) -> Cells:
    """Count the words that meet inside a sentence, at most `window` apart (None: anywhere in it).

    With `decay`, words d apart count 1/d. The result is the same for any number of workers.
    """
    if decay and window is None:
        raise SettingError("decay needs a window: with the whole sentence as window, distance means nothing.")
    size = len(corpus.vocabulary)
    longest = int(np.diff(corpus.offsets).max(initial=0))
    reach = longest if window is None else min(window, longest)
    weights = np.array([0.0] + [1 / d for d in range(1, reach + 1)]) if decay else np.ones(1)
    bits = max(reach, 1).bit_length() if decay else 0
    if size**2 << bits >= 1 << 64:
        raise SettingError(f"{size:,} words with a window of {reach} are more than can be counted. Raise min_count.")

    def count(block: tuple[int, int, int]) -> _Run:
        first, last, pairs = block
        keys = np.empty(pairs, np.uint64)
        keys = keys[: cells_cpu.pair_keys(corpus.ids, corpus.offsets, first, last, size, reach, bits, keys)]
        keys.sort()
        cells, counts = np.empty(len(keys), np.uint64), np.empty(len(keys))
        filled = cells_cpu.sum_keys(keys, bits, weights, cells, counts)
        return _Run(cells[:filled].copy(), counts[:filled].copy())

    runs: list[_Run] = []
    with ThreadPoolExecutor(workers) as pool:
        done = 0
        for (first, last, _), run in _in_order(pool, count, _blocks(corpus.offsets, reach), workers):
            runs.append(run)
            while len(runs) > 1 and len(runs[-2].cells) <= 2 * len(runs[-1].cells):  # runs stay few, and each is merged rarely
                runs[-2:] = [_merged(runs[-2], runs[-1])]
            done += int(corpus.offsets[last] - corpus.offsets[first])
            report(Progress("counting", done, len(corpus.ids), "words"))
    while len(runs) > 1:
        runs[-2:] = [_merged(runs[-2], runs[-1])]
    return _mirrored(runs[0] if runs else _Run(np.empty(0, np.uint64), np.empty(0)), size)


@dataclass(frozen=True)
class _Run:
    """Cells of the upper triangle (row * size + column), sorted, and their counts."""

    cells: np.ndarray
    counts: np.ndarray


def _blocks(offsets: np.ndarray, reach: int) -> Iterator[tuple[int, int, int]]:
    """Sentences first..last and the pairs they can make, about BLOCK of them (a single sentence may make more)."""
    lengths = np.diff(offsets)
    near = np.minimum(lengths, reach + 1)
    pairs = np.concatenate([[0], np.cumsum(near * (near - 1) // 2 + np.maximum(lengths - reach - 1, 0) * reach)])
    first = 0
    while first < len(lengths):
        last = max(first + 1, int(np.searchsorted(pairs, pairs[first] + BLOCK, "right")) - 1)
        yield first, last, int(pairs[last] - pairs[first])
        first = last


def _in_order(pool: ThreadPoolExecutor, work, blocks: Iterator[tuple[int, int, int]], workers: int):
    """Blocks and their results in order, with no more than `workers` blocks ahead of the reader."""
    pending = []
    for block in blocks:
        pending.append((block, pool.submit(work, block)))
        if len(pending) > workers:
            block, future = pending.pop(0)
            yield block, future.result()
    for block, future in pending:
        yield block, future.result()


def _merged(a: _Run, b: _Run) -> _Run:
    cells, counts = np.empty(len(a.cells) + len(b.cells), np.uint64), np.empty(len(a.cells) + len(b.cells))
    filled = cells_cpu.merge_cells(a.cells, a.counts, b.cells, b.counts, cells, counts)
    return _Run(cells[:filled].copy(), counts[:filled].copy())


def _mirrored(run: _Run, size: int) -> Cells:
    """Both triangles, as rows."""
    rows, columns = run.cells // np.uint64(max(size, 1)), run.cells % np.uint64(max(size, 1))
    lengths = np.bincount(rows.astype(np.int64), minlength=size)
    lengths += np.bincount(columns[rows != columns].astype(np.int64), minlength=size)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cells = Cells(starts, np.empty(starts[-1], np.int32), np.empty(starts[-1]))
    cells_cpu.mirror_cells(run.cells, run.counts, size, starts[:-1].copy(), cells.columns, cells.counts)
    return cells
