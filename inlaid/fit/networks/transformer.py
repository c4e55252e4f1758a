"""Transformer method: the settings shared by all methods that train a Transformer; no torch needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from inlaid import registry
from inlaid.config import MAX_DIM, Dropout, Range
from inlaid.fit.networks.method import Dim, Layers, NetworkMethod
from inlaid.neural.config import Config

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]


class Preset(NamedTuple):
    """The size of a Transformer, and of its batches."""

    dim: int
    layers: int
    heads: int
    max_length: int
    batch_tokens: int


PRESETS = {
    "tiny": Preset(dim=128, layers=4, heads=4, max_length=128, batch_tokens=1024),
    "small": Preset(dim=256, layers=6, heads=4, max_length=256, batch_tokens=4096),
    "base": Preset(dim=768, layers=12, heads=12, max_length=512, batch_tokens=16_384),
}


@dataclass(frozen=True, kw_only=True)
class TransformerMethod(NetworkMethod):
    """Settings of a Transformer and of its training."""

    dim: Dim | None = None
    """Dimension of hidden states; by default 128, 256 or 768."""
    layers: Layers | None = None
    """Blocks; by default 4, 6 or 12."""
    heads: Annotated[int, Range(1, MAX_DIM)] | None = None
    """Attention heads; by default 4, 4 or 12."""
    feed_forward_dim: Dim | None = None
    """Inner dimension of the feed-forward networks; by default four times dim."""
    positions: str | None = None
    """Position encoding: none, learned, sinusoidal, shaw, t5, learned-t5, transformer-xl, alibi or rotary."""
    norm: Literal["pre", "post"] | None = None
    """Layer normalization before each sublayer, or after each residual sum."""
    activation: Activation | None = None
    """Activation of the feed-forward networks."""
    tied: bool = True
    """The output layer uses the table of token vectors. `--no-tied`: it has a table of its own."""
    dropout: Dropout | None = None
    """Dropout of token vectors, attention weights and sublayers; by default 0.1, or as the model that
    training starts from has it."""
    gradient_checkpointing: bool = False
    """Compute each block again for its gradient, instead of keeping its activations: less memory, a third
    slower, the same result."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.positions is not None:
            registry.entry("position", self.positions)

    def preset_sizes(self) -> dict[str, int]:
        preset = PRESETS[self.preset]
        dim = self.dim or preset.dim
        heads = max(each for each in range(1, preset.heads + 1) if dim % each == 0)
        return preset._asdict() | {"dim": dim, "heads": heads, "feed_forward_dim": 4 * dim}

    def sizes_of(self, config: Config) -> dict[str, Any]:
        return {
            "dim": config.dim,
            "layers": config.layers,
            "heads": config.attention.heads,
            "feed_forward_dim": config.feed_forward_dim,
            "tied": config.head.tied,
        }

    def parts_of(self, config: Config) -> dict[str, Any]:
        return {
            "positions": config.positions.kind,
            "norm": config.norm.placement,
            "activation": config.feed_forward.activation,
        }

    def sizes(self) -> dict[str, Any]:
        """The fields of a config that all Transformers set alike."""
        return {
            "kind": self.kind,
            "dim": self.dim,
            "layers": self.layers,
            "dropout": self.dropout,
            "attention.heads": self.heads,
            "attention.dropout": self.dropout,
            "feed_forward.dim": self.feed_forward_dim,
            "positions.max_length": self.max_length,
            "head.tied": self.tied,
        }

    def decoder_fields(self, words: int, special: Mapping[str, int]) -> dict[str, Any]:
        """The fields of a decoder's config; by default it is GPT-2's."""
        end = special.get("end")
        return {
            **self.sizes(),
            "vocab_size": words,
            "feed_forward.activation": self.activation or "gelu_tanh",
            "norm.placement": self.norm or "pre",
            "norm.final": self.norm != "post",
            "positions.kind": self.positions or "learned",
            "special.start": end,
            "special.end": () if end is None else (end,),
        }

    def encoder_fields(self, words: int, special: Mapping[str, int]) -> dict[str, Any]:
        """The fields of an encoder's config, all but those of its head; by default it is BERT's."""
        before = self.norm == "pre"
        return {
            **self.sizes(),
            "vocab_size": words,
            "segment_types": 2,
            "feed_forward.activation": self.activation or "gelu",
            "norm.placement": self.norm or "post",
            "norm.final": before,
            "norm.embedding": not before,
            "norm.eps": 1e-12,
            "positions.kind": self.positions or "learned",
            "special.padding": special.get("padding"),
        }
