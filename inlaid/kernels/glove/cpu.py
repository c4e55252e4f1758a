"""GloVe: cells sorted into tiles, and AdaGrad steps over the cells of one tile.

A word's row holds its vector and its AdaGrad sums side by side, padded to whole cache lines:

    side 0   vector   bias   1      0 ...       a context's row has 1 and bias the other way round, so that
    side 1   sums     sum    HUGE   1 ...       one product of the rows is vector . context + bias + bias

The constant 1 has a sum so large that no step changes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import prefetch_at

PREFETCH_AHEAD = 3
"""How many cells ahead the memory is asked for."""
ROW, COLUMN, LOG_COUNT, WEIGHT = range(4)
"""Columns of a cell: the first two are int32, the last two float32 in the same memory."""
VALUE, SUM = range(2)
"""Sides of a row: the values, and their AdaGrad sums of squared steps."""


class Cells(NamedTuple):
    """Cells of one tile or of all, in one memory with two types."""

    ids: np.ndarray
    """(N, 4) i4: ROW and COLUMN."""
    values: np.ndarray
    """(N, 4) f4: LOG_COUNT and WEIGHT."""


class Weighting(NamedTuple):
    """The weight of a count: min(1, (count / x_max) ** alpha)."""

    x_max: float
    alpha: float


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
def fill_tiles(starts, columns, counts, row_part, weighting, next_cell, cells):
    # next_cell (parts,) i8: where each tile of this part of the rows begins, moved on to where it ends
    # cells, filled. A count below zero is a pair that never occurs: its logarithm is taken as 0, and its
    # weight is the count without its sign.
    parts = next_cell.shape[0]
    for row in range(row_part, starts.shape[0] - 1, parts):
        for n in range(starts[row], starts[row + 1]):
            tile = columns[n] % parts
            here = next_cell[tile]
            next_cell[tile] += 1
            cells.ids[here, ROW] = row
            cells.ids[here, COLUMN] = columns[n]
            if counts[n] < 0:
                cells.values[here, LOG_COUNT] = 0.0
                cells.values[here, WEIGHT] = -counts[n]
            else:
                frequent = counts[n] >= weighting.x_max
                cells.values[here, LOG_COUNT] = np.log(counts[n])
                cells.values[here, WEIGHT] = (
                    1.0 if frequent else (counts[n] / weighting.x_max) ** weighting.alpha
                )


@kernel
def shuffle(cells, seed):
    # cells (N, 2) i8, in place: every order is as likely as any other
    for n in range(cells.shape[0] - 1, 0, -1):
        other = np.int64(_draw(seed, n) % np.uint64(n + 1))
        for k in range(2):
            cells[n, k], cells[other, k] = cells[other, k], cells[n, k]


@kernel
def glove_tile(words, contexts, ids, values, first, stride, learning_rate):
    # words, contexts (V, 2, width) f4, in place; ids (N, 4) i4 and values (N, 4) f4: the cells of one tile
    # Cells are visited from `first` on, `stride` apart (which has no common factor with N). Returns the sum
    # of weighted squared errors.
    size = ids.shape[0]
    width = words.shape[2]
    lines = words.shape[2] // 8  # of 64 bytes, in both sides of a row
    word_lines = words.reshape(-1, 16)
    context_lines = contexts.reshape(-1, 16)
    loss = 0.0
    here = first
    ahead = (first + PREFETCH_AHEAD * stride) % size
    for _ in range(size):
        for line in range(lines):
            prefetch_at(word_lines, ids[ahead, ROW] * lines + line)
            prefetch_at(context_lines, ids[ahead, COLUMN] * lines + line)
        word = words[ids[here, ROW]]
        context = contexts[ids[here, COLUMN]]
        score = np.float32(0)
        for k in range(width):
            score += word[VALUE, k] * context[VALUE, k]
        error = score - values[here, LOG_COUNT]
        gradient = values[here, WEIGHT] * error
        loss += gradient * error
        gradient *= learning_rate
        for k in range(width):
            word_step = gradient * context[VALUE, k]
            context_step = gradient * word[VALUE, k]
            word[VALUE, k] -= word_step / np.sqrt(word[SUM, k])
            context[VALUE, k] -= context_step / np.sqrt(context[SUM, k])
            word[SUM, k] += word_step * word_step
            context[SUM, k] += context_step * context_step
        here += stride
        if here >= size:
            here -= size
        ahead += stride
        if ahead >= size:
            ahead -= size
    return loss
