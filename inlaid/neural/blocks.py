"""Blocks: norms, feed-forward, pre/post-norm residual blocks.

A block is attention, then a feed-forward, each added to the stream that runs past it. Post-norm (2017)
normalises the sum; pre-norm normalises what goes into each part and leaves the stream alone, which trains
without a warm-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.nn import functional

from inlaid.neural.architecture import Architecture
from inlaid.neural.attention import Attention, KeysValues, View

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


def make_norm(shape: Architecture) -> nn.Module:
    """A norm over the features of each token (never over the sentence)."""
    kind = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[shape.norm]
    return kind(shape.dim, eps=shape.norm_guard)


class FeedForward(nn.Module):
    """Each token by itself: widen, bend, narrow. With a gate (SwiGLU and its kin), what bends lets the rest
    through."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        self.up = nn.Linear(shape.dim, shape.inner_width, bias=shape.linear_bias)
        self.gate = nn.Linear(shape.dim, shape.inner_width, bias=shape.linear_bias) if shape.gated else None
        self.down = nn.Linear(shape.inner_width, shape.dim, bias=shape.linear_bias)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x: Tensor) -> Tensor:
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


@dataclass
class Memory:
    """What a decoder looks at: the encoder's output (batch, token, dim), and which of it may be seen."""

    rows: Tensor
    view: View


@dataclass
class Kept:
    """Keys and values one block keeps: of what is being written, and of the memory."""

    itself: KeysValues = field(default_factory=KeysValues)
    memory: KeysValues = field(default_factory=KeysValues)


@dataclass
class Passed:
    """The stream after a block, and the attention weights of the block where they were asked for."""

    x: Tensor
    weights: Tensor | None = None
    memory_weights: Tensor | None = None


class Block(nn.Module):
    """Self-attention, attention to a memory where there is one, feed-forward; a residual and a norm around
    each."""

    def __init__(self, shape: Architecture, *, cross: bool = False) -> None:
        super().__init__()
        self.pre = shape.norm_place == "pre"
        self.attention = make_attention(shape)
        self.attention_norm = make_norm(shape)
        self.cross = make_attention(shape) if cross else None
        self.cross_norm = make_norm(shape) if cross else None
        self.feed_forward = FeedForward(shape)
        self.feed_forward_norm = make_norm(shape)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(
        self,
        x: Tensor,
        view: View,
        memory: Memory | None = None,
        kept: Kept | None = None,
        *,
        weights: bool = False,
    ) -> Passed:
        """x (batch, token, dim) one block later; `kept` is read, and takes what this step adds."""
        itself = self.attention(
            self._before(x, self.attention_norm), view, kept=kept and kept.itself, weights=weights
        )
        x = self._after(x, itself.output, self.attention_norm)
        looked = None
        if memory is not None:
            assert self.cross is not None
            assert self.cross_norm is not None
            asked = self._before(x, self.cross_norm)
            looked = self.cross(
                asked, memory.view, memory=memory.rows, kept=kept and kept.memory, weights=weights
            )
            x = self._after(x, looked.output, self.cross_norm)
        x = self._after(x, self.feed_forward(self._before(x, self.feed_forward_norm)), self.feed_forward_norm)
        return Passed(x, itself.weights, looked and looked.weights)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        return norm(x) if self.pre else x

    def _after(self, x: Tensor, added: Tensor, norm: nn.Module) -> Tensor:
        x = x + (self.dropout(added) if self.training else added)
        return x if self.pre else norm(x)


def make_attention(shape: Architecture) -> Attention:
    return Attention(
        shape.dim,
        shape.heads,
        kv_heads=shape.key_heads,
        head_dim=shape.head_width,
        bias=shape.linear_bias,
        scaled=shape.scaled_scores,
        dropout=shape.attention_dropout,
    )
