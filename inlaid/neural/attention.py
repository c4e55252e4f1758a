"""Attention: self, cross, multi-head, masked; a fast path, and a path that returns its weights.

Every query scores every key it may see, a softmax turns the scores into shares, and the output is the values
mixed by those shares: softmax(q kᵀ / sqrt(d)) v. Without the root the scores' variance would be d, and the
softmax all or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural.positions import Positions


@dataclass(frozen=True)
class View:
    """What the queries of one forward pass may look at, and how place changes their scores."""

    at: Tensor
    """Where the queries stand: (batch or 1, query)."""
    key_at: Tensor
    """Where the keys stand: (batch or 1, key)."""
    seen: Tensor | None = None
    """True where a query may look: (batch or 1, 1, query or 1, key); None: everywhere."""
    causal: bool = False
    """Each token sees itself and what came before, and nothing else is masked: the fast path needs no mask
    for that."""
    bias: Tensor | None = None
    """Added to the scores of every layer: (batch or 1, head, query, key)."""
    turns: Tensor | None = None
    """What rotates queries and new keys."""
    positions: Positions | None = None
    """Whoever adds to scores by looking at the queries themselves."""


@dataclass
class KeysValues:
    """Keys and values of one layer kept from earlier steps: (batch, head, token, width)."""

    keys: Tensor | None = None
    values: Tensor | None = None

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append, and return all."""
        if self.keys is not None and self.values is not None:
            keys = torch.cat([self.keys, keys], 2)
            values = torch.cat([self.values, values], 2)
        self.keys = keys
        self.values = values
        return keys, values

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; what beam search does after every step."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)


@dataclass
class Attended:
    """Output (batch, query, dim), and the weights (batch, head, query, key) if they were asked for."""

    output: Tensor
    weights: Tensor | None = None


