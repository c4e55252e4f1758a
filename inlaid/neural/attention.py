"""Attention: self, cross, multi-head, masked; a fast path, and a path that returns its weights.

Every query scores every key it may see, a softmax turns the scores into weights, and the output is the
weighted sum of the values: softmax(q kᵀ / sqrt(d)) v. Without the square root the scores would have variance
d, and the softmax would saturate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural.cache import KeyValueCache
from inlaid.neural.positions import Positions
from inlaid.neural.products import apply, is_plain


@contextlib.contextmanager
def shapes_vary() -> Iterator[None]:
    """Inside, attention on a GPU is left to kernels that take any shape. cuDNN's, which torch prefers on
    recent GPUs, makes a plan for each new shape: 2 ms a call where batches are made by length."""
    was = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(was)


@dataclass(frozen=True)
class View:
    """Which keys the queries of one forward pass may see, and how positions change their scores."""

    positions: Tensor
    """Positions of the queries: (batch or 1, query)."""
    key_positions: Tensor
    """Positions of the keys: (batch or 1, key)."""
    mask: Tensor | None = None
    """True where a query may see a key: (batch or 1, 1, query or 1, key); None: everywhere."""
    causal: bool = False
    """Each token sees itself and earlier tokens, and there is no other mask: the fast path needs none
    then."""
    bias: Tensor | None = None
    """Added to the scores of every layer: (batch or 1, head, query, key)."""
    rotation: Tensor | None = None
    """Cosines and sines that rotate queries and new keys."""
    encoding: Positions | None = None
    """The position encoding, which may add to the scores by content."""
    runs: tuple[Run, ...] = ()
    """The texts of a packed batch (1, token); none sees another."""
    offsets: Tensor | None = None
    """The same for a GPU kernel that takes any lengths: where each text starts, and the end (text + 1,)."""
    longest: int = 0
    """The length of the longest of them."""


@dataclass(frozen=True)
class Run:
    """Neighboring texts of a packed batch that have the same length."""

    texts: int
    length: int
    view: View
    """That of each of them."""


@dataclass
class AttentionOutput:
    """Output (batch, query, dim), and the weights (batch, head, query, key) if they were asked for."""

    output: Tensor
    weights: Tensor | None = None


class Projected(NamedTuple):
    """Queries, keys and values of one attention, split into heads: (batch, head, token, head_dim)."""

    query: Tensor
    keys: Tensor
    values: Tensor


class Steps(NamedTuple):
    """One attention, step by step: (batch, head, query, key) unless another shape is named."""

    query: Tensor
    """(batch, head, query, head_dim), normalized and rotated where the network does that."""
    keys: Tensor
    """(batch, head, key, head_dim), like the queries."""
    values: Tensor
    """(batch, head, key, head_dim)"""
    products: Tensor
    """q·k"""
    scaled: Tensor
    """q·k times the scale."""
    bias: Tensor | None
    """What positions add to them."""
    scores: Tensor
    """With the bias; -inf where the query may not see the key."""
    weights: Tensor
    """The softmax of the scores."""
    mixed: Tensor
    """(batch, head, query, head_dim): the values, weighted and summed."""
    output: Tensor
    """(batch, query, dim): the heads next to each other, times the output matrix."""


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
        output_bias: bool | None = None,
        scale: float | None = None,
        query_norm: nn.Module | None = None,
        key_norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        """`output_bias` is that of the output projection; None: as `bias`. Scores are multiplied by `scale`;
        None: 1 / sqrt(head_dim). The norms are those of each head's queries and keys."""
        super().__init__()
        kv_heads = kv_heads or heads
        for name, value in (
            ("dim", dim),
            ("heads", heads),
            ("kv_heads", kv_heads),
            ("head_dim", head_dim or 1),
        ):
            if value < 1:
                raise SettingError("{name} is {value}; expected 1 or more.", name=name, value=value)
        if not 0 <= dropout <= 1:
            raise SettingError("dropout is {value}; expected from 0 to 1.", value=dropout)
        if not head_dim and dim % heads:
            raise SettingError(
                "dim is {dim}, which {heads} heads do not divide. Change one of them, or give head_dim.",
                dim=dim,
                heads=heads,
            )
        if heads % kv_heads:
            raise SettingError(
                "{heads} heads cannot share {kv_heads} key/value heads evenly. Use a divisor of {heads}.",
                heads=heads,
                kv_heads=kv_heads,
            )
        self.dim = dim
        self.heads = heads
        self.kv_heads = kv_heads
        self.head_dim = head_dim or dim // heads
        self.scale = self.head_dim**-0.5 if scale is None else scale
        self.dropout = dropout
        self.query = nn.Linear(dim, heads * self.head_dim, bias=bias)
        self.key = nn.Linear(dim, kv_heads * self.head_dim, bias=bias)
        self.value = nn.Linear(dim, kv_heads * self.head_dim, bias=bias)
        self.output = nn.Linear(heads * self.head_dim, dim, bias=bias if output_bias is None else output_bias)
        self.query_norm = query_norm
        self.key_norm = key_norm

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
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> AttentionOutput:
        """x (batch, query, dim) attends to `memory`, or to itself and the cached tokens of earlier steps."""
        if x.dim() != 3 or x.shape[2] != self.dim or not x.shape[0]:
            raise SettingError(
                "Attention takes hidden states (text, token, {dim}), at least one text; found shape {found}.",
                dim=self.dim,
                found=tuple(x.shape),
            )
        projected = self._self(x, view, cache) if memory is None else self._cross(x, memory, cache)
        if view.offsets is not None:
            return AttentionOutput(self.output(_attend_any_length(projected, view.offsets, view.longest)))
        if view.runs:
            return AttentionOutput(apply(self.output, self._attend_packed(projected, view.runs)))
        # The beams of one text share its memory: they become more queries, not more keys. An exported graph
        # takes any number of texts; `len` would fix it.
        folds = projected.query.shape[0] // projected.keys.shape[0]
        folded = Projected(_fold(projected.query, folds), projected.keys, projected.values)
        mixed, weights = self._attend(folded, view, need_weights)
        mixed = _unfold(mixed, folds)
        if weights is not None:
            weights = _unfold(weights, folds)
        return AttentionOutput(apply(self.output, mixed.transpose(1, 2).flatten(2)), weights)

    def steps(self, x: Tensor, view: View, *, memory: Tensor | None = None) -> Steps:
        """What `forward` does, with everything it computes on the way; for batches without a cache that are
        not packed."""
        projected = self._self(x, view, None) if memory is None else self._cross(x, memory, None)
        bias = self._bias(projected, view)
        mask = _mask_of(view)
        repeated = Projected(
            projected.query, _repeat(projected.keys, self.heads), _repeat(projected.values, self.heads)
        )
        products = repeated.query @ repeated.keys.transpose(-1, -2)
        scaled = products * self.scale
        scores = scaled if bias is None else scaled + bias
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        mixed, weights = attend_with_weights(repeated, mask, bias, scale=self.scale)
        output = apply(self.output, mixed.transpose(1, 2).flatten(2))
        return Steps(*repeated, products, scaled, bias, scores, weights, mixed, output)

    def _self(self, x: Tensor, view: View, cache: KeyValueCache | None) -> Projected:
        query, keys, values = self._project(x)
        query = self._split(query, self.heads, self.query_norm)
        keys = self._split(keys, self.kv_heads, self.key_norm)
        values = self._split(values, self.kv_heads)
        if view.rotation is not None:
            assert view.encoding is not None
            query = view.encoding.rotate(query, view.rotation)
            keys = view.encoding.rotate(keys, view.rotation)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        return Projected(query, keys, values)

    def _cross(self, x: Tensor, memory: Tensor, cache: KeyValueCache | None) -> Projected:
        query = self._split(apply(self.query, x), self.heads, self.query_norm)
        if cache is not None and cache.keys is not None and cache.values is not None:
            return Projected(query, cache.keys, cache.values)  # the memory is the same at every step
        keys = self._split(apply(self.key, memory), self.kv_heads, self.key_norm)
        values = self._split(apply(self.value, memory), self.kv_heads)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        return Projected(query, keys, values)

    def _project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values; by one product where three narrow ones, and their gradients, take
        longer."""
        if not x.is_cuda or not self._can_fuse():
            return apply(self.query, x), apply(self.key, x), apply(self.value, x)
        weights: list[Tensor] = [each.weight for each in self.projections]
        biases: list[Tensor] = [each.bias for each in self.projections if each.bias is not None]
        projected = functional.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
        return projected.split(
            [heads * self.head_dim for heads in (self.heads, self.kv_heads, self.kv_heads)], -1
        )

    def _can_fuse(self) -> bool:
        return all(is_plain(each) for each in self.projections)

    def _attend(self, projected: Projected, view: View, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        query = projected.query
        bias = self._bias(projected, view)
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            repeated = Projected(
                query, _repeat(projected.keys, self.heads), _repeat(projected.values, self.heads)
            )
            return attend_with_weights(repeated, _mask_of(view), bias, scale=self.scale, dropout=dropout)
        causal = view.causal and bias is None
        mask = None if causal else _combined(_mask_of(view), bias, query.dtype)
        mixed = functional.scaled_dot_product_attention(
            query,
            projected.keys,
            projected.values,
            mask,
            dropout,
            causal,
            scale=self.scale,
            enable_gqa=self.kv_heads != self.heads,
        )
        return mixed, None

    def _attend_packed(self, projected: Projected, runs: Sequence[Run]) -> Tensor:
        """Texts of one length attend side by side, so that there is no padding: (1, token, dim)."""
        sizes = [run.texts * run.length for run in runs]
        parts: list[Tensor] = []
        for run, *some in zip(runs, *(each.split(sizes, 2) for each in projected), strict=True):
            texts = [each[0].unflatten(1, (run.texts, run.length)).transpose(0, 1) for each in some]
            mixed, _ = self._attend(Projected(*texts), run.view, need_weights=False)
            parts.append(mixed.transpose(1, 2).flatten(2).flatten(0, 1))
        return torch.cat(parts)[None]

    def _bias(self, projected: Projected, view: View) -> Tensor | None:
        """What positions add to the scores."""
        if view.encoding is None:
            return view.bias
        by_content = view.encoding.content_bias(
            projected.query,
            _repeat(projected.keys, self.heads),
            view.positions,
            view.key_positions,
            self.scale,
        )
        if by_content is None or view.bias is None:
            return view.bias if by_content is None else by_content
        return view.bias + by_content

    def _split(self, x: Tensor, heads: int, norm: nn.Module | None = None) -> Tensor:
        """(batch, token, head * head_dim) -> (batch, head, token, head_dim), each head normalized"""
        x = x.unflatten(-1, (heads, self.head_dim))
        if norm is not None:
            x = norm(x)
        return x.transpose(1, 2)


def attend_with_weights(
    projected: Projected, mask: Tensor | None, bias: Tensor | None, *, scale: float, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Attention written out: the output and its weights. A query that may see no key gets zeros."""
    scores = projected.query @ projected.keys.transpose(-1, -2) * scale
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    # a bias may be wider than the scores
    wide = torch.promote_types(scores.dtype, torch.float32)
    weights = scores.softmax(-1, dtype=wide).to(projected.values.dtype)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)  # softmax of nothing is NaN
    return functional.dropout(weights, dropout) @ projected.values, weights


