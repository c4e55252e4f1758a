"""Rotary position embeddings (RoPE): queries and keys rotated by their positions; frequency scaling."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.neural.config_parts import Layout, RotaryConfig
from inlaid.neural.positions import Positions, check_layout, check_length, tokens_per_radian


class Rotary(Positions):
    """Queries and keys rotated by angles proportional to their positions, so that scores depend only on
    distances (Su et al. 2021).

    `halves` pairs component i with component i + head_dim/2, as Llama does; `interleaved` pairs neighbors, as
    the paper does. A token past `max_length` is an error, unless `extrapolate`. `frequencies` are radians per
    token, if not those of `base`; `attention_factor` multiplies rotated queries and keys.
    """

    def __init__(
        self,
        head_dim: int,
        *,
        base: float = 10_000.0,
        layout: Layout = "halves",
        max_length: int,
        extrapolate: bool = False,
        frequencies: Tensor | None = None,
        attention_factor: float = 1.0,
    ) -> None:
        super().__init__()
        if head_dim % 2:
            raise SettingError(
                "Rotary embeddings rotate pairs of components, but a head has {head_dim}. Use an even "
                "head_dim.",
                head_dim=head_dim,
            )
        check_layout(layout)
        if not base > 0:
            raise SettingError(
                "The base of rotary embeddings is {base}; expected a number above 0.", base=base
            )
        self.layout: Layout = layout
        self.max_length = max_length
        self.extrapolate = extrapolate
        self.attention_factor = attention_factor
        # not a buffer: buffers follow the model's dtype, and in bfloat16 positions 256 and 257 are the same
        self.frequencies = 1 / inverse_frequencies(head_dim, base) if frequencies is None else frequencies

    def rotation(self, positions: Tensor) -> Tensor:
        if not self.extrapolate:
            check_length(
                positions,
                self.max_length,
                Message("The rotations were trained no further. Shorten the text, or use extrapolate=True."),
            )
        if self.frequencies.device != positions.device:
            self.frequencies = self.frequencies.to(positions.device)
        angles = positions[:, None, :, None].float() * self.frequencies
        if self.layout == "halves":
            angles = torch.cat([angles, angles], -1)
        else:
            angles = angles.repeat_interleave(2, -1)
        rotation = torch.stack([angles.cos(), angles.sin()])
        return rotation if self.attention_factor == 1.0 else rotation * self.attention_factor

    def rotate(self, x: Tensor, rotation: Tensor) -> Tensor:
        cosines, sines = rotation.to(x.dtype)
        return x * cosines + self._rotate_half(x) * sines

    def _rotate_half(self, x: Tensor) -> Tensor:
        """(a, b) of each pair becomes (-b, a)."""
        if self.layout == "halves":
            first, second = x.chunk(2, -1)
            return torch.cat([-second, first], -1)
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


def inverse_frequencies(head_dim: int, base: float) -> Tensor:
    """Tokens per radian of each pair, in float32 on the CPU."""
    return tokens_per_radian(head_dim, base, torch.device("cpu"), torch.float32)


def scaled_frequencies(head_dim: int, rotary: RotaryConfig) -> Tensor:
    """Radians per token (pair,), highest first, scaled as the config says.

    `linear` (position interpolation, Chen et al. 2023) divides all of them. `llama3` and `yarn` (Peng et al.
    2023) keep those with many periods in the original length and divide those with few by the whole factor.
    Between them `llama3` interpolates by the number of periods, `yarn` by rank.
    """
    inverse = inverse_frequencies(head_dim, rotary.base)
    frequencies = 1 / inverse
    if rotary.scaling == "linear":
        return frequencies / rotary.factor
    if rotary.scaling == "llama3":
        low, high = rotary.ramp
        periods = rotary.original_length / (2 * math.pi / frequencies)
        kept = ((periods - low) / (high - low)).clamp(0, 1)
        return (1 - kept) * frequencies / rotary.factor + kept * frequencies
    if rotary.scaling == "yarn":
        kept = _yarn_ramp(head_dim, rotary, frequencies)
        return (1 - kept) * (1 / (rotary.factor * inverse)) + kept * frequencies
    return frequencies


def _yarn_ramp(head_dim: int, rotary: RotaryConfig, frequencies: Tensor) -> Tensor:
    """How much of each frequency is kept, from 1 (all) to 0 (divided by the whole factor)."""
    low, high = rotary.ramp
    first = max(math.floor(_rank(high, head_dim, rotary)), 0)
    last = min(math.ceil(_rank(low, head_dim, rotary)), head_dim - 1)
    ranks = torch.arange(len(frequencies), device=frequencies.device, dtype=torch.float32)
    return 1 - ((ranks - first) / ((last - first) or 0.001)).clamp(0, 1)


def _rank(periods: float, head_dim: int, rotary: RotaryConfig) -> float:
    """Which pair, counted from the highest frequency, has this many periods in the original length."""
    length = rotary.original_length / (periods * 2 * math.pi)
    return head_dim * math.log(length) / (2 * math.log(rotary.base))
