"""GloVe: cells sorted into tiles, and the steps over one tile.

A word's row holds its vector and its AdaGrad sums side by side, padded to whole cache lines:

    side 0   vector   bias   1      0 ...       a context's row has 1 and bias the other way round, so that
    side 1   sums     sum    HUGE   1 ...       one product of the rows is vector . context + bias + bias

The constant 1 has a sum so large that no step moves it.
"""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import prefetch_at

AHEAD = 3
"""How many cells ahead the memory is asked for."""


@part
def _draw(seed, n):
    # The n-th number of a stream of 64-bit numbers: the finisher of SplitMix64 (Steele, Lea and Flood 2014)
    z = np.uint64(seed) + np.uint64(n + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def count_tiles(starts, columns, parts, row_part, lengths):
    # starts (V+1,) i8; columns (N,) i4; lengths (parts,) i8, filled: cells of rows row_part, row_part+parts,
    # ... by part of the column
    lengths[:] = 0
    for row in range(row_part, starts.shape[0] - 1, parts):
        for n in range(starts[row], starts[row + 1]):
            lengths[columns[n] % parts] += 1


@kernel
def fill_tiles(starts, columns, counts, row_part, x_max, alpha, ends, places, numbers):
    # ends (parts,) i8: where each tile of this part of the rows begins, moved on to where it ends
    # places (N, 4) i4 and numbers (N, 4) f4 are one array: row, column, log count, weight; filled
    # A count below zero is a pair that never met: its logarithm is taken as 0, and it weighs what the count
    # says without its sign.
    parts = ends.shape[0]
    for row in range(row_part, starts.shape[0] - 1, parts):
        for n in range(starts[row], starts[row + 1]):
            here = ends[columns[n] % parts]
            ends[columns[n] % parts] += 1
            places[here, 0] = row
            places[here, 1] = columns[n]
            if counts[n] < 0:
                numbers[here, 2] = 0.0
                numbers[here, 3] = -counts[n]
            else:
                numbers[here, 2] = np.log(counts[n])
                numbers[here, 3] = 1.0 if counts[n] >= x_max else (counts[n] / x_max) ** alpha


@kernel
def shuffle(cells, seed):
    # cells (N, 2) i8, in place: every order is as likely as any other
    for n in range(cells.shape[0] - 1, 0, -1):
        other = np.int64(_draw(seed, n) % np.uint64(n + 1))
        for k in range(2):
            cells[n, k], cells[other, k] = cells[other, k], cells[n, k]


@kernel
def glove_tile(words, contexts, places, numbers, first, stride, rate):
    # words, contexts (V, 2, width) f4, in place; places (N, 4) i4 and numbers (N, 4) f4: the cells of one
    # tile, as in fill_tiles
    # Cells are visited from `first` on, `stride` apart (which shares no factor with N). Returns the sum of
    # weighted squared errors.
    size = places.shape[0]
    width = words.shape[2]
    lines = words.shape[2] // 8  # of 64 bytes, in both sides of a row
    word_lines = words.reshape(-1, 16)
    context_lines = contexts.reshape(-1, 16)
    loss = 0.0
    here = first
    ahead = (first + AHEAD * stride) % size
    for _ in range(size):
        for line in range(lines):
            prefetch_at(word_lines, places[ahead, 0] * lines + line)
            prefetch_at(context_lines, places[ahead, 1] * lines + line)
        word = words[places[here, 0]]
        context = contexts[places[here, 1]]
        score = np.float32(0)
        for k in range(width):
            score += word[0, k] * context[0, k]
        error = score - numbers[here, 2]
        slope = numbers[here, 3] * error
        loss += slope * error
        slope *= rate
        for k in range(width):
            word_step = slope * context[0, k]
            context_step = slope * word[0, k]
            word[0, k] -= word_step / np.sqrt(word[1, k])
            context[0, k] -= context_step / np.sqrt(context[1, k])
            word[1, k] += word_step * word_step
            context[1, k] += context_step * context_step
        here += stride
        if here >= size:
            here -= size
        ahead += stride
        if ahead >= size:
            ahead -= size
    return loss
