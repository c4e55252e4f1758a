"""Positions: learned, sinusoidal, relative (Shaw, T5, Transformer-XL, ALiBi), none; rotary is in rotary.py.

Attention by itself sees a set, not a sequence. Order can enter at three places, and each encoding uses one of
them: it adds to the input, it adds to the scores, or it rotates queries and keys. `positions` are always
those of the tokens: (batch or 1, token), integers from 0; with padding on the left, the first real token is
still at position 0.
"""

from __future__ import annotations

import math
from typing import get_args

import torch
from torch import Tensor, nn

from inlaid import registry
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.config import Config
from inlaid.neural.config_parts import Layout
from inlaid.neural.lookup import has_values, lookup


class Positions(nn.Module):
    """No positions at all, and the protocol of the encodings: each overrides what it does."""

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        """The input (batch, token, dim) with its position vectors added."""
        return x

    def bias(self, positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """Added to the scores (batch, head, query, key), whatever the tokens are; the same in every layer."""
        return None

    def content_bias(
        self, query: Tensor, key: Tensor, positions: Tensor, key_positions: Tensor, scale: float
    ) -> Tensor | None:
        """Added to the scores and dependent on the queries (batch, head, query, head_dim) and keys."""
        return None

    def rotation(self, positions: Tensor) -> Tensor | None:
        """Cosines and sines (2, batch, 1, token, head_dim) by which `rotate` rotates queries and keys."""
        return None

    def rotate(self, x: Tensor, rotation: Tensor) -> Tensor:
        return x


class Learned(Positions):
    """One learned vector for each position. A token past the last one is an error.

    The first `offset` rows of the table belong to no position of a token.
    """

    def __init__(self, max_length: int, dim: int, *, offset: int = 0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length + offset, dim))
        self.offset = offset
        nn.init.normal_(self.table, std=0.02)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        check_length(
            positions,
            len(self.table) - self.offset,
            Message("Learned positions end there. Shorten the text, or train with a larger max_length."),
        )
        rows = positions + self.offset if self.offset else positions
        return x + lookup(self.table, rows)


class Sinusoidal(Positions):
    """Sines and cosines with wavelengths from 2 pi to 10000 * 2 pi tokens (Vaswani et al. 2017); any
    length."""

    def __init__(self, dim: int, layout: Layout = "interleaved") -> None:
        super().__init__()
        check_layout(layout)
        self.dim: int = dim
        self.layout: Layout = layout

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + sinusoids(positions, self.dim, self.layout).to(x.dtype)


class Shaw(Positions):
    """A learned vector for each distance, scored by the queries like a key (Shaw et al. 2018, keys only).

    Distances beyond `max_distance` share the last vector, so any length is allowed.
    """

    def __init__(self, head_dim: int, max_distance: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(2 * max_distance + 1, head_dim))
        self.max_distance = max_distance
        nn.init.normal_(self.table, std=0.02)

    def content_bias(
        self, query: Tensor, key: Tensor, positions: Tensor, key_positions: Tensor, scale: float
    ) -> Tensor:
        clipped = distances(positions, key_positions).clamp(-self.max_distance, self.max_distance)
        rows = clipped + self.max_distance
        scores = query @ self.table.T * scale
        return scores.gather(-1, rows.expand(*scores.shape[:2], -1, -1))


class BucketBias(Positions):
    """T5's relative positions: a learned bias for each head and bucket of distances (Raffel et al. 2020).

    Near distances have a bucket each, far ones share logarithmically wider buckets, those beyond
    `max_distance` the last: any length is allowed.
    """

    def __init__(
        self, heads: int, buckets: int = 32, max_distance: int = 128, *, bidirectional: bool
    ) -> None:
        super().__init__()
        near = buckets // 4 if bidirectional else buckets // 2
        if not 1 <= near < max_distance:
            raise SettingError(
                "{buckets} buckets and a max_distance of {max_distance} leave none for near distances, or "
                "none for far ones. Use at least 4 buckets, and a larger max_distance.",
                buckets=buckets,
                max_distance=max_distance,
            )
        self.table = nn.Parameter(torch.zeros(buckets, heads))
        self.max_distance = max_distance
        self.bidirectional = bidirectional

    def bias(self, positions: Tensor, key_positions: Tensor) -> Tensor:
        buckets = self.bucket(distances(positions, key_positions))
        return lookup(self.table, buckets).squeeze(1).permute(0, 3, 1, 2)

    def bucket(self, distance: Tensor) -> Tensor:
        """The row of the table for each distance (key minus query)."""
        buckets = len(self.table)
        first = torch.zeros_like(distance)
        if self.bidirectional:
            buckets //= 2
            first = (distance > 0) * buckets
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)  # future keys are masked anyway
        near = buckets // 2
        fraction = torch.log(distance.clamp(min=1).float() / near) / math.log(self.max_distance / near)
        far = fraction * (buckets - near)
        return first + torch.where(distance < near, distance, (near + far.long()).clamp(max=buckets - 1))


