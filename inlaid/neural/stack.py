"""Stack: from token vectors to hidden states, block after block; the trunk of every Transformer here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.attention import View, causal_mask
from inlaid.neural.blocks import BlockCache, BlockOutput, Memory, TransformerBlock, make_norm
from inlaid.neural.config import Config
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.positions import make_positions


@dataclass
class Output:
    """What a network returns; what was not asked for is empty."""

    hidden: Tensor
    """Hidden states after the last block (batch, token, dim)."""
    logits: Tensor | None = None
    """One number for each word (batch, token, word)."""
    layers: tuple[Tensor, ...] = ()
    """The input of the first block, then the output of each; the last is `hidden`."""
    attention: dict[int, Tensor] = field(default_factory=dict)
    """By layer, from 0: weights (batch, head, query, key)."""
    cross_attention: dict[int, Tensor] = field(default_factory=dict)
    """The same, of a decoder's attention to its encoder."""
    pooled: Tensor | None = None
    """The pooler's output for the first token (batch, dim)."""


class Cache:
    """Keys and values of all blocks, so that each new token costs one token's work."""

    def __init__(self, layers: int) -> None:
        self.layers = [BlockCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        """Tokens cached so far."""
        keys = self.layers[0].self_attention.keys
        return 0 if keys is None else keys.shape[2]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. The memory stays: all beams of a text share it."""
        for cache in self.layers:
            cache.self_attention.select(rows)

    def select_memory(self, texts: Tensor) -> None:
        """Keep the memory of these texts."""
        for cache in self.layers:
            cache.cross_attention.select(texts)


class Stack(nn.Module):
    """Positions and segments added to token vectors, then the blocks, then the final norm."""

    def __init__(self, config: Config, layers: int, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.scale = config.dim**0.5 if config.embedding_scale else 1.0
        self.positions = make_positions(config, causal=causal)
        self.segments = TokenEmbedding(config.segment_types, config.dim) if config.segment_types else None
        self.embedding_norm = make_norm(config) if config.norm.embedding else None
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(TransformerBlock(config, cross=cross) for _ in range(layers))
        self.final_norm = make_norm(config) if config.norm.final else None

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Output:
        """x (batch, token, dim); `mask` (batch, cached + token) is true where a token is real.

        `positions` (batch, cached + token) replace those counted from the mask. `layers` asks for the hidden
        states after every block, `attention` for the weights of the blocks it names.
        """
        self._check_layers(attention)
        view = self._view(x, mask, positions, cache.length if cache is not None else 0)
        x = self._embed(x, view, segments)
        hidden_states: list[Tensor] = [x]
        output = Output(x)
        for number, block in enumerate(self.blocks):
            block_cache = cache and cache.layers[number]
            after: BlockOutput = block(x, view, memory, block_cache, need_weights=number in attention)
            x = after.hidden
            hidden_states.append(x)
            if after.weights is not None:
                output.attention[number] = after.weights
            if after.cross_weights is not None:
                output.cross_attention[number] = after.cross_weights
        output.hidden = x if self.final_norm is None else self.final_norm(x)
        if layers:
            output.layers = (*hidden_states[:-1], output.hidden)
        return output

    def _embed(self, x: Tensor, view: View, segments: Tensor | None) -> Tensor:
        """The input of the first block."""
        if self.scale != 1.0:
            x = x * self.scale
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(view.positions) if segments is None else segments)
        x = self.positions.add(x, view.positions)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        return self.dropout(x)

    def _view(self, x: Tensor, mask: Tensor | None, positions: Tensor | None, past: int) -> View:
        """Positions and masks, once for all blocks."""
        length = x.shape[1]
        keys = past + length
        if positions is None:
            positions = torch.arange(keys, device=x.device)[None] if mask is None else token_positions(mask)
        visible = None if mask is None else mask[:, None, None, :]
        unmasked = mask is None and past == 0
        if self.causal and length > 1 and not unmasked:
            causal = causal_mask(length, keys, x.device)[None, None]
            visible = causal if visible is None else visible & causal
        query_positions = positions[:, past:]
        return View(
            positions=query_positions,
            key_positions=positions,
            mask=visible,
            causal=self.causal and unmasked,
            bias=self.positions.bias(query_positions, positions),
            rotation=self.positions.rotation(query_positions),
            encoding=self.positions,
        )

    def _check_layers(self, wanted: Collection[int]) -> None:
        for number in wanted:
            if not 0 <= number < len(self.blocks):
                raise SettingError(
                    "There is no layer {layer} to show the attention of; layers are 0 to {last}.",
                    layer=number,
                    last=len(self.blocks) - 1,
                )


def token_positions(mask: Tensor) -> Tensor:
    """The position of each token, padding not counted.

    >>> token_positions(torch.tensor([[False, True, True]]))
    tensor([[0, 0, 1]])
    """
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def positions_without_padding(ids: Tensor, padding: int) -> Tensor:
    """Positions from 0 of the tokens that are not padding, and -1 for padding, by the ids alone.

    >>> positions_without_padding(torch.tensor([[7, 8, 1, 1]]), 1)
    tensor([[ 0,  1, -1, -1]])
    """
    real = (ids != padding).long()
    return real.cumsum(1) * real - 1


def memory_view(x: Tensor, memory: Tensor, mask: Tensor | None) -> View:
    """Queries of `x` may see every real token of `memory`, without positions."""
    positions = torch.arange(max(x.shape[1], memory.shape[1]), device=x.device)[None]
    return View(
        positions=positions[:, : x.shape[1]],
        key_positions=positions[:, : memory.shape[1]],
        mask=None if mask is None else mask[:, None, None, :],
    )


def check_batch(ids: Tensor, mask: Tensor | None, past: int = 0) -> Tensor | None:
    """The mask as booleans; ids and masks that no network can take raise SettingError."""
    if ids.dim() != 2:
        raise SettingError(
            "A batch of ids is a matrix (text, token); found shape {shape}. One text is ids[None].",
            shape=tuple(ids.shape),
        )
    if 0 in ids.shape:
        raise SettingError(
            "A batch needs at least one text and one token; found {texts} texts of {tokens} tokens.",
            texts=ids.shape[0],
            tokens=ids.shape[1],
        )
    if mask is None:
        return None
    expected = (ids.shape[0], past + ids.shape[1])
    if tuple(mask.shape) != expected:
        raise SettingError(
            "The mask has shape {found}; the ids need {expected}. Real tokens are 1, padding is 0.",
            found=tuple(mask.shape),
            expected=expected,
        )
    compiling = torch.compiler.is_compiling()
    if mask.is_floating_point() and not compiling and not ((mask == 0) | (mask == 1)).all():
        raise SettingError("The mask holds numbers other than 0 and 1. Real tokens are 1, padding is 0.")
    if mask.device.type == "cpu" and not compiling and bool(mask.all()):
        return None  # without padding the fast paths need no mask; on a GPU the check would synchronize
    return mask.bool()
