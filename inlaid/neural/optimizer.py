"""Row-wise updates of large tables: SGD, Adagrad and Adam that touch only the rows with a gradient.

A batch looks up a few thousand rows of a table of millions. An ordinary optimizer updates the whole table at
every step: weight decay and momentum move words that are not in the batch. These update the rows that have a
gradient and no others. Each row is treated as a parameter of its own, trained on the steps in which it has a
gradient.
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
"""Rows updated at once on a CPU, so that they and their state stay in its cache: all at once takes half as
long again (measured)."""

TRITON = importlib.util.find_spec("triton") is not None
"""Whether the GPU compiler is installed: it comes with torch on Linux."""


@dataclass
class RowGradient:
    """The rows of a table that have a gradient: `ids` (row,) once each, and their sums (row, dim) in float32
    or better."""

    ids: Tensor
    rows: Tensor


class RowOptimizer(Optimizer):
    """What the three have in common: finding the rows and clipping. A subclass updates one block of rows."""

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        learning_rate: float,
        weight_decay: float,
        clip: float | None,
        **settings: Any,
    ) -> None:
        numbers = {"learning_rate": learning_rate, "weight_decay": weight_decay, "clip": clip or 0.0}
        numbers["eps"] = settings.get("eps", 0.0)
        for name, value in numbers.items():
            if not isinstance(value, (int, float, Tensor)) or not 0 <= value < float("inf"):
                raise SettingError(
                    "{name} is {value}; expected a finite number, 0 or more.", name=name, value=value
                )
        if tables is None or isinstance(tables, Tensor) or not (tables := list(tables)):
            raise SettingError("A row-wise optimizer takes a list of tables, at least one: [layer.weight].")
        # torch's schedules look for the learning rate under "lr"
        super().__init__(
            tables, {"lr": learning_rate, "weight_decay": weight_decay, "clip": clip, **settings}
        )
        for group in self.param_groups:
            for table in group["params"]:
                if table.dim() != 2:
                    raise SettingError(
                        "A row-wise optimizer updates tables (row, dim); found shape {shape}. Use "
                        "torch.optim.",
                        shape=tuple(table.shape),
                    )

    @torch.no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any] | None = None
    ) -> Any:
        """Update the rows that have a gradient. A closure, as in torch, computes the loss first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As in torch, but the state keeps its own dtype (torch would use the table's) and is copied."""
        super().load_state_dict(state_dict)
        tables = [table for group in self.param_groups for table in group["params"]]
        for number, state in state_dict["state"].items():
            table = tables[number]
            for name, value in state.items():
                if value.shape[:1] != table.shape[:1]:
                    raise SettingError(
                        "The state of table {number} has {found:,} rows of {name}, and the table "
                        "{expected:,}. Load it before the table grows, or make a new optimizer.",
                        number=number,
                        name=name,
                        found=len(value),
                        expected=len(table),
                    )
            self.state[table] = {name: value.to(table.device, copy=True) for name, value in state.items()}

    def _step_group(self, group: dict[str, Any]) -> None:
        tables = [table for table in group["params"] if table.grad is not None]
        gradients = [rows_of(table.grad) for table in tables]
        scale = _clip_scale(gradients, group["clip"])
        for table, gradient in zip(tables, gradients, strict=True):
            state = self._state(table, gradient.rows.dtype)
            block = BLOCK if table.device.type == "cpu" else max(len(gradient.ids), 1)
            for ids, part in zip(gradient.ids.split(block), gradient.rows.split(block), strict=True):
                rows = table.index_select(0, ids).to(part.dtype)
                clipped = part if scale == 1.0 else part * scale
                updated = self.update(rows, clipped, state, ids, group)
                table.index_copy_(0, ids, updated.to(table.dtype))

    def _state(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        """The state of each row; empty until `initial_state` fills it at the first step."""
        state = self.state[table]
        if not state:
            state.update(self.initial_state(table, dtype))
        return state

    def initial_state(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        return {}

    def update(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        """The rows after one step; `rows` is a copy and may be overwritten. `state` holds whole tables, of
        which only rows `ids` are touched."""
        raise NotImplementedError


class RowSGD(RowOptimizer):
    """Stochastic gradient descent; weight decay applies to the same rows."""

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        learning_rate: float = 0.1,
        weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        super().__init__(tables, learning_rate=learning_rate, weight_decay=weight_decay, clip=clip)

    def update(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        return rows - group["lr"] * (gradient + group["weight_decay"] * rows)


class RowAdagrad(RowOptimizer):
    """Each component has its own learning rate, which falls as its squared gradients add up (Duchi et al.
    2011)."""

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        learning_rate: float = 0.01,
        weight_decay: float = 0.0,
        clip: float | None = None,
        eps: float = 1e-10,
    ) -> None:
        super().__init__(tables, learning_rate=learning_rate, weight_decay=weight_decay, clip=clip, eps=eps)

    def initial_state(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        return {"squares": torch.zeros_like(table, dtype=dtype)}

    def update(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        gradient = gradient + group["weight_decay"] * rows
        squares = state["squares"].index_select(0, ids).addcmul_(gradient, gradient)
        state["squares"].index_copy_(0, ids, squares)
        return rows - group["lr"] * gradient / (squares.sqrt_() + group["eps"])


class RowAdam(RowOptimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019), its bias correction counted by row.

    A rare word first seen after a million steps takes Adam's first step, not the three times longer one that
    a step counter shared by all rows would give it.
    """

    def __init__(
        self,
        tables: Iterable[Any],
        *,
        learning_rate: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise SettingError("betas are {betas}; expected two numbers from 0 to below 1.", betas=betas)
        super().__init__(
            tables, learning_rate=learning_rate, weight_decay=weight_decay, clip=clip, betas=betas, eps=eps
        )

    def initial_state(self, table: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
        means = torch.zeros_like(table, dtype=dtype)
        squares = torch.zeros_like(table, dtype=dtype)
        return {
            "means": means,
            "squares": squares,
            "steps": torch.zeros(len(table), 1, dtype=torch.int32, device=table.device),
        }

    def _step_group(self, group: dict[str, Any]) -> None:
        """On a GPU by a kernel that computes the same as `update` and never synchronizes."""
        tables = [table for table in group["params"] if table.grad is not None]
        if not tables or not all(_suits_kernel(table) for table in tables):
            super()._step_group(group)
            return
        from inlaid.kernels.optimizer import gpu

        tables = [table for table in tables if table.grad._nnz()]
        runs = [gpu.Runs(table.grad._indices()[0], table.grad._values()) for table in tables]
        scale = None
        if group["clip"] is not None and runs:
            norm = torch.stack([each.square() for each in runs]).sum().sqrt()
            scale = (group["clip"] / (norm + 1e-6)).clamp(max=1.0).float()
        for table, each in zip(tables, runs, strict=True):
            gpu.adam_step(table, self._state(table, torch.float32), each, scale, group)

    def update(
        self, rows: Tensor, gradient: Tensor, state: dict[str, Tensor], ids: Tensor, group: dict[str, Any]
    ) -> Tensor:
        beta1, beta2 = group["betas"]
        steps = state["steps"].index_select(0, ids) + 1
        means = state["means"].index_select(0, ids).lerp_(gradient, 1 - beta1)
        squares = state["squares"].index_select(0, ids).mul_(beta2)
        squares.addcmul_(gradient, gradient, value=1 - beta2)
        for name, value in (("steps", steps), ("means", means), ("squares", squares)):
            state[name].index_copy_(0, ids, value)
        counted = steps.to(torch.float64)  # 1 - 0.999**1 loses four digits in float32
        learning_rates = (group["lr"] / (1 - beta1**counted)).to(rows.dtype)
        corrections = (1 - beta2**counted).sqrt().to(rows.dtype)
        decayed = rows.mul_(1 - group["lr"] * group["weight_decay"])
        denominator = squares.sqrt_().div_(corrections).add_(group["eps"])
        return decayed.sub_(means.mul_(learning_rates).div_(denominator))


def rows_of(gradient: Tensor) -> RowGradient:
    """The rows of a sparse gradient, repeats summed; of a dense one, the rows that are not all zero."""
    if not gradient.is_sparse:
        ids = gradient.ne(0).any(1).nonzero().squeeze(1)
        return RowGradient(ids, gradient.index_select(0, ids).to(_wide(gradient)))
    if gradient.is_coalesced():
        return RowGradient(gradient.indices()[0], gradient.values().to(_wide(gradient)))
    # torch must not sum first: in bfloat16 a sum of ones stops at 256
    ids, places = gradient._indices()[0].unique(return_inverse=True)
    values = gradient._values()
    sums = torch.zeros(len(ids), values.shape[1], dtype=_wide(gradient), device=values.device)
    return RowGradient(ids, sums.index_add_(0, places, values.to(sums.dtype)))


def _suits_kernel(table: Tensor) -> bool:
    """A table on a GPU, of a dtype and size the kernel knows, with a sparse gradient."""
    known_dtype = table.dtype in (torch.float32, torch.bfloat16, torch.float16)
    if not (TRITON and table.is_cuda and known_dtype and table.is_contiguous() and len(table) < 2**31):
        return False
    gradient = table.grad
    return gradient is not None and gradient.is_sparse and gradient._values().is_contiguous()


def _wide(gradient: Tensor) -> torch.dtype:
    return torch.promote_types(gradient.dtype, torch.float32)


def _clip_scale(gradients: list[RowGradient], clip: float | None) -> float:
    """The factor of all gradients that brings their joint norm down to `clip`."""
    if clip is None or not gradients:
        return 1.0
    norms = [torch.linalg.vector_norm(gradient.rows).double() for gradient in gradients]
    norm = float(torch.stack(norms).square().sum().sqrt())
    return min(1.0, clip / (norm + 1e-6))  # the eps of torch.nn.utils.clip_grad_norm_
