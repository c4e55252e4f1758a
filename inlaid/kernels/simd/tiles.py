"""Sixteen pairs at once: which words are in whose window, the weight of each pair, and its gradient.

The weights of pairs are stored group by group: 4 q + i is the pair of other q and word i of four, so that a
vector of 16 holds the pairs of four others with four words. Every intrinsic has its meaning in plain NumPy
next to it (`*_plain`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from inlaid.kernels.simd.llvm import (
    FLOAT,
    FLOATS,
    GROUP,
    INT32,
    INT64,
    INTS,
    SIMD_WIDTH,
    ZEROS,
    broadcast,
    data_of,
    int64,
    intrinsic,
    kept,
    load,
    multiply_add,
    store,
    store_at,
)

WORD_OF = list(range(GROUP)) * GROUP
OTHER_OF = [n // GROUP for n in range(SIMD_WIDTH)]
"""Of each element of such a vector: which of the four words it belongs to, and which of the four others."""


def _inside(*, words_are_centers: bool) -> Any:
    """out[begin + 4 r + c] = values[c] where one of two positions is in the window of the other, else 0; for
    four r and four c.

    The window of a center is lows[center]..highs[center] - 1 without the center. The centers are the words
    first + c, whose windows may hold other + r; or they are other + r, whose windows may hold first + c.
    """

    def inside(typing_context, lows, highs, first, other, values, out, begin):
        def build(context, builder, signature, arguments):
            low, high, value, target = (
                data_of(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 4, 5)
            )
            words = _count_from(builder, arguments[2], WORD_OF)
            others = _count_from(builder, arguments[3], OTHER_OF)
            if words_are_centers:
                centers = words
                contexts = others
                start = arguments[2]
                order = WORD_OF
            else:
                centers = others
                contexts = words
                start = arguments[3]
                order = OTHER_OF
            lowest, end = (_four(builder, array, start, INT32, order) for array in (low, high))
            within = builder.and_(
                builder.icmp_signed("<=", lowest, contexts), builder.icmp_signed("<", contexts, end)
            )
            within = builder.and_(within, builder.icmp_signed("!=", contexts, centers))
            result = builder.select(within, _four(builder, value, int64(0), FLOAT, WORD_OF), ZEROS)
            store_at(builder, result, target, arguments[6])
            return context.get_dummy_value()

        return types.void(lows, highs, types.intp, types.intp, values, out, types.intp), build

    return intrinsic(inside)


def _four(builder: Any, array: Any, start: Any, kind: Any, order: list[int]) -> Any:
    """Four entries from start, repeated to 16 in the given order."""
    pointer = builder.bitcast(builder.gep(array, [start]), ir.VectorType(kind, GROUP).as_pointer())
    four = builder.load(pointer, align=4)
    return builder.shuffle_vector(four, four, ir.Constant(INTS, order))


def _count_from(builder: Any, start: Any, steps: list[int]) -> Any:
    """start + steps[n], as 16 ints."""
    return builder.add(broadcast(builder, builder.trunc(start, INT32), INTS), ir.Constant(INTS, steps))


contexts_of_centers = _inside(words_are_centers=True)
centers_of_contexts = _inside(words_are_centers=False)


def inside_plain(
    lows: Any,
    highs: Any,
    first: int,
    other: int,
    values: Any,
    out: Any,
    begin: int,
    *,
    words_are_centers: bool,
) -> None:
    for n in range(SIMD_WIDTH):
        center, context = first + n % GROUP, other + n // GROUP
        if not words_are_centers:
            center, context = context, center
        inside = lows[center] <= context < highs[center] and context != center
        out[begin + n] = values[n % GROUP] if inside else 0


@intrinsic
def repeat_four(typing_context, values, out, begin):
    """out[begin + n] = values[n % 4], for 16 n."""

    def build(context, builder, signature, arguments):
        value, target = (data_of(context, builder, signature.args[n], arguments[n]) for n in range(2))
        store_at(builder, _four(builder, value, int64(0), FLOAT, WORD_OF), target, arguments[2])
        return context.get_dummy_value()

    return types.void(values, out, types.intp), build


def repeat_four_plain(values: Any, out: Any, begin: int) -> None:
    for n in range(SIMD_WIDTH):
        out[begin + n] = values[n % GROUP]


@intrinsic
def matches(typing_context, ids, begin, id):
    """Bit n is set where ids[begin + n] == id, for 16 n."""

    def build(context, builder, signature, arguments):
        start = builder.gep(data_of(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        values = builder.load(builder.bitcast(start, INTS.as_pointer()), align=4)
        equal = builder.icmp_unsigned("==", values, broadcast(builder, arguments[2], INTS))
        return builder.zext(builder.bitcast(equal, ir.IntType(SIMD_WIDTH)), INT64)

    return types.int64(ids, types.intp, types.int32), build


def matches_plain(ids: Any, begin: int, id: int) -> int:
    return sum(1 << n for n in range(SIMD_WIDTH) if ids[begin + n] == id)


@intrinsic
def gradients(typing_context, scores, weights, labels, shift, begin):
    """scores[k] = weights[k] (labels[shift + k] - sigmoid(scores[k])), for the 16 k from begin; NaN stays
    NaN."""

    def build(context, builder, signature, arguments):
        score, weight, label = (
            builder.ptrtoint(data_of(context, builder, signature.args[n], arguments[n]), INT64)
            for n in range(3)
        )
        offset = builder.mul(arguments[4], int64(4))
        label_offset = builder.mul(builder.add(arguments[3], arguments[4]), int64(4))
        predicted = _sigmoid(builder, load(builder, score, offset))
        error = builder.fsub(load(builder, label, label_offset), predicted)
        store(builder, builder.fmul(load(builder, weight, offset), error), score, offset)
        return context.get_dummy_value()

    return types.void(scores, weights, labels, types.intp, types.intp), build


def gradients_plain(scores: Any, weights: Any, labels: Any, shift: int, begin: int) -> None:
    part = slice(begin, begin + SIMD_WIDTH)
    label = labels[shift + begin : shift + begin + SIMD_WIDTH]
    scores[part] = weights[part] * (label - 1 / (1 + np.exp(-scores[part])))


def _sigmoid(builder: Any, x: Any) -> Any:
    """1 / (1 + e^-x): e^-x is 2^n e^r with n whole and r small, and e^r seven terms of its series."""
    # The limits keep 2^n a float. A comparison with NaN is false, so NaN stays NaN.
    for limit, beyond in ((80.0, ">"), (-80.0, "<")):
        x = builder.select(builder.fcmp_ordered(beyond, x, _floats(limit)), _floats(limit), x)
    # 1.5 * 2^23 is so large that the last bits of the sum are the whole number n.
    shifted = kept(builder, multiply_add(builder, x, _floats(-1 / np.log(2)), _floats(1.5 * 2**23)))
    whole = builder.fsub(shifted, _floats(1.5 * 2**23))
    small = multiply_add(builder, whole, _floats(-np.log(2)), builder.fneg(x))
    series = _floats(1 / 720)
    for term in (120, 24, 6, 2, 1, 1):
        series = multiply_add(builder, series, small, _floats(1 / term))
    n = builder.shl(builder.bitcast(shifted, INTS), ir.Constant(INTS, [23] * SIMD_WIDTH))
    power = builder.bitcast(builder.add(n, builder.bitcast(series, INTS)), FLOATS)
    return builder.fdiv(_floats(1.0), builder.fadd(_floats(1.0), power))


def _floats(value: float) -> ir.Constant:
    return ir.Constant(FLOATS, [float(np.float32(value))] * SIMD_WIDTH)