def _attend_any_length(projected: Projected, offsets: Tensor, longest: int) -> Tensor:
    """Texts of a packed batch by one kernel: (1, token, dim)."""
    from torch.nn.attention.varlen import varlen_attn

    query, keys, values = (each[0].transpose(0, 1) for each in projected)
    mixed = varlen_attn(query, keys, values, offsets, offsets, longest, longest)
    assert isinstance(mixed, Tensor)
    return mixed.flatten(1)[None]


def causal_mask(queries: int, keys: int, device: torch.device) -> Tensor:
    """True where a query may see a key (query, key): the last query sees all, each earlier one a key less."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def window_mask(queries: int, keys: int, window: int, device: torch.device) -> Tensor:
    """True where a key is fewer than `window` places from a query (query, key); the last query is at the last
    key."""
    places = torch.arange(keys, device=device)
    return (places - places[keys - queries :, None]).abs() < window


def _mask_of(view: View) -> Tensor | None:
    if view.mask is None and view.causal:
        return causal_mask(view.positions.shape[1], view.key_positions.shape[1], view.positions.device)
    return view.mask


def _combined(mask: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Mask and bias as one, as SDPA takes it."""
    if bias is None or mask is None:
        return mask if bias is None else bias.to(dtype)
    return bias.to(dtype).masked_fill(~mask, -torch.inf)


def _repeat(x: Tensor, heads: int) -> Tensor:
    """Every key/value head once for each query head of its group."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def _fold(query: Tensor, folds: int) -> Tensor:
    """(batch * folds, head, query, head_dim) -> (batch, head, folds * query, head_dim)"""
    return query if folds == 1 else query.unflatten(0, (-1, folds)).transpose(1, 2).flatten(2, 3)


def _unfold(mixed: Tensor, folds: int) -> Tensor:
    return mixed if folds == 1 else mixed.unflatten(2, (folds, -1)).transpose(1, 2).flatten(0, 1)
