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
from typing import Annotated, Any, ClassVar, Literal

from inlaid.config import MAX_DIM, Dropout, Range, check
from inlaid.encode.corpus import Corpus, Encoding, encoding_of
from inlaid.encode.pair_corpus import PairCorpus
from inlaid.errors import SettingError, SourceError, need
from inlaid.fit.networks.optimization import Optimization
from inlaid.jobs.training import Abilities, Training
from inlaid.neural.config import Config
from inlaid.neural.families import family_of
from inlaid.neural.sizes import parameters
from inlaid.report import Report, silent
from inlaid.untrusted import read_json_object

UNKNOWN = "[UNK]"
MAX_LENGTH = 1 << 20
BYTES = 16
"""Bytes in training for each parameter: its value, its gradient and two averages of AdamW, in float32."""
WORDS = "words.json"
"""The file of a model's tokenizer of words."""
OF_FILES = ("field", "invalid", "charset", "sentences")
"""Settings of the encoding that are not about the tokenizer."""
SPECIAL = 5
"""Special tokens that may be added to a vocabulary, at most."""
HELD_OUT_FROM = 200
"""Sentences from which some are held out."""
Dim = Annotated[int, Range(1, MAX_DIM)]
Layers = Annotated[int, Range(1, 500)]
LearningRate = Annotated[float, Range(1e-9)]
FRESH_LEARNING_RATE = 1e-3
MODEL_LEARNING_RATE = 5e-5
"""Where training goes on from a model: a higher one undoes what it knows."""
DROPOUT = 0.1
METHODS = {"bilm": "bilm", "encoder": "masked", "decoder": "causal", "seq2seq": "translation"}
"""The method that trains each kind of network."""


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
    """Commands to try with what it learned; {path} is its folder, and {text}, {start} and {blank} are
    examples in the language of the text."""
    surrounds: ClassVar[bool] = False
    """Its tokenizer puts a token after every text, and the start token before it if it has one."""
    last_role: ClassVar[str] = "end"
    """The special token after every text."""

    preset: Literal["tiny", "small", "base"] = "tiny"
    """Size of the network: tiny learns a small text in minutes on two cores, small a few megabytes in an
    hour; base is that of the paper, for a GPU. The settings below change it."""
    dim: Dim | None = None
    """Dimension of hidden states; by default that of the preset."""
    layers: Layers | None = None
    """Layers of the network; by default those of the preset."""
    max_length: Annotated[int, Range(2, MAX_LENGTH)] | None = None
    """Tokens of a text at most; by default 128, 256 or 512."""
    batch_tokens: Annotated[int, Range(1)] | None = None
    """Tokens of a batch, padding included; by default 1024, 4096 or 16384."""
    dropout: Dropout | None = None
    """Dropout between the layers; by default 0.1, or as the model that training starts from has it."""
    learning_rate: LearningRate | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """Peak learning rate, reached after the warm-up; by default 1e-3, or 5e-5 where training starts from a
    model."""
    held_out: Annotated[float, Range(0, 0.5)] = 0.02
    """Share of the text that is not trained on; its loss decides about early stopping."""
    init_from: Path | None = None
    """Start from a folder of a model, or start the table of token vectors from a file of vectors."""
    freeze: bool = False
    """Keep the table of token vectors that init_from gives fixed."""

    def __post_init__(self) -> None:
        check(self)
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
        if self.init_from is not None and not self.init_from.exists():
            raise SourceError("There is no file or folder '{path}'.", path=self.init_from)
        if self.starts_from_model and (self.init_from / WORDS).is_file():  # pyright: ignore
            own = encoding_of_words(self.init_from, encoding)  # pyright: ignore[reportArgumentType]
            self.refuse_other_tokenizer(encoding, own)
            return own
        if self.starts_from_model:
            self.refuse_other_tokenizer(encoding)
            return dataclasses.replace(
                encoding, tokenizer=Encoding().tokenizer, tokenizer_file=self.init_from
            )
        if not encoding.has_subwords and encoding.unknown is None:
            return dataclasses.replace(encoding, unknown=UNKNOWN)
        return encoding

    def refuse_other_tokenizer(self, encoding: Encoding, own: Encoding | None = None) -> None:
        """Raise SettingError where text is to be encoded otherwise than that of the model; `own` is how the
        text of a model of words was."""
        default = Encoding(**self.encoding_defaults)
        for each in dataclasses.fields(Encoding):
            if each.name in (*OF_FILES, "min_count"):
                continue
            expected = [getattr(one, each.name) for one in (default, own) if one is not None]
            if getattr(encoding, each.name) not in expected:
                raise SettingError(
                    "{name} is given, but the text is encoded as {path} has it. Leave out {name}.",
                    name=each.name,
                    path=self.init_from,
                )

    def for_corpus(self, data: Corpus) -> NetworkMethod:
        """The same settings with every size set: by the model that training starts from, or the preset."""
        if self.starts_from_model:
            return self.sized_as(family_of(self.init_from).read_folder(self.init_from))  # pyright: ignore
        return self.sized_by_preset()

    def sized_by_preset(self) -> NetworkMethod:
        """The same settings with every size set that is not given."""
        sizes = {"dropout": DROPOUT, "learning_rate": FRESH_LEARNING_RATE, **self.preset_sizes()}
        given = {name: getattr(self, name, None) for name in sizes}
        return self.with_sizes(sizes | {name: size for name, size in given.items() if size is not None})

    def sized_as(self, config: Config) -> NetworkMethod:
        """The sizes of a model. Settings that would change them are refused."""
        if config.kind != self.kind:
            raise SettingError(
                "{path} is a model of the kind {found}; this method trains one of the kind {expected}. Use "
                "the method {method}.",
                path=self.init_from,
                found=config.kind,
                expected=self.kind,
                method=METHODS.get(config.kind, config.kind),
            )
        sizes = {"dropout": config.dropout, **self.sizes_of(config)}
        self._refuse_changes(sizes | self.parts_of(config))
        preset = self.preset_sizes()
        longest = min(preset["max_length"], config.max_length or MAX_LENGTH)
        if self.max_length and config.max_length and self.max_length > config.max_length:
            raise SettingError(
                "max_length is {given}, and {path} takes {found} tokens at most. Lower it.",
                given=self.max_length,
                path=self.init_from,
                found=config.max_length,
            )
        sizes |= {
            "max_length": self.max_length or longest,
            "batch_tokens": self.batch_tokens or preset["batch_tokens"],
            "learning_rate": self.learning_rate or MODEL_LEARNING_RATE,
        }
        return self.with_sizes(sizes)

    def _refuse_changes(self, found: Mapping[str, Any]) -> None:
        """Raise SettingError where a setting was given that differs from what a model has."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, value in found.items():
            given = getattr(self, name)
            if name in defaults and given not in (defaults[name], value):
                raise SettingError(
                    "{name} is {given}, and {path} has {found}. Leave out {name}.",
                    name=name,
                    given=given,
                    path=self.init_from,
                    found=value,
                )

    def with_sizes(self, sizes: Mapping[str, Any]) -> NetworkMethod:
        """The same settings with these sizes, as far as they are settings of this method."""
        known = {field.name for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{name: size for name, size in sizes.items() if name in known})

    def memory_for(self, data: Corpus) -> int:
        sized = self.for_corpus(data)
        config = sized.config(len(data.vocabulary) + SPECIAL, {})
        if isinstance(data, PairCorpus):
            target = len(data.target.vocabulary) + SPECIAL
            config = dataclasses.replace(config, target_vocab_size=target)
        return BYTES * sum(parameters(config).values())

    def check_first(self) -> None:
        """A device that is there, and sizes that fit together. Those of an earlier model do."""
        need("torch", extra="neural")
        from inlaid.fit.networks.training import chosen_device

        chosen_device(self.device)
        if self.init_from is None:
            self.sized_by_preset().config(SPECIAL, {})

    def start(self, data: Corpus, report: Report = silent) -> Training:
        """A network with its first weights, and its batches; no step taken."""
        need("torch", extra="neural")
        from inlaid.fit.networks.start import start_training

        return start_training(self.for_corpus(data), data, report)

    @abstractmethod
    def preset_sizes(self) -> dict[str, int]:
        """The sizes of the preset: setting -> value where none is given."""

    @abstractmethod
    def sizes_of(self, config: Config) -> dict[str, Any]:
        """The settings that a model of this config decides: setting -> value."""

    def parts_of(self, config: Config) -> dict[str, Any]:
        """What else a model of this config has that settings choose: setting -> what it has."""
        return {}

    @abstractmethod
    def config(self, words: int, special: Mapping[str, int]) -> Config:
        """The network for a vocabulary of this size. All sizes are set."""

    @abstractmethod
    def batches(self, data: Corpus, special: Mapping[str, int], report: Report = silent) -> Any:
        """The text in batches, as `training.Batches`. All sizes are set."""

    @abstractmethod
    def loss(self) -> Any:
        """The function (network, batch) -> loss, with torch."""


def encoding_of_words(folder: Path, given: Encoding) -> Encoding:
    """How the text of a model of words was cut. All its words count, and files are read as given here."""
    own = encoding_of(read_json_object(folder / WORDS)["encoding"])
    kept = {name: getattr(given, name) for name in OF_FILES}
    return dataclasses.replace(own, **kept, min_count=1, max_size=None)


def held_out_every(sentences: int, share: float) -> int:
    """Every n-th sentence is held out, for about this share of the text; 0: none, as there are too few."""
    return round(1 / share) if share and sentences >= HELD_OUT_FROM else 0
