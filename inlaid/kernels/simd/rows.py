"""Rows of float32 tables, 16 numbers at once: scores of rows with rows, and moving them by their slopes.

A row is a whole number of vectors of 16, so a table of dim 100 has 112 columns, the last 12 zero. As in
`vector`, each is a few instructions of LLVM with its meaning in plain Python beside it; four rows are taken
together, so that what is loaded is used often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic  # what it makes of a function, no type checker can follow

LINE = 64
"""Bytes of a cache line, and of a vector."""
BYTE = ir.IntType(8)
LONG = ir.IntType(64)
LANES = 16
GROUP = 4
"""Floats in a vector; rows that the functions below take together, so that each number loaded is used four
times."""
NEAR = (0, 2, 1)
"""To read, into the second cache, data: the first has no room for more than what is being worked on."""
FLOAT = ir.FloatType()
NUMBER = ir.IntType(32)
FLOATS = ir.VectorType(FLOAT, LANES)
NUMBERS = ir.VectorType(NUMBER, LANES)
ZERO = ir.Constant(FLOATS, [0.0] * LANES)


def row_width(dim: int) -> int:
    """Columns of a table whose rows are whole vectors."""
    return -(-dim // LANES) * LANES


def table_of(rows: int, dim: int) -> np.ndarray:
    """Zeros (rows, dim rounded up to whole vectors), float32, each row at the beginning of a cache line."""
    columns = row_width(dim)
    raw = np.zeros(rows * columns * 4 + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + rows * columns * 4].view(np.float32).reshape(rows, columns)


class _Table:
    """A two-dimensional float32 array inside an intrinsic: where row ids[n] begins, in bytes, and how many
    vectors it has."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder = builder
        self.start = builder.ptrtoint(array.data, LONG)
        self.stride = builder.extract_value(array.strides, 0)
        columns = builder.extract_value(array.shape, 1)
        self.vectors = builder.udiv(columns, _long(LANES))

    def row(self, ids: Any, n: Any) -> Any:
        id = self.builder.sext(self.builder.load(self.builder.gep(ids, [n])), LONG)
        return self.builder.add(self.start, self.builder.mul(id, self.stride))


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _long(value: int) -> ir.Constant:
    return ir.Constant(LONG, value)


def _load(builder: Any, address: Any, offset: Any) -> Any:
    return builder.load(builder.inttoptr(builder.add(address, offset), FLOATS.as_pointer()), align=4)


def _store(builder: Any, value: Any, address: Any, offset: Any) -> None:
    builder.store(value, builder.inttoptr(builder.add(address, offset), FLOATS.as_pointer()), align=4)


def _times_plus(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v16f32"), [a, b, c]
    )


def _spread(builder: Any, number: Any) -> Any:
    """One float, 16 times."""
    single = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), number, ir.Constant(NUMBER, 0))
    return builder.shuffle_vector(single, single, ir.Constant(NUMBERS, [0] * LANES))


