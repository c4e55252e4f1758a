"""Encoder: bidirectional (BERT).

ids -> tokens -> stack -> hidden -> head -> logits
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

from inlaid.neural.blocks import ACTIVATIONS, make_norm
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.stack import Output, Stack, check_batch, positions_without_padding


class MaskedHead(nn.Module):
    """The head of masked language models: dense layer, activation, norm, output table."""

    def __init__(self, config: Config, tied_to: TokenEmbedding | None) -> None:
        super().__init__()
        self.transform = nn.Linear(config.dim, config.dim)
        self.norm = make_norm(config)
        self.activation = ACTIVATIONS[config.feed_forward.activation]
        self.output = OutputEmbedding(
            config.output_vocab_size, config.dim, tied_to=tied_to, bias=config.head.bias
        )

    def forward(self, hidden: Tensor) -> Tensor:
        return self.output(self.norm(self.activation(self.transform(hidden))))


class Encoder(nn.Module):
    """Every token attends to every other; the logits predict the word at each position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = TokenEmbedding(config.vocab_size, config.dim, padding_idx=config.special.padding)
        self.stack = Stack(config, config.layers, causal=False)
        self.pooler = nn.Linear(config.dim, config.dim) if config.pooler else None
        self.head = make_head(config, self.tokens)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        segments: Tensor | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Output:
        """ids (batch, token); mask (batch, token), true where a token is real."""
        mask = check_batch(ids, mask)
        padding = self.config.special.padding
        positions = None
        if self.config.positions.skip_padding and padding is not None:
            positions = positions_without_padding(ids, padding)
        output = self.stack(
            self.tokens(ids), mask, positions=positions, segments=segments, layers=layers, attention=attention
        )
        if self.pooler is not None:
            output.pooled = torch.tanh(self.pooler(output.hidden[:, 0]))
        if self.head is not None:
            output.logits = self.head(output.hidden)
        return output


def make_head(config: Config, tokens: TokenEmbedding) -> MaskedHead | OutputEmbedding | None:
    """The output layer, tied to `tokens` if the config says so; None if there is none."""
    tied_to = tokens if config.head.tied else None
    if config.head.kind == "none":
        return None
    if config.head.kind == "masked":
        return MaskedHead(config, tied_to)
    scale = config.dim**-0.5 if config.head.scaled else 1.0
    return OutputEmbedding(
        config.output_vocab_size, config.dim, tied_to=tied_to, bias=config.head.bias, scale=scale
    )
