"""The loss of predicted words, without holding the logits of all places.

A batch of 16 texts of 1,024 tokens over 50,257 words has 823 million logits: more numbers than all else in
the network, and nobody looks at them. Here they are made for some places at a time, turned into their own
gradient on the spot, and dropped.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.embedding import OutputEmbedding

AT_ONCE = 1 << 29
"""Logits held at a time: a gigabyte in bfloat16."""
ALIGNED = 64
"""Logits of a place are padded to a multiple of this: a GPU's matrix units want rows that begin at even
addresses."""

TRITON = importlib.util.find_spec("triton") is not None
"""Whether there is a compiler for GPUs: it comes with torch where torch knows one."""


def word_loss(hidden: Tensor, head: OutputEmbedding, targets: Tensor) -> Tensor:
    """The mean cross entropy of the words at `targets` (...), of what `head` makes of `hidden` (..., dim).

    It is `F.cross_entropy(head(hidden), targets)`, with its gradients, in less memory and fewer passes over
    it. Targets of -100 do not count. Under autocast the products are made in its type, and everything else in
    float32. A target that is no word is an error on a CPU and NaN on a GPU, which would have to stop for us
    to look.
    """
    if hidden.shape[:-1] != targets.shape:
        raise SettingError(
            f"Hidden states {tuple(hidden.shape)} and targets {tuple(targets.shape)} do not belong together."
        )
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    rows = hidden.flatten(0, -2)
    loss: Tensor = _WordLoss.apply(  # pyright: ignore[reportAssignmentType]
        rows if head.scale == 1.0 else rows * head.scale,
        head.used_weight(),
        head.bias,
        targets.flatten(),
        dtype,
    )
    return loss


class _WordLoss(torch.autograd.Function):
    """The gradients are made with the loss, while the logits are there; backward hands them over."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, table: Tensor, bias: Tensor | None, targets: Tensor, dtype: torch.dtype
    ) -> Tensor:
        words = len(table)
        wanted = any(ctx.needs_input_grad)
        wide = _wide(dtype)
        weight = _padded(table, dtype)
        share = 1.0 / (targets != -100).sum().to(wide)
        slopes = [
            torch.empty_like(hidden),
            *(torch.zeros_like(each, dtype=wide) for each in (table, bias) if each is not None),
        ]
        losses = []
        step = max(AT_ONCE // len(weight), 1)
        for rows, wanted_words, slope in zip(
            hidden.split(step), targets.split(step), slopes[0].split(step), strict=True
        ):
            rows = rows.to(dtype)
            logits = rows @ weight.T
            if bias is not None:
                logits[:, :words] += bias
            losses.append(cross_entropy_(logits, wanted_words, share, words))
            if wanted:
                slope.copy_(logits @ weight)
                slopes[1] += (logits.T @ rows)[:words]
                if bias is not None:
                    slopes[2] += logits[:, :words].sum(0, dtype=wide)
        ctx.save_for_backward(*slopes)
        ctx.dtypes = [each.dtype for each in (hidden, table, bias) if each is not None]
        return torch.cat(losses).sum() * share

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        slopes = [
            (each * gradients[0]).to(dtype) for each, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        ]
        return slopes[0], slopes[1], slopes[2] if len(slopes) == 3 else None, None, None


def cross_entropy_(logits: Tensor, targets: Tensor, share: Tensor, words: int) -> Tensor:
    """The loss at each place (place,); `logits` (place, width), of which the first `words` are meant, become
    the slopes of the sum of all losses times `share`."""
    if logits.is_cuda and TRITON and logits.dtype != torch.float64:
        from inlaid.kernels.loss import gpu

        return gpu.cross_entropy_(logits, targets, share, words)
    likelihoods = logits[:, :words].to(_wide(logits.dtype)).log_softmax(-1)
    losses = torch.nn.functional.nll_loss(likelihoods, targets, reduction="none")
    counted = targets != -100
    slopes = likelihoods.exp_()
    slopes[counted.nonzero().squeeze(1), targets[counted]] -= 1
    logits[:, :words] = slopes * (share * counted)[:, None]
    logits[:, words:] = 0
    return losses


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _padded(table: Tensor, dtype: torch.dtype) -> Tensor:
    """The table in the products' type, with rows of zeros below where a GPU wants them."""
    spare = -len(table) % ALIGNED if table.is_cuda else 0
    return (
        torch.cat([table.to(dtype), table.new_zeros(spare, table.shape[1], dtype=dtype)])
        if spare
        else table.to(dtype)
    )
