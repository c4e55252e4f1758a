"""Row-wise updates of large tables: SGD, Adagrad and Adam that touch only the rows seen.

A batch looks up a few thousand rows of a table of millions. An ordinary optimizer walks the whole table every
step: it decays, and lets momentum push, words the batch never saw. These walk the rows that have a gradient
and no others. Each row is treated as if it were a parameter of its own, trained on the steps in which it was
seen.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from inlaid.errors import SettingError

BLOCK = 256
"""Rows moved at once on a CPU, so that what they need stays in its cache: all at once takes half as long
again (measured)."""

TRITON = importlib.util.find_spec("triton") is not None
"""Whether there is a compiler for GPUs: it comes with torch where torch knows one."""


@dataclass
class RowGradient:
    """The rows of a table that have a gradient: `ids` (row,) once each, and their sums (row, dim) in float32
    or better."""

    ids: Tensor
    rows: Tensor


class RowOptimizer(Optimizer):
    """What the three have in common: finding the rows, clipping, decay. A kind says how one block of rows
    moves."""

    def __init__(
        self, tables: Iterable[Any], *, rate: float, weight_decay: float, clip: float | None, **settings: Any
    ) -> None:
        for name, value in (("rate", rate), ("weight_decay", weight_decay), ("clip", clip or 0.0)):
            if not 0 <= value < float("inf"):
                raise SettingError(f"{name} is {value}; expected a finite number, 0 or more.")
        # torch's schedules look for the rate under "lr"
        super().__init__(tables, {"lr": rate, "weight_decay": weight_decay, "clip": clip, **settings})
        for group in self.param_groups:
            for table in group["params"]:
                if table.dim() != 2:
                    raise SettingError(
                        f"A row-wise optimizer moves tables (row, dim); found shape {tuple(table.shape)}. Use torch.optim."
                    )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Move the rows that have a gradient. With a closure, as in torch, compute the loss first and return
        it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As in torch, but what is remembered keeps its own type (torch would make it the table's) and is
        copied."""
        super().load_state_dict(state_dict)
        tables = [table for group in self.param_groups for table in group["params"]]
        for number, remembered in state_dict["state"].items():
            table = tables[number]
            self.state[table] = {
                name: value.to(table.device, copy=True) for name, value in remembered.items()
            }

    def _step_group(self, group: dict[str, Any]) -> None:
        tables = [table for table in group["params"] if table.grad is not None]
        gradients = [rows_of(table.grad) for table in tables]
        shrink = _shrink(gradients, group["clip"])
        for table, gradient in zip(tables, gradients, strict=True):
            state = self._state(table, gradient.rows.dtype)
            block = BLOCK if table.device.type == "cpu" else max(len(gradient.ids), 1)
            for ids, slopes in zip(gradient.ids.split(block), gradient.rows.split(block), strict=True):
                rows = table.index_select(0, ids).to(slopes.dtype)
                moved = self.move(rows, slopes if shrink == 1.0 else slopes * shrink, state, ids, group)
                table.index_copy_(0, ids, moved.to(table.dtype))

    def _state(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        """What is remembered about each row; empty until `start` fills it at the first step."""
        state = self.state[table]
        if not state:
            state.update(self.start(table, dtype))
        return state

    def start(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        return {}

    def move(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        """The rows after one step; `rows` is a copy and may be written over. Of `state`, whole tables, only
        rows `ids` are touched."""
        raise NotImplementedError


class RowSGD(RowOptimizer):
    """Rows go down their gradient; decay pulls the same rows towards zero."""

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        rate: float = 0.1,
        weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        super().__init__(tables, rate=rate, weight_decay=weight_decay, clip=clip)

    def move(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        return rows - group["lr"] * (gradient + group["weight_decay"] * rows)


class RowAdagrad(RowOptimizer):
    """Each number has its own rate, which falls as its gradients add up (Duchi et al. 2011)."""

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        rate: float = 0.01,
        weight_decay: float = 0.0,
        clip: float | None = None,
        guard: float = 1e-10,
    ) -> None:
        super().__init__(tables, rate=rate, weight_decay=weight_decay, clip=clip, guard=guard)

    def start(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        return {"squares": torch.zeros_like(table, dtype=dtype)}

    def move(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        gradient = gradient + group["weight_decay"] * rows
        squares = state["squares"].index_select(0, ids).addcmul_(gradient, gradient)
        state["squares"].index_copy_(0, ids, squares)
        return rows - group["lr"] * gradient / (squares.sqrt_() + group["guard"])


class RowAdam(RowOptimizer):
    """Adam with decoupled decay (Loshchilov & Hutter 2019), its correction counted by the row.

    A rare word first met after a million steps takes the step Adam takes first, not the three times longer
    one that a clock shared by all rows would give it.
    """

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        rate: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        guard: float = 1e-8,
        weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        if not all(0 <= beta < 1 for beta in betas):
            raise SettingError(f"betas are {betas}; expected two numbers from 0 to below 1.")
        super().__init__(tables, rate=rate, weight_decay=weight_decay, clip=clip, betas=betas, guard=guard)

    def start(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        means = torch.zeros_like(table, dtype=dtype)
        squares = torch.zeros_like(table, dtype=dtype)
        return {
            "means": means,
            "squares": squares,
            "steps": torch.zeros(len(table), 1, dtype=torch.int32, device=table.device),
        }

    def _step_group(self, group: dict[str, Any]) -> None:
        """On a GPU by a kernel of its own, which says the same as `move` and never waits for the GPU to be
        done."""
        tables = [table for table in group["params"] if table.grad is not None]
        if not tables or not all(_suits_kernel(table) for table in tables):
            super()._step_group(group)
            return
        from inlaid.kernels.optimizer import gpu

        tables = [table for table in tables if table.grad._nnz()]
        runs = [gpu.Runs(table.grad._indices()[0], table.grad._values()) for table in tables]
        shrink = None
        if group["clip"] is not None and runs:
            length = torch.stack([each.square() for each in runs]).sum().sqrt()
            shrink = (group["clip"] / (length + 1e-6)).clamp(max=1.0).float()
        for table, each in zip(tables, runs, strict=True):
            gpu.adam_step(table, self._state(table, torch.float32), each, shrink, group)

    def move(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        one, two = group["betas"]
        steps = state["steps"].index_select(0, ids) + 1
        means = state["means"].index_select(0, ids).lerp_(gradient, 1 - one)
        squares = state["squares"].index_select(0, ids).mul_(two).addcmul_(gradient, gradient, value=1 - two)
        for name, value in (("steps", steps), ("means", means), ("squares", squares)):
            state[name].index_copy_(0, ids, value)
        counted = steps.to(torch.float64)  # 1 - 0.999**1 loses four digits in float32
        rates = (group["lr"] / (1 - one**counted)).to(rows.dtype)
        widths = (1 - two**counted).sqrt().to(rows.dtype)
        decayed = rows.mul_(1 - group["lr"] * group["weight_decay"])
        return decayed.sub_(means.mul_(rates).div_(squares.sqrt_().div_(widths).add_(group["guard"])))


def rows_of(gradient: Tensor) -> RowGradient:
    """The rows of a sparse gradient, repeats summed; of a dense one, the rows that are not all zero."""
    if not gradient.is_sparse:
        ids = gradient.ne(0).any(1).nonzero().squeeze(1)
        return RowGradient(ids, gradient.index_select(0, ids).to(_wide(gradient)))
    if gradient.is_coalesced():
        return RowGradient(gradient.indices()[0], gradient.values().to(_wide(gradient)))
    ids, places = gradient._indices()[0].unique(
        return_inverse=True
    )  # before torch sums: bfloat16 sums stall at 256
    values = gradient._values()
    sums = torch.zeros(len(ids), values.shape[1], dtype=_wide(gradient), device=values.device)
    return RowGradient(ids, sums.index_add_(0, places, values.to(sums.dtype)))


def _suits_kernel(table: Tensor) -> bool:
    """A table on a GPU, of a type and size the kernel knows, with a sparse gradient."""
    known = (
        table.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and table.is_contiguous()
        and len(table) < 2**31
    )
    gradient = table.grad
    able = (
        known
        and table.is_cuda
        and gradient is not None
        and gradient.is_sparse
        and gradient._values().is_contiguous()
    )
    return able and TRITON


def _wide(gradient: Tensor) -> torch.dtype:
    return torch.promote_types(gradient.dtype, torch.float32)


def _shrink(gradients: list[RowGradient], clip: float | None) -> float:
    """What to multiply all gradients by, so that together they are no longer than `clip`."""
    if clip is None or not gradients:
        return 1.0
    length = float(
        torch.stack([torch.linalg.vector_norm(gradient.rows).double() for gradient in gradients])
        .square()
        .sum()
        .sqrt()
    )
    return min(1.0, clip / (length + 1e-6))  # torch.nn.utils.clip_grad_norm_ guards with the same number
