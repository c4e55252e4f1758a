"""The parts of a network's config: attention, feed-forward, norms, positions, head, special tokens; no torch
needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from inlaid import registry
from inlaid.config import Fraction, Range, check
from inlaid.errors import SettingError

MAX_CLIP = 1e30
"""Well inside float32; a larger bound on activations is no bound."""

MAX_SIZE = (1 << 31) - 1
"""No dimension or vocabulary is larger; torch and NumPy could not multiply some that are."""

Size = Annotated[int, Range(1, MAX_SIZE)]
SizeOrZero = Annotated[int, Range(0, MAX_SIZE)]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Layout = Literal["interleaved", "halves"]


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Multi-head attention."""

    heads: Size = 1
    """Attention heads."""
    kv_heads: SizeOrZero = 0
    """Key/value heads, each shared by a group of query heads (grouped-query attention); 0: as many as
    heads."""
    head_dim: SizeOrZero = 0
    """Dimension of one head; 0: dim / heads."""
    bias: bool = True
    """The query, key and value projections have a bias."""
    output_bias: bool = True
    """The output projection has a bias."""
    scaled: bool = True
    """Scores are divided by sqrt(head_dim). T5 leaves the scaling to its initial weights."""
    scale_dim: SizeOrZero = 0
    """Scores are divided by the square root of this; 0: of head_dim."""
    qk_norm: bool = False
    """The queries and keys of each head are normalized before they are rotated and compared."""
    dropout: Fraction = 0.0
    """Dropout of the attention weights."""
    output_dropout: Fraction | None = None
    """Dropout of the output; None: as that of other sublayers."""
    window: SizeOrZero = 0
    """Sliding window: a token sees those fewer than this many places away, itself included; 0: all."""
    global_layers: tuple[SizeOrZero, ...] = ()
    """Layers, counted from 0, that see all tokens where the others have a window."""

    def __post_init__(self) -> None:
        check(self)
        if self.global_layers and not self.window:
            raise SettingError("There are global_layers, but no window: all layers see all tokens.")
        if self.heads % self.key_value_heads:
            raise SettingError(
                "{heads} heads cannot share {kv_heads} key/value heads evenly. Use a divisor of {heads}.",
                heads=self.heads,
                kv_heads=self.key_value_heads,
            )

    @property
    def key_value_heads(self) -> int:
        return self.kv_heads or self.heads


@dataclass(frozen=True, kw_only=True)
class FeedForwardConfig:
    """The position-wise feed-forward network."""

    dim: SizeOrZero = 0
    """Inner dimension (d_ff); 0: four times the model's dim."""
    activation: Activation = "gelu"
    """GELU by its definition (erf) or by its tanh approximation; with `gated`, SiLU makes SwiGLU."""
    gated: bool = False
    """The activation of one projection multiplies a second projection (GLU variants)."""
    bias: bool = True
    """The projections have a bias."""
    dropout: Fraction = 0.0
    """Dropout between the two projections."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class NormConfig:
    """Normalization and where it is applied."""

    kind: Literal["layer", "rms"] = "layer"
    """LayerNorm or RMSNorm."""
    zero_centered: bool = False
    """rms: multiplies by 1 + weight instead of by the weight."""
    placement: Literal["pre", "post", "sandwich"] = "pre"
    """Before each sublayer; after each residual sum, as in Vaswani et al. 2017; or before and after each
    sublayer."""
    eps: Annotated[float, Range(0)] = 1e-5
    """Added to the variance before the square root."""
    bias: bool = True
    """layer: adds a bias."""
    first: bool = True
    """pre: the attention of the first block has a norm too; the norm after the embeddings can make it
    superfluous."""
    embedding: bool = False
    """One more norm after the embeddings, before the first block."""
    final: bool = True
    """One more norm after the last block."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class RotaryConfig:
    """Rotary position embeddings (RoPE): frequencies, and how they were scaled for longer texts."""

    base: Annotated[float, Range(1e-6)] = 10_000.0
    """Rope theta: the longest wavelength is about 2 pi times this many tokens."""
    scaling: Literal["none", "linear", "llama3", "yarn"] = "none"
    """Frequencies are divided by `factor`: none of them, all of them, or the low ones (two ways between)."""
    factor: Annotated[float, Range(1e-6)] = 1.0
    """Scaling factor."""
    original_length: SizeOrZero = 0
    """llama3, yarn: maximum length before scaling."""
    ramp: tuple[float, ...] = (1.0, 4.0)
    """llama3, yarn: frequencies with fewer than the first number of periods in `original_length` tokens are
    divided by the whole factor; those with more than the second are kept."""
    attention_factor: Annotated[float, Range(1e-6)] = 1.0
    """yarn: cosines and sines are multiplied by this."""

    def __post_init__(self) -> None:
        check(self)
        if self.scaling in ("llama3", "yarn") and not self.original_length:
            raise SettingError(
                "Rotary scaling {scaling} needs original_length: the maximum length before scaling.",
                scaling=self.scaling,
            )
        if len(self.ramp) != 2 or not 0 < self.ramp[0] < self.ramp[1]:
            raise SettingError(
                "ramp is {found}; expected two numbers above 0, the smaller first.", found=self.ramp
            )


