"""Writer: a network that is writing; it takes tokens and tells what may come next, with or without a
cache."""

from __future__ import annotations

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.decoder import Decoder
from inlaid.neural.embedding import check_ids
from inlaid.neural.network import Network
from inlaid.neural.packed import pack
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.stack import Output, checked


class Writer:
    """`logits` (row, word) are those of the next token; `append` adds one to each row, `select` reorders
    rows.

    `said` (row, word) is true for words that stand in a row already; kept up only where someone wants to
    `remember` them.
    """

    def __init__(
        self,
        network: Network,
        ids: Tensor,
        mask: Tensor | None,
        new_tokens: int,
        *,
        cached: bool,
        remember: bool,
    ) -> None:
        if not isinstance(network, (Decoder, Seq2Seq)) or network.head is None:
            raise SettingError(
                f"A model of kind {network.shape.kind} with head {network.shape.head} cannot write. Use a decoder or seq2seq."
            )
        mask = checked(ids, mask)
        shape = network.shape
        check_ids(ids, shape.words)
        if mask is not None and mask.all():
            mask = None
        self.network = pack(network)
        self.ends = torch.tensor(shape.end, dtype=torch.int64, device=ids.device)
        self.cache = network.new_cache() if cached else None
        self.source = None
        if isinstance(network, Seq2Seq):
            if shape.start is None:
                raise SettingError(
                    "This model names no start symbol (decoder_start_token_id), so writing cannot begin."
                )
            assert isinstance(self.network, Seq2Seq)
            self.source = self.network.read(ids, mask)
            ids = torch.full((len(ids), 1), shape.start, device=ids.device)
            mask = None
        else:
            check_side(ids, mask, shape.padding)
        if shape.positions in ("learned", "rotary") and ids.shape[1] + new_tokens > shape.length + 1:
            raise SettingError(
                f"A prompt of {ids.shape[1]:,} and {new_tokens:,} new tokens go past the {shape.length:,} this model takes."
            )
        self.ids = ids
        self.mask = mask
        self.said = said(ids, mask, shape.written_words) if remember else None
        self.logits = self._next(ids)

    def append(self, tokens: Tensor) -> None:
        """One more token (row,) to each row."""
        self.ids = torch.cat([self.ids, tokens[:, None]], 1)
        if self.said is not None:
            self.said[torch.arange(len(tokens), device=tokens.device), tokens] = True
        if self.mask is not None:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], 1)
        self.logits = self._next(self.ids if self.cache is None else tokens[:, None])

    def select(self, rows: Tensor, texts: Tensor | None = None) -> None:
        """Keep these rows, in this order; and of what was read, these texts."""
        if texts is not None and self.source is not None and len(texts) < len(self.source.output.hidden):
            self.source = self.source.select(texts)
            if self.cache is not None:
                self.cache.select_memory(texts)
        self.ids = self.ids[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        self.said = None if self.said is None else self.said[rows]
        if self.cache is not None:
            self.cache.select(rows)

    def spread(self, beams: int) -> None:
        """Make `beams` rows of each; they share what was read."""
        rows = torch.arange(len(self.ids), device=self.ids.device).repeat_interleave(beams)
        self.select(rows)
        self.logits = self.logits[rows]

    def _next(self, ids: Tensor) -> Tensor:
        if isinstance(self.network, Seq2Seq):
            assert self.source is not None
            output: Output = self.network.write(ids, self.source, self.mask, cache=self.cache, logits=False)
        else:
            assert isinstance(self.network, Decoder)
            output = self.network(ids, self.mask, cache=self.cache, logits=False)
        assert self.network.head is not None
        return self.network.head(output.hidden[:, -1])


def said(ids: Tensor, mask: Tensor | None, words: int) -> Tensor:
    """Which words stand in each row (row, word); padding was never said."""
    found = torch.zeros(len(ids), words, dtype=torch.bool, device=ids.device)
    real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
    rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)
    found[rows[real], ids[real]] = True
    return found


def check_side(ids: Tensor, mask: Tensor | None, padding: int | None) -> None:
    """Raise SettingError for prompts whose last token is padding: the next one would continue the padding."""
    wrong = ~mask[:, -1] if mask is not None else ids[:, -1] == (-1 if padding is None else padding)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        raise SettingError(
            f"The prompt in row {row} ends in padding. Pad prompts on the left, and mark padding with 0 in the mask."
        )
