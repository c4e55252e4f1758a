"""Decoder: a causal language model, left to right (GPT-2, Llama).

ids -> tokens -> stack with causal attention -> hidden -> head -> logits of the next token
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor, nn

from inlaid.neural.cache import Cache
from inlaid.neural.config import Config
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.encoder import make_head
from inlaid.neural.stack import Output, Stack, check_batch


class Decoder(nn.Module):
    """Training predicts all positions at once under a causal mask; decoding goes token by token with a
    cache."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = TokenEmbedding(config.vocab_size, config.dim, padding_idx=config.special.padding)
        self.stack = Stack(config, config.layers, causal=True)
        self.head = make_head(config, self.tokens)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        runs: Sequence[tuple[int, int]] = (),
        layers: bool = False,
        attention: Collection[int] = (),
        logits: bool = True,
    ) -> Output:
        """ids (batch, token), only the new ones if there is a cache; mask (batch, cached + token), true where
        a token is real.

        `runs` are the texts of a packed batch (1, token), as in `Encoder`.
        Without `logits` the head is left out: decoding needs only those of the last position.
        """
        mask = check_batch(ids, mask, cache.length if cache is not None else 0)
        output = self.stack(
            self.tokens(ids), mask, cache=cache, runs=runs, layers=layers, attention=attention
        )
        if self.head is not None and logits:
            output.logits = self.head(output.hidden)
        return output

    def new_cache(self) -> Cache:
        return Cache(len(self.stack.blocks))
