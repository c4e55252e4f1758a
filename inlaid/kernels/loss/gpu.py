"""Cross entropy on a GPU: logits become losses and their own gradient, in place, read twice and written once
(Triton)."""

# ruff: noqa: N803 (Triton's convention: compile-time constants are upper case)

from __future__ import annotations

import inspect
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 2048
WARPS = 4
"""Logits of one row that a program holds at once, and the groups of 32 threads it has."""


def kernel(function: Any) -> Any:
    """Compile for the GPU: the tests' type checker wraps every function, and Triton cannot compile a
    wrapper."""
    return triton.jit(inspect.unwrap(function))


@kernel
def _cross_entropy(
    logits, targets, losses, shares, WORDS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    # logits (place, WIDTH), the first WORDS of a row are meant; targets (place,) i8, below 0: not counted;
    # losses (place,) f4
    place = tl.program_id(0)
    row = logits + place.to(tl.int64) * WIDTH
    target = tl.load(targets + place)
    share = tl.where(target < 0, 0.0, tl.load(shares))
    high = tl.full((), -1e30, tl.float32)
    parts = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, WORDS, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        found = tl.load(row + columns, mask=columns < WORDS, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(high, tl.max(found))
        parts = parts * tl.exp(high - higher) + tl.exp(found - higher)
        high = higher
    total = high + tl.log(tl.sum(parts))
    known = tl.load(row + target, mask=(target >= 0) & (target < WORDS), other=float("nan")).to(tl.float32)
    tl.store(losses + place, tl.where(target < 0, 0.0, total - known))
    for start in range(0, WIDTH, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        found = tl.load(row + columns, mask=columns < WORDS, other=-float("inf")).to(tl.float32)
        gradient = share * (tl.exp(found - total) - tl.where(columns == target, 1.0, 0.0))
        tl.store(row + columns, gradient, mask=columns < WIDTH)


def cross_entropy_(logits: Tensor, targets: Tensor, shares: Tensor, words: int) -> Tensor:
    """The loss at each place (place,); `logits` (place, width) become the gradients of their sum times
    `shares` (one number)."""
    losses = torch.empty(len(targets), dtype=torch.float32, device=logits.device)
    _cross_entropy[(len(targets),)](
        logits, targets, losses, shares, words, logits.shape[1], BLOCK, num_warps=WARPS
    )
    return losses
