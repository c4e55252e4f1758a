"""Counting which words meet: keys, sorted and summed, and the sparse matrix made of them."""

from __future__ import annotations

import numpy as np

from inlay.kernels.compile import kernel


@kernel
def pair_keys(ids, offsets, first, last, size, window, bits, keys):
    # ids (T,) i4; offsets (S+1,) i8; keys (capacity,) u8, filled; returns how many
    # One key for each two tokens at most `window` apart in sentences first..last: (smaller id, larger id, distance).
    filled = 0
    for sentence in range(first, last):
        stop = offsets[sentence + 1]
        for here in range(offsets[sentence], stop):
            for there in range(here + 1, min(here + window + 1, stop)):
                low, high = min(ids[here], ids[there]), max(ids[here], ids[there])
                cell = np.uint64(low) * np.uint64(size) + np.uint64(high)
                distance = np.uint64(there - here) if bits else np.uint64(0)
                keys[filled] = cell << np.uint64(bits) | distance
                filled += 1
    return filled


@kernel
def sum_keys(keys, bits, weights, cells, counts):
    # keys (N,) u8, sorted; weights (window+1,) f8; cells (N,) u8 and counts (N,) f8, filled; returns how many cells
    filled = -1
    for n in range(keys.shape[0]):
        cell = keys[n] >> np.uint64(bits)
        distance = keys[n] & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
        if filled < 0 or cells[filled] != cell:
            filled += 1
            cells[filled] = cell
            counts[filled] = 0.0
        counts[filled] += weights[distance]
    return filled + 1


@kernel
def merge_cells(cells_a, counts_a, cells_b, counts_b, cells, counts):
    # two runs of cells, each sorted; cells (A+B,) u8 and counts (A+B,) f8, filled; returns how many
    a = b = filled = 0
    while a < cells_a.shape[0] or b < cells_b.shape[0]:
        from_a = b == cells_b.shape[0] or (a < cells_a.shape[0] and cells_a[a] <= cells_b[b])
        from_b = a == cells_a.shape[0] or (b < cells_b.shape[0] and cells_b[b] <= cells_a[a])
        cells[filled] = cells_a[a] if from_a else cells_b[b]
        counts[filled] = (counts_a[a] if from_a else 0.0) + (counts_b[b] if from_b else 0.0)
        a += from_a
        b += from_b
        filled += 1
    return filled


@kernel
def mirror_cells(cells, counts, size, starts, columns, values):
    # cells (N,) u8 sorted, rows <= columns; starts (size+1,) i8 with row r's beginning at starts[r]; columns i4, values f8, filled
    # Passing through the upper triangle row by row writes every row's columns in rising order.
    for n in range(cells.shape[0]):
        row, column = np.int64(cells[n] // np.uint64(size)), np.int64(cells[n] % np.uint64(size))
        columns[starts[row]] = column
        values[starts[row]] = counts[n] * 2.0 if row == column else counts[n]  # two tokens of one word meet both ways
        starts[row] += 1
        if row != column:
            columns[starts[column]] = row
            values[starts[column]] = counts[n]
            starts[column] += 1


@kernel
def ppmi_values(starts, columns, counts, word, context, shift, values):
    # counts (N,) f8; word (V,) f8 log p(w); context (V,) f8 log p(c); values (N,) f4, filled
    total = 0.0
    for n in range(counts.shape[0]):
        total += counts[n]
    for row in range(starts.shape[0] - 1):
        for n in range(starts[row], starts[row + 1]):
            pmi = np.log(counts[n] / total) - word[row] - context[columns[n]] - shift
            values[n] = max(pmi, 0.0)


@kernel
def sparse_times_dense(starts, columns, values, dense, first, last, out):
    # values (N,) f4; dense (V, K) f4; rows first..last of out (V, K) f4, filled
    for row in range(first, last):
        out[row] = np.float32(0)
        for n in range(starts[row], starts[row + 1]):
            for k in range(dense.shape[1]):
                out[row, k] += values[n] * dense[columns[n], k]