@dataclass(frozen=True, kw_only=True)
class PositionConfig:
    """How the network knows the order of its tokens."""

    kind: str = "learned"
    """The name of a position encoding of the registry."""
    max_length: Size = 512
    """Tokens it was trained to take at once. Only some encodings make it a limit: see `Config.max_length`."""
    offset: SizeOrZero = 0
    """learned: rows of the table before that of the first position."""
    skip_padding: bool = False
    """learned: positions count the tokens that are not the padding token, whatever the mask says."""
    layout: Layout = "interleaved"
    """Sinusoids and rotations: pairs of neighbors, or each component of one half with one of the other."""
    buckets: Size = 32
    """t5, learned-t5: number of distance buckets."""
    max_distance: Size = 128
    """Relative positions: distances beyond this are treated alike."""
    rotary: RotaryConfig = RotaryConfig()
    window_rotary: RotaryConfig | None = None
    """Rotary embeddings of the layers with a window; None: as in all others."""

    def __post_init__(self) -> None:
        check(self)
        registry.entry("position", self.kind)


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """The output layer, which turns hidden states into logits."""

    kind: Literal["none", "linear", "masked", "detector"] = "linear"
    """`masked` is that of masked language models: dense layer, activation and norm before the output table.
    `detector` tells replaced tokens: dense layer, activation and one logit for each token."""
    tied: bool = True
    """It uses the input table; of a seq2seq with two tables, the target table."""
    bias: bool = False
    """One bias for each word."""
    scaled: bool = False
    """Hidden states are divided by sqrt(dim) first."""
    activation: Activation | None = None
    """masked, detector: activation after the dense layer; None: that of the feed-forward network."""
    dense_bias: bool = True
    """masked: the dense layer has a bias."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def has_table(self) -> bool:
        """There is an output table, with a row for each word."""
        return self.kind in ("linear", "masked")


@dataclass(frozen=True, kw_only=True)
class LSTMConfig:
    """biLM: its LSTM layers."""

    cell_dim: SizeOrZero = 0
    """Dimension of the cells; 0: four times the model's dim."""
    cell_clip: Annotated[float, Range(0, MAX_CLIP)] = 0.0
    """Cells are clipped to plus and minus this; 0: not clipped."""
    projection_clip: Annotated[float, Range(0, MAX_CLIP)] = 0.0
    """The same for the projected outputs."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class CharacterConfig:
    """biLM: the character CNN that makes a vector for any word."""

    vocab_size: SizeOrZero = 0
    """Rows of the character table, padding included; 0: no character CNN, words come from a table."""
    dim: SizeOrZero = 0
    """Dimension of a character vector."""
    max_length: SizeOrZero = 0
    """Characters of a word that are read."""
    filter_widths: tuple[Size, ...] = ()
    """Width of the convolutions of each group."""
    filter_counts: tuple[Size, ...] = ()
    """Number of convolutions in each group."""
    highways: SizeOrZero = 0
    """Highway layers between the convolutions and the projection."""
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        check(self)
        if len(self.filter_widths) != len(self.filter_counts):
            raise SettingError(
                "There are {widths} filter_widths and {counts} filter_counts; expected as many of one as of "
                "the other.",
                widths=len(self.filter_widths),
                counts=len(self.filter_counts),
            )
        widest = max(self.filter_widths, default=0)
        if self.max_length < widest:
            raise SettingError(
                "max_length is {found}, and the widest filter reads {widest} characters. Read as many of a "
                "word, at least.",
                found=self.max_length,
                widest=widest,
            )


@dataclass(frozen=True, kw_only=True)
class SpecialTokens:
    """Ids with a meaning of their own."""

    padding: int | None = None
    """Fills short rows of a batch."""
    start: int | None = None
    """Decoding starts from it."""
    end: tuple[int, ...] = ()
    """Each of them ends a text."""
    banned: tuple[int, ...] = ()
    """Never generated."""

    def __post_init__(self) -> None:
        check(self)
