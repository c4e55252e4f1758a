"""Workers that go together: counters they all see, waiting for each other, and taking turns.

A counter is the first number of a row of `counters_for`, so that no two share a cache line. What a worker has
written before it counts, another sees that has read the count.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic  # what it makes of a function, no type checker can follow

LONG = ir.IntType(64)
NUMBER = ir.IntType(32)
PATIENCE = 200_000
NAP = 20
"""Looks at a counter before the core is left to others, and for how many microseconds: on a busy machine the
other is not running."""


def counters_for(counters: int) -> np.ndarray:
    """So many counters (n, 8) i8 that stand at nought, a cache line each."""
    return np.zeros((counters, 8), np.int64)


def _counter(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [builder.mul(arguments[1], ir.Constant(LONG, 8))])


@intrinsic
def count_one(typing_context, counters, n):
    """Counter n goes up by one."""

    def build(context, builder, signature, arguments):
        builder.atomic_rmw(
            "add", _counter(context, builder, signature, arguments), ir.Constant(LONG, 1), "seq_cst"
        )
        return context.get_dummy_value()

    return types.void(counters, types.intp), build


@intrinsic
def counted(typing_context, counters, n):
    """What counter n stands at."""

    def build(context, builder, signature, arguments):
        return builder.load_atomic(_counter(context, builder, signature, arguments), "seq_cst", 8)

    return types.int64(counters, types.intp), build


@intrinsic
def take_turn(typing_context, counters, n, end):
    """What counter n stands at, and it goes up by one, so that nobody else gets the same; -1 when it is at
    `end` already."""

    def build(context, builder, signature, arguments):
        place = _counter(context, builder, signature, arguments)
        before, look, grab, after = (
            builder.block,
            *(builder.append_basic_block(name) for name in ("look", "grab", "after")),
        )
        first = builder.load_atomic(place, "seq_cst", 8)
        builder.branch(look)
        builder.position_at_end(look)
        seen = builder.phi(LONG)
        builder.cbranch(builder.icmp_signed("<", seen, arguments[2]), grab, after)
        builder.position_at_end(grab)
        found = builder.cmpxchg(place, seen, builder.add(seen, ir.Constant(LONG, 1)), "seq_cst")
        seen.add_incoming(first, before)
        seen.add_incoming(builder.extract_value(found, 0), grab)
        builder.cbranch(builder.extract_value(found, 1), after, look)
        builder.position_at_end(after)
        turn = builder.phi(LONG)
        turn.add_incoming(ir.Constant(LONG, -1), look)
        turn.add_incoming(seen, grab)
        return turn

    return types.int64(counters, types.intp, types.int64), build


@intrinsic
def wait_for(typing_context, counters, n, goal):
    """Wait until counter n has come to `goal`."""

    def build(context, builder, signature, arguments):
        place = _counter(context, builder, signature, arguments)
        name, nap = ("SwitchToThread", []) if sys.platform == "win32" else ("usleep", [NAP])
        give_way = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(NUMBER, [NUMBER for _ in nap]), name
        )
        before, look, wait, after = (
            builder.block,
            *(builder.append_basic_block(name) for name in ("look", "wait", "after")),
        )
        builder.branch(look)
        builder.position_at_end(look)
        tries = builder.phi(LONG)
        reached = builder.load_atomic(place, "seq_cst", 8)
        builder.cbranch(builder.icmp_signed("<", reached, arguments[2]), wait, after)
        builder.position_at_end(wait)
        with builder.if_then(builder.icmp_signed(">", tries, ir.Constant(LONG, PATIENCE))):
            builder.call(give_way, [ir.Constant(NUMBER, each) for each in nap])
        tries.add_incoming(ir.Constant(LONG, 0), before)
        tries.add_incoming(builder.add(tries, ir.Constant(LONG, 1)), builder.block)
        builder.branch(look)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.void(counters, types.intp, types.int64), build
