"""64 bytes of text at once: which are in a range, copying them, and the lowest bit of what was found.

Every intrinsic has its meaning in plain Python next to it (`*_plain`), and a test compares the two. Arrays
must be readable (and writable) 64 bytes past the last index asked for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from inlaid.kernels.simd.llvm import INT8, INT64, broadcast, data_of, intrinsic, prefetch

BYTES_AT_ONCE = 64
BYTES = ir.VectorType(INT8, BYTES_AT_ONCE)
BITS = ir.VectorType(ir.IntType(1), BYTES_AT_ONCE)
BIT = ir.IntType(1)
WRITE_TO_L1 = (1, 3, 1)
"""Prefetch to write, into all caches."""


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: Any) -> Any:
    data = data_of(context, builder, array_type, array)
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _all(value: Any) -> ir.Constant:
    return ir.Constant(BYTES, [value] * BYTES_AT_ONCE)


def _everywhere(builder: Any, byte: Any) -> Any:
    """One byte, 64 times."""
    return broadcast(builder, builder.trunc(byte, INT8), BYTES)


@intrinsic
def between(typing_context, text, here, low, high):
    """Bit n is set where low <= text[here + n] <= high, for 64 bytes."""

    def build(context, builder, signature, arguments):
        array, index, low, high = arguments
        value = builder.load(_pointer(context, builder, signature.args[0], array, index, BYTES), align=1)
        above = builder.icmp_unsigned(">=", value, _everywhere(builder, low))
        below = builder.icmp_unsigned("<=", value, _everywhere(builder, high))
        return builder.bitcast(builder.and_(above, below), INT64)

    return types.uint64(text, types.intp, types.int64, types.int64), build


def between_plain(text: Any, here: int, low: int, high: int) -> int:
    return sum(1 << n for n in range(BYTES_AT_ONCE) if low <= text[here + n] <= high)


@intrinsic
def put_words(typing_context, text, here, kept, upper, newlines, out):
    """out[here + n] = text[here + n] where kept (plus 32 where upper), 10 where newlines, else 32; for 64
    bytes."""

    def build(context, builder, signature, arguments):
        array, index, kept, upper, newlines, out = arguments
        value = builder.load(_pointer(context, builder, signature.args[0], array, index, BYTES), align=1)
        lowered = builder.select(builder.bitcast(upper, BITS), builder.add(value, _all(32)), value)
        between_words = builder.select(builder.bitcast(newlines, BITS), _all(10), _all(32))
        result = builder.select(builder.bitcast(kept, BITS), lowered, between_words)
        builder.store(result, _pointer(context, builder, signature.args[5], out, index, BYTES), align=1)
        return context.get_dummy_value()

    return types.void(text, types.intp, types.uint64, types.uint64, types.uint64, out), build


def put_words_plain(text: Any, here: int, kept: int, upper: int, newlines: int, out: Any) -> None:
    for n in range(BYTES_AT_ONCE):
        if kept >> n & 1:
            out[here + n] = text[here + n] + (32 if upper >> n & 1 else 0)
        else:
            out[here + n] = 10 if newlines >> n & 1 else 32


@intrinsic
def copy(typing_context, text, here, out, there):
    """out[there + n] = text[here + n], for 64 bytes."""

    def build(context, builder, signature, arguments):
        array, index, out, target = arguments
        value = builder.load(_pointer(context, builder, signature.args[0], array, index, BYTES), align=1)
        builder.store(value, _pointer(context, builder, signature.args[2], out, target, BYTES), align=1)
        return context.get_dummy_value()

    return types.void(text, types.intp, out, types.intp), build


def copy_plain(text: Any, here: int, out: Any, there: int) -> None:
    for n in range(BYTES_AT_ONCE):
        out[there + n] = text[here + n]


@intrinsic
def eight(typing_context, text, here):
    """The eight bytes text[here:here + 8] as one number, the first byte lowest."""

    def build(context, builder, signature, arguments):
        array, index = arguments
        return builder.load(_pointer(context, builder, signature.args[0], array, index, INT64), align=1)

    return types.uint64(text, types.intp), build


def eight_plain(text: Any, here: int) -> int:
    return int.from_bytes(bytes(text[here : here + 8]), "little")


@intrinsic
def lowest_bit(typing_context, bits):
    """The number of the lowest set bit; 64 when there is none."""

    def build(context, builder, signature, arguments):
        kind = ir.FunctionType(INT64, [INT64, BIT])
        trailing_zeros = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(trailing_zeros, [arguments[0], ir.Constant(BIT, 0)])

    return types.int64(types.uint64), build


def lowest_bit_plain(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else 64


@intrinsic
def prefetch_at(typing_context, table, row):
    """Ask the memory for the beginning of table[row] before it is needed. Changes the time only."""

    def build(context, builder, signature, arguments):
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(table.strides, 0)
        start = builder.ptrtoint(table.data, INT64)
        prefetch(builder, builder.add(start, builder.mul(arguments[1], stride)), WRITE_TO_L1)
        return context.get_dummy_value()

    return types.void(table, types.intp), build