class LearnedAndBuckets(Learned):
    """A learned vector for each position, and T5's bias for each bucket of distances (Song et al. 2020)."""

    def __init__(self, max_length: int, dim: int, buckets: BucketBias, *, offset: int = 0) -> None:
        super().__init__(max_length, dim, offset=offset)
        self.buckets = buckets

    def bias(self, positions: Tensor, key_positions: Tensor) -> Tensor:
        return self.buckets.bias(positions, key_positions)


class TransformerXL(Positions):
    """Projected sinusoids of the distance, and two learned query biases (Dai et al. 2019); any length.

    Score = (q + u) k + (q + v) W r(distance), where u is `content_query` and v is `position_query`.
    """

    def __init__(self, dim: int, heads: int, head_dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.project = nn.Linear(dim, heads * head_dim, bias=False)
        self.content_query = nn.Parameter(torch.zeros(heads, 1, head_dim))
        self.position_query = nn.Parameter(torch.zeros(heads, 1, head_dim))

    def content_bias(
        self, query: Tensor, key: Tensor, positions: Tensor, key_positions: Tensor, scale: float
    ) -> Tensor:
        back = -distances(positions, key_positions)
        low, high = _range_of(back)
        relative = torch.arange(low, high + 1, device=positions.device)
        waves = sinusoids(relative, self.dim, "halves").to(query.dtype)
        heads, _, head_dim = self.position_query.shape
        rows = self.project(waves).unflatten(-1, (heads, head_dim)).transpose(0, 1)  # (head, distance, dim)
        by_distance = (query + self.position_query) @ rows.transpose(-1, -2)
        by_position = by_distance.gather(-1, (back - low).expand(*by_distance.shape[:2], -1, -1))
        by_content = self.content_query @ key.transpose(-1, -2)
        return scale * (by_content + by_position)


class Alibi(Positions):
    """A linear penalty of the distance, with a slope of its own in every head (Press et al. 2022).

    Made for texts longer than those it was trained on.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def bias(self, positions: Tensor, key_positions: Tensor) -> Tensor:
        slopes = torch.tensor(alibi_slopes(self.heads), device=positions.device)
        return -distances(positions, key_positions).abs() * slopes[:, None, None]


def make_positions(config: Config, *, causal: bool) -> Positions:
    """The position encoding a config names."""
    return registry.find("position", config.positions.kind).make(config, causal=causal)


def make_window_positions(config: Config) -> Positions | None:
    """The position encoding of layers with a window, where it is another."""
    return registry.find("position", config.positions.kind).make_for_window(config)


def check_length(positions: Tensor, max_length: int, reason: Message) -> None:
    """Raise SettingError if a token's position is `max_length` or more."""
    if not positions.numel() or not has_values(positions):
        return
    last = int(positions.max())
    if last >= max_length:
        raise SettingError(
            "A token is at position {position:,}, the last one is {max_length:,}. {reason}",
            position=last + 1,
            max_length=max_length,
            reason=reason,
        )


def check_layout(layout: str) -> None:
    """Raise SettingError for a layout of pairs that does not exist."""
    known = get_args(Layout)
    if layout not in known:
        raise SettingError("layout is {found!r}; expected {known}.", found=layout, known=" or ".join(known))


def distances(positions: Tensor, key_positions: Tensor) -> Tensor:
    """How far each key is after each query: (batch, 1, query, key)."""
    return (key_positions[:, None, :] - positions[:, :, None])[:, None]


def _range_of(distance: Tensor) -> tuple[int, int]:
    """The least and the greatest of some distances between tokens; in a graph, those that the number of keys
    allows."""
    if has_values(distance):
        return int(distance.min()), int(distance.max())
    keys = distance.shape[-1]
    return -keys, keys


def tokens_per_radian(dim: int, base: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The inverse of each pair's frequency, highest frequency first: base ** (2i / dim)."""
    return base ** (torch.arange(0, dim, 2, device=device, dtype=dtype) / dim)


def sinusoids(positions: Tensor, dim: int, layout: Layout) -> Tensor:
    """Sines and cosines (..., dim) of each position, rounded to float32 as every published table is."""
    angles = positions[..., None].double() / tokens_per_radian(dim, 10_000.0, positions.device, torch.float64)
    sines = angles.sin()
    cosines = angles[..., : dim // 2].cos()  # an odd dim has one sine more
    if layout == "halves":
        return torch.cat([sines, cosines], -1).float()
    waves = torch.empty(*positions.shape, dim, dtype=torch.float32, device=positions.device)
    waves[..., 0::2] = sines
    waves[..., 1::2] = cosines
    return waves


def alibi_slopes(heads: int) -> list[float]:
    """One slope for each head: a geometric sequence from 2 ** (-8 / heads) to 2 ** -8.

    For head counts that are no power of two, the missing ones are taken from the sequence of the next power.

    >>> alibi_slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    if heads < 1:
        raise SettingError("ALiBi has a slope for each head; found {heads} heads.", heads=heads)
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    between = [2 ** (-8 * (head + 1) / (2 * power)) for head in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]
