"""How far apart are the cores that two threads run on? Nanoseconds for a cache line to go there and back.

Two-thread figures depend on it: the cores of a virtual machine share a cache at one time and not at another.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types

from inlaid.kernels.compile import kernel

intrinsic: Any = extending.intrinsic  # no type checker can follow what it makes of a function

INT64 = ir.IntType(64)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.make_array(signature.args[0])(context, builder, arguments[0]).data


@intrinsic
def _increment(typing_context, counter):
    """counter[0] += 1, atomically."""

    def build(context, builder, signature, arguments):
        address = _address(context, builder, signature, arguments)
        builder.atomic_rmw("add", address, ir.Constant(INT64, 1), "seq_cst")
        return context.get_dummy_value()

    return types.void(counter), build


@intrinsic
def _value(typing_context, counter):
    """counter[0], read from memory every time."""

    def build(context, builder, signature, arguments):
        return builder.load_atomic(_address(context, builder, signature, arguments), "seq_cst", 8)

    return types.int64(counter), build


@kernel
def _meet(counter, times):
    for n in range(times):
        _increment(counter)
        while _value(counter) < 2 * n + 2:
            pass


def ping_pong(times: int = 20_000) -> float:
    """Nanoseconds that two threads take to wait for each other once."""
    counter = np.zeros(8, np.int64)
    start = time.perf_counter()
    threads = [threading.Thread(target=_meet, args=(counter, times)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - start) / times * 1e9
