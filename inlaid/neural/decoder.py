"""Decoder: writes left to right (GPT-2, Llama).

ids -> tokens -> stack, each token seeing itself and what came before -> hidden -> head -> logits of the next
word
"""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor, nn

from inlaid.neural.architecture import Architecture
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.encoder import make_head
from inlaid.neural.stack import Cache, Output, Stack, checked


class Decoder(nn.Module):
    """In training all places are predicted at once under a causal mask; in use, one after another with a
    cache."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = TokenEmbedding(shape.words, shape.dim, padding_idx=shape.padding)
        self.stack = Stack(shape, shape.layers, causal=True)
        self.head = make_head(shape, self.tokens)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
        logits: bool = True,
    ) -> Output:
        """ids (batch, token), new ones only when there is a cache; mask (batch, kept + token), true where a
        token is real.

        Without `logits` the head is left out: whoever writes needs those of the last place only.
        """
        mask = checked(ids, mask, cache.length if cache is not None else 0)
        output = self.stack(self.tokens(ids), mask, cache=cache, layers=layers, attention=attention)
        if self.head is not None and logits:
            output.logits = self.head(output.hidden)
        return output

    def new_cache(self) -> Cache:
        return Cache(len(self.stack.blocks))
