"""Bags of rows: the mean of any number of rows of a table, and adding one change to all of them.

As in `rows`: each is a few instructions of LLVM, 16 numbers at once, with its meaning in plain Python beside
it. Sums stay in registers while the rows pass by, as many columns at once as registers hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from inlaid.kernels.compile import part
from inlaid.kernels.simd.rows import (
    FLOAT,
    LANES,
    ZERO,
    _data,
    _load,
    _long,
    _loop,
    _spread,
    _store,
    _Table,
    intrinsic,
)


def _mean(width: int) -> Any:
    """news[place] = olds[place] = the mean of table[ids[n]] for `count` n from `begin`, for 16 * `width`
    columns."""

    def mean(typing_context, table, ids, begin, count, news, olds, place, column):
        def build(context, builder, signature, arguments):
            rows, new, old = (_Table(context, builder, signature.args[n], arguments[n]) for n in (0, 4, 5))
            ids = _data(context, builder, signature.args[1], arguments[1])
            at = _columns(builder, arguments[7], width)

            def body(n, sums):
                row = rows.row(ids, builder.add(arguments[2], n))
                return [builder.fadd(sums[c], _load(builder, row, at[c])) for c in range(width)]

            sums = _loop(builder, arguments[3], [ZERO] * width, body)
            share = _spread(
                builder, builder.fdiv(ir.Constant(FLOAT, 1.0), builder.sitofp(arguments[3], FLOAT))
            )
            for c in range(width):
                value = builder.fmul(sums[c], share)
                for target in (new, old):
                    _store(builder, value, _row(builder, target, arguments[6]), at[c])
            return context.get_dummy_value()

        return types.void(table, ids, types.intp, types.intp, news, olds, types.intp, types.intp), build

    return intrinsic(mean)


def _add(width: int) -> Any:
    """table[ids[n]] += news[place] - olds[place] for `count` n from `begin`; a row that is there twice moves
    twice."""

    def add(typing_context, table, ids, begin, count, news, olds, place, column):
        def build(context, builder, signature, arguments):
            rows, new, old = (_Table(context, builder, signature.args[n], arguments[n]) for n in (0, 4, 5))
            ids = _data(context, builder, signature.args[1], arguments[1])
            at = _columns(builder, arguments[7], width)
            left, right = (_row(builder, each, arguments[6]) for each in (new, old))
            change = [
                builder.fsub(_load(builder, left, offset), _load(builder, right, offset)) for offset in at
            ]

            def body(n, carried):
                row = rows.row(ids, builder.add(arguments[2], n))
                for c in range(width):
                    _store(builder, builder.fadd(_load(builder, row, at[c]), change[c]), row, at[c])
                return carried

            _loop(builder, arguments[3], [], body)
            return context.get_dummy_value()

        return types.void(table, ids, types.intp, types.intp, news, olds, types.intp, types.intp), build

    return intrinsic(add)


def _columns(builder: Any, column: Any, width: int) -> list[Any]:
    return [builder.mul(builder.add(column, _long(LANES * c)), _long(4)) for c in range(width)]


def _row(builder: Any, table: _Table, place: Any) -> Any:
    return builder.add(table.start, builder.mul(place, table.stride))


_mean_one = _mean(1)
_mean_three = _mean(3)
_mean_seven = _mean(7)
_add_one = _add(1)
_add_three = _add(3)
_add_seven = _add(7)


@part
def mean_rows(table, ids, begin, count, news, olds, place):
    # table (R, D) f4; ids (N,) i4; news and olds (P, D) f4: row `place` of both becomes the mean of `count`
    # rows, at least 1
    column = 0
    columns = table.shape[1]
    while column + 112 <= columns:
        _mean_seven(table, ids, begin, count, news, olds, place, column)
        column += 112
    while column + 48 <= columns:
        _mean_three(table, ids, begin, count, news, olds, place, column)
        column += 48
    while column < columns:
        _mean_one(table, ids, begin, count, news, olds, place, column)
        column += 16


@part
def add_to_rows(table, ids, begin, count, news, olds, place):
    # as `mean_rows`, the other way: by how much the mean has moved, all its rows move
    column = 0
    columns = table.shape[1]
    while column + 112 <= columns:
        _add_seven(table, ids, begin, count, news, olds, place, column)
        column += 112
    while column + 48 <= columns:
        _add_three(table, ids, begin, count, news, olds, place, column)
        column += 48
    while column < columns:
        _add_one(table, ids, begin, count, news, olds, place, column)
        column += 16


def mean_rows_plain(table: Any, ids: Any, begin: int, count: int, news: Any, olds: Any, place: int) -> None:
    news[place] = olds[place] = table[ids[begin : begin + count]].mean(axis=0)


def add_to_rows_plain(table: Any, ids: Any, begin: int, count: int, news: Any, olds: Any, place: int) -> None:
    np.add.at(table, ids[begin : begin + count], news[place] - olds[place])
