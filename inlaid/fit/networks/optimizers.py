"""Optimizers: AdamW for all weights of a network, row by row for large tables that are not tied (torch).

An untied table gets gradients only for the words of a batch, and AdamW would still go over all of its rows.
Row by row, the words of the batch move and no others: the averages of a row are those of the steps that its
word was in. Where every row has a gradient in every step, it is AdamW.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from inlaid.fit.networks.optimization import Optimization
from inlaid.jobs.state import State
from inlaid.messages import Message
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.optimizer import RowAdam

BETA1 = 0.9
SLOTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW remembers of each parameter."""
TABLES = ("tokens", "target_tokens")
"""What networks call their tables of token vectors."""
CLIP_EPS = 1e-6
"""Added to a norm before dividing by it, as torch.nn.utils.clip_grad_norm_ does."""


class WordTable(nn.Module):
    """A layer that looks up rows of a table; if `sparse`, its gradient has only these rows."""

    weight: Tensor
    sparse: bool = False


class Optimizers:
    """The optimizers of a network, with their averages there before the first step, so that they can be
    restored."""

    def __init__(self, network: nn.Module, settings: Optimization) -> None:
        self.network = network
        self.parameters = list(network.parameters())
        self.clip = settings.clip or float("inf")
        # a compiled network has no sparse gradients
        self.row_layers = [] if settings.compile else list(large_tables(network, settings.rowwise_from))
        tables = [layer.weight for layer in self.row_layers]
        self.each: list[torch.optim.Optimizer] = [adamw(network, settings, tables)]
        if tables:
            self.each.append(row_adam(tables, settings))

    def state(self) -> State:
        """All weights, and what the optimizers remember of them."""
        tensors: dict[str, Tensor] = {}
        for name, parameter in self.network.named_parameters():
            tensors[name] = parameter
            for optimizer in self.each:
                slots = optimizer.state.get(parameter, {})
                tensors |= {f"{name}:{slot}": value for slot, value in slots.items()}
        return State(tensors)

    def sparse_gradients(self, on: bool) -> None:
        """Whether large tables have gradients for the rows that were looked up, and no others."""
        for layer in self.row_layers:
            layer.sparse = on

    def step(self, learning_rate: float, targets: int) -> Tensor:
        """Update all weights by gradients that were summed over `targets`; the norm of their mean before it
        was clipped."""
        gradients = list(self._gradients())
        share = 1.0 / max(targets, 1)
        norm = get_total_norm(gradients) * share
        factor = (self.clip / (norm + CLIP_EPS)).clamp(max=1.0) * share
        torch._foreach_mul_(gradients, factor)  # pyright: ignore[reportPrivateImportUsage]
        for optimizer in self.each:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return norm

    def _gradients(self) -> Iterator[Tensor]:
        """The gradients in dense tensors: of a sparse one, the rows that it has, each once."""
        for each in self.parameters:
            if each.grad is not None and each.grad.is_sparse:
                each.grad = each.grad.coalesce()
                yield each.grad.values()
            elif each.grad is not None:
                yield each.grad

    def notes(self) -> tuple[str, ...]:
        """For the card: which tables were updated row by row."""
        notes = [
            Message("a table of {rows:,} token vectors was updated row by row", rows=len(layer.weight))
            for layer in self.row_layers
        ]
        return tuple(note.in_language("en") for note in notes)


def large_tables(network: nn.Module, rows: int) -> Iterator[WordTable]:
    """The layers with a table of token vectors that is learned, not tied, and has at least so many rows."""
    tied = {id(each.weight) for each in network.modules() if isinstance(each, OutputEmbedding)}
    for name, layer in network.named_modules():
        last = name.rpartition(".")[2]
        is_table = isinstance(layer, WordTable) or (isinstance(layer, TokenEmbedding) and last in TABLES)
        if not rows or not is_table:
            continue
        table: Any = layer
        if len(table.weight) >= rows and table.weight.requires_grad and id(table.weight) not in tied:
            yield table


def adamw(network: nn.Module, settings: Optimization, without: list[Tensor]) -> torch.optim.AdamW:
    """AdamW over all weights but some tables. Matrices decay, biases and norms do not."""
    left_out = {id(each) for each in without}
    weights = [each for each in network.parameters() if each.requires_grad and id(each) not in left_out]
    groups = [
        {"params": [each for each in weights if each.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [each for each in weights if each.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups, lr=settings.learning_rate, betas=(BETA1, settings.beta2), fused=True
    )
    for each in weights:
        count = torch.zeros((), device=each.device)
        optimizer.state[each] = dict(
            zip(SLOTS, (count, torch.zeros_like(each), torch.zeros_like(each)), strict=True)
        )
    return optimizer


def row_adam(tables: list[Tensor], settings: Optimization) -> RowAdam:
    """The same for tables, row by row; their rows decay in the steps in which they have a gradient."""
    betas = (BETA1, settings.beta2)
    optimizer = RowAdam(
        tables, learning_rate=settings.learning_rate, betas=betas, weight_decay=settings.weight_decay
    )
    for each in tables:
        optimizer.state[each] = optimizer.initial_state(each, each.dtype)
    return optimizer
