"""Few rows: while text is generated on a CPU, layers multiply a few rows by a kernel that reads the
weights where they are.

A plain product reorders the matrix each time, and a reordered copy needs the memory of a second network and
goes stale. Measured on one Zen 4 core, 4 rows x 512 x 65,001: 34 ms by torch, 12 by a copy that oneDNN has
reordered, 11 by the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import _has_any_global_hook

MAX_ROWS = 64
"""More rows use each weight often enough for torch's own product."""
MIN_SIZE = 1 << 14
"""Fewer weights take less time than the call of the kernel."""
PART = 1 << 20
"""Weights that are worth a thread of their own."""
SUMS = 32
"""Scratch numbers that the kernel needs."""
SIMD_WIDTH = 16
"""Rows are whole vectors of so many floats."""


class Operands(NamedTuple):
    """Rows (row, dim or more), weights (word, dim), bias (word,), and the output (row, word)."""

    rows: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    out: np.ndarray


_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("pool", default=None)


@contextmanager
def few_rows() -> Iterator[None]:
    """Inside, `apply` and `linear` multiply few rows by the kernel."""
    if not has_wide_registers() or torch.is_grad_enabled():
        yield
        return
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:  # threads start when they are needed
        token = _pool.set(pool)
        try:
            yield
        finally:
            _pool.reset(token)


def apply(layer: nn.Module, x: Tensor) -> Tensor:
    """layer(x)."""
    if torch.compiler.is_compiling() or _pool.get() is None or not is_plain(layer):
        return layer(x)
    return linear(x, layer.weight, layer.bias)  # pyright: ignore[reportArgumentType]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x (..., dim) times weight (word, dim), plus bias."""
    pool = None if torch.compiler.is_compiling() else _pool.get()
    if pool is None or not _fits(x, weight):
        return functional.linear(x, weight, bias)
    shape = x.shape
    dim = shape[-1]
    rows = np.empty((x.numel() // dim, dim + SIMD_WIDTH), np.float32)  # no power of two
    rows[:, :dim] = x.reshape(-1, dim).numpy()
    weights = weight.detach().numpy()
    words = weights.shape[0]
    added = _zeros(words) if bias is None else bias.detach().numpy()
    out = np.empty((rows.shape[0], words), np.float32)
    _multiply(pool, Operands(rows, weights, added, out))
    return torch.from_numpy(out).view(*shape[:-1], words)


def _multiply(pool: ThreadPoolExecutor, operands: Operands) -> None:
    """Fill the output, by as many threads as there are large parts."""
    words = operands.weights.shape[0]
    threads = min(torch.get_num_threads(), operands.weights.size // PART)
    if threads <= 1:
        return _multiply_part(operands, 0, words)
    size = -(-words // threads)
    begins = range(0, words, size)
    list(pool.map(partial(_multiply_part, operands), begins, [min(each + size, words) for each in begins]))
    return None


def _multiply_part(operands: Operands, begin: int, stop: int) -> None:
    rows, weights, bias, out = operands
    kernel()(rows, weights, bias, np.empty(SUMS, np.float32), begin, stop, out)


def is_plain(layer: nn.Module) -> bool:
    """A matrix product and nothing else: a subclass, a hook or a replaced forward must be called."""
    hooked = layer._forward_hooks or layer._forward_pre_hooks or _has_any_global_hook()
    return type(layer) is nn.Linear and not hooked and "forward" not in layer.__dict__


@lru_cache(16)
def _zeros(size: int) -> np.ndarray:
    return np.zeros(size, np.float32)


def _fits(x: Tensor, weight: Tensor) -> bool:
    """Float32 in the memory of the CPU, rows that are whole vectors, few of them."""
    return (
        type(weight) in (nn.Parameter, Tensor)  # a quantized weight is of a class of its own
        and weight.dtype == x.dtype == torch.float32
        and weight.is_cpu
        and x.is_cpu
        and weight.is_contiguous()
        and weight.shape[1] % SIMD_WIDTH == 0
        and weight.numel() >= MIN_SIZE
        and x.numel() <= MAX_ROWS * weight.shape[1]
    )


@cache
def kernel() -> Any:
    """The kernel; its compiler is imported when the first text is generated."""
    from inlaid.kernels.product.cpu import product

    return product


@cache
def has_wide_registers() -> bool:
    """The sums of a tile fill the registers of AVX-512; in fewer or narrower ones torch is faster."""
    from llvmlite import binding

    return binding.get_host_cpu_features().get("avx512f", False)
