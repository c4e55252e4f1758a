"""LLVM instructions for Numba: types, loads and stores, and a loop. See docs/simd.md.

An intrinsic is a Python function that Numba calls while it compiles a kernel: it appends instructions to the
kernel instead of computing anything. `builder` appends them. Every helper here takes it first.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils

intrinsic: Any = extending.intrinsic  # no type checker can follow what it makes of a function

SIMD_WIDTH = 16
"""Floats in a vector. Wide vectors are legal on every CPU: LLVM splits them into registers that exist."""
GROUP = 4
"""Rows that are processed together, so that every number loaded into a register is used four times."""
CACHE_LINE = 64
"""Bytes of a cache line, and of a vector of 16 floats."""

INT8 = ir.IntType(8)
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, SIMD_WIDTH)
INTS = ir.VectorType(INT32, SIMD_WIDTH)
ZEROS = ir.Constant(FLOATS, [0.0] * SIMD_WIDTH)


class Table:
    """A float32 array (rows, columns) inside an intrinsic; columns are a multiple of SIMD_WIDTH."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder = builder
        self.start = builder.ptrtoint(array.data, INT64)
        self.stride = builder.extract_value(array.strides, 0)
        columns = builder.extract_value(array.shape, 1)
        self.vectors = builder.udiv(columns, int64(SIMD_WIDTH))
        """Vectors in a row."""
        self.last = builder.sub(builder.extract_value(array.shape, 0), int64(1))

    def row(self, row: Any) -> Any:
        """The address of a row, in bytes."""
        return self.builder.add(self.start, self.builder.mul(row, self.stride))

    def at_most_last(self, row: Any) -> Any:
        """The row, or the last one where there is none."""
        return self.builder.select(self.builder.icmp_signed("<", row, self.last), row, self.last)

    def row_of(self, ids: Any, n: Any) -> Any:
        """The address of row ids[n]."""
        id = self.builder.sext(self.builder.load(self.builder.gep(ids, [n])), INT64)
        return self.row(id)


def data_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The pointer to the first element of an array."""
    return context.make_array(kind)(context, builder, value).data


def int64(value: int) -> ir.Constant:
    return ir.Constant(INT64, value)


def load(builder: Any, address: Any, offset: Any) -> Any:
    """16 floats from an address plus an offset, both in bytes."""
    pointer = builder.inttoptr(builder.add(address, offset), FLOATS.as_pointer())
    return builder.load(pointer, align=4)


def store(builder: Any, value: Any, address: Any, offset: Any) -> None:
    pointer = builder.inttoptr(builder.add(address, offset), FLOATS.as_pointer())
    builder.store(value, pointer, align=4)


def store_at(builder: Any, value: Any, data: Any, index: Any) -> None:
    """Store 16 floats in an array from an index on."""
    builder.store(value, builder.bitcast(builder.gep(data, [index]), FLOATS.as_pointer()), align=4)


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, in one instruction where the CPU has it."""
    kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v16f32")
    return builder.call(function, [a, b, c])


def kept(builder: Any, value: Any) -> Any:
    """The value as it was computed: nothing after it is reassociated with what came before.

    The kernels allow reassociation, which would simplify (x + large) - large to x and so skip the rounding
    that was meant.
    """
    kind = ir.FunctionType(FLOATS, [FLOATS])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.arithmetic.fence.v16f32")
    return builder.call(function, [value])


def broadcast(builder: Any, value: Any, kind: ir.VectorType = FLOATS) -> Any:
    """One number in all elements of a vector."""
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INT32, 0))
    order = ir.Constant(ir.VectorType(INT32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, first, order)


def broadcast_at(builder: Any, data: Any, index: Any) -> Any:
    """data[index] in all elements of a vector."""
    return broadcast(builder, builder.load(builder.gep(data, [index])))


def loop(builder: Any, count: Any, carried: list[Any], body: Any) -> list[Any]:
    """Run `carried = body(n, carried)` for n in 0..count-1, count at least 1; returns the last `carried`.

    What is carried from one iteration to the next stays in registers (a phi instruction each).
    """
    before = builder.block
    block = builder.append_basic_block("loop")
    builder.branch(block)
    builder.position_at_end(block)
    n = builder.phi(INT64)
    values = [builder.phi(value.type) for value in carried]
    result = body(n, values)
    following = builder.add(n, int64(1))
    for phi, first, later in zip([n, *values], [int64(0), *carried], [following, *result], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, builder.block)
    after = builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", following, count), block, after)
    builder.position_at_end(after)
    return result


def prefetch(builder: Any, address: Any, hint: tuple[int, int, int]) -> None:
    """Ask the memory for the cache line at an address (bytes); hint: write, locality 0 to 3, data."""
    kind = ir.FunctionType(ir.VoidType(), [INT8.as_pointer(), INT32, INT32, INT32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    pointer = builder.inttoptr(address, INT8.as_pointer())
    builder.call(function, [pointer, *(ir.Constant(INT32, each) for each in hint)])
