"""Counting which words meet, row by row, and the sparse matrix made of it."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import lowest_bit, prefetch_at

END = -1
"""Stands where a sentence ends."""
AHEAD = 8
"""How many places of a word ahead the memory is asked for."""


@kernel
def lay_out(ids, offsets, first, last, text, starts, places):
    # text (T+S+1,) i4, filled: sentences first..last with END before, between and after them
    # starts (V,) i8: where the places of each word begin, moved on to where they end; places (T,) i4, filled:
    # where it stands in text
    text[0] = END
    here = 1
    for sentence in range(first, last):
        for n in range(offsets[sentence], offsets[sentence + 1]):
            text[here] = ids[n]
            places[starts[ids[n]]] = here
            starts[ids[n]] += 1
            here += 1
        text[here] = END
        here += 1


@part
def _sorted(columns, counts, before, filled, sums, marks):
    # Puts columns[before:filled] in rising order by way of marks, one bit a word and above it one bit for
    # each 64 words;
    # writes their counts, and leaves sums and marks as it found them: zero.
    groups = (sums.shape[0] >> 12) + 1
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
                counts[n] = sums[column]
                sums[column] = 0
                n += 1


@kernel
def count_rows(text, starts, places, first, weights, sums, marks, lengths, columns, counts):
    # text, starts, places: as laid out; rows first..first+len(lengths); weights (reach+1,) i8; sums (V,) i8
    # and marks u8, all zero
    # lengths (R,) i8, columns (capacity+1,) i4, counts (capacity,) i8: filled
    # A row is counted by visiting the places of its word: the array that it adds to stays in the cache. A
    # column is written
    # down each time and kept when it is new: that costs less than asking, which the processor cannot foresee.
    reach = weights.shape[0] - 1
    filled = 0
    for n in range(lengths.shape[0]):
        before = filled
        stop = starts[first + n + 1]
        for place in range(starts[first + n], stop):
            prefetch_at(text, places[min(place + AHEAD, stop - 1)])
            here = places[place]
            for distance in range(1, reach + 1):
                other = text[here + distance]
                if other == END:
                    break
                known = sums[other]
                sums[other] = known + weights[distance]
                columns[filled] = other
                filled += known == 0
            for distance in range(1, reach + 1):
                other = text[here - distance]
                if other == END:
                    break
                known = sums[other]
                sums[other] = known + weights[distance]
                columns[filled] = other
                filled += known == 0
        _sorted(columns, counts, before, filled, sums, marks)
        lengths[n] = filled - before


@kernel
def merge_rows(run_starts, run_columns, run_counts, first, sums, marks, lengths, columns, counts):
    # run_starts (runs, V+1) i8: row r of a run is run_columns[run_starts[run, r]:run_starts[run, r + 1]]; the
    # rest as in count_rows
    filled = 0
    for n in range(lengths.shape[0]):
        before = filled
        for run in range(run_starts.shape[0]):
            for cell in range(run_starts[run, first + n], run_starts[run, first + n + 1]):
                known = sums[run_columns[cell]]
                sums[run_columns[cell]] = known + run_counts[cell]
                columns[filled] = run_columns[cell]
                filled += known == 0
        _sorted(columns, counts, before, filled, sums, marks)
        lengths[n] = filled - before


@kernel
def row_sums(starts, counts, sums):
    # starts (V+1,) i8; counts (N,) f8; sums (V,) f8, filled
    for row in range(sums.shape[0]):
        sums[row] = 0.0
        for n in range(starts[row], starts[row + 1]):
            sums[row] += counts[n]


@kernel
def ppmi_values(starts, columns, counts, word, context, least, first, last, values):
    # counts (N,) f8; word (V,) f8 log p(w); context (V,) f8 log p(c); least: log (total * shift); values (N,)
    # f4, rows first..last filled
    for row in range(first, last):
        for n in range(starts[row], starts[row + 1]):
            pmi = np.log(counts[n]) - word[row] - context[columns[n]] - least
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
            ahead = columns[min(n + AHEAD, stop - 1)]
            prefetch_at(dense, ahead)
            value = values[n]
            other = dense[columns[n]]
            for k in range(dense.shape[1]):
                out[row, k] += value * other[k]
