"""Adam's step on the rows of a table, on a GPU: gradients of one row summed in a fixed order, no row visited
twice (Triton).

The ids of a batch are sorted, so that the gradients of one row are neighbors: a run. A program of the second
launch takes one run and moves its row. Frequent words have runs of thousands: the first launch sums every
chunk of places that belongs to one row, by as many programs as there are chunks, and the run is then the sum
of a few sums. The order of all additions follows from the ids alone, so the same batch gives the same bits;
nothing waits for the processor that launches.
"""

# ruff: noqa: N803 (Triton's convention: compile-time constants are upper case)

from __future__ import annotations

import inspect
import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

CHUNK = 32
"""Places whose sum is made beforehand where they belong to one row."""
TILE = 2
SUMS = 8
"""Gradients, and sums of chunks, on their way from memory at once: most rows have one or two, the longest
runs a hundred sums."""
EACH = 4
"""Places a program looks at for runs that begin there: a program for each would take longer to start than to
work."""
WIDTH = 512
"""Numbers of a row that a program holds at once, at most."""


def kernel(function: Any) -> Any:
    """Compile for the GPU: the tests' type checker wraps every function, and Triton cannot compile a
    wrapper."""
    return triton.jit(inspect.unwrap(function))


@kernel
def _sum_chunks(ids, order, gradients, sums, DIM: tl.constexpr, CHUNK: tl.constexpr, WIDTH: tl.constexpr):
    # ids (place,) i4, sorted; order (place,) i8: the position of each; gradients (place, DIM); sums (chunk,
    # DIM) f4
    chunk = tl.program_id(0)
    first = chunk * CHUNK
    if tl.load(ids + first) != tl.load(ids + first + CHUNK - 1):
        return
    columns = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = columns < DIM
    total = tl.zeros((WIDTH,), tl.float32)
    for place in tl.static_range(CHUNK):
        row = tl.load(order + first + place)
        total += tl.load(gradients + row * DIM + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(sums + chunk.to(tl.int64) * DIM + columns, total, mask=inside)


@kernel
def _add_places(
    total,
    place,
    limit,
    live,
    row,
    ids,
    order,
    gradients,
    columns,
    inside,
    DIM: tl.constexpr,
    TILE: tl.constexpr,
):
    # the gradients of `row` from `place` on, before `limit`, one by one; `live` while the run may continue
    while live & (place < limit):
        for _ahead in tl.static_range(TILE):
            at = tl.load(order + place, mask=place < limit, other=0)
            live = tl.load(ids + place, mask=place < limit, other=-1) == row
            total += tl.load(gradients + at * DIM + columns, mask=inside & live, other=0.0).to(tl.float32)
            place += 1
    return total


@kernel
def _sum_run(
    first,
    row,
    ids,
    order,
    gradients,
    sums,
    count,
    columns,
    inside,
    DIM: tl.constexpr,
    CHUNK: tl.constexpr,
    TILE: tl.constexpr,
    SUMS: tl.constexpr,
):
    # the sum of the run of `row` that begins at `first`: to the next border of chunks, by whole chunks, and
    # the rest
    total = tl.zeros(columns.shape, tl.float32)
    border = (first + CHUNK - 1) // CHUNK * CHUNK
    last = tl.load(ids + border - 1, mask=(border > first) & (border <= count), other=-1)
    total = _add_places(
        total,
        first,
        tl.minimum(border, count),
        first < border,
        row,
        ids,
        order,
        gradients,
        columns,
        inside,
        DIM,
        TILE,
    )
    on = (last == row) | (first == border)
    chunk = border // CHUNK
    live = on
    while live:
        for _ahead in tl.static_range(SUMS):
            end = chunk * CHUNK + CHUNK - 1
            live = live & (tl.load(ids + end, mask=end < count, other=-1) == row)
            total += tl.load(sums + chunk.to(tl.int64) * DIM + columns, mask=inside & live, other=0.0)
            chunk += live.to(tl.int32)
    place = chunk * CHUNK
    return _add_places(
        total,
        place,
        tl.minimum(place + CHUNK, count),
        on,
        row,
        ids,
        order,
        gradients,
        columns,
        inside,
        DIM,
        TILE,
    )


@kernel
def _one_minus_exp(x):
    # 1 - exp(x) for x below 0, to the last digits also where exp(x) is nearly 1
    near = -x * (
        1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7 * (1 + x / 8))))))
    )
    return tl.where(x > -0.5, near, 1 - tl.exp(x))


