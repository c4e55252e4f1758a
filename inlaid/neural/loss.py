"""Cross entropy of predicted words, without storing the logits of all positions.

A batch of 16 texts of 1,024 tokens over 50,257 words has 823 million logits: more numbers than all else in
the network, and only their loss is used. Here they are computed for some positions at a time, replaced by
their gradient in place, and dropped.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.embedding import OutputEmbedding
from inlaid.neural.encoder import MaskedHead
from inlaid.neural.lookup import check_integers, has_values

IGNORED = -100
"""The target of a position that does not count, as in torch."""
LOGITS_AT_ONCE = 1 << 29
"""Logits in memory at a time: a gigabyte in bfloat16."""
ALIGNMENT = 64
"""Rows of logits are padded to a multiple of this: a GPU's matrix units need aligned rows."""

TRITON = importlib.util.find_spec("triton") is not None
"""Whether the GPU compiler is installed: it comes with torch on Linux."""


def word_loss(hidden: Tensor, head: OutputEmbedding | MaskedHead, targets: Tensor) -> Tensor:
    """The mean cross entropy of the words `targets` (...) under the logits of `head` for `hidden` (..., dim).

    It is `F.cross_entropy(head(hidden), targets)`, with its gradients, in less memory and fewer passes over
    it. Targets of -100 do not count. Under autocast the products use its dtype, and everything else float32.
    A target outside the vocabulary is an error on a CPU and NaN on a GPU, where checking would synchronize.
    """
    _check(hidden, head, targets)
    if isinstance(head, MaskedHead):
        hidden = head.features(hidden)
        head = head.output
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    rows = hidden.flatten(0, -2)
    loss: Tensor = _WordLoss.apply(  # pyright: ignore[reportAssignmentType]
        rows if head.scale == 1.0 else rows * head.scale,
        head.used_weight(),
        head.bias,
        targets.flatten().long(),
        dtype,
    )
    return loss


def _check(hidden: Tensor, head: OutputEmbedding | MaskedHead, targets: Tensor) -> None:
    """Raise SettingError for shapes that do not fit, and for words that the head does not know."""
    check_integers(targets, "targets")
    if hidden.dim() < 2 or hidden.shape[:-1] != targets.shape:
        raise SettingError(
            "Hidden states {hidden} and targets {targets} do not fit: expected one target for each hidden "
            "state.",
            hidden=tuple(hidden.shape),
            targets=tuple(targets.shape),
        )
    dim = head.transform.in_features if isinstance(head, MaskedHead) else head.weight.shape[1]
    if hidden.shape[-1] != dim:
        raise SettingError(
            "Hidden states have dimension {found}; this head takes {expected}.",
            found=hidden.shape[-1],
            expected=dim,
        )
    if targets.device.type != "cpu" or not has_values(targets):
        return
    words = len(head.output.weight if isinstance(head, MaskedHead) else head.weight)
    wrong = ((targets < 0) | (targets >= words)) & (targets != IGNORED)
    if bool(wrong.any()):
        position = [int(each) for each in wrong.nonzero()[0]]
        raise SettingError(
            "Target {target} at position {position} is not one of {words:,} words (0 to {last:,}); {ignored} "
            "marks what does not count.",
            target=int(targets[tuple(position)]),
            position=position,
            words=words,
            last=words - 1,
            ignored=IGNORED,
        )


class _WordLoss(torch.autograd.Function):
    """The gradients are computed together with the loss, while the logits are there; backward scales them."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, table: Tensor, bias: Tensor | None, targets: Tensor, dtype: torch.dtype
    ) -> Tensor:
        words = len(table)
        need_gradients = any(ctx.needs_input_grad)
        wide = _wide(dtype)
        weight = _padded(table, dtype)
        count = (targets != IGNORED).sum().to(wide)
        share = 1.0 / count.clamp(min=1)  # where nothing counts, the gradients are 0 and the loss is NaN
        hidden_gradient = torch.empty_like(hidden)
        table_gradient = torch.zeros_like(table, dtype=wide)
        bias_gradient = None if bias is None else torch.zeros_like(bias, dtype=wide)
        losses = []
        step = max(LOGITS_AT_ONCE // len(weight), 1)
        chunks = zip(hidden.split(step), targets.split(step), hidden_gradient.split(step), strict=True)
        for rows, row_targets, row_gradients in chunks:
            rows = rows.to(dtype)
            logits = rows @ weight.T
            if bias is not None:
                logits[:, :words] += bias
            losses.append(cross_entropy_(logits, row_targets, share, words))
            if need_gradients:
                row_gradients.copy_(logits @ weight)
                table_gradient += (logits.T @ rows)[:words]
                if bias_gradient is not None:
                    bias_gradient += logits[:, :words].sum(0, dtype=wide)
        ctx.save_for_backward(hidden_gradient, table_gradient, bias_gradient)
        ctx.dtypes = (hidden.dtype, table.dtype, None if bias is None else bias.dtype)
        return torch.cat(losses).sum() / count

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [
            None if each is None else (each * gradients[0]).to(dtype)
            for each, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        ]
        return *scaled, None, None


def cross_entropy_(logits: Tensor, targets: Tensor, share: Tensor, words: int) -> Tensor:
    """The loss at each position (position,); the first `words` columns of `logits` (position, column) are
    replaced by the gradient of the sum of all losses times `share`."""
    if logits.is_cuda and TRITON and logits.dtype != torch.float64:
        from inlaid.kernels.loss import gpu

        return gpu.cross_entropy_(logits, targets, share, words)
    log_probabilities = logits[:, :words].to(_wide(logits.dtype)).log_softmax(-1)
    losses = torch.nn.functional.nll_loss(log_probabilities, targets, reduction="none")
    counted = targets != IGNORED
    gradient = log_probabilities.exp_()
    gradient.scatter_add_(1, targets.clamp(min=0)[:, None], -counted[:, None].to(gradient.dtype))
    logits[:, :words] = gradient * (share * counted)[:, None]
    logits[:, words:] = 0
    return losses


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _padded(table: Tensor, dtype: torch.dtype) -> Tensor:
    """The table in the dtype of the products, on a GPU with rows of zeros up to the alignment."""
    spare = -len(table) % ALIGNMENT if table.is_cuda else 0
    if not spare:
        return table.to(dtype)
    return torch.cat([table.to(dtype), table.new_zeros(spare, table.shape[1], dtype=dtype)])
