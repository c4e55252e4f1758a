"""Bags of rows: the mean of any number of rows of a table, and one change added to all of them.

Sums stay in registers while the rows pass by, as many columns at once as there are registers for. Every part
has its meaning in plain NumPy next to it (`*_plain`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from inlaid.kernels.compile import part
from inlaid.kernels.simd.llvm import (
    FLOAT,
    SIMD_WIDTH,
    ZEROS,
    Table,
    broadcast,
    data_of,
    int64,
    intrinsic,
    load,
    loop,
    store,
)


def _mean(width: int) -> Any:
    """means[slot] = initial[slot] = the mean of table[ids[n]] for `count` n from `begin`, for 16 * `width`
    columns."""

    def mean(typing_context, table, ids, begin, count, means, initial, slot, column):
        def build(context, builder, signature, arguments):
            rows, new, old = (Table(context, builder, signature.args[n], arguments[n]) for n in (0, 4, 5))
            ids = data_of(context, builder, signature.args[1], arguments[1])
            offsets = _columns(builder, arguments[7], width)

            def body(n, sums):
                row = rows.row_of(ids, builder.add(arguments[2], n))
                return [builder.fadd(sums[c], load(builder, row, offsets[c])) for c in range(width)]

            sums = loop(builder, arguments[3], [ZEROS] * width, body)
            share = broadcast(
                builder, builder.fdiv(ir.Constant(FLOAT, 1.0), builder.sitofp(arguments[3], FLOAT))
            )
            for c in range(width):
                value = builder.fmul(sums[c], share)
                for target in (new, old):
                    store(builder, value, target.row(arguments[6]), offsets[c])
            return context.get_dummy_value()

        return types.void(table, ids, types.intp, types.intp, means, initial, types.intp, types.intp), build

    return intrinsic(mean)


def _add(width: int) -> Any:
    """table[ids[n]] += means[slot] - initial[slot] for `count` n from `begin`; a row that occurs twice is
    changed twice."""

    def add(typing_context, table, ids, begin, count, means, initial, slot, column):
        def build(context, builder, signature, arguments):
            rows, new, old = (Table(context, builder, signature.args[n], arguments[n]) for n in (0, 4, 5))
            ids = data_of(context, builder, signature.args[1], arguments[1])
            offsets = _columns(builder, arguments[7], width)
            left, right = (each.row(arguments[6]) for each in (new, old))
            change = [
                builder.fsub(load(builder, left, offset), load(builder, right, offset)) for offset in offsets
            ]

            def body(n, carried):
                row = rows.row_of(ids, builder.add(arguments[2], n))
                for c in range(width):
                    store(builder, builder.fadd(load(builder, row, offsets[c]), change[c]), row, offsets[c])
                return carried

            loop(builder, arguments[3], [], body)
            return context.get_dummy_value()

        return types.void(table, ids, types.intp, types.intp, means, initial, types.intp, types.intp), build

    return intrinsic(add)


def _columns(builder: Any, column: Any, width: int) -> list[Any]:
    return [builder.mul(builder.add(column, int64(SIMD_WIDTH * c)), int64(4)) for c in range(width)]


_mean_one = _mean(1)
_mean_three = _mean(3)
_mean_seven = _mean(7)
_add_one = _add(1)
_add_three = _add(3)
_add_seven = _add(7)


@part
def mean_rows(table, ids, begin, count, means, initial, slot):
    # table (R, D) f4; ids (N,) i4; means and initial (P, D) f4: row `slot` of both becomes the mean of
    # `count` rows, at least 1
    column = 0
    columns = table.shape[1]
    while column + 112 <= columns:
        _mean_seven(table, ids, begin, count, means, initial, slot, column)
        column += 112
    while column + 48 <= columns:
        _mean_three(table, ids, begin, count, means, initial, slot, column)
        column += 48
    while column < columns:
        _mean_one(table, ids, begin, count, means, initial, slot, column)
        column += 16


@part
def add_to_rows(table, ids, begin, count, means, initial, slot):
    # the other way: what the mean has changed by since `mean_rows`, all its rows change by
    column = 0
    columns = table.shape[1]
    while column + 112 <= columns:
        _add_seven(table, ids, begin, count, means, initial, slot, column)
        column += 112
    while column + 48 <= columns:
        _add_three(table, ids, begin, count, means, initial, slot, column)
        column += 48
    while column < columns:
        _add_one(table, ids, begin, count, means, initial, slot, column)
        column += 16


def mean_rows_plain(
    table: Any, ids: Any, begin: int, count: int, means: Any, initial: Any, slot: int
) -> None:
    means[slot] = initial[slot] = table[ids[begin : begin + count]].mean(axis=0)


def add_to_rows_plain(
    table: Any, ids: Any, begin: int, count: int, means: Any, initial: Any, slot: int
) -> None:
    np.add.at(table, ids[begin : begin + count], means[slot] - initial[slot])