class Attention(nn.Module):
    """Multi-head attention of `x` to itself or to a `memory`; key/value heads may be fewer than query
    heads."""

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        scaled: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kv_heads = kv_heads or heads
        if not head_dim and dim % heads:
            raise SettingError(
                f"dim is {dim}, which {heads} heads do not divide. Change one of them, or give head_dim."
            )
        if heads % kv_heads:
            raise SettingError(
                f"{heads} heads cannot share {kv_heads} key/value heads evenly. Use a divisor of {heads}."
            )
        self.heads = heads
        self.kv_heads = kv_heads
        self.width = head_dim or dim // heads
        self.scale = self.width**-0.5 if scaled else 1.0
        self.dropout = dropout
        self.query = nn.Linear(dim, heads * self.width, bias=bias)
        self.key = nn.Linear(dim, kv_heads * self.width, bias=bias)
        self.value = nn.Linear(dim, kv_heads * self.width, bias=bias)
        self.output = nn.Linear(heads * self.width, dim, bias=bias)
        self.together: nn.Module | None = (
            None  # the three above as one layer, in a twin made for writing: see packed.py
        )

    @property
    def projections(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        """Queries, keys and values, in this order."""
        return self.query, self.key, self.value

    def forward(
        self,
        x: Tensor,
        view: View,
        *,
        memory: Tensor | None = None,
        kept: KeysValues | None = None,
        weights: bool = False,
    ) -> Attended:
        """x (batch, query, dim) looks at `memory`, or at itself and at what is `kept` from earlier steps."""
        if memory is None:
            query, keys, values = self._of_itself(x, view, kept)
        else:
            query = self._split(self.query(x), self.heads)
            keys, values = self._of_memory(memory, kept)
        folds = len(query) // len(
            keys
        )  # beams of one text share its memory: they become more queries, not more keys
        query = _fold(query, folds)
        mixed, shares = self._mix(query, keys, values, view, weights)
        mixed = _unfold(mixed, folds)
        shares = None if shares is None else _unfold(shares, folds)
        return Attended(self.output(mixed.transpose(1, 2).flatten(2)), shares)

    def _of_itself(self, x: Tensor, view: View, kept: KeysValues | None) -> tuple[Tensor, Tensor, Tensor]:
        parts = zip(self._projected(x), (self.heads, self.kv_heads, self.kv_heads), strict=True)
        query, keys, values = (self._split(part, heads) for part, heads in parts)
        if view.turns is not None:
            query = self._turn(query, view)
            keys = self._turn(keys, view)
        return query, *((keys, values) if kept is None else kept.extend(keys, values))

    def _of_memory(self, memory: Tensor, kept: KeysValues | None) -> tuple[Tensor, Tensor]:
        if kept is not None and kept.keys is not None and kept.values is not None:
            return kept.keys, kept.values  # a memory does not change while its answer is written
        keys = self._split(self.key(memory), self.kv_heads)
        values = self._split(self.value(memory), self.kv_heads)
        return (keys, values) if kept is None else kept.extend(keys, values)

    def _projected(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of the same rows; by one product where three narrow ones, and their
        gradients, take longer."""
        if self.together is not None:
            made = self.together(x)
        elif x.is_cuda and all(is_plain(each) for each in self.projections):
            weights: list[Tensor] = [each.weight for each in self.projections]
            biases: list[Tensor] = [each.bias for each in self.projections if each.bias is not None]
            made = functional.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
        else:
            return self.query(x), self.key(x), self.value(x)
        return made.split([heads * self.width for heads in (self.heads, self.kv_heads, self.kv_heads)], -1)

    def _mix(
        self, query: Tensor, keys: Tensor, values: Tensor, view: View, weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        bias = view.bias
        if view.positions is not None:
            by_content = view.positions.content_bias(
                query, _repeat(keys, self.heads), view.at, view.key_at, self.scale
            )
            if by_content is not None:
                bias = by_content if bias is None else bias + by_content
        dropout = self.dropout if self.training else 0.0
        if weights:
            return explicit(
                query,
                _repeat(keys, self.heads),
                _repeat(values, self.heads),
                _seen(view),
                bias,
                self.scale,
                dropout,
            )
        causal = view.causal and bias is None
        mask = None if causal else _mask(_seen(view), bias, query.dtype)
        mixed = functional.scaled_dot_product_attention(
            query,
            keys,
            values,
            mask,
            dropout,
            causal,
            scale=self.scale,
            enable_gqa=self.kv_heads != self.heads,
        )
        return mixed, None

    def _split(self, x: Tensor, heads: int) -> Tensor:
        """(batch, token, head * width) -> (batch, head, token, width)"""
        return x.unflatten(-1, (heads, self.width)).transpose(1, 2)

    def _turn(self, x: Tensor, view: View) -> Tensor:
        assert view.positions is not None
        assert view.turns is not None
        return view.positions.rotate(x, view.turns)


def is_plain(layer: nn.Module) -> bool:
    """A product and nothing else: what someone derived from it or hooked into it must keep its own way."""
    return type(layer) is nn.Linear and not layer._forward_hooks and not layer._forward_pre_hooks


def explicit(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    seen: Tensor | None,
    bias: Tensor | None,
    scale: float,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Attention written out: the output and its weights. A query that may look nowhere gets zeros."""
    scores = query @ keys.transpose(-1, -2) * scale
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(scores.dtype)
    if seen is not None:
        weights = weights.masked_fill(~seen.any(-1, keepdim=True), 0.0)  # softmax of nothing is NaN
    return functional.dropout(weights, dropout) @ values, weights


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """True where a query may look (query, key): the last query sees all keys, each earlier one a key less."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def _seen(view: View) -> Tensor | None:
    if view.seen is None and view.causal:
        return causal_mask(view.at.shape[1], view.key_at.shape[1], view.at.device)
    return view.seen


def _mask(seen: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """One mask of both kinds, as SDPA takes it."""
    if bias is None or seen is None:
        return seen if bias is None else bias.to(dtype)
    return bias.to(dtype).masked_fill(~seen, -torch.inf)


def _repeat(x: Tensor, heads: int) -> Tensor:
    """Every key/value head once for each query head of its group."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def _fold(query: Tensor, folds: int) -> Tensor:
    """(batch * folds, head, query, width) -> (batch, head, folds * query, width)"""
    return query if folds == 1 else query.unflatten(0, (-1, folds)).transpose(1, 2).flatten(2, 3)


def _unfold(mixed: Tensor, folds: int) -> Tensor:
    return mixed if folds == 1 else mixed.unflatten(2, (folds, -1)).transpose(1, 2).flatten(0, 1)
