"""Decoding state: the tokens so far, the cache, and the logits of the next token."""

from __future__ import annotations

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.neural.config import Config
from inlaid.neural.decoder import Decoder
from inlaid.neural.generation import FileSettings, GenerationSettings, Rules, resolve
from inlaid.neural.lookup import check_ids
from inlaid.neural.network import Network
from inlaid.neural.seq2seq import Encoded, Seq2Seq
from inlaid.neural.stack import Output, check_batch


class DecodingState:
    """`logits` (row, word) are those of the next token; `append` adds one token to each row, `select`
    reorders rows.

    `used` (row, word) is true for words that are in a row already; None unless there is a repetition penalty.
    """

    def __init__(
        self,
        network: Network,
        ids: Tensor,
        mask: Tensor | None,
        settings: GenerationSettings,
        file: FileSettings | None,
    ) -> None:
        if not isinstance(network, (Decoder, Seq2Seq)) or network.head is None:
            raise SettingError(
                "A model of kind {kind} with head {head} cannot generate. Use a decoder or seq2seq with a "
                "head.",
                kind=network.config.kind,
                head=network.config.head.kind,
            )
        config = network.config
        check_ids(ids, config.vocab_size)
        prompt = 1 if isinstance(network, Seq2Seq) else ids.shape[-1]
        file = file or FileSettings(padding=config.special.padding)
        self.rules = resolve(settings, file, config, prompt)
        if mask is None:
            mask = _mask_of_padding(ids, file.padding, self.rules.end)
        mask = check_batch(ids, mask)
        if mask is not None and mask.all():
            mask = None
        self.network = network
        self.end_ids = torch.tensor(self.rules.end, dtype=torch.int64, device=ids.device)
        self.cache = network.new_cache() if self.rules.use_cache else None
        self.source: Encoded | None = None
        if isinstance(network, Seq2Seq):
            start = _start_id(self.rules)
            self.source = network.encode(ids, mask)
            ids = torch.full((len(ids), 1), start, device=ids.device)
            mask = None
        else:
            check_padding_side(mask)
        _check_length(ids.shape[1], self.rules.max_new_tokens, config)
        self.ids = ids
        self.mask = mask
        penalty = self.rules.repetition_penalty
        self.used = None if penalty == 1.0 else used_words(ids, mask, config.output_vocab_size)
        self.logits = self._next(ids)

    def append(self, tokens: Tensor) -> None:
        """Add one token (row,) to each row."""
        self.ids = torch.cat([self.ids, tokens[:, None]], 1)
        if self.used is not None:
            self.used[torch.arange(len(tokens), device=tokens.device), tokens] = True
        if self.mask is not None:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], 1)
        self.logits = self._next(self.ids if self.cache is None else tokens[:, None])

    def select(self, rows: Tensor, texts: Tensor | None = None) -> None:
        """Keep these rows, in this order, and the encoded sources of these texts."""
        if texts is not None and self.source is not None and len(texts) < len(self.source.output.hidden):
            self.source = self.source.select(texts)
            if self.cache is not None:
                self.cache.select_memory(texts)
        self.ids = self.ids[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        self.used = None if self.used is None else self.used[rows]
        if self.cache is not None:
            self.cache.select(rows)

    def expand(self, beams: int) -> None:
        """Make `beams` rows of each; they share the encoded source."""
        rows = torch.arange(len(self.ids), device=self.ids.device).repeat_interleave(beams)
        self.select(rows)
        self.logits = self.logits[rows]

    def _next(self, ids: Tensor) -> Tensor:
        """The logits after `ids`: all tokens, or with a cache the new ones."""
        if isinstance(self.network, Seq2Seq):
            assert self.source is not None
            output: Output = self.network.decode(ids, self.source, self.mask, cache=self.cache, logits=False)
        else:
            assert isinstance(self.network, Decoder)
            output = self.network(ids, self.mask, cache=self.cache, logits=False)
        assert self.network.head is not None
        return self.network.head(output.hidden[:, -1])


def used_words(ids: Tensor, mask: Tensor | None, vocab_size: int) -> Tensor:
    """Which words are in each row (row, word); padding is not counted."""
    used = torch.zeros(len(ids), vocab_size, dtype=torch.bool, device=ids.device)
    real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
    rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)
    used[rows[real], ids[real]] = True
    return used


def check_padding_side(mask: Tensor | None) -> None:
    """Raise SettingError for prompts whose last token is padding: the next token would continue the
    padding."""
    if mask is not None and not bool(mask[:, -1].all()):
        raise SettingError(
            "The prompt in row {row} ends in padding. Pad prompts on the left, and mark padding with 0 in "
            "the mask.",
            row=int((~mask[:, -1]).nonzero()[0]),
        )


def _mask_of_padding(ids: Tensor, padding: int | None, end: tuple[int, ...]) -> Tensor | None:
    """The mask where none was given, by the padding id; if that ends texts as well, it may be either, and
    nothing is padding."""
    return None if padding is None or padding in end else ids != padding


def _start_id(rules: Rules) -> int:
    if rules.start is None:
        raise SettingError(
            "This model has no start token (decoder_start_token_id), so decoding cannot start. "
            "Set special.start in its config."
        )
    return rules.start


def _check_length(prompt: int, new_tokens: int, config: Config) -> None:
    limit = config.max_length
    if limit is not None and prompt + new_tokens > limit + 1:
        raise SettingError(
            "A prompt of {prompt:,} tokens and {new:,} new tokens exceed this model's maximum length of "
            "{limit:,}. Shorten the prompt, or lower max_new_tokens.",
            prompt=prompt,
            new=new_tokens,
            limit=limit,
        )
