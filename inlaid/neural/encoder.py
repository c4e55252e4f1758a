"""Encoder: reads both ways (BERT).

ids -> tokens -> stack -> hidden -> head -> logits
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

from inlaid.neural.architecture import Architecture
from inlaid.neural.blocks import ACTIVATIONS, make_norm
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.stack import Output, Stack, checked


class MaskedHead(nn.Module):
    """BERT's way from a hidden state to the word that was masked: one more layer, then the table."""

    def __init__(self, shape: Architecture, tokens: TokenEmbedding | None) -> None:
        super().__init__()
        self.transform = nn.Linear(shape.dim, shape.dim)
        self.norm = make_norm(shape)
        self.activation = ACTIVATIONS[shape.activation]
        self.output = OutputEmbedding(shape.written_words, shape.dim, tied_to=tokens, bias=shape.head_bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.output(self.norm(self.activation(self.transform(hidden))))


class Encoder(nn.Module):
    """Every token sees every other; the logits say which word stands, or stood, at each place."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = TokenEmbedding(shape.words, shape.dim, padding_idx=shape.padding)
        self.stack = Stack(shape, shape.layers, causal=False)
        self.pooler = nn.Linear(shape.dim, shape.dim) if shape.pooler else None
        self.head = make_head(shape, self.tokens)

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
        mask = checked(ids, mask)
        output = self.stack(self.tokens(ids), mask, segments=segments, layers=layers, attention=attention)
        if self.pooler is not None:
            output.pooled = torch.tanh(self.pooler(output.hidden[:, 0]))
        if self.head is not None:
            output.logits = self.head(output.hidden)
        return output


def make_head(shape: Architecture, tokens: TokenEmbedding) -> MaskedHead | OutputEmbedding | None:
    """What turns hidden states into logits, or nothing."""
    table = tokens if shape.tied else None
    if shape.head == "masked":
        return MaskedHead(shape, table)
    scale = shape.dim**-0.5 if shape.head_scale else 1.0
    if shape.head == "none":
        return None
    return OutputEmbedding(shape.written_words, shape.dim, tied_to=table, bias=shape.head_bias, scale=scale)
