"""Config: everything that makes one network differ from another, in nested frozen parts; no torch needed."""

from __future__ import annotations

import dataclasses
import itertools
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from inlaid import registry
from inlaid.config import Fraction, check, settings_of, unknown_setting
from inlaid.errors import SettingError
from inlaid.neural.config_parts import (
    AttentionConfig,
    CharacterConfig,
    FeedForwardConfig,
    HeadConfig,
    LSTMConfig,
    NormConfig,
    PositionConfig,
    Size,
    SizeOrZero,
    SpecialTokens,
)
from inlaid.neural.config_parts import (
    RotaryConfig as RotaryConfig,
)

T = TypeVar("T")


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
    embedding_dim: SizeOrZero = 0
    """Dimension of token, position and segment vectors, which a projection takes to dim; 0: dim."""
    layers: Size = 1
    """Blocks; of a seq2seq, those of its encoder."""
    decoder_layers: SizeOrZero = 0
    """Blocks of a seq2seq's decoder."""
    segment_types: SizeOrZero = 0
    """Rows of the segment table (sentence A, sentence B)."""
    task_types: SizeOrZero = 0
    """Rows of a table of tasks, of which one is added to every token."""
    embedding_scale: bool = False
    """Token vectors are multiplied by sqrt(dim)."""
    dropout: Fraction = 0.0
    """Dropout of each sublayer's output; of a biLM, of the input of each LSTM and of the head."""
    embedding_dropout: Fraction | None = None
    """Dropout of the input of the first block; None: as `dropout`."""
    final_dropout: Fraction = 0.0
    """Dropout after the final norm."""
    pooler: bool = False
    """A dense layer with tanh over the first token's hidden state."""
    attention: AttentionConfig = dataclasses.field(default_factory=AttentionConfig)
    feed_forward: FeedForwardConfig = dataclasses.field(default_factory=FeedForwardConfig)
    norm: NormConfig = dataclasses.field(default_factory=NormConfig)
    positions: PositionConfig = dataclasses.field(default_factory=PositionConfig)
    head: HeadConfig = dataclasses.field(default_factory=HeadConfig)
    special: SpecialTokens = dataclasses.field(default_factory=SpecialTokens)
    lstm: LSTMConfig = dataclasses.field(default_factory=LSTMConfig)
    characters: CharacterConfig = dataclasses.field(default_factory=CharacterConfig)

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
        others = (self.embedding_dropout, self.final_dropout, self.attention.dropout)
        if self.kind == "bilm" and any((*others, self.feed_forward.dropout)):
            raise SettingError(
                "A biLM has one dropout, that of each layer. Set dropout, and the others to 0."
            )
        if self.target_vocab_size and self.kind != "seq2seq":
            raise SettingError(
                "target_vocab_size is {size} and kind is {kind}. Only a seq2seq has a second table.",
                size=self.target_vocab_size,
                kind=self.kind,
            )
        if self.input_dim != self.dim and (self.kind != "encoder" or self.head.kind == "linear"):
            raise SettingError(
                "embedding_dim is {found} and dim is {dim}. They may differ only in an encoder without a "
                "linear head.",
                found=self.embedding_dim,
                dim=self.dim,
            )
        if self.task_types and self.kind != "encoder":
            raise SettingError(
                "task_types is {found} and kind is {kind}. Only an encoder has a table of tasks.",
                found=self.task_types,
                kind=self.kind,
            )
        self._check_window()
        rows = min(self.vocab_size, self.output_vocab_size)
        if self.special.padding is not None and not 0 <= self.special.padding < rows:
            raise SettingError(
                "padding is {padding}, outside the table of {rows:,} rows.",
                padding=self.special.padding,
                rows=rows,
            )

    def _check_window(self) -> None:
        window = self.attention.window
        global_layers = self.attention.global_layers
        if window and self.kind in ("seq2seq", "bilm"):
            raise SettingError(
                "window is {window} and kind is {kind}. Only the layers of an encoder or a decoder can have "
                "a window.",
                window=window,
                kind=self.kind,
            )
        ordered = all(one < two for one, two in itertools.pairwise(global_layers))
        if not ordered or any(layer >= self.layers for layer in global_layers):
            raise SettingError(
                "global_layers is {found}; expected numbers from 0 to {last}, each once, in order.",
                found=global_layers,
                last=self.layers - 1,
            )
        if len(global_layers) == self.layers:
            raise SettingError("All layers are global_layers, so none has a window. Use window=0.")
        if self.positions.window_rotary is not None and not (window and self.positions.kind == "rotary"):
            raise SettingError(
                "window_rotary is for layers with a window and rotary positions; window is {window}, "
                "positions are {positions}.",
                window=window,
                positions=self.positions.kind,
            )

    @property
    def output_vocab_size(self) -> int:
        """Words the decoder, and so the head, knows."""
        return self.target_vocab_size or self.vocab_size

    @property
    def input_dim(self) -> int:
        """Dimension of token vectors."""
        return self.embedding_dim or self.dim

    @property
    def head_activation(self) -> str:
        """Activation of a masked head or a detector."""
        return self.head.activation or self.feed_forward.activation

    @property
    def head_dim(self) -> int:
        """Dimension of one attention head."""
        return self.attention.head_dim or self.dim // self.attention.heads

    def has_window(self, layer: int) -> bool:
        """Whether a layer, counted from 0, sees only the tokens in its window."""
        return self.attention.window > 0 and layer not in self.attention.global_layers

    @property
    def attention_scale(self) -> float:
        """What the scores of queries and keys are multiplied by."""
        return (self.attention.scale_dim or self.head_dim) ** -0.5 if self.attention.scaled else 1.0

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
        has_dense = self.head.kind in ("masked", "detector")
        return self.replace(
            {
                "embedding_dim": 0 if self.input_dim == self.dim else self.embedding_dim,
                "head.activation": self.head_activation if has_dense else None,
                "attention.kv_heads": self.attention.key_value_heads,
                "attention.head_dim": self.head_dim,
                "attention.scale_dim": self.attention.scale_dim or self.head_dim,
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
    known = {field.name for field in dataclasses.fields(typing.cast("Any", part))}
    for name in values:
        if name not in known:
            raise unknown_setting(name, known)
    changed = {
        name: _replaced(getattr(part, name), value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
    return dataclasses.replace(typing.cast("Any", part), **changed)