def _loop(builder: Any, count: Any, carried: list[Any], body: Any) -> list[Any]:
    """Run body(n, carried) for n in 0..count-1 (count at least 1); it returns what the next turn carries."""
    before = builder.block
    turn = builder.append_basic_block("turn")
    builder.branch(turn)
    builder.position_at_end(turn)
    n = builder.phi(LONG)
    held = [builder.phi(value.type) for value in carried]
    result = body(n, held)
    following = builder.add(n, _long(1))
    for phi, first, next in zip([n, *held], [_long(0), *carried], [following, *result], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(next, builder.block)
    after = builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", following, count), turn, after)
    builder.position_at_end(after)
    return result


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


def _sums(builder: Any, vectors: list[Any]) -> Any:
    """The sums of 16 vectors in one: lane 4 a + b holds that of vector 4 b + a. Each round adds halves of two
    at once."""
    for first, second in (HALVES, QUARTERS, PAIRS, SINGLES):
        vectors = [
            builder.fadd(
                builder.shuffle_vector(a, b, ir.Constant(NUMBERS, first)),
                builder.shuffle_vector(a, b, ir.Constant(NUMBERS, second)),
            )
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


@intrinsic
def dots(typing_context, table, ids, first, other, others, begin, scores):
    """scores[4 q + i] = table[ids[first + i]] . other[others[q]], for four i and the four q from begin."""

    def build(context, builder, signature, arguments):
        left = _Table(context, builder, signature.args[0], arguments[0])
        right = _Table(context, builder, signature.args[3], arguments[3])
        ids, others, out = (_data(context, builder, signature.args[n], arguments[n]) for n in (1, 4, 6))
        a = [left.row(ids, builder.add(arguments[2], _long(i))) for i in range(GROUP)]
        b = [right.row(others, builder.add(arguments[5], _long(q))) for q in range(GROUP)]

        def body(n, sums):
            offset = builder.mul(n, _long(LINE))
            x = [_load(builder, each, offset) for each in a]
            y = [_load(builder, each, offset) for each in b]
            return [_times_plus(builder, x[k // GROUP], y[k % GROUP], sums[k]) for k in range(LANES)]

        result = _sums(builder, _loop(builder, left.vectors, [ZERO] * LANES, body))
        place = builder.gep(out, [builder.mul(arguments[5], _long(GROUP))])
        builder.store(result, builder.bitcast(place, FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(table, ids, types.intp, other, others, types.intp, scores), build


def dots_plain(table: Any, ids: Any, first: int, other: Any, others: Any, begin: int, scores: Any) -> None:
    for q in range(begin, begin + GROUP):
        for i in range(GROUP):
            scores[GROUP * q + i] = table[ids[first + i]] @ other[others[q]]


@intrinsic
def own_dots(typing_context, table, ids, other, others, first, scores):
    """scores[i] = table[ids[i]] . other[others[first + i]] for four i, and nought for the next twelve."""

    def build(context, builder, signature, arguments):
        left, right = (_Table(context, builder, signature.args[n], arguments[n]) for n in (0, 2))
        ids, others, out = (_data(context, builder, signature.args[n], arguments[n]) for n in (1, 3, 5))
        a = [left.row(ids, _long(i)) for i in range(GROUP)]
        b = [right.row(others, builder.add(arguments[4], _long(i))) for i in range(GROUP)]

        def body(n, sums):
            offset = builder.mul(n, _long(LINE))
            return [
                _times_plus(builder, _load(builder, a[i], offset), _load(builder, b[i], offset), sums[i])
                for i in range(GROUP)
            ]

        sums = _loop(builder, left.vectors, [ZERO] * GROUP, body)
        result = _sums(builder, [sums[n // GROUP] if n % GROUP == 0 else ZERO for n in range(LANES)])
        builder.store(result, builder.bitcast(out, FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(table, ids, other, others, types.intp, scores), build


def own_dots_plain(table: Any, ids: Any, other: Any, others: Any, first: int, scores: Any) -> None:
    scores[:LANES] = 0
    for i in range(GROUP):
        scores[i] = table[ids[i]] @ other[others[first + i]]


@intrinsic
def own_pull(typing_context, table, moved, ids, other, others, first, slopes):
    """other[others[first + i]] moves by slopes[i] table[ids[i]], and moved[ids[i]] becomes slopes[i] times
    what it was; for four i."""

    def build(context, builder, signature, arguments):
        left, target, right = (_Table(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 3))
        ids, others, slope = (_data(context, builder, signature.args[n], arguments[n]) for n in (2, 4, 6))
        a, c = ([each.row(ids, _long(i)) for i in range(GROUP)] for each in (left, target))
        b = [right.row(others, builder.add(arguments[5], _long(i))) for i in range(GROUP)]
        g = [_spread(builder, builder.load(builder.gep(slope, [_long(i)]))) for i in range(GROUP)]

        def body(n, carried):
            offset = builder.mul(n, _long(LINE))
            for i in range(GROUP):
                old = _load(builder, b[i], offset)
                _store(builder, builder.fmul(g[i], old), c[i], offset)
                _store(builder, _times_plus(builder, g[i], _load(builder, a[i], offset), old), b[i], offset)
            return carried

        _loop(builder, left.vectors, [], body)
        return context.get_dummy_value()

    return types.void(table, moved, ids, other, others, types.intp, slopes), build


def own_pull_plain(
    table: Any, moved: Any, ids: Any, other: Any, others: Any, first: int, slopes: Any
) -> None:
    for i in range(GROUP):
        old = other[others[first + i]].copy()
        moved[ids[i]] = slopes[i] * old
        other[others[first + i]] += slopes[i] * table[ids[i]]


def _pull(width: int, *, take: bool = True, give: bool = True, fresh: bool = False) -> Any:
    """For 16 * `width` columns of four rows and `count` others, with slopes[4 q + i] between other q and row
    i.

    Take: rows of `moved` (the table itself, or one like it) move by the slopes times the others, or fresh
    become just that. Give: each other moves by its slopes times the rows of `table`, one after another: one
    that is there twice moves twice.
    """

    def pull(typing_context, table, moved, ids, first, other, others, count, slopes, column):
        def build(context, builder, signature, arguments):
            left, target, right = (
                _Table(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 4)
            )
            ids, others, slope = (_data(context, builder, signature.args[n], arguments[n]) for n in (2, 5, 7))
            at = [builder.mul(builder.add(arguments[8], _long(LANES * c)), _long(4)) for c in range(width)]
            places = [builder.add(arguments[3], _long(i)) for i in range(GROUP)]
            x = (
                [[_load(builder, left.row(ids, place), offset) for offset in at] for place in places]
                if give
                else []
            )

            def body(q, carried):
                row = right.row(others, q)
                sums = list(carried)
                y = [_load(builder, row, offset) for offset in at]
                new = list(y)
                for i in range(GROUP):
                    place = builder.gep(slope, [builder.add(builder.mul(q, _long(GROUP)), _long(i))])
                    g = _spread(builder, builder.load(place))
                    for c in range(width):
                        if take:
                            sums[i * width + c] = _times_plus(builder, g, y[c], sums[i * width + c])
                        if give:
                            new[c] = _times_plus(builder, g, x[i][c], new[c])
                for c in range(width if give else 0):
                    _store(builder, new[c], row, at[c])
                return sums

            sums = _loop(builder, arguments[6], [ZERO] * (GROUP * width if take else 0), body)
            for i in range(GROUP if take else 0):
                goal = target.row(ids, places[i])
                for c in range(width):
                    new = sums[i * width + c]
                    _store(
                        builder, new if fresh else builder.fadd(_load(builder, goal, at[c]), new), goal, at[c]
                    )
            return context.get_dummy_value()

        return types.void(table, moved, ids, types.intp, other, others, types.intp, slopes, types.intp), build

    return intrinsic(pull)


pull_one = _pull(1)
pull_three = _pull(3)
take_one = _pull(1, give=False, fresh=True)
take_three = _pull(3, give=False, fresh=True)
give_one = _pull(1, take=False)
give_three = _pull(3, take=False)


def pull_plain(
    table: Any, moved: Any, ids: Any, first: int, other: Any, others: Any, count: int, slopes: Any
) -> None:
    """What pull_one and pull_three do for their columns, for all columns."""
    old = table[ids[first : first + GROUP]]
    sums = np.zeros_like(old)
    for q in range(count):
        slope = slopes[GROUP * q : GROUP * (q + 1)]
        sums += slope[:, None] * other[others[q]]
        other[others[q]] += slope @ old
    np.add.at(moved, ids[first : first + GROUP], sums)


def take_plain(
    table: Any, moved: Any, ids: Any, first: int, other: Any, others: Any, count: int, slopes: Any
) -> None:
    sums = slopes[: GROUP * count].reshape(count, GROUP).T @ other[others[:count]]
    moved[ids[first : first + GROUP]] = sums


def give_plain(
    table: Any, moved: Any, ids: Any, first: int, other: Any, others: Any, count: int, slopes: Any
) -> None:
    np.add.at(
        other,
        others[:count],
        slopes[: GROUP * count].reshape(count, GROUP) @ table[ids[first : first + GROUP]],
    )


@intrinsic
def fetch_row(typing_context, table, row):
    """Ask the memory for all of table[row] before it is needed. Means nothing but time."""

    def build(context, builder, signature, arguments):
        rows = _Table(context, builder, signature.args[0], arguments[0])
        start = builder.add(rows.start, builder.mul(arguments[1], rows.stride))
        kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), NUMBER, NUMBER, NUMBER])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")

        def body(n, carried):
            place = builder.inttoptr(builder.add(start, builder.mul(n, _long(LINE))), BYTE.as_pointer())
            builder.call(ask, [place, *(ir.Constant(NUMBER, each) for each in NEAR)])
            return carried

        _loop(builder, rows.vectors, [], body)
        return context.get_dummy_value()

    return types.void(table, types.intp), build
