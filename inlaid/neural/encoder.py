"""Encoder: bidirectional (BERT, ModernBERT, ELECTRA).

ids -> tokens -> stack -> hidden -> head -> logits
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.blocks import ACTIVATIONS, make_norm
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.stack import (
    Output,
    Stack,
    check_batch,
    numbers_of,
    packed_positions,
    positions_without_padding,
)


class MaskedHead(nn.Module):
    """The head of masked language models: dense layer, activation, norm, output table."""

    def __init__(self, config: Config, tied_to: TokenEmbedding | None) -> None:
        super().__init__()
        dim = config.input_dim
        self.transform = nn.Linear(config.dim, dim, bias=config.head.dense_bias)
        self.norm = make_norm(config, dim)
        self.activation = ACTIVATIONS[config.head_activation]
        self.output = OutputEmbedding(config.output_vocab_size, dim, tied_to=tied_to, bias=config.head.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.output(self.features(hidden))

    def features(self, hidden: Tensor) -> Tensor:
        """What the output table is compared with."""
        return self.norm(self.activation(self.transform(hidden)))


class DetectorHead(nn.Module):
    """One logit for each token, positive where it seems replaced (Clark et al. 2020)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.transform = nn.Linear(config.dim, config.dim)
        self.activation = ACTIVATIONS[config.head_activation]
        self.output = nn.Linear(config.dim, 1)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.output(self.activation(self.transform(hidden)))


class Encoder(nn.Module):
    """Every token attends to every other, or to those in its window; the logits predict the word at each
    position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = TokenEmbedding(config.vocab_size, config.input_dim, padding_idx=config.special.padding)
        self.tasks = TokenEmbedding(config.task_types, config.input_dim) if config.task_types else None
        self.stack = Stack(config, config.layers, causal=False)
        self.pooler = nn.Linear(config.dim, config.dim) if config.pooler else None
        self.head = make_head(config, self.tokens)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        segments: Tensor | None = None,
        tasks: Tensor | None = None,
        runs: Sequence[tuple[int, int]] = (),
        layers: bool = False,
        attention: Collection[int] = (),
        logits: bool = True,
    ) -> Output:
        """ids (batch, token); mask (batch, token), true where a token is real. `segments` and `tasks` are ids
        too, 0 unless given.

        `runs` are the texts of a packed batch (1, token): how many there are of each length, in this order.
        Without `logits` the head is left out.
        """
        mask = check_batch(ids, mask)
        if segments is not None and self.stack.segments is None:
            raise SettingError("This network has no segment table. Call it without segments.")
        padding = self.config.special.padding
        positions = None
        if self.config.positions.skip_padding and padding is not None:
            positions = (
                packed_positions(ids, padding, runs) if runs else positions_without_padding(ids, padding)
            )
        rows = self.tokens(ids)
        if self.tasks is not None:
            rows = rows + self.tasks(numbers_of(rows, ids, tasks, "tasks"))
        output = self.stack(
            rows,
            mask,
            positions=positions,
            segments=segments,
            runs=runs,
            layers=layers,
            attention=attention,
        )
        if self.pooler is not None and not runs:
            output.pooled = torch.tanh(self.pooler(output.hidden[:, 0]))
        if self.head is not None and logits:
            output.logits = self.head(output.hidden)
        return output


Head = MaskedHead | DetectorHead | OutputEmbedding


def make_head(config: Config, tokens: TokenEmbedding) -> Head | None:
    """The output layer, tied to `tokens` if the config says so; None if there is none."""
    tied_to = tokens if config.head.tied else None
    if config.head.kind == "none":
        return None
    if config.head.kind == "masked":
        return MaskedHead(config, tied_to)
    if config.head.kind == "detector":
        return DetectorHead(config)
    scale = config.dim**-0.5 if config.head.scaled else 1.0
    return OutputEmbedding(
        config.output_vocab_size, config.dim, tied_to=tied_to, bias=config.head.bias, scale=scale
    )
