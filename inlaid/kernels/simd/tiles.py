"""Sixteen weights at once: who is in whose window, how much each meeting counts, and the slopes that scores
come to.

As in `rows`: each is a few instructions of LLVM, with its meaning in plain Python beside it. Meetings of
others with four words lie together, 4 q + i for other q and word i, so that a vector holds those of four
others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from inlaid.kernels.simd.rows import (
    FLOAT,
    FLOATS,
    GROUP,
    LANES,
    LONG,
    NUMBER,
    NUMBERS,
    ZERO,
    _data,
    _load,
    _long,
    _store,
    _times_plus,
    intrinsic,
)

ACROSS = list(range(GROUP)) * GROUP
DOWN = [n // GROUP for n in range(LANES)]
"""Of each lane of such a vector: which word it is of, and which other."""


def _inside(*, each: bool) -> Any:
    """out[begin + 4 r + c] = values[c] where one of two places is in the window of the other, else 0; for
    four r and four c.

    The window of a center is lows[center]..highs[center] - 1 without the center. Each center of four: the
    centers are first + c, and place + r is looked for; else the centers are place + r, and first + c is
    looked for.
    """

    def inside(typing_context, lows, highs, first, place, values, out, begin):
        def build(context, builder, signature, arguments):
            low, high, value, target = (
                _data(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 4, 5)
            )
            lanes = [_count_from(builder, arguments[2], ACROSS), _count_from(builder, arguments[3], DOWN)]
            centers, places = lanes if each else lanes[::-1]
            start, order = (arguments[2], ACROSS) if each else (arguments[3], DOWN)
            bounds = [_four(builder, array, start, NUMBER, order) for array in (low, high)]
            within = builder.and_(
                builder.icmp_signed("<=", bounds[0], places), builder.icmp_signed("<", places, bounds[1])
            )
            within = builder.and_(within, builder.icmp_signed("!=", places, centers))
            result = builder.select(within, _four(builder, value, _long(0), FLOAT, ACROSS), ZERO)
            builder.store(
                result, builder.bitcast(builder.gep(target, [arguments[6]]), FLOATS.as_pointer()), align=4
            )
            return context.get_dummy_value()

        return types.void(lows, highs, types.intp, types.intp, values, out, types.intp), build

    return intrinsic(inside)


def _four(builder: Any, array: Any, start: Any, kind: Any, order: list[int]) -> Any:
    """Four entries from start, in an order of 16."""
    four = builder.load(
        builder.bitcast(builder.gep(array, [start]), ir.VectorType(kind, GROUP).as_pointer()), align=4
    )
    return builder.shuffle_vector(four, four, ir.Constant(NUMBERS, order))


def _count_from(builder: Any, start: Any, steps: list[int]) -> Any:
    single = builder.insert_element(
        ir.Constant(NUMBERS, ir.Undefined), builder.trunc(start, NUMBER), ir.Constant(NUMBER, 0)
    )
    return builder.add(
        builder.shuffle_vector(single, single, ir.Constant(NUMBERS, [0] * LANES)), ir.Constant(NUMBERS, steps)
    )


places_inside = _inside(each=True)
centers_around = _inside(each=False)


def inside_plain(
    lows: Any, highs: Any, first: int, place: int, values: Any, out: Any, begin: int, *, each: bool
) -> None:
    for n in range(LANES):
        center, where = (
            (first + n % GROUP, place + n // GROUP) if each else (place + n // GROUP, first + n % GROUP)
        )
        out[begin + n] = values[n % GROUP] if lows[center] <= where < highs[center] and where != center else 0


@intrinsic
def repeat_four(typing_context, values, out, begin):
    """out[begin + n] = values[n % 4], for 16 n."""

    def build(context, builder, signature, arguments):
        value, target = (_data(context, builder, signature.args[n], arguments[n]) for n in range(2))
        result = _four(builder, value, _long(0), FLOAT, ACROSS)
        builder.store(
            result, builder.bitcast(builder.gep(target, [arguments[2]]), FLOATS.as_pointer()), align=4
        )
        return context.get_dummy_value()

    return types.void(values, out, types.intp), build


def repeat_four_plain(values: Any, out: Any, begin: int) -> None:
    for n in range(LANES):
        out[begin + n] = values[n % GROUP]


@intrinsic
def same(typing_context, ids, begin, id):
    """Bit n is set where ids[begin + n] is id, for 16 of them."""

    def build(context, builder, signature, arguments):
        place = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        values = builder.load(builder.bitcast(place, NUMBERS.as_pointer()), align=4)
        single = builder.insert_element(
            ir.Constant(NUMBERS, ir.Undefined), arguments[2], ir.Constant(NUMBER, 0)
        )
        wanted = builder.shuffle_vector(single, single, ir.Constant(NUMBERS, [0] * LANES))
        return builder.zext(
            builder.bitcast(builder.icmp_unsigned("==", values, wanted), ir.IntType(LANES)), LONG
        )

    return types.int64(ids, types.intp, types.int32), build


def same_plain(ids: Any, begin: int, id: int) -> int:
    return sum(1 << n for n in range(LANES) if ids[begin + n] == id)


@intrinsic
def slopes(typing_context, scores, weights, labels, shift, begin):
    """scores[k] = weights[k] (labels[shift + k] - sigmoid(scores[k])), for the 16 k from begin; NaN stays
    NaN."""

    def build(context, builder, signature, arguments):
        score, weight, label = (
            builder.ptrtoint(_data(context, builder, signature.args[n], arguments[n]), LONG) for n in range(3)
        )
        offset, shifted = (
            builder.mul(each, _long(4)) for each in (arguments[4], builder.add(arguments[3], arguments[4]))
        )
        error = builder.fsub(_load(builder, label, shifted), _sigmoid(builder, _load(builder, score, offset)))
        _store(builder, builder.fmul(_load(builder, weight, offset), error), score, offset)
        return context.get_dummy_value()

    return types.void(scores, weights, labels, types.intp, types.intp), build


def slopes_plain(scores: Any, weights: Any, labels: Any, shift: int, begin: int) -> None:
    part = slice(begin, begin + LANES)
    scores[part] = weights[part] * (
        labels[shift + begin : shift + begin + LANES] - 1 / (1 + np.exp(-scores[part]))
    )


def _sigmoid(builder: Any, x: Any) -> Any:
    """1 / (1 + e^-x): e^-x is 2^n e^r with n whole and r small, and e^r seven terms of its series."""
    for limit, beyond in (
        (80.0, ">"),
        (-80.0, "<"),
    ):  # keeps 2^n a float; a comparison with NaN is false, so NaN stays
        x = builder.select(builder.fcmp_ordered(beyond, x, _floats(limit)), _floats(limit), x)
    shifted = _times_plus(
        builder, x, _floats(-1 / np.log(2)), _floats(1.5 * 2**23)
    )  # so large that its last bits are n
    whole = builder.fsub(shifted, _floats(1.5 * 2**23))
    small = _times_plus(builder, whole, _floats(-np.log(2)), builder.fneg(x))
    series = _floats(1 / 720)
    for term in (120, 24, 6, 2, 1, 1):
        series = _times_plus(builder, series, small, _floats(1 / term))
    n = builder.shl(builder.bitcast(shifted, NUMBERS), ir.Constant(NUMBERS, [23] * LANES))
    power = builder.bitcast(builder.add(n, builder.bitcast(series, NUMBERS)), FLOATS)
    return builder.fdiv(_floats(1.0), builder.fadd(_floats(1.0), power))


def _floats(value: float) -> ir.Constant:
    return ir.Constant(FLOATS, [float(np.float32(value))] * LANES)
