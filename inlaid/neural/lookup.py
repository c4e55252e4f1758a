"""Lookup: rows of a table by ids, and the gradients of those rows; ids that are checked.

Gradients of many equal ids are summed in float32 or better, whatever the dtype of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from inlaid.errors import SettingError

RENORM_EPS = 1e-7
"""Added to a norm before dividing by it, as torch does."""


class NormLimit(NamedTuple):
    """Rows whose norm exceeds `max_norm` are rescaled to it."""

    max_norm: float
    norm_type: float


def lookup(
    table: Tensor,
    ids: Tensor,
    padding: int | None = None,
    frequencies: Tensor | None = None,
    *,
    sparse: bool = False,
    limit: NormLimit | None = None,
) -> Tensor:
    """Rows of `table` by ids that are known to be in range; the gradient of row `padding` is zero, those of
    others are divided by `frequencies`.

    Rows that `limit` rescales get the gradient of what was returned, as in torch, whose table holds the
    rescaled rows by then.
    """
    wide = table.dtype in (torch.float32, torch.float64)
    if limit is None and frequencies is None and (sparse or wide):
        return torch.embedding(table, ids.long(), -1 if padding is None else padding, False, sparse)
    rows: Any = _Lookup.apply(table, ids.long(), padding, frequencies, limit, sparse)
    return rows


def norm_scale(rows: Tensor, limit: NormLimit) -> Tensor:
    """The factor of each row: 1, or less where its norm exceeds the limit."""
    norms = torch.linalg.vector_norm(rows, limit.norm_type, dim=-1, keepdim=True)
    scale = limit.max_norm / (norms + RENORM_EPS)
    return torch.where(norms > limit.max_norm, scale, 1.0).to(rows.dtype)


def id_frequencies(ids: Tensor, rows: int) -> Tensor:
    """How often each id occurs in the whole batch, for every occurrence."""
    flat = ids.flatten().long()
    counts = torch.zeros(rows, dtype=torch.int64, device=ids.device)
    return counts.index_add(0, flat, torch.ones_like(flat))[ids.long()]


_waiting = ContextVar("waiting", default=True)


@contextmanager
def without_waiting() -> Iterator[None]:
    """Inside, no check looks at numbers on a GPU: each look waits until all before it is computed."""
    token = _waiting.set(False)
    try:
        yield
    finally:
        _waiting.reset(token)


def has_values(tensor: Tensor) -> bool:
    """Whether the numbers of a tensor can be looked at now: not on a meta device, and not while a graph is
    traced, compiled or captured, nor on a GPU that is not to be waited for."""
    if torch.compiler.is_compiling() or tensor.is_meta or isinstance(tensor, FakeTensor):
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):  # pyright: ignore[reportAttributeAccessIssue]
        return False
    return not tensor.is_cuda or (_waiting.get() and not torch.cuda.is_current_stream_capturing())


def check_ids(ids: Tensor, table: Tensor | int) -> None:
    """Raise SettingError unless `ids` are integers from 0 to the last row of a table, or of as many rows, and
    on its device; the error names the first id that is not."""
    check_integers(ids, "ids")
    rows = table if isinstance(table, int) else table.shape[0]
    if isinstance(table, Tensor) and ids.device != table.device:
        raise SettingError(
            "The ids are on {found} and the table is on {expected}. Move one of them with .to(...).",
            found=ids.device,
            expected=table.device,
        )
    if ids.numel() == 0 or not has_values(ids):
        return  # torch checks the bounds
    low, high = torch.stack(ids.long().aminmax()).tolist()  # both at once: each read synchronizes a GPU
    if low >= 0 and high < rows:
        return
    position = [int(each) for each in ((ids < 0) | (ids >= rows)).nonzero()[0]]
    raise SettingError(
        "Id {id} at position {position} is outside the table of {rows:,} rows (0 to {last:,}). "
        "Use the tokenizer the model was trained with, or grow the table.",
        id=int(ids[tuple(position)]) if position else int(ids),
        position=position,
        rows=rows,
        last=rows - 1,
    )


def check_integers(found: Any, name: str) -> None:
    """Raise SettingError for anything but a tensor of integers."""
    if not isinstance(found, Tensor):
        raise SettingError(
            "Expected a tensor of {name}; found {kind}. Make one with torch.tensor(...).",
            name=name,
            kind=type(found).__name__,
        )
    if found.dtype.is_floating_point or found.dtype.is_complex or found.dtype == torch.bool:
        raise SettingError(
            "Expected {name} that are integers; found {dtype}. Convert them with .long().",
            name=name,
            dtype=found.dtype,
        )


class _Lookup(torch.autograd.Function):
    """Rows of a table; the gradient of each row is the sum over its occurrences, in float32 or better."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        weight: Tensor,
        ids: Tensor,
        _padding: int | None,
        _frequencies: Tensor | None,
        limit: NormLimit | None,
        _sparse: bool,
    ) -> Tensor:
        rows = torch.nn.functional.embedding(ids, weight)
        return rows if limit is None else rows * norm_scale(rows, limit)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        weight, ids, padding, frequencies, _, sparse = inputs
        ctx.save_for_backward(ids, frequencies)
        ctx.table = (weight.shape, weight.dtype)
        ctx.padding = padding
        ctx.sparse = sparse

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ids, frequencies = ctx.saved_tensors
        rows = gradients[0] if frequencies is None else gradients[0] / frequencies[..., None]
        shape, dtype = ctx.table
        gradient = _sparse_gradient if ctx.sparse else _dense_gradient
        return gradient(rows, ids, shape, dtype, ctx.padding), None, None, None, None, None


def _dense_gradient(
    rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None
) -> Tensor:
    """torch's own sum over occurrences, in at least float32: in bfloat16 a sum of ones stops at 256."""
    wide = rows.to(torch.promote_types(dtype, torch.float32))
    total = torch.ops.aten.embedding_dense_backward(
        wide, ids, shape[0], -1 if padding is None else padding, False
    )
    return total.to(dtype)


def _sparse_gradient(
    rows: Tensor, ids: Tensor, shape: torch.Size, dtype: torch.dtype, padding: int | None
) -> Tensor:
    """Each occurrence by itself; the optimizer sums those of one row (see `optimizer.rows_of`)."""
    ids = ids.reshape(-1)
    rows = rows.reshape(-1, shape[1])
    if padding is not None:
        real = ids != padding
        ids = ids[real]
        rows = rows[real]
    return torch.sparse_coo_tensor(ids[None], rows.to(dtype), shape, check_invariants=False)
