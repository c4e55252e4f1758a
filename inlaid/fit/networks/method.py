"""Network method: the settings shared by all methods that train a network; no torch needed.

A method says which network it trains (`config`), on which batches, and for which loss. The rest is here and
in `start` (torch): the size of the network, where its weights come from, and its vocabulary.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from inlaid import registry
from inlaid.config import MAX_DIM, Fraction, Range, check
from inlaid.encode.corpus import Corpus, Encoding
from inlaid.errors import SettingError, need
from inlaid.fit.networks.optimization import Optimization
from inlaid.jobs.training import Abilities, Training
from inlaid.neural.config import Config
from inlaid.neural.families import family_of
from inlaid.neural.sizes import parameters
from inlaid.report import Report, silent

UNKNOWN = "[UNK]"
MAX_LENGTH = 1 << 20
BYTES = 16
"""Bytes in training for each parameter: its value, its gradient and two averages of AdamW, in float32."""
SPECIAL = 5
"""Special tokens that may be added to a vocabulary, at most."""
HELD_OUT_FROM = 200
"""Sentences from which some are held out."""
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]


class Preset(NamedTuple):
    """The size of a network, and of its batches."""

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
SIZED = ("dim", "layers", "heads", "feed_forward_dim", "max_length", "batch_tokens")
"""Settings that the preset decides where they are not given."""
Dim = Annotated[int, Range(1, MAX_DIM)]
Layers = Annotated[int, Range(1, 500)]


@dataclass(frozen=True, kw_only=True)
class NetworkMethod(Optimization, ABC):
    """Settings of a network and of its training."""

    abilities: ClassVar = Abilities(steps=True, held_out=True, model=True)
    encoding_defaults: ClassVar[Mapping[str, Any]] = {"tokenizer": "bpe"}
    """Settings of the encoding that are other than those of word vectors."""
    roles: ClassVar[tuple[str, ...]]
    """The special tokens it needs."""
    kind: ClassVar[str]
    """The kind of network it trains, as a config calls it."""
    next_steps: ClassVar[tuple[str, ...]] = ()
    """Commands to try with what it learned; {path} is its folder."""
    surrounds: ClassVar[bool] = False
    """Its tokenizer puts the end token after every text, and the start token before it if it has one."""

    preset: Literal["tiny", "small", "base"] = "tiny"
    """Size of the network: tiny learns a small text in minutes on two cores, small a few megabytes in an
    hour; base is that of BERT and GPT-2, for a GPU. The settings below change it."""
    dim: Dim | None = None
    """Dimension of hidden states; by default 128, 256 or 768."""
    layers: Layers | None = None
    """Blocks, of a translator those of each side; by default 4, 6 or 12."""
    heads: Annotated[int, Range(1, MAX_DIM)] | None = None
    """Attention heads; by default 4, 4 or 12."""
    feed_forward_dim: Dim | None = None
    """Inner dimension of the feed-forward networks; by default four times dim."""
    max_length: Annotated[int, Range(2, MAX_LENGTH)] | None = None
    """Tokens of a text at most; by default 128, 256 or 512."""
    batch_tokens: Annotated[int, Range(1)] | None = None
    """Tokens of a batch, padding included; by default 1024, 4096 or 16384."""
    positions: str | None = None
    """Position encoding: none, learned, sinusoidal, shaw, t5, learned-t5, transformer-xl, alibi or rotary."""
    norm: Literal["pre", "post"] | None = None
    """Layer normalization before each sublayer, or after each residual sum."""
    activation: Activation | None = None
    """Activation of the feed-forward networks."""
    tied: bool = True
    """The output layer uses the table of token vectors."""
    dropout: Fraction = 0.1
    """Dropout of token vectors, attention weights and sublayers."""
    held_out: Annotated[float, Range(0, 0.5)] = 0.02
    """Share of the text that is not trained on; its loss decides about early stopping."""
    init_from: Path | None = None
    """Start from a folder of a model, or start the table of token vectors from a file of vectors."""
    freeze: bool = False
    """Keep the table of token vectors that init_from gives fixed."""

    def __post_init__(self) -> None:
        check(self)
        if self.positions is not None:
            registry.entry("position", self.positions)
        if self.freeze and self.init_from is None:
            raise SettingError(
                "freeze is set, but there are no earlier vectors to keep fixed. Name them with init_from."
            )

    @property
    def starts_from_model(self) -> bool:
        """Whether `init_from` is a model, whose network goes on training, and not a file of vectors."""
        return self.init_from is not None and (self.init_from / "config.json").is_file()

    def prepared(self, encoding: Encoding) -> Encoding:
        """The encoding of the text: with an unknown word for words, and with the tokenizer of the model that
        training starts from."""
        if self.starts_from_model and not (self.init_from / "words.json").is_file():  # pyright: ignore
            default = Encoding(**self.encoding_defaults)
            return dataclasses.replace(
                encoding,
                tokenizer=Encoding().tokenizer
                if encoding.tokenizer == default.tokenizer
                else encoding.tokenizer,
                tokenizer_file=self.init_from,
            )
        if not encoding.has_subwords and encoding.unknown is None:
            return dataclasses.replace(encoding, unknown=UNKNOWN)
        return encoding

    def for_corpus(self, data: Corpus) -> NetworkMethod:
        """The same settings with every size set: by the model that training starts from, or the preset."""
        if self.starts_from_model:
            return self.sized_as(family_of(self.init_from).read_folder(self.init_from))  # pyright: ignore
        preset = PRESETS[self.preset]
        dim = self.dim or preset.dim
        sizes = preset._asdict() | {"dim": dim, "feed_forward_dim": 4 * dim}
        sizes["heads"] = max(each for each in range(1, preset.heads + 1) if dim % each == 0)
        given = {name: getattr(self, name) for name in SIZED if getattr(self, name) is not None}
        return self.with_sizes(sizes | given)

    def sized_as(self, config: Config) -> NetworkMethod:
        """The sizes of a model. Settings that would change them are refused."""
        if config.kind != self.kind:
            raise SettingError(
                "{path} is a model of the kind {found}; this method trains one of the kind {expected}.",
                path=self.init_from,
                found=config.kind,
                expected=self.kind,
            )
        sizes = {
            "dim": config.dim,
            "layers": config.layers,
            "heads": config.attention.heads,
            "feed_forward_dim": config.feed_forward_dim,
        }
        for name, size in sizes.items():
            given = getattr(self, name)
            if given not in (None, size):
                raise SettingError(
                    "{name} is {given}, and {path} has {found}. Leave out {name}.",
                    name=name,
                    given=given,
                    path=self.init_from,
                    found=size,
                )
        preset = PRESETS[self.preset]
        longest = min(preset.max_length, config.max_length or MAX_LENGTH)
        if self.max_length and config.max_length and self.max_length > config.max_length:
            raise SettingError(
                "max_length is {given}, and {path} takes {found} tokens at most. Lower it.",
                given=self.max_length,
                path=self.init_from,
                found=config.max_length,
            )
        sizes |= {
            "max_length": self.max_length or longest,
            "batch_tokens": self.batch_tokens or preset.batch_tokens,
        }
        return self.with_sizes(sizes)

    def with_sizes(self, sizes: Mapping[str, Any]) -> NetworkMethod:
        """The same settings with these sizes, as far as they are settings of this method."""
        known = {field.name for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: size for name, size in sizes.items() if name in known})

    def memory_for(self, data: Corpus) -> int:
        sized = self.for_corpus(data)
        words = len(data.vocabulary) + SPECIAL
        return BYTES * sum(parameters(sized.config(words, {})).values())

    def start(self, data: Corpus, report: Report = silent) -> Training:
        """A network with its first weights, and its batches; no step taken."""
        need("torch", extra="neural")
        from inlaid.fit.networks.start import start_training

        return start_training(self.for_corpus(data), data, report)

    @abstractmethod
    def config(self, words: int, special: Mapping[str, int]) -> Config:
        """The network for a vocabulary of this size. All sizes are set."""

    @abstractmethod
    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> Any:
        """The text in batches, as `training.Batches`. All sizes are set."""

    @abstractmethod
    def loss(self) -> Any:
        """The function (network, batch) -> loss, with torch."""

    def sizes(self) -> dict[str, Any]:
        """The fields of a config that all methods set alike."""
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


def held_out_every(sentences: int, share: float) -> int:
    """Every n-th sentence is held out, for about this share of the text; 0: none, as there are too few."""
    return round(1 / share) if share and sentences >= HELD_OUT_FROM else 0
