"""Stack: from token vectors to contextual vectors, block after block; the trunk of every Transformer here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.architecture import Architecture
from inlaid.neural.attention import View, causal_mask
from inlaid.neural.blocks import Block, Kept, Memory, make_norm
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.positions import make_positions


@dataclass
class Output:
    """What a network gives back; what was not asked for is empty."""

    hidden: Tensor
    """After the last block (batch, token, dim)."""
    logits: Tensor | None = None
    """One number for each word (batch, token, word)."""
    layers: tuple[Tensor, ...] = ()
    """The input of the first block, then the output of each; the last is `hidden`."""
    attention: dict[int, Tensor] = field(default_factory=dict)
    """By layer, from 0: weights (batch, head, query, key)."""
    memory_attention: dict[int, Tensor] = field(default_factory=dict)
    """The same, of a decoder looking at its encoder."""
    pooled: Tensor | None = None
    """BERT's summary of the first token (batch, dim)."""


class Cache:
    """What the blocks keep between steps, so that each new token costs one token's work."""

    def __init__(self, layers: int) -> None:
        self.layers = [Kept() for _ in range(layers)]

    @property
    def length(self) -> int:
        """Tokens kept so far."""
        keys = self.layers[0].itself.keys
        return 0 if keys is None else keys.shape[2]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. A memory stays: all beams of a text share it."""
        for kept in self.layers:
            kept.itself.select(rows)

    def select_memory(self, texts: Tensor) -> None:
        """Keep the memories of these texts."""
        for kept in self.layers:
            kept.memory.select(texts)


class Stack(nn.Module):
    """Places and segments added to token vectors, then the blocks, then the last norm."""

    def __init__(self, shape: Architecture, layers: int, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.scale = shape.dim**0.5 if shape.embedding_scale else 1.0
        self.positions = make_positions(shape, causal=causal)
        self.segments = TokenEmbedding(shape.segments, shape.dim) if shape.segments else None
        self.first_norm = make_norm(shape) if shape.embedding_norm else None
        self.dropout = nn.Dropout(shape.dropout)
        self.blocks = nn.ModuleList(Block(shape, cross=cross) for _ in range(layers))
        self.last_norm = make_norm(shape) if shape.final_norm else None

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        segments: Tensor | None = None,
        memory: Memory | None = None,
        cache: Cache | None = None,
        layers: bool = False,
        attention: Collection[int] = (),
    ) -> Output:
        """x (batch, token, dim); `mask` (batch, kept + token) is true where a token is real.

        `layers` asks for the vectors after every block, `attention` for the weights of the blocks it names.
        """
        self._check_layers(attention)
        view = self._view(x, mask, cache.length if cache is not None else 0)
        x = self._place(x, view, segments)
        passed: list[Tensor] = [x]
        weights: dict[int, Tensor] = {}
        memory_weights: dict[int, Tensor] = {}
        for number, block in enumerate(self.blocks):
            done = block(x, view, memory, cache and cache.layers[number], weights=number in attention)
            x = done.x
            passed.append(x)
            if done.weights is not None:
                weights[number] = done.weights
            if done.memory_weights is not None:
                memory_weights[number] = done.memory_weights
        hidden = x if self.last_norm is None else self.last_norm(x)
        return Output(hidden, None, (*passed[:-1], hidden) if layers else (), weights, memory_weights)

    def _place(self, x: Tensor, view: View, segments: Tensor | None) -> Tensor:
        x = x if self.scale == 1.0 else x * self.scale
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(view.at) if segments is None else segments)
        x = self.positions.add(x, view.at)
        return self.dropout(x if self.first_norm is None else self.first_norm(x))

    def _view(self, x: Tensor, mask: Tensor | None, past: int) -> View:
        """Where everything stands and who may look where, once for all blocks."""
        length = x.shape[1]
        keys = past + x.shape[1]
        if mask is None:
            key_at = torch.arange(keys, device=x.device)[None]
            seen = None
        else:
            key_at = places(mask)
            seen = mask[:, None, None, :]
        plain = mask is None and past == 0
        if self.causal and length > 1 and not plain:
            ahead = causal_mask(length, keys, x.device)[None, None]
            seen = ahead if seen is None else seen & ahead
        at = key_at[:, past:]
        return View(
            at,
            key_at,
            seen,
            self.causal and plain,
            self.positions.bias(at, key_at),
            self.positions.turns(at),
            self.positions,
        )

    def _check_layers(self, wanted: Collection[int]) -> None:
        for number in wanted:
            if not 0 <= number < len(self.blocks):
                raise SettingError(
                    f"There is no layer {number} to show the attention of; layers are 0 to {len(self.blocks) - 1}."
                )


def places(mask: Tensor) -> Tensor:
    """Where each token stands, padding not counted.

    >>> places(torch.tensor([[False, True, True]]))
    tensor([[0, 0, 1]])
    """
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def memory_view(x: Tensor, memory: Tensor, mask: Tensor | None) -> View:
    """Queries of `x` may look at every real token of `memory`, and place plays no part."""
    at = torch.arange(max(x.shape[1], memory.shape[1]), device=x.device)[None]
    return View(
        at[:, : x.shape[1]], at[:, : memory.shape[1]], None if mask is None else mask[:, None, None, :]
    )


def checked(ids: Tensor, mask: Tensor | None, past: int = 0) -> Tensor | None:
    """The mask as booleans; ids and mask that no network could take raise SettingError."""
    if ids.dim() != 2:
        raise SettingError(
            f"A batch of ids is a matrix (text, token); found shape {tuple(ids.shape)}. One text is ids[None]."
        )
    if 0 in ids.shape:
        raise SettingError(
            f"A batch needs at least one text and one token; found {ids.shape[0]} texts of {ids.shape[1]} tokens."
        )
    if mask is None:
        return None
    expected = (ids.shape[0], past + ids.shape[1])
    if tuple(mask.shape) != expected:
        raise SettingError(
            f"The mask has shape {tuple(mask.shape)}; {expected} would fit the ids. Real tokens are 1, padding 0."
        )
    if (
        mask.is_floating_point()
        and not torch.compiler.is_compiling()
        and not ((mask == 0) | (mask == 1)).all()
    ):
        raise SettingError("The mask holds numbers other than 0 and 1. Real tokens are 1, padding 0.")
    if mask.device.type == "cpu" and not torch.compiler.is_compiling() and bool(mask.all()):
        return None  # no padding, no mask: the fast paths need none. On a GPU looking would cost more than it saves.
    return mask.bool()
