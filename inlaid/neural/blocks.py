"""Blocks: norms, feed-forward network, pre-norm and post-norm residual blocks.

A block is attention, then a feed-forward network, each with a residual connection. Post-norm (2017)
normalizes each sum. Pre-norm normalizes the input of each sublayer and leaves the residual stream alone,
which trains without a warm-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.nn import functional

from inlaid.neural.attention import Attention, AttentionOutput, KeyValueCache, View
from inlaid.neural.config import Config

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


def make_norm(config: Config) -> nn.Module:
    """A norm over the components of each token, never over the sentence."""
    kind = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[config.norm.kind]
    return kind(config.dim, eps=config.norm.eps)


def make_attention(config: Config) -> Attention:
    settings = config.attention
    return Attention(
        config.dim,
        settings.heads,
        kv_heads=settings.key_value_heads,
        head_dim=config.head_dim,
        bias=settings.bias,
        output_bias=settings.output_bias,
        scaled=settings.scaled,
        dropout=settings.dropout,
    )


class FeedForward(nn.Module):
    """Two projections with an activation between, for each token by itself; gated: SwiGLU and its
    variants."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        settings = config.feed_forward
        inner = config.feed_forward_dim
        self.up = nn.Linear(config.dim, inner, bias=settings.bias)
        self.gate = nn.Linear(config.dim, inner, bias=settings.bias) if settings.gated else None
        self.down = nn.Linear(inner, config.dim, bias=settings.bias)
        self.activation = ACTIVATIONS[settings.activation]

    def forward(self, x: Tensor) -> Tensor:
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


@dataclass
class Memory:
    """What a decoder attends to: the encoder's hidden states (batch, token, dim), and which may be seen."""

    hidden: Tensor
    view: View


@dataclass
class BlockCache:
    """Keys and values of one block: of the decoded tokens, and of the memory."""

    self_attention: KeyValueCache = field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = field(default_factory=KeyValueCache)


@dataclass
class BlockOutput:
    """Hidden states after a block, and the attention weights of the block where they were asked for."""

    hidden: Tensor
    weights: Tensor | None = None
    cross_weights: Tensor | None = None


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention where there is a memory, feed-forward; residual and norm around
    each."""

    def __init__(self, config: Config, *, cross: bool = False) -> None:
        super().__init__()
        self.pre_norm = config.norm.placement == "pre"
        self.attention = make_attention(config)
        self.attention_norm = make_norm(config)
        self.cross = make_attention(config) if cross else None
        self.cross_norm = make_norm(config) if cross else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = make_norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        view: View,
        memory: Memory | None = None,
        cache: BlockCache | None = None,
        *,
        need_weights: bool = False,
    ) -> BlockOutput:
        """x (batch, token, dim) one block later; this step's keys and values are added to the cache."""
        attended = self.attention(
            self._before(x, self.attention_norm),
            view,
            cache=cache and cache.self_attention,
            need_weights=need_weights,
        )
        x = self._after(x, attended.output, self.attention_norm)
        cross_weights: Tensor | None = None
        if memory is not None:
            assert self.cross is not None
            assert self.cross_norm is not None
            crossed: AttentionOutput = self.cross(
                self._before(x, self.cross_norm),
                memory.view,
                memory=memory.hidden,
                cache=cache and cache.cross_attention,
                need_weights=need_weights,
            )
            x = self._after(x, crossed.output, self.cross_norm)
            cross_weights = crossed.weights
        added = self.feed_forward(self._before(x, self.feed_forward_norm))
        x = self._after(x, added, self.feed_forward_norm)
        return BlockOutput(x, attended.weights, cross_weights)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        return norm(x) if self.pre_norm else x

    def _after(self, x: Tensor, added: Tensor, norm: nn.Module) -> Tensor:
        x = x + (self.dropout(added) if self.training else added)
        return x if self.pre_norm else norm(x)
