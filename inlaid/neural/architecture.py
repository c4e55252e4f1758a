"""Architecture: everything that makes one network differ from another, in one frozen dataclass."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Literal

from inlaid import config
from inlaid.config import Count, Fraction, Positive, Range
from inlaid.errors import SettingError

DEEPEST = 10_000
"""More layers than this are a damaged file: building them would never end."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The shape of a network. The same blocks, chosen by these fields, make BERT, GPT-2, Llama, T5 and
    Marian.

    >>> Architecture(kind="decoder", words=50257, dim=768, layers=12, heads=12)
    """

    kind: Literal["encoder", "decoder", "seq2seq", "bilm"]
    """Reads both ways; writes left to right; reads one text and writes another; two LSTMs, one each way."""
    words: Positive
    """Rows of the token table."""
    target_words: Count = 0
    """Seq2seq: rows of a second table, for the text that is written; 0: one table serves both sides."""
    dim: Positive
    """Width of every vector between the blocks."""
    layers: Annotated[int, Range(1, DEEPEST)] = 1
    """Blocks; of a seq2seq, those of its encoder."""
    decoder_layers: Annotated[int, Range(0, DEEPEST)] = 0
    """Blocks of a seq2seq's decoder."""
    heads: Positive = 1
    """Attention heads."""
    kv_heads: Count = 0
    """Heads of keys and values, shared by groups of query heads; 0: one for each."""
    head_dim: Count = 0
    """Width of one head; 0: dim / heads."""
    inner: Count = 0
    """Width inside the feed-forward (of a biLM, of its cells); 0: four times dim."""
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "gelu"
    """GELU by its definition (erf) or by the tanh that approximates it; with `gated`, SiLU makes SwiGLU."""
    gated: bool = False
    """The feed-forward multiplies what its activation lets through by a second projection."""
    norm: Literal["layer", "rms"] = "layer"
    """Layer normalisation, or only its scaling part."""
    norm_place: Literal["pre", "post"] = "pre"
    """Before each part (the residual stream stays as it is), or after each sum, as in 2017."""
    norm_guard: float = 1e-5
    """Added to the variance before its root is taken."""
    final_norm: bool = True
    """One more norm after the last block."""
    positions: Literal["none", "learned", "sinusoidal", "shaw", "t5", "xl", "alibi", "rotary"] = "learned"
    """How the network knows the order of its tokens; see `positions.py`."""
    length: Positive = 512
    """Tokens it was trained to take at once."""
    layout: Literal["interleaved", "halves"] = "interleaved"
    """Sinusoids and rotations: pairs side by side, or one half of the vector with the other."""
    rotary_base: float = 10_000.0
    """The slowest rotation takes about 2 pi times this many tokens."""
    rotary_scaling: Literal["none", "linear", "llama3", "yarn"] = "none"
    """How rotations were slowed for texts longer than the first ones: not, all alike, the slow ones (two ways
    between)."""
    rotary_factor: Annotated[float, Range(1e-6)] = 1.0
    """How much they were slowed."""
    rotary_length: Count = 0
    """llama3, yarn: tokens the model took before."""
    rotary_turns: tuple[float, ...] = (1.0, 4.0)
    """llama3, yarn: what turns less often than the first in `rotary_length` tokens is slowed, more often than
    the second not."""
    rotary_gain: Annotated[float, Range(1e-6)] = 1.0
    """yarn: what cosines and sines are multiplied by."""
    buckets: Positive = 32
    """T5: how many distances have a bias of their own."""
    reach: Positive = 128
    """Relative positions: distances beyond this are treated alike."""
    segments: Count = 0
    """Kinds of segment (BERT's sentence A and B)."""
    linear_bias: bool = True
    """Projections add a bias."""
    scaled_scores: bool = True
    """Scores are divided by the root of the head's width; T5 leaves that to its starting weights."""
    embedding_norm: bool = False
    """A norm before the first block."""
    embedding_scale: bool = False
    """Token vectors are multiplied by the root of dim."""
    head: Literal["none", "linear", "masked"] = "linear"
    """What turns hidden states into logits; `masked` is BERT's, with a layer of its own before the table."""
    tied: bool = True
    """The head uses the input table; of a seq2seq with two, that of the text that is written."""
    head_scale: bool = False
    """What goes to the head is divided by the root of dim first: T5, whose tables start wide."""
    head_bias: bool = False
    """One more number for each word, added to its logit."""
    pooler: bool = False
    """BERT's summary of the first token."""
    dropout: Fraction = 0.0
    """Of what each part adds to the stream."""
    attention_dropout: Fraction = 0.0
    """Of attention weights."""
    padding: int | None = None
    """The id that fills short rows."""
    start: int | None = None
    """The id decoding starts from."""
    end: tuple[int, ...] = ()
    """The ids that end a text."""
    banned: tuple[int, ...] = ()
    """Ids that are never written; Marian's files name their padding."""
    characters: Count = 0
    """biLM: rows of the character table, padding included."""
    character_dim: Count = 0
    """biLM: width of a character."""
    token_length: Count = 0
    """biLM: characters of a token that are read."""
    filter_widths: tuple[int, ...] = ()
    """biLM: how many characters each group of convolutions sees."""
    filter_counts: tuple[int, ...] = ()
    """biLM: how many convolutions are in each group."""
    highways: Count = 0
    """biLM: highway layers between convolutions and projection."""
    cell_clip: float = 0.0
    """biLM: cells are kept between minus this and this; 0: not at all."""
    projection_clip: float = 0.0
    """biLM: the same for what the cells send on."""

    def __post_init__(self) -> None:
        config.check(self)
        if not self.head_dim and self.dim % self.heads:
            raise SettingError(
                f"dim is {self.dim}, which {self.heads} heads do not divide. Change one of them, or give head_dim."
            )
        if self.heads % self.key_heads:
            raise SettingError(
                f"{self.heads} heads cannot share {self.key_heads} key/value heads evenly. Use a divisor of {self.heads}."
            )
        if (self.kind == "seq2seq") != bool(self.decoder_layers):
            raise SettingError(
                f"decoder_layers is {self.decoder_layers} and kind is {self.kind}: a seq2seq needs some, others none."
            )
        if self.padding is not None and not 0 <= self.padding < min(self.words, self.written_words):
            raise SettingError(
                f"padding is {self.padding}, outside the table of {min(self.words, self.written_words):,} rows."
            )
        if self.target_words and self.kind != "seq2seq":
            raise SettingError(
                f"target_words is {self.target_words} and kind is {self.kind}: only a seq2seq has a second table."
            )
        self._check_rotations()
        if len(self.filter_widths) != len(self.filter_counts):
            raise SettingError(
                f"{len(self.filter_widths)} filter_widths and {len(self.filter_counts)} filter_counts: expected as many."
            )

    def _check_rotations(self) -> None:
        partly = self.rotary_scaling in ("llama3", "yarn")
        if partly and not self.rotary_length:
            raise SettingError(
                f"rotary_scaling {self.rotary_scaling} needs rotary_length: the tokens the model took before."
            )
        if len(self.rotary_turns) != 2 or not 0 < self.rotary_turns[0] < self.rotary_turns[1]:
            raise SettingError(
                f"rotary_turns is {self.rotary_turns}; expected two numbers above 0, the smaller first."
            )

    @property
    def written_words(self) -> int:
        """Rows of the table of what is written, and so of the head."""
        return self.target_words or self.words

    @property
    def key_heads(self) -> int:
        return self.kv_heads or self.heads

    @property
    def head_width(self) -> int:
        return self.head_dim or self.dim // self.heads

    @property
    def inner_width(self) -> int:
        return self.inner or 4 * self.dim

    def resolved(self) -> Architecture:
        """The same architecture with every width written out."""
        return dataclasses.replace(
            self, kv_heads=self.key_heads, head_dim=self.head_width, inner=self.inner_width
        )