@kernel
def _lengths(
    ids,
    order,
    gradients,
    sums,
    count,
    lengths,
    DIM: tl.constexpr,
    CHUNK: tl.constexpr,
    TILE: tl.constexpr,
    SUMS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    # lengths (place,) f4: the square of the length of a row's gradient where its run begins, elsewhere 0
    first = tl.program_id(0)
    row = tl.load(ids + first)
    length = 0.0
    if tl.load(ids + first - 1, mask=first > 0, other=-1) != row:
        for start in tl.static_range(0, DIM, WIDTH):
            columns = start + tl.arange(0, WIDTH)
            gradient = _sum_run(
                first, row, ids, order, gradients, sums, count, columns, columns < DIM, DIM, CHUNK, TILE, SUMS
            )
            length += tl.sum(gradient * gradient)
    tl.store(lengths + first, length)


@kernel
def _adam(
    table,
    means,
    squares,
    steps,
    ids,
    order,
    gradients,
    sums,
    count,
    shrink,
    learning_rate,
    keep,
    GUARD: tl.constexpr,
    ONE: tl.constexpr,
    TWO: tl.constexpr,
    LOG_ONE: tl.constexpr,
    LOG_TWO: tl.constexpr,
    CLIPPED: tl.constexpr,
    DIM: tl.constexpr,
    EACH: tl.constexpr,
    CHUNK: tl.constexpr,
    TILE: tl.constexpr,
    SUMS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    # table (row, DIM); means, squares (row, DIM) f4; steps (row,) i4; the rest as in _sum_chunks. In place.
    begin = tl.program_id(0) * EACH
    for ahead in range(EACH):
        first = begin + ahead
        row = tl.load(ids + first, mask=first < count, other=-1)
        if tl.load(ids + first - 1, mask=(first > 0) & (first < count), other=-1) != row:
            step = tl.load(steps + row) + 1
            for start in tl.static_range(0, DIM, WIDTH):
                columns = start + tl.arange(0, WIDTH)
                inside = columns < DIM
                at = row.to(tl.int64) * DIM + columns
                mean = tl.load(means + at, mask=inside)
                square = tl.load(squares + at, mask=inside)
                old = tl.load(table + at, mask=inside).to(tl.float32)
                gradient = _sum_run(
                    first, row, ids, order, gradients, sums, count, columns, inside, DIM, CHUNK, TILE, SUMS
                )
                if CLIPPED:
                    gradient *= tl.load(shrink)
                mean += (1 - ONE) * (gradient - mean)
                square = square * TWO + (1 - TWO) * gradient * gradient
                tl.store(means + at, mean, mask=inside)
                tl.store(squares + at, square, mask=inside)
                speed = tl.div_rn(learning_rate, _one_minus_exp(step * LOG_ONE))
                width = tl.sqrt_rn(_one_minus_exp(step * LOG_TWO))
                moved = old * keep - tl.div_rn(mean * speed, tl.div_rn(tl.sqrt_rn(square), width) + GUARD)
                tl.store(table + at, moved, mask=inside)
            tl.store(steps + row, step)  # last: nothing loaded above has to wait for it


class Runs:
    """The gradient of a table, (place, dim) with ids (place,), as runs: its ids sorted, and the sums of its
    whole chunks."""

    def __init__(self, ids: Tensor, gradients: Tensor) -> None:
        self.gradients = gradients
        self.count = len(ids)
        self.dim = gradients.shape[1]
        self.ids, self.order = ids.int().sort(stable=True)
        self.sums = torch.empty(self.count // CHUNK, self.dim, dtype=torch.float32, device=ids.device)
        self.width = min(triton.next_power_of_2(self.dim), WIDTH)
        if len(self.sums):
            wide = min(self.width, 128)
            grid = (len(self.sums), triton.cdiv(self.dim, wide))
            _sum_chunks[grid](self.ids, self.order, gradients, self.sums, self.dim, CHUNK, wide, num_warps=1)

    def square(self) -> Tensor:
        """The square of the length of the whole gradient, repeats summed."""
        lengths = torch.empty(self.count, dtype=torch.float32, device=self.ids.device)
        _lengths[(self.count,)](
            self.ids,
            self.order,
            self.gradients,
            self.sums,
            self.count,
            lengths,
            self.dim,
            CHUNK,
            TILE,
            SUMS,
            self.width,
            num_warps=2,
        )
        return lengths.sum(dtype=torch.float64)


def adam_step(
    table: Tensor, state: dict[str, Tensor], runs: Runs, shrink: Tensor | None, group: dict[str, Any]
) -> None:
    """Move the rows of `table` that have a gradient; what it means is `RowAdam.move`, on one row after
    another."""
    one, two = group["betas"]
    logs = [math.log(beta) if beta else -1e4 for beta in (one, two)]  # the powers of 0 are 0
    learning_rate = group["lr"]  # torch's name for it
    keep = 1 - learning_rate * group["weight_decay"]
    _adam[(triton.cdiv(runs.count, EACH),)](
        table,
        state["means"],
        state["squares"],
        state["steps"],
        runs.ids,
        runs.order,
        runs.gradients,
        runs.sums,
        runs.count,
        runs.sums if shrink is None else shrink,
        learning_rate,
        keep,
        group["eps"],
        one,
        two,
        *logs,
        shrink is not None,
        runs.dim,
        EACH,
        CHUNK,
        TILE,
        SUMS,
        runs.width,
        num_warps=4,
    )
