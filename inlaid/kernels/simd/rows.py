"""Rows of float32 tables, 16 numbers at once: scores of rows with rows, and updates by their gradients.

A row is a whole number of vectors of 16, so a table of dim 100 has 112 columns, the last 12 zero. Every
intrinsic has its meaning in plain NumPy next to it (`*_plain`), and a test compares the two. Four rows are
processed together: with four rows and four others in registers, eight loads serve sixteen multiplications.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from inlaid.kernels.compile import part
from inlaid.kernels.simd.llvm import (
    CACHE_LINE,
    GROUP,
    INTS,
    SIMD_WIDTH,
    ZEROS,
    Table,
    broadcast_at,
    data_of,
    int64,
    intrinsic,
    load,
    loop,
    multiply_add,
    prefetch,
    store,
    store_at,
)

READ_TO_L2 = (0, 2, 1)
"""Prefetch to read, into the second-level cache: the first has no space for more than the rows in use."""

TILE_ROWS = 8
TILE_COLUMNS = 3
"""The 24 sums of a tile, three vectors and their addresses fill the registers of AVX-512."""
AHEAD = 8 * TILE_COLUMNS
"""Rows of a matrix that are on their way from memory, and that all tiles use before the next are needed."""


def row_width(dim: int) -> int:
    """Columns of a table whose rows are whole vectors."""
    return -(-dim // SIMD_WIDTH) * SIMD_WIDTH


def aligned_table(rows: int, dim: int) -> np.ndarray:
    """Zeros (rows, dim rounded up to whole vectors), float32, each row at the beginning of a cache line."""
    columns = row_width(dim)
    raw = np.zeros(rows * columns * 4 + CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + rows * columns * 4].view(np.float32).reshape(rows, columns)


HALVES = ([*range(8), *range(16, 24)], [*range(8, 16), *range(24, 32)])
QUARTERS = (
    [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27],
    [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31],
)
PAIRS = (
    [x + y for x in (0, 4, 8, 12) for y in (0, 1, 16, 17)],
    [x + y for x in (0, 4, 8, 12) for y in (2, 3, 18, 19)],
)
SINGLES = (
    [x + y for x in (0, 4, 8, 12) for y in (0, 2, 16, 18)],
    [x + y for x in (0, 4, 8, 12) for y in (1, 3, 17, 19)],
)


def _horizontal_sums(builder: Any, vectors: list[Any]) -> Any:
    """The sums of 16 vectors in one: element 4 a + b is the sum of vector 4 b + a. Each step halves the
    number of vectors: it adds one half of two vectors to the other half."""
    for first, second in (HALVES, QUARTERS, PAIRS, SINGLES):
        vectors = [
            builder.fadd(
                builder.shuffle_vector(a, b, ir.Constant(INTS, first)),
                builder.shuffle_vector(a, b, ir.Constant(INTS, second)),
            )
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


@intrinsic
def dots(typing_context, table, ids, first, other, others, begin, scores):
    """scores[4 q + i] = table[ids[first + i]] . other[others[q]], for four i and the four q from begin."""

    def build(context, builder, signature, arguments):
        left = Table(context, builder, signature.args[0], arguments[0])
        right = Table(context, builder, signature.args[3], arguments[3])
        ids, others, out = (data_of(context, builder, signature.args[n], arguments[n]) for n in (1, 4, 6))
        a = [left.row_of(ids, builder.add(arguments[2], int64(i))) for i in range(GROUP)]
        b = [right.row_of(others, builder.add(arguments[5], int64(q))) for q in range(GROUP)]

        def body(n, sums):
            offset = builder.mul(n, int64(CACHE_LINE))
            x = [load(builder, each, offset) for each in a]
            y = [load(builder, each, offset) for each in b]
            return [multiply_add(builder, x[k // GROUP], y[k % GROUP], sums[k]) for k in range(SIMD_WIDTH)]

        sums = loop(builder, left.vectors, [ZEROS] * SIMD_WIDTH, body)
        start = builder.mul(arguments[5], int64(GROUP))
        store_at(builder, _horizontal_sums(builder, sums), out, start)
        return context.get_dummy_value()

    return types.void(table, ids, types.intp, other, others, types.intp, scores), build


def dots_plain(table: Any, ids: Any, first: int, other: Any, others: Any, begin: int, scores: Any) -> None:
    for q in range(begin, begin + GROUP):
        for i in range(GROUP):
            scores[GROUP * q + i] = table[ids[first + i]] @ other[others[q]]


def _tile(*, prefetching: bool) -> Any:
    """sums[4 i + q] = table[first + i] . other[begin + q], for eight i and three q, over the columns of
    `other`; beyond its end, a table's last row is taken again. With `prefetching`, the rows of `other` that
    are AHEAD of these are on their way from memory meanwhile, one cache line for each that is used."""

    def tile(typing_context, table, first, other, begin, sums):
        def build(context, builder, signature, arguments):
            left, right = (Table(context, builder, signature.args[n], arguments[n]) for n in (0, 2))
            out = data_of(context, builder, signature.args[4], arguments[4])
            a = [left.row(left.at_most_last(builder.add(arguments[1], int64(i)))) for i in range(TILE_ROWS)]
            b = [
                right.row(right.at_most_last(builder.add(arguments[3], int64(q))))
                for q in range(TILE_COLUMNS)
            ]
            ahead = builder.mul(right.stride, int64(AHEAD))

            def body(n, totals):
                offset = builder.mul(n, int64(CACHE_LINE))
                if prefetching:
                    for row in b:
                        prefetch(builder, builder.add(builder.add(row, offset), ahead), READ_TO_L2)
                y = [load(builder, row, offset) for row in b]
                found = []
                for i, row in enumerate(a):
                    x = load(builder, row, offset)
                    found += [
                        multiply_add(builder, x, y[q], totals[TILE_COLUMNS * i + q])
                        for q in range(TILE_COLUMNS)
                    ]
                return found

            totals = loop(builder, right.vectors, [ZEROS] * (TILE_ROWS * TILE_COLUMNS), body)
            for i in range(0, TILE_ROWS, GROUP):
                group = totals[TILE_COLUMNS * i : TILE_COLUMNS * (i + GROUP)]
                columns = [group[q::TILE_COLUMNS] for q in range(TILE_COLUMNS)]
                vectors = [*(each for column in columns for each in column), *[ZEROS] * GROUP]
                store_at(builder, _horizontal_sums(builder, vectors), out, int64(GROUP * i))
            return context.get_dummy_value()

        return types.void(table, types.intp, other, types.intp, sums), build

    return intrinsic(tile)


tile = _tile(prefetching=False)
tile_and_prefetch = _tile(prefetching=True)


def tile_plain(table: Any, first: int, other: Any, begin: int, sums: Any) -> None:
    for i in range(TILE_ROWS):
        row = table[min(first + i, len(table) - 1)]
        for q in range(TILE_COLUMNS):
            sums[GROUP * i + q] = row[: other.shape[1]] @ other[min(begin + q, len(other) - 1)]


@intrinsic
def paired_dots(typing_context, table, ids, other, others, first, scores):
    """scores[i] = table[ids[i]] . other[others[first + i]] for four i, and 0 for the next twelve."""

    def build(context, builder, signature, arguments):
        left, right = (Table(context, builder, signature.args[n], arguments[n]) for n in (0, 2))
        ids, others, out = (data_of(context, builder, signature.args[n], arguments[n]) for n in (1, 3, 5))
        a = [left.row_of(ids, int64(i)) for i in range(GROUP)]
        b = [right.row_of(others, builder.add(arguments[4], int64(i))) for i in range(GROUP)]

        def body(n, sums):
            offset = builder.mul(n, int64(CACHE_LINE))
            return [
                multiply_add(builder, load(builder, a[i], offset), load(builder, b[i], offset), sums[i])
                for i in range(GROUP)
            ]

        sums = loop(builder, left.vectors, [ZEROS] * GROUP, body)
        spaced = [sums[n // GROUP] if n % GROUP == 0 else ZEROS for n in range(SIMD_WIDTH)]
        store_at(builder, _horizontal_sums(builder, spaced), out, int64(0))
        return context.get_dummy_value()

    return types.void(table, ids, other, others, types.intp, scores), build


def paired_dots_plain(table: Any, ids: Any, other: Any, others: Any, first: int, scores: Any) -> None:
    scores[:SIMD_WIDTH] = 0
    for i in range(GROUP):
        scores[i] = table[ids[i]] @ other[others[first + i]]


@intrinsic
def paired_update(typing_context, table, updates, ids, other, others, first, gradients):
    """updates[ids[i]] = gradients[i] other[others[first + i]], then other[others[first + i]] += gradients[i]
    table[ids[i]]; for four i."""

    def build(context, builder, signature, arguments):
        left, target, right = (Table(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 3))
        ids, others, gradient = (
            data_of(context, builder, signature.args[n], arguments[n]) for n in (2, 4, 6)
        )
        a, c = ([each.row_of(ids, int64(i)) for i in range(GROUP)] for each in (left, target))
        b = [right.row_of(others, builder.add(arguments[5], int64(i))) for i in range(GROUP)]
        g = [broadcast_at(builder, gradient, int64(i)) for i in range(GROUP)]

        def body(n, carried):
            offset = builder.mul(n, int64(CACHE_LINE))
            for i in range(GROUP):
                old = load(builder, b[i], offset)
                store(builder, builder.fmul(g[i], old), c[i], offset)
                store(builder, multiply_add(builder, g[i], load(builder, a[i], offset), old), b[i], offset)
            return carried

        loop(builder, left.vectors, [], body)
        return context.get_dummy_value()

    return types.void(table, updates, ids, other, others, types.intp, gradients), build


def paired_update_plain(
    table: Any, updates: Any, ids: Any, other: Any, others: Any, first: int, gradients: Any
) -> None:
    for i in range(GROUP):
        old = other[others[first + i]].copy()
        updates[ids[i]] = gradients[i] * old
        other[others[first + i]] += gradients[i] * table[ids[i]]


def _update(width: int, *, gather: bool = True, scatter: bool = True, replace: bool = False) -> Any:
    """For 16 * `width` columns of four rows and `count` others, with weights[4 q + i] between other q and
    row i.

    Gather: the four rows of `updated` (the table itself, or one like it) are increased by the weighted sum of
    the others, or with `replace` become that sum. Scatter: each other is increased by the weighted sum of the
    four rows of `table`, one other after another: one that occurs twice is updated twice.
    """

    def update(typing_context, table, updated, ids, first, other, others, count, weights, column):
        def build(context, builder, signature, arguments):
            left, target, right = (
                Table(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 4)
            )
            ids, others, weight = (
                data_of(context, builder, signature.args[n], arguments[n]) for n in (2, 5, 7)
            )
            offsets = [
                builder.mul(builder.add(arguments[8], int64(SIMD_WIDTH * c)), int64(4)) for c in range(width)
            ]
            numbers = [builder.add(arguments[3], int64(i)) for i in range(GROUP)]
            x = []
            if scatter:
                x = [[load(builder, left.row_of(ids, n), offset) for offset in offsets] for n in numbers]

            def body(q, carried):
                row = right.row_of(others, q)
                sums = list(carried)
                y = [load(builder, row, offset) for offset in offsets]
                new = list(y)
                for i in range(GROUP):
                    index = builder.add(builder.mul(q, int64(GROUP)), int64(i))
                    w = broadcast_at(builder, weight, index)
                    for c in range(width):
                        if gather:
                            sums[i * width + c] = multiply_add(builder, w, y[c], sums[i * width + c])
                        if scatter:
                            new[c] = multiply_add(builder, w, x[i][c], new[c])
                if scatter:
                    for c in range(width):
                        store(builder, new[c], row, offsets[c])
                return sums

            sums = loop(builder, arguments[6], [ZEROS] * (GROUP * width if gather else 0), body)
            if gather:
                for i in range(GROUP):
                    row = target.row_of(ids, numbers[i])
                    for c in range(width):
                        new = sums[i * width + c]
                        if not replace:
                            new = builder.fadd(load(builder, row, offsets[c]), new)
                        store(builder, new, row, offsets[c])
            return context.get_dummy_value()

        signature = types.void(
            table, updated, ids, types.intp, other, others, types.intp, weights, types.intp
        )
        return signature, build

    return intrinsic(update)


update_one = _update(1)
update_three = _update(3)
gather_one = _update(1, scatter=False, replace=True)
gather_three = _update(3, scatter=False, replace=True)
scatter_one = _update(1, gather=False)
scatter_three = _update(3, gather=False)
"""For 16 columns, and for 48: with three vectors of each row the registers are full."""


@part
def update(table, updated, ids, first, other, others, count, weights):
    # scatter and gather in one pass: the others and the four rows of `updated` (the table itself, or one like
    # it) move by the gradients of their scores
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        update_three(table, updated, ids, first, other, others, count, weights, column)
        column += 48
    while column < columns:
        update_one(table, updated, ids, first, other, others, count, weights, column)
        column += 16


def update_plain(
    table: Any, updated: Any, ids: Any, first: int, other: Any, others: Any, count: int, weights: Any
) -> None:
    old = table[ids[first : first + GROUP]]
    sums = np.zeros_like(old)
    for q in range(count):
        weight = weights[GROUP * q : GROUP * (q + 1)]
        sums += weight[:, None] * other[others[q]]
        other[others[q]] += weight @ old
    np.add.at(updated, ids[first : first + GROUP], sums)


@part
def gather(table, ids, other, others, count, weights):
    # four rows of `table` become weighted sums of `count` others
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        gather_three(table, table, ids, 0, other, others, count, weights, column)
        column += 48
    while column < columns:
        gather_one(table, table, ids, 0, other, others, count, weights, column)
        column += 16


def gather_plain(table: Any, ids: Any, other: Any, others: Any, count: int, weights: Any) -> None:
    table[ids[:GROUP]] = weights[: GROUP * count].reshape(count, GROUP).T @ other[others[:count]]


@part
def scatter(table, ids, other, others, count, weights):
    # `count` others are increased by weighted sums of four rows of `table`
    column = 0
    columns = table.shape[1]
    while column + 48 <= columns:
        scatter_three(table, table, ids, 0, other, others, count, weights, column)
        column += 48
    while column < columns:
        scatter_one(table, table, ids, 0, other, others, count, weights, column)
        column += 16


def scatter_plain(table: Any, ids: Any, other: Any, others: Any, count: int, weights: Any) -> None:
    np.add.at(other, others[:count], weights[: GROUP * count].reshape(count, GROUP) @ table[ids[:GROUP]])


@intrinsic
def prefetch_row(typing_context, table, row):
    """Ask the memory for all of table[row] before it is needed. Changes the time only."""

    def build(context, builder, signature, arguments):
        rows = Table(context, builder, signature.args[0], arguments[0])
        start = rows.row(arguments[1])

        def body(n, carried):
            prefetch(builder, builder.add(start, builder.mul(n, int64(CACHE_LINE))), READ_TO_L2)
            return carried

        loop(builder, rows.vectors, [], body)
        return context.get_dummy_value()

    return types.void(table, types.intp), build
