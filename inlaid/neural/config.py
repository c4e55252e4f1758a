"""Config: everything that makes one network differ from another, in nested frozen parts; no torch needed."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from inlaid import registry
from inlaid.config import Fraction, Range, check, settings_of
from inlaid.errors import SettingError

MAX_LAYERS = 500
"""A file that asks for more layers than this is damaged: building them would never end."""
MAX_CLIP = 1e30
"""Well inside float32; a larger bound on activations is no bound."""

MAX_SIZE = (1 << 31) - 1
"""No dimension or vocabulary is larger; torch and NumPy could not multiply some that are."""

Layers = Annotated[int, Range(1, MAX_LAYERS)]
Size = Annotated[int, Range(1, MAX_SIZE)]
SizeOrZero = Annotated[int, Range(0, MAX_SIZE)]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Layout = Literal["interleaved", "halves"]
T = TypeVar("T")


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
    dropout: Fraction = 0.0
    """Dropout of the attention weights."""

    def __post_init__(self) -> None:
        check(self)
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

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class NormConfig:
    """Normalization and where it is applied."""

    kind: Literal["layer", "rms"] = "layer"
    """LayerNorm or RMSNorm."""
    placement: Literal["pre", "post"] = "pre"
    """Before each sublayer, or after each residual sum as in Vaswani et al. 2017."""
    eps: float = 1e-5
    """Added to the variance before the square root."""
    embedding: bool = False
    """One more norm after the embeddings, before the first block."""
    final: bool = True
    """One more norm after the last block."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class RotaryConfig:
    """Rotary position embeddings (RoPE): frequencies, and how they were scaled for longer texts."""

    base: float = 10_000.0
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
    """A position encoding of the registry: none, learned, sinusoidal, shaw, t5, transformer-xl, alibi,
    rotary."""
    max_length: Size = 512
    """Tokens it was trained to take at once. Only some encodings make it a limit: see `Config.max_length`."""
    offset: SizeOrZero = 0
    """learned: rows of the table before that of the first position."""
    skip_padding: bool = False
    """Positions count the tokens that are not the padding token, whatever the mask says."""
    layout: Layout = "interleaved"
    """Sinusoids and rotations: pairs of neighbors, or each component of one half with one of the other."""
    buckets: Size = 32
    """t5: number of distance buckets."""
    max_distance: Size = 128
    """Relative positions: distances beyond this are treated alike."""
    rotary: RotaryConfig = RotaryConfig()

    def __post_init__(self) -> None:
        check(self)
        registry.entry("position", self.kind)


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """The output layer, which turns hidden states into logits."""

    kind: Literal["none", "linear", "masked"] = "linear"
    """`masked` is that of masked language models: dense layer, activation and norm before the output
    table."""
    tied: bool = True
    """It uses the input table; of a seq2seq with two tables, the target table."""
    bias: bool = False
    """One bias for each word."""
    scaled: bool = False
    """Hidden states are divided by sqrt(dim) first."""

    def __post_init__(self) -> None:
        check(self)


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
    highways: Annotated[int, Range(0, MAX_LAYERS)] = 0
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


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a network is made of. The same blocks, chosen by these fields, make every Transformer here.

    >>> Config(kind="decoder", vocab_size=50257, dim=768, layers=12, attention=AttentionConfig(heads=12))
    """

    kind: Literal["encoder", "decoder", "seq2seq", "bilm"]
    """Bidirectional; left to right; encoder and decoder; two LSTM language models, one for each direction."""
    vocab_size: Size
    """Rows of the token table."""
    target_vocab_size: SizeOrZero = 0
    """Seq2seq: rows of a second table, for the target language; 0: one table serves both sides."""
    dim: Size
    """Dimension of hidden states (d_model)."""
    layers: Layers = 1
    """Blocks; of a seq2seq, those of its encoder."""
    decoder_layers: Annotated[int, Range(0, MAX_LAYERS)] = 0
    """Blocks of a seq2seq's decoder."""
    segment_types: SizeOrZero = 0
    """Rows of the segment table (sentence A, sentence B)."""
    embedding_scale: bool = False
    """Token vectors are multiplied by sqrt(dim)."""
    dropout: Fraction = 0.0
    """Dropout of each sublayer's output."""
    pooler: bool = False
    """A dense layer with tanh over the first token's hidden state."""
    attention: AttentionConfig = AttentionConfig()
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    norm: NormConfig = NormConfig()
    positions: PositionConfig = PositionConfig()
    head: HeadConfig = HeadConfig()
    special: SpecialTokens = SpecialTokens()
    lstm: LSTMConfig = LSTMConfig()
    characters: CharacterConfig = CharacterConfig()

    def __post_init__(self) -> None:
        check(self)
        if not self.attention.head_dim and self.dim % self.attention.heads:
            raise SettingError(
                "dim is {dim}, which {heads} heads do not divide. Change one of them, or give head_dim.",
                dim=self.dim,
                heads=self.attention.heads,
            )
        if (self.kind == "seq2seq") != bool(self.decoder_layers):
            raise SettingError(
                "decoder_layers is {layers} and kind is {kind}. A seq2seq needs at least 1, other kinds 0.",
                layers=self.decoder_layers,
                kind=self.kind,
            )
        if self.target_vocab_size and self.kind != "seq2seq":
            raise SettingError(
                "target_vocab_size is {size} and kind is {kind}. Only a seq2seq has a second table.",
                size=self.target_vocab_size,
                kind=self.kind,
            )
        rows = min(self.vocab_size, self.output_vocab_size)
        if self.special.padding is not None and not 0 <= self.special.padding < rows:
            raise SettingError(
                "padding is {padding}, outside the table of {rows:,} rows.",
                padding=self.special.padding,
                rows=rows,
            )

    @property
    def output_vocab_size(self) -> int:
        """Words the decoder, and so the head, knows."""
        return self.target_vocab_size or self.vocab_size

    @property
    def head_dim(self) -> int:
        """Dimension of one attention head."""
        return self.attention.head_dim or self.dim // self.attention.heads

    @property
    def feed_forward_dim(self) -> int:
        """Inner dimension of the feed-forward network."""
        return self.feed_forward.dim or 4 * self.dim

    @property
    def cell_dim(self) -> int:
        """Dimension of an LSTM's cells."""
        return self.lstm.cell_dim or 4 * self.dim

    @property
    def max_length(self) -> int | None:
        """Most tokens its position encoding can take; None: any number."""
        return registry.find("position", self.positions.kind).max_length(self)

    def resolved(self) -> Config:
        """The same config with every dimension written out."""
        return self.replace(
            {
                "attention.kv_heads": self.attention.key_value_heads,
                "attention.head_dim": self.head_dim,
                "feed_forward.dim": self.feed_forward_dim,
            }
        )

    def replace(self, fields: Mapping[str, Any]) -> Config:
        """The same config with other values of some fields, by their dotted names.

        >>> config.replace({"head.tied": False})
        """
        return _replaced(self, nested(fields))

    def field(self, name: str) -> Any:
        """A field by its dotted name, as in "attention.heads"."""
        value: Any = self
        for part in name.split("."):
            value = getattr(value, part)
        return value


