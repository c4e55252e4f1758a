"""Seq2Seq: reads one text and writes another (the original Transformer, Marian, T5).

source ids -> tokens -> encoder -> memory
target ids -> tokens -> decoder, which also looks at the memory -> hidden -> head -> logits of the next word
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from torch import Tensor, nn

from inlaid.neural.architecture import Architecture
from inlaid.neural.blocks import Memory
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.encoder import make_head
from inlaid.neural.stack import Cache, Output, Stack, checked, memory_view


@dataclass
class Source:
    """A text that has been read: the encoder's output, and which of it is real."""

    output: Output
    mask: Tensor | None

    def select(self, texts: Tensor) -> Source:
        """These texts only, and only what writing needs of them."""
        return Source(Output(self.output.hidden[texts]), None if self.mask is None else self.mask[texts])


class Seq2Seq(nn.Module):
    """One table of tokens serves both sides, or each has its own; a tied head uses that of the text that is
    written."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = TokenEmbedding(shape.words, shape.dim, padding_idx=shape.padding)
        self.encoder = Stack(shape, shape.layers, causal=False)
        self.decoder = Stack(shape, shape.decoder_layers, causal=True, cross=True)
        self.target_tokens = (
            TokenEmbedding(shape.target_words, shape.dim, padding_idx=shape.padding)
            if shape.target_words
            else None
        )
        self.head = make_head(shape, self.written)

    @property
    def written(self) -> TokenEmbedding:
        """The table of the text that is written."""
        return self.tokens if self.target_tokens is None else self.target_tokens

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Output:
        """source and target ids (batch, token); masks are true where a token is real."""
        return self.write(target, self.read(source, source_mask), target_mask)

    def read(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        *,
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Source:
        mask = checked(ids, mask)
        return Source(self.encoder(self.tokens(ids), mask, layers=layers, attention=attention), mask)

    def write(
        self,
        ids: Tensor,
        source: Source,
        mask: Tensor | None = None,
        *,
        cache: Cache | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
        logits: bool = True,
    ) -> Output:
        """Logits of the words after `ids`; with a cache, `ids` are the new ones only. Without `logits` the
        head is left out."""
        mask = checked(ids, mask, cache.length if cache is not None else 0)
        rows = self.written(ids)
        read = source.output.hidden
        memory = Memory(read, memory_view(rows, read, source.mask))
        output = self.decoder(rows, mask, memory=memory, cache=cache, layers=layers, attention=attention)
        if self.head is not None and logits:
            output.logits = self.head(output.hidden)
        return output

    def new_cache(self) -> Cache:
        return Cache(len(self.decoder.blocks))
