"""Seq2Seq: encoder and decoder (the original Transformer, Marian, T5).

source ids -> tokens -> encoder -> memory
target ids -> tokens -> decoder with cross-attention to the memory -> hidden -> head -> logits
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.blocks import Memory
from inlaid.neural.cache import Cache
from inlaid.neural.config import Config
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.encoder import make_head
from inlaid.neural.stack import Output, Stack, check_batch, memory_view


@dataclass
class Encoded:
    """An encoded source: the encoder's output, and which of its tokens are real."""

    output: Output
    mask: Tensor | None

    def select(self, texts: Tensor) -> Encoded:
        """These texts only, and only what decoding needs of them."""
        mask = None if self.mask is None else self.mask[texts]
        return Encoded(Output(self.output.hidden[texts]), mask)


class Seq2Seq(nn.Module):
    """One token table serves both sides, or each has its own; a tied head uses that of the target."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        padding = config.special.padding
        self.tokens = TokenEmbedding(config.vocab_size, config.dim, padding_idx=padding)
        self.encoder = Stack(config, config.layers, causal=False)
        self.decoder = Stack(config, config.decoder_layers, causal=True, cross=True)
        self.target_tokens: TokenEmbedding | None = None
        if config.target_vocab_size:
            self.target_tokens = TokenEmbedding(config.target_vocab_size, config.dim, padding_idx=padding)
        self.head = make_head(config, self.decoder_tokens)

    @property
    def decoder_tokens(self) -> TokenEmbedding:
        """The token table of the target."""
        return self.tokens if self.target_tokens is None else self.target_tokens

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        *,
        logits: bool = True,
    ) -> Output:
        """Teacher forcing: source and target ids (batch, token); masks are true where a token is real.
        Without `logits` the head is left out."""
        if source.shape[:1] != target.shape[:1]:
            raise SettingError(
                "There are {sources} sources and {targets} targets; expected as many of one as of the other.",
                sources=len(source),
                targets=len(target),
            )
        return self.decode(target, self.encode(source, source_mask), target_mask, logits=logits)

    def encode(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        runs: Sequence[tuple[int, int]] = (),
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Encoded:
        """`runs` are the texts of a packed batch (1, token), as in `Encoder`."""
        mask = check_batch(ids, mask)
        rows = self.tokens(ids)
        return Encoded(self.encoder(rows, mask, runs=runs, layers=layers, attention=attention), mask)

    def decode(
        self,
        ids: Tensor,
        source: Encoded,
        mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
        logits: bool = True,
    ) -> Output:
        """Logits of the tokens after `ids`; with a cache, `ids` are only the new ones. Without `logits` the
        head is left out."""
        mask = check_batch(ids, mask, cache.length if cache is not None else 0)
        rows = self.decoder_tokens(ids)
        hidden = source.output.hidden
        memory = Memory(hidden, memory_view(rows, hidden, source.mask))
        output = self.decoder(rows, mask, memory=memory, cache=cache, layers=layers, attention=attention)
        if self.head is not None and logits:
            output.logits = self.head(output.hidden)
        return output

    def new_cache(self) -> Cache:
        return Cache(len(self.decoder.blocks))
