"""Position encodings as the registry knows them: limit, size and module of each; no torch needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inlaid.neural.config import Config
    from inlaid.neural.config_parts import RotaryConfig
    from inlaid.neural.positions import BucketBias, Positions


class PositionEncoding:
    """No positions at all, and what every encoding tells about itself; each overrides what differs."""

    def max_length(self, config: Config) -> int | None:
        """Most tokens it can take; None: any number."""
        return None

    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        """Its parameters and their shapes, by the names they have in its module."""
        return {}

    def parameters(self, config: Config) -> int:
        """How many numbers it learns, for one stack of blocks."""
        return sum(math.prod(shape) for shape in self.tables(config).values())

    def make(self, config: Config, *, causal: bool) -> Positions:
        """The torch module."""
        from inlaid.neural.positions import Positions

        return Positions()

    def make_for_window(self, config: Config) -> Positions | None:
        """The module of the layers with a window, where they have one of their own."""
        return None


class LearnedEncoding(PositionEncoding):
    def max_length(self, config: Config) -> int:
        return config.positions.max_length

    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        return {"table": (config.positions.max_length + config.positions.offset, config.input_dim)}

    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import Learned

        return Learned(config.positions.max_length, config.input_dim, offset=config.positions.offset)


class SinusoidalEncoding(PositionEncoding):
    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import Sinusoidal

        return Sinusoidal(config.input_dim, config.positions.layout)


class ShawEncoding(PositionEncoding):
    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        return {"table": (2 * config.positions.max_distance + 1, config.head_dim)}

    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import Shaw

        return Shaw(config.head_dim, config.positions.max_distance)


class BucketEncoding(PositionEncoding):
    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        return {"table": (config.positions.buckets, config.attention.heads)}

    def make(self, config: Config, *, causal: bool) -> BucketBias:
        from inlaid.neural.positions import BucketBias

        settings = config.positions
        return BucketBias(
            config.attention.heads, settings.buckets, settings.max_distance, bidirectional=not causal
        )


class LearnedBucketEncoding(LearnedEncoding):
    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        return {**super().tables(config), "buckets.table": BUCKETS.tables(config)["table"]}

    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import LearnedAndBuckets

        settings = config.positions
        buckets = BUCKETS.make(config, causal=causal)
        return LearnedAndBuckets(settings.max_length, config.input_dim, buckets, offset=settings.offset)


class TransformerXLEncoding(PositionEncoding):
    def tables(self, config: Config) -> dict[str, tuple[int, ...]]:
        heads = config.attention.heads
        bias = (heads, 1, config.head_dim)
        return {
            "content_query": bias,
            "position_query": bias,
            "project.weight": (heads * config.head_dim, config.dim),
        }

    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import TransformerXL

        return TransformerXL(config.dim, config.attention.heads, config.head_dim)


class AlibiEncoding(PositionEncoding):
    def make(self, config: Config, *, causal: bool) -> Positions:
        from inlaid.neural.positions import Alibi

        return Alibi(config.attention.heads)


class RotaryEncoding(PositionEncoding):
    def max_length(self, config: Config) -> int:
        return config.positions.max_length

    def make(self, config: Config, *, causal: bool) -> Positions:
        return _rotary(config, config.positions.rotary)

    def make_for_window(self, config: Config) -> Positions | None:
        rotary = config.positions.window_rotary
        return None if rotary is None else _rotary(config, rotary)


def _rotary(config: Config, rotary: RotaryConfig) -> Positions:
    from inlaid.neural.rotary import Rotary, scaled_frequencies

    return Rotary(
        config.head_dim,
        layout=config.positions.layout,
        max_length=config.positions.max_length,
        frequencies=scaled_frequencies(config.head_dim, rotary),
        attention_factor=rotary.attention_factor,
    )


NONE = PositionEncoding()
LEARNED = LearnedEncoding()
SINUSOIDAL = SinusoidalEncoding()
SHAW = ShawEncoding()
BUCKETS = BucketEncoding()
LEARNED_BUCKETS = LearnedBucketEncoding()
TRANSFORMER_XL = TransformerXLEncoding()
ALIBI = AlibiEncoding()
ROTARY = RotaryEncoding()
