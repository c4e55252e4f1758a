"""Co-occurrence counts, row by row, and the sparse matrices made of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import lowest_bit, prefetch_at

END = -1
"""Marks the end of a sentence."""
PREFETCH_AHEAD = 8
"""How many occurrences of a word ahead the memory is asked for."""


class Occurrences(NamedTuple):
    """Some sentences, and where each word occurs in them."""

    text: np.ndarray
    """(T+S+1,) i4: the ids, with END before, between and after sentences."""
    starts: np.ndarray
    """(V+1,) i8: the occurrences of word w are positions[starts[w]:starts[w + 1]]."""
    positions: np.ndarray
    """(T,) i4: positions in `text`."""


class RowBuffers(NamedTuple):
    """What one worker counts in."""

    sums: np.ndarray
    """(V,) i8: the counts of one row; all zero between rows."""
    marks: np.ndarray
    """u8: one bit for each word, and above these one bit for each 64 words; all zero between rows."""
    columns: np.ndarray
    """(capacity+1,) i4."""
    counts: np.ndarray
    """(capacity,) i8: the cells of the finished rows, with `columns`."""


class Runs(NamedTuple):
    """Rows counted in several parts of a text; row r of a run: cells starts[run, r] to starts[run, r + 1]."""

    starts: np.ndarray
    """(runs, V+1) i8."""
    columns: np.ndarray
    counts: np.ndarray


class CountedCells(NamedTuple):
    """A sparse matrix of counts: row r has the cells starts[r] to starts[r + 1]."""

    starts: np.ndarray
    """(V+1,) i8."""
    columns: np.ndarray
    """(N,) i4."""
    counts: np.ndarray
    """(N,) f8."""


class LogProbabilities(NamedTuple):
    """What is subtracted from the logarithm of a count."""

    word: np.ndarray
    """(V,) f8: log p(w)."""
    context: np.ndarray
    """(V,) f8: log p(c)."""
    shifted_total: float
    """log(total * shift)."""


@kernel
def find_occurrences(ids, offsets, next_position, occurrences):
    # ids (T,) i4 of some sentences, and where each starts in them; occurrences.text and .positions, filled
    # next_position (V,) i8: a copy of the starts, moved on to the ends
    text = occurrences.text
    text[0] = END
    here = 1
    for sentence in range(len(offsets) - 1):
        for n in range(offsets[sentence], offsets[sentence + 1]):
            word = ids[n]
            text[here] = word
            occurrences.positions[next_position[word]] = here
            next_position[word] += 1
            here += 1
        text[here] = END
        here += 1


@part
def _finish_row(buffers, before, filled):
    # Sorts columns[before:filled] by way of the marks, writes their counts, and clears sums and marks.
    columns = buffers.columns
    marks = buffers.marks
    groups = (buffers.sums.shape[0] >> 12) + 1
    for n in range(before, filled):
        column = columns[n]
        marks[column >> 12] |= np.uint64(1) << np.uint64(column >> 6 & 63)
        marks[groups + (column >> 6)] |= np.uint64(1) << np.uint64(column & 63)
    n = before
    for high in range(groups):
        upper = marks[high]
        marks[high] = 0
        while upper:
            group = high << 6 | lowest_bit(upper)
            upper &= upper - np.uint64(1)
            lower = marks[groups + group]
            marks[groups + group] = 0
            while lower:
                column = group << 6 | lowest_bit(lower)
                lower &= lower - np.uint64(1)
                columns[n] = column
                buffers.counts[n] = buffers.sums[column]
                buffers.sums[column] = 0
                n += 1


@kernel
def count_rows(occurrences, weights, first, buffers, lengths):
    # rows first..first+len(lengths); weights (window+1,) i8 by distance; lengths (R,) i8, filled
    # A row is counted by visiting the occurrences of its word: the array that it adds to stays in the cache.
    # A column is written each time and kept when it is new: that costs less than a branch that is
    # mispredicted.
    text = occurrences.text
    positions = occurrences.positions
    sums = buffers.sums
    columns = buffers.columns
    window = weights.shape[0] - 1
    filled = 0
    for n in range(lengths.shape[0]):
        before = filled
        stop = occurrences.starts[first + n + 1]
        for k in range(occurrences.starts[first + n], stop):
            prefetch_at(text, positions[min(k + PREFETCH_AHEAD, stop - 1)])
            here = positions[k]
            for distance in range(1, window + 1):
                other = text[here + distance]
                if other == END:
                    break
                known = sums[other]
                sums[other] = known + weights[distance]
                columns[filled] = other
                filled += known == 0
            for distance in range(1, window + 1):
                other = text[here - distance]
                if other == END:
                    break
                known = sums[other]
                sums[other] = known + weights[distance]
                columns[filled] = other
                filled += known == 0
        _finish_row(buffers, before, filled)
        lengths[n] = filled - before


@kernel
def merge_rows(runs, first, buffers, lengths):
    # rows first..first+len(lengths) of all runs added up; lengths (R,) i8, filled
    sums = buffers.sums
    columns = buffers.columns
    filled = 0
    for n in range(lengths.shape[0]):
        before = filled
        for run in range(runs.starts.shape[0]):
            for cell in range(runs.starts[run, first + n], runs.starts[run, first + n + 1]):
                column = runs.columns[cell]
                known = sums[column]
                sums[column] = known + runs.counts[cell]
                columns[filled] = column
                filled += known == 0
        _finish_row(buffers, before, filled)
        lengths[n] = filled - before


@kernel
def row_sums(starts, counts, sums):
    # starts (V+1,) i8; counts (N,) f8; sums (V,) f8, filled
    for row in range(sums.shape[0]):
        sums[row] = 0.0
        for n in range(starts[row], starts[row + 1]):
            sums[row] += counts[n]


@kernel
def ppmi_values(cells, logs, first, last, values):
    # values (N,) f4, rows first..last filled
    columns = cells.columns
    counts = cells.counts
    for row in range(first, last):
        for n in range(cells.starts[row], cells.starts[row + 1]):
            pmi = np.log(counts[n]) - logs.word[row] - logs.context[columns[n]] - logs.shifted_total
            values[n] = max(pmi, 0.0)


@kernel
def drop_zeros(starts, columns, values, kept_starts, kept_columns):
    # values (N,) f4, in place: what is not zero moves to the front; kept_starts (V+1,) i8 and kept_columns
    # (N,) i4, filled
    filled = 0
    for row in range(starts.shape[0] - 1):
        kept_starts[row] = filled
        for n in range(starts[row], starts[row + 1]):
            kept_columns[filled] = columns[n]
            values[filled] = values[n]
            filled += values[n] != 0
    kept_starts[starts.shape[0] - 1] = filled


@kernel
def sparse_times_dense(starts, columns, values, dense, first, last, out):
    # values (N,) f4; dense (V, K) f4; rows first..last of out (V, K) f4, filled
    for row in range(first, last):
        out[row] = np.float32(0)
        stop = starts[row + 1]
        for n in range(starts[row], stop):
            prefetch_at(dense, columns[min(n + PREFETCH_AHEAD, stop - 1)])
            value = values[n]
            other = dense[columns[n]]
            for k in range(dense.shape[1]):
                out[row, k] += value * other[k]
