"""Blocks: norms, feed-forward network, pre-norm and post-norm residual blocks.

A block is attention, then a feed-forward network, each with a residual connection. Post-norm (2017)
normalizes each sum. Pre-norm normalizes the input of each sublayer and leaves the residual stream alone,
which trains without a warm-up. A sandwich normalizes the input and the output of each sublayer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.neural.attention import Attention, AttentionOutput, View
from inlaid.neural.cache import BlockCache
from inlaid.neural.config import Config
from inlaid.neural.products import apply

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}


class ZeroCenteredRMSNorm(nn.Module):
    """RMSNorm that multiplies by 1 + weight, so that weight decay pulls it towards the identity."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)  # 1 + weight has few digits left in bfloat16
        scale = 1 + self.weight.to(dtype)
        return (functional.rms_norm(x.to(dtype), scale.shape, eps=self.eps) * scale).to(x.dtype)


def make_norm(config: Config, dim: int | None = None) -> nn.Module:
    """A norm over the components of each token (or of its part of `dim` components), never over the
    sentence."""
    dim = dim or config.dim
    if config.norm.kind == "layer":
        return nn.LayerNorm(dim, eps=config.norm.eps, bias=config.norm.bias)
    kind = ZeroCenteredRMSNorm if config.norm.zero_centered else nn.RMSNorm
    return kind(dim, eps=config.norm.eps)


def make_attention(config: Config) -> Attention:
    settings = config.attention
    return Attention(
        config.dim,
        settings.heads,
        kv_heads=settings.key_value_heads,
        head_dim=config.head_dim,
        bias=settings.bias,
        output_bias=settings.output_bias,
        scale=config.attention_scale,
        query_norm=make_norm(config, config.head_dim) if settings.qk_norm else None,
        key_norm=make_norm(config, config.head_dim) if settings.qk_norm else None,
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
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor) -> Tensor:
        if self.gate is None:
            inner = apply(self.up, x, self.activation)
        else:
            inner = apply(self.gate, x, self.activation) * apply(self.up, x)
        return apply(self.down, self.dropout(inner) if self.training else inner)


@dataclass
class Memory:
    """What a decoder attends to: the encoder's hidden states (batch, token, dim), and which may be seen."""

    hidden: Tensor
    view: View


@dataclass
class BlockOutput:
    """Hidden states after a block, and the attention weights of the block where they were asked for."""

    hidden: Tensor
    weights: Tensor | None = None
    cross_weights: Tensor | None = None


class TransformerBlock(nn.Module):
    """Self-attention, cross-attention where there is a memory, feed-forward; residual and norm around
    each."""

    def __init__(self, config: Config, *, cross: bool = False, first: bool = False) -> None:
        super().__init__()
        self.pre_norm = config.norm.placement != "post"
        sandwich = config.norm.placement == "sandwich"
        self.attention = make_attention(config)
        self.attention_norm = make_norm(config) if config.norm.first or not first else nn.Identity()
        self.cross = make_attention(config) if cross else None
        self.cross_norm = make_norm(config) if cross else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = make_norm(config)
        self.attention_output_norm = make_norm(config) if sandwich else nn.Identity()
        self.cross_output_norm = make_norm(config) if sandwich and cross else nn.Identity()
        self.feed_forward_output_norm = make_norm(config) if sandwich else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        output_dropout = config.attention.output_dropout
        self.attention_dropout = nn.Dropout(config.dropout if output_dropout is None else output_dropout)

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
        added = self.attention_output_norm(attended.output)
        x = self._after(x, added, self.attention_norm, self.attention_dropout)
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
            added = self.cross_output_norm(crossed.output)
            x = self._after(x, added, self.cross_norm, self.attention_dropout)
            cross_weights = crossed.weights
        added = self.feed_forward_output_norm(self.feed_forward(self._before(x, self.feed_forward_norm)))
        x = self._after(x, added, self.feed_forward_norm, self.dropout)
        return BlockOutput(x, attended.weights, cross_weights)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        return norm(x) if self.pre_norm else x

    def _after(self, x: Tensor, added: Tensor, norm: nn.Module, dropout: nn.Module) -> Tensor:
        x = x + (dropout(added) if self.training else added)
        return x if self.pre_norm else norm(x)