def make_config(fields: Mapping[str, Any]) -> Config:
    """A config from a mapping, as JSON has it: parts are mappings too, or fields have dotted names.

    >>> make_config({"kind": "encoder", "vocab_size": 9, "dim": 8, "attention.heads": 2})
    """
    return _made(Config, nested(fields))


def nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as mappings in mappings.

    >>> nested({"dim": 8, "attention.heads": 2})
    {'dim': 8, 'attention': {'heads': 2}}
    """
    found: dict[str, Any] = {}
    for name, value in fields.items():
        part, _, rest = name.partition(".")
        if rest:
            inside = found.setdefault(part, {})
            inside.update({rest: value})
        else:
            found[part] = value
    return {name: nested(value) if isinstance(value, dict) else value for name, value in found.items()}


def _made(kind: type[T], values: Mapping[str, Any]) -> T:
    hints = typing.get_type_hints(kind)
    made: dict[str, Any] = {}
    for name, value in values.items():
        hint = hints.get(name)
        is_part = isinstance(value, Mapping) and dataclasses.is_dataclass(hint)
        made[name] = _made(typing.cast("type[Any]", hint), value) if is_part else value
    return settings_of(kind, made)


def _replaced(part: T, values: Mapping[str, Any]) -> T:
    changed = {
        name: _replaced(getattr(part, name), value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
    return dataclasses.replace(typing.cast("Any", part), **changed)
