"""Positions: learned, sinusoidal, relative (Shaw, T5, Transformer-XL, ALiBi), rotary, none.

Attention by itself sees a set, not a sequence. Order can enter at three places, and each kind here uses one
of them: it adds to the input, it adds to the scores, or it turns queries and keys. `at` is always where
tokens stand: (batch or 1, token), whole numbers from 0; with padding on the left, the first real token still
stands at 0.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.neural.architecture import Architecture
from inlaid.neural.embedding import lookup

Layout = Literal["interleaved", "halves"]


class Positions(nn.Module):
    """No positions at all, and the protocol of the kinds below: each overrides what it does and leaves the
    rest."""

    def add(self, x: Tensor, at: Tensor) -> Tensor:
        """The input (batch, token, dim) with its places added."""
        return x

    def bias(self, at: Tensor, key_at: Tensor) -> Tensor | None:
        """What is added to the scores (batch, head, query, key), whatever the tokens are; the same in every
        layer."""
        return None

    def content_bias(
        self, query: Tensor, key: Tensor, at: Tensor, key_at: Tensor, scale: float
    ) -> Tensor | None:
        """What is added to the scores and depends on the queries (batch, head, query, width) and keys
        themselves."""
        return None

    def turns(self, at: Tensor) -> Tensor | None:
        """Cosines and sines (2, batch, 1, token, width) by which `rotate` turns queries and keys."""
        return None

    def rotate(self, x: Tensor, turns: Tensor) -> Tensor:
        return x


class Learned(Positions):
    """One row for each place, learned. Past the last row: an error."""

    def __init__(self, length: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(length, dim))
        nn.init.normal_(self.table, std=0.02)

    def add(self, x: Tensor, at: Tensor) -> Tensor:
        check_length(
            at,
            len(self.table),
            "learned positions know no more. Shorten the text, or train with a greater length.",
        )
        return x + lookup(self.table, at)


class Sinusoidal(Positions):
    """Waves from 2 pi to 10000 * 2 pi tokens long (Vaswani et al. 2017). Goes on past any length, as the
    waves do."""

    def __init__(self, dim: int, layout: Layout = "interleaved") -> None:
        super().__init__()
        self.dim: int = dim
        self.layout: Layout = layout

    def add(self, x: Tensor, at: Tensor) -> Tensor:
        return x + sinusoids(at, self.dim, self.layout).to(x.dtype)


class Shaw(Positions):
    """A learned vector for each distance, which queries look at as they look at keys (Shaw et al. 2018, keys
    only).

    Distances beyond `reach` share the last vector, so any length is allowed.
    """

    def __init__(self, width: int, reach: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(2 * reach + 1, width))
        self.reach = reach
        nn.init.normal_(self.table, std=0.02)

    def content_bias(self, query: Tensor, key: Tensor, at: Tensor, key_at: Tensor, scale: float) -> Tensor:
        rows = distances(at, key_at).clamp(-self.reach, self.reach) + self.reach
        scores = query @ self.table.T * scale
        return scores.gather(-1, rows.expand(*scores.shape[:2], -1, -1))


class T5Bias(Positions):
    """One learned number for each head and bucket of distances (Raffel et al. 2020).

    Near distances have a bucket each, far ones share ever wider buckets, those beyond `reach` the last: any
    length is allowed.
    """

    def __init__(self, heads: int, buckets: int = 32, reach: int = 128, *, bidirectional: bool) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(buckets, heads))
        self.reach = reach
        self.bidirectional = bidirectional

    def bias(self, at: Tensor, key_at: Tensor) -> Tensor:
        return lookup(self.table, self.bucket(distances(at, key_at))).squeeze(1).permute(0, 3, 1, 2)

    def bucket(self, distance: Tensor) -> Tensor:
        """The row of the table for each distance (key minus query)."""
        buckets = len(self.table)
        first = torch.zeros_like(distance)
        if self.bidirectional:
            buckets //= 2
            first = (distance > 0) * buckets
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)  # what lies ahead is masked anyway
        near = buckets // 2
        far = torch.log(distance.clamp(min=1).float() / near) / math.log(self.reach / near) * (buckets - near)
        return first + torch.where(distance < near, distance, (near + far.long()).clamp(max=buckets - 1))


class TransformerXL(Positions):
    """Sinusoids of the distance, projected, and two learned queries that ask for content and for place (Dai
    et al. 2019).

    Score = (q + u) k + (q + v) W r(distance). Goes on past any length, as the waves do.
    """

    def __init__(self, dim: int, heads: int, width: int) -> None:
        super().__init__()
        self.dim = dim
        self.project = nn.Linear(dim, heads * width, bias=False)
        self.content = nn.Parameter(torch.zeros(heads, 1, width))
        self.place = nn.Parameter(torch.zeros(heads, 1, width))

    def content_bias(self, query: Tensor, key: Tensor, at: Tensor, key_at: Tensor, scale: float) -> Tensor:
        away = -distances(at, key_at)
        low = int(away.min())
        high = int(away.max())
        waves = sinusoids(torch.arange(low, high + 1, device=at.device), self.dim, "halves").to(query.dtype)
        rows = (
            self.project(waves).view(len(waves), *self.place.shape[::2]).transpose(0, 1)
        )  # (head, distance, width)
        by_place = (query + self.place) @ rows.transpose(-1, -2)
        by_content = self.content @ key.transpose(-1, -2)
        return scale * (by_content + by_place.gather(-1, (away - low).expand(*by_place.shape[:2], -1, -1)))


class Alibi(Positions):
    """A penalty that grows with distance, at its own rate in every head (Press et al. 2022). Made to go past
    its length."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def bias(self, at: Tensor, key_at: Tensor) -> Tensor:
        slopes = torch.tensor(alibi_slopes(self.heads), device=at.device)
        return -distances(at, key_at).abs() * slopes[:, None, None]


