"""Vector micro-kernels: what 64 bytes at once can do that a loop in Python's words cannot.

Each is a few instructions of LLVM, handed to Numba; wide vectors are legal on every CPU (LLVM splits them).
Beside each stands its meaning in plain Python, and a test holds the two together. Arrays must be readable
(and writable) 64 bytes past the last index asked for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic  # what it makes of a function, no type checker can follow

WIDE = 64
BYTE = ir.IntType(8)
LONG = ir.IntType(64)
BYTES = ir.VectorType(BYTE, WIDE)
BITS = ir.VectorType(ir.IntType(1), WIDE)


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _all(value: Any) -> ir.Constant:
    return ir.Constant(BYTES, [value] * WIDE)


def _everywhere(builder: Any, byte: Any) -> Any:
    """One byte, 64 times."""
    single = builder.insert_element(
        ir.Constant(BYTES, ir.Undefined), builder.trunc(byte, BYTE), ir.Constant(ir.IntType(32), 0)
    )
    return builder.shuffle_vector(
        single, single, ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
    )


@intrinsic
def between(typing_context, text, here, low, high):
    """Bit n is set where low <= text[here + n] <= high, for 64 bytes."""

    def build(context, builder, signature, arguments):
        array, index, low, high = arguments
        value = builder.load(_place(context, builder, signature.args[0], array, index, BYTES), align=1)
        above = builder.icmp_unsigned(">=", value, _everywhere(builder, low))
        below = builder.icmp_unsigned("<=", value, _everywhere(builder, high))
        return builder.bitcast(builder.and_(above, below), LONG)

    return types.uint64(text, types.intp, types.int64, types.int64), build


def between_plain(text: Any, here: int, low: int, high: int) -> int:
    return sum(1 << n for n in range(WIDE) if low <= text[here + n] <= high)


@intrinsic
def put_words(typing_context, text, here, kept, upper, newlines, out):
    """out[here + n] = text[here + n] where kept (plus 32 where upper), 10 where newlines, else 32; for 64
    bytes."""

    def build(context, builder, signature, arguments):
        array, index, kept, upper, newlines, out = arguments
        value = builder.load(_place(context, builder, signature.args[0], array, index, BYTES), align=1)
        lowered = builder.select(builder.bitcast(upper, BITS), builder.add(value, _all(32)), value)
        between_words = builder.select(builder.bitcast(newlines, BITS), _all(10), _all(32))
        result = builder.select(builder.bitcast(kept, BITS), lowered, between_words)
        builder.store(result, _place(context, builder, signature.args[5], out, index, BYTES), align=1)
        return context.get_dummy_value()

    return types.void(text, types.intp, types.uint64, types.uint64, types.uint64, out), build


def put_words_plain(text: Any, here: int, kept: int, upper: int, newlines: int, out: Any) -> None:
    for n in range(WIDE):
        if kept >> n & 1:
            out[here + n] = text[here + n] + (32 if upper >> n & 1 else 0)
        else:
            out[here + n] = 10 if newlines >> n & 1 else 32


@intrinsic
def copy(typing_context, text, here, out, there):
    """out[there + n] = text[here + n], for 64 bytes."""

    def build(context, builder, signature, arguments):
        array, index, out, target = arguments
        value = builder.load(_place(context, builder, signature.args[0], array, index, BYTES), align=1)
        builder.store(value, _place(context, builder, signature.args[2], out, target, BYTES), align=1)
        return context.get_dummy_value()

    return types.void(text, types.intp, out, types.intp), build


def copy_plain(text: Any, here: int, out: Any, there: int) -> None:
    for n in range(WIDE):
        out[there + n] = text[here + n]


@intrinsic
def eight(typing_context, text, here):
    """The eight bytes text[here:here + 8] as one number, the first byte lowest."""

    def build(context, builder, signature, arguments):
        array, index = arguments
        return builder.load(_place(context, builder, signature.args[0], array, index, LONG), align=1)

    return types.uint64(text, types.intp), build


def eight_plain(text: Any, here: int) -> int:
    return int.from_bytes(bytes(text[here : here + 8]), "little")


@intrinsic
def lowest_bit(typing_context, bits):
    """The number of the lowest set bit; 64 when there is none."""

    def build(context, builder, signature, arguments):
        count = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(LONG, [LONG, ir.IntType(1)]), "llvm.cttz.i64"
        )
        return builder.call(count, [arguments[0], ir.Constant(ir.IntType(1), 0)])

    return types.int64(types.uint64), build


def lowest_bit_plain(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else 64


@intrinsic
def fetch(typing_context, table, row):
    """Ask the memory for table[row] before it is needed. Means nothing but time."""

    def build(context, builder, signature, arguments):
        table_type = signature.args[0]
        table = context.make_array(table_type)(context, builder, arguments[0])
        stride = builder.extract_value(table.strides, 0)
        start = builder.ptrtoint(table.data, LONG)
        place = builder.inttoptr(builder.add(start, builder.mul(arguments[1], stride)), BYTE.as_pointer())
        number = ir.IntType(32)
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(ask, [place, ir.Constant(number, 1), ir.Constant(number, 3), ir.Constant(number, 1)])
        return context.get_dummy_value()

    return types.void(table, types.intp), build
