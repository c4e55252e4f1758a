"""A few rows times a matrix: each weight is read from memory once, while the weights before it are used.

A decoding step multiplies a few rows by every matrix of a network, and takes as long as reading the matrices.
Libraries reorder a matrix to read it fast, for every product or into a copy. Here it stays where it is: while
three rows of it are multiplied, the rows that follow are on their way from memory.
"""

from __future__ import annotations

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.llvm import GROUP
from inlaid.kernels.simd.rows import AHEAD, TILE_COLUMNS, TILE_ROWS, tile, tile_and_prefetch


@part
def _store(sums, bias, out, first, row, stop):
    if first + TILE_ROWS <= out.shape[0] and row + TILE_COLUMNS <= stop:
        for i in range(TILE_ROWS):
            for q in range(TILE_COLUMNS):
                out[first + i, row + q] = sums[GROUP * i + q] + bias[row + q]
    else:
        for i in range(min(TILE_ROWS, out.shape[0] - first)):
            for q in range(min(TILE_COLUMNS, stop - row)):
                out[first + i, row + q] = sums[GROUP * i + q] + bias[row + q]


@kernel
def product(rows, weights, bias, sums, begin, stop, out):
    # rows (M, D or more) f4: rows of 4,096 bytes would all be in the same few lines of the cache;
    # weights (N, D) f4, D a multiple of 16; bias (N,) f4; sums (32,) f4, scratch;
    # out (M, N) f4, whose columns begin..stop-1 become those of rows @ weights.T + bias
    groups = -(-rows.shape[0] // TILE_ROWS)
    for block in range(begin, stop, AHEAD):
        end = min(block + AHEAD, stop)
        for group in range(groups):
            first = group * TILE_ROWS
            waiting = group  # one group after another prefetches what comes after these three rows
            for row in range(block, end, TILE_COLUMNS):
                if waiting == 0:
                    tile_and_prefetch(rows, first, weights, row, sums)
                    waiting = groups
                else:
                    tile(rows, first, weights, row, sums)
                waiting -= 1
                _store(sums, bias, out, first, row, end)