class Rotary(Positions):
    """Queries and keys turned by an angle that grows with their place, so that scores see only distances (Su
    et al. 2021).

    `halves` pairs number i with number i + width/2, as Llama does; `interleaved` pairs neighbours, as the
    paper does. Past `length` no model was trained: an error, unless `extrapolate`. `rates` are radians a
    token, if not those of `base`; `gain` multiplies queries and keys.
    """

    def __init__(
        self,
        width: int,
        *,
        base: float = 10_000.0,
        layout: Layout = "halves",
        length: int,
        extrapolate: bool = False,
        rates: Tensor | None = None,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        if width % 2:
            raise SettingError(
                f"Rotations turn pairs of numbers; a head of {width} has one too many. Use an even width."
            )
        self.layout = layout
        self.length = length
        self.extrapolate = extrapolate
        self.gain = gain
        # no buffer: those follow the model's type, and in bfloat16 token 257 would stand where 256 does
        self.rates = 1 / _slowness(width, base) if rates is None else rates

    def turns(self, at: Tensor) -> Tensor:
        if not self.extrapolate:
            check_length(
                at,
                self.length,
                "rotations were not trained further. Shorten the text, or try with extrapolate=True.",
            )
        if self.rates.device != at.device:
            self.rates = self.rates.to(at.device)
        angles = at[:, None, :, None].float() * self.rates
        angles = (
            torch.cat([angles, angles], -1) if self.layout == "halves" else angles.repeat_interleave(2, -1)
        )
        turns = torch.stack([angles.cos(), angles.sin()])
        return turns if self.gain == 1.0 else turns * self.gain

    def rotate(self, x: Tensor, turns: Tensor) -> Tensor:
        cosines, sines = turns.to(x.dtype)
        return x * cosines + self._quarter_turn(x) * sines

    def _quarter_turn(self, x: Tensor) -> Tensor:
        """(a, b) of each pair becomes (-b, a)."""
        if self.layout == "halves":
            one, two = x.chunk(2, -1)
            return torch.cat([-two, one], -1)
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


def make_positions(shape: Architecture, *, causal: bool) -> Positions:
    """The positions an architecture names."""
    makers = {
        "none": Positions,
        "learned": lambda: Learned(shape.length, shape.dim),
        "sinusoidal": lambda: Sinusoidal(shape.dim, shape.layout),
        "shaw": lambda: Shaw(shape.head_width, shape.reach),
        "t5": lambda: T5Bias(shape.heads, shape.buckets, shape.reach, bidirectional=not causal),
        "xl": lambda: TransformerXL(shape.dim, shape.heads, shape.head_width),
        "alibi": lambda: Alibi(shape.heads),
        "rotary": lambda: Rotary(
            shape.head_width,
            layout=shape.layout,
            length=shape.length,
            rates=rotations(shape),
            gain=shape.rotary_gain,
        ),
    }
    return makers[shape.positions]()


def check_length(at: Tensor, length: int, reason: str) -> None:
    """Raise SettingError if a token stands at `length` or beyond."""
    if at.numel() and not torch.compiler.is_compiling() and (last := int(at.max())) >= length:
        raise SettingError(f"A token stands at position {last + 1:,}; {length:,} is the last one: {reason}")


def distances(at: Tensor, key_at: Tensor) -> Tensor:
    """How far each key stands after each query: (batch, 1, query, key)."""
    return (key_at[:, None, :] - at[:, :, None])[:, None]


def tokens_per_radian(dim: int, base: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """How slowly each pair of numbers turns, fastest first: base ** (2i / dim)."""
    return base ** (torch.arange(0, dim, 2, device=device, dtype=dtype) / dim)


def rotations(shape: Architecture) -> Tensor:
    """Radians a token (pair,), fastest first, slowed as the architecture says; linear is Chen et al. 2023,
    yarn Peng et al. 2023.

    llama3 and yarn leave those that turn often in the first length as they are, and slow those that turn
    seldom by the whole factor. Between them llama3 goes by how often they turn, yarn by their rank.
    """
    slowness = _slowness(shape.head_width, shape.rotary_base)
    factor = shape.rotary_factor
    rates = 1 / slowness
    (low, high) = shape.rotary_turns
    if shape.rotary_scaling == "linear":
        return rates / factor
    if shape.rotary_scaling == "llama3":
        turns = shape.rotary_length / (2 * math.pi / rates)
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        return (1 - kept) * rates / factor + kept * rates
    if shape.rotary_scaling == "yarn":
        first = max(math.floor(_rank(high, shape)), 0)
        last = min(math.ceil(_rank(low, shape)), shape.head_width - 1)
        ranks = torch.arange(len(rates), device=rates.device, dtype=torch.float32)
        kept = 1 - ((ranks - first) / ((last - first) or 0.001)).clamp(0, 1)
        return (1 - kept) * (1 / (factor * slowness)) + kept * rates
    return rates


def _rank(often: float, shape: Architecture) -> float:
    """Which rotation, counted from the fastest, turns so often in the first length."""
    return (
        shape.head_width
        * math.log(shape.rotary_length / (often * 2 * math.pi))
        / (2 * math.log(shape.rotary_base))
    )


def _slowness(width: int, base: float) -> Tensor:
    return tokens_per_radian(width, base, torch.device("cpu"), torch.float32)


def sinusoids(at: Tensor, dim: int, layout: Layout) -> Tensor:
    """Sines and cosines (..., dim) of each place, rounded to float32 as every published table is."""
    angles = at[..., None].double() / tokens_per_radian(dim, 10_000.0, at.device, torch.float64)
    # an odd dim has one sine more
    sines = angles.sin()
    cosines = angles[..., : dim // 2].cos()
    if layout == "halves":
        return torch.cat([sines, cosines], -1).float()
    waves = torch.empty(*at.shape, dim, dtype=torch.float32, device=at.device)
    waves[..., 0::2] = sines
    waves[..., 1::2] = cosines
    return waves


def alibi_slopes(heads: int) -> list[float]:
    """One slope a head: halving evenly over eight powers of two; other head counts borrow from the next
    power.

    >>> alibi_slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    between = [2 ** (-8 * (head + 1) / (2 * power)) for head in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]
