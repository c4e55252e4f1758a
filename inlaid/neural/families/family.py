"""Family: how one model type writes its config.json, names its tensors and tokenizes; no torch needed.

A family is one file with one subclass, and one line in the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from inlaid.encode.subwords.loading import of_model
from inlaid.errors import FormatError, InlaidError, SettingError, UnknownName
from inlaid.formats import huggingface
from inlaid.formats.huggingface import Folder
from inlaid.messages import Listed
from inlaid.neural.config import Config, make_config
from inlaid.neural.families.names import Names
from inlaid.neural.generation_keys import ALL_KEYS as GENERATION_KEYS
from inlaid.neural.tables import config_by_tensors

JSON = Mapping[str, Any]

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Their names -> ours."""
THEIR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
MAY_BE_NONE = ("special.padding", "special.start")
SHARED = "share_encoder_decoder_embeddings"

WITHOUT_EFFECT = (
    "_attn_implementation",
    "_name_or_path",
    "architectures",
    "attn_implementation",
    "auto_map",
    "chunk_size_feed_forward",
    "dtype",
    "finetuning_task",
    "gradient_checkpointing",
    "id2label",
    "is_causal",
    "is_encoder_decoder",
    "label2id",
    "model_type",
    "output_attentions",
    "output_hidden_states",
    "prefix",
    "problem_type",
    "return_dict",
    "task_specific_params",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "use_bfloat16",
    "use_cache",
)
"""Keys of any config.json that change no number, or that are read for every family."""


@dataclass(frozen=True)
class Loaded:
    """A checkpoint as it was read: its config, its tensors by our names, and what is worth noting."""

    config: Config
    tensors: Mapping[str, Any]
    notes: tuple[str, ...] = ()


class Family:
    """A model type of `transformers`. A subclass gives the tables below, and methods for what they cannot
    say."""

    model_type: ClassVar[str]
    keys: ClassVar[Mapping[str, tuple[str, Any]]] = {}
    """Our field -> their key, and its default there."""
    fixed: ClassVar[Mapping[str, Any]] = {}
    """Our fields that are the same in the whole family."""
    required: ClassVar[Mapping[str, Any]] = {}
    """Their keys that must have this value, or be absent: other values are not supported."""
    also_read: ClassVar[tuple[str, ...]] = ()
    """Their keys that `read_more` reads."""
    no_effect: ClassVar[tuple[str, ...]] = ()
    """Their keys that change no number of the network: how it is initialized, other heads, speed."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of their keys -> the key, as in their `attribute_map`."""
    generation: ClassVar[Mapping[str, Any]] = {}
    """Their keys about generating text, and the defaults of these in folders without a
    generation_config.json."""
    has_config_json: ClassVar[bool] = True
    """Folders have a config.json with this model type; otherwise `recognizes` tells by other files."""
    activation: ClassVar[tuple[str, str] | None] = None
    """Their key of the activation of the feed-forward sublayers, and its default there."""
    their_activations: ClassVar[Mapping[str, str]] = THEIR_ACTIVATIONS
    """Our names of activations -> those that are written."""
    reads_both_ways: ClassVar[bool] = False
    """Tokens see those after them, as in BERT: a vocab.txt counts as a tokenizer, too, and "[CLS]" and
    "[SEP]" are put around the text."""
    tokenizer_class: ClassVar[str] = ""
    """Their tokenizer where a tokenizer_config.json names none; empty: tokenizer.json is taken as it is,
    whatever it names."""
    tokenizer_class_fixed: ClassVar[bool] = False
    """Whether `transformers` takes that class even where a tokenizer_config.json names another: the files of
    some families are known to name a wrong one."""
    classes: ClassVar[Mapping[str, str]] = {}
    """Our kind of head -> their class that has it; the first is the default."""

    def read(self, raw: JSON) -> Config:
        """The config that a config.json describes; one that is not supported raises FormatError."""
        try:
            return self._read(self._with_keys(raw)).resolved()
        except FormatError:
            raise
        except (
            SettingError,
            UnknownName,
            TypeError,
            ValueError,
            OverflowError,
            AttributeError,
            KeyError,
        ) as error:
            raise FormatError(
                "config.json: no {model_type} model can be built from it. {reason}",
                model_type=self.model_type,
                reason=error,
            ) from None

    def write(self, config: Config) -> dict[str, Any]:
        """A config.json that `read` turns back into `config`."""
        config = config.resolved()
        return {
            **{key: config.field(name) for name, (key, _) in self.keys.items()},
            "model_type": self.model_type,
            "architectures": [self.classes.get(config.head.kind, "")],
            **self.required,
            **self._write_activation(config),
            **self.write_more(config),
        }

    def fits(self, config: Config) -> bool:
        """Whether a config.json of this family can express all of `config`."""
        if config.head.kind not in self.classes:
            return False
        try:
            return self.read(self.write(config)) == config.resolved()
        except InlaidError:
            return False

    @property
    def read_keys(self) -> set[str]:
        """Their keys that are read, or required at a value."""
        activation = set() if self.activation is None else {self.activation[0]}
        return {key for key, _ in self.keys.values()} | {*self.required, *self.also_read} | activation

    def unknown_keys(self, raw: JSON) -> list[str]:
        """Their keys with a value that nothing here reads, and that are not known to have no effect."""
        known = {*self.read_keys, *self.no_effect, *WITHOUT_EFFECT, *GENERATION_KEYS}
        known |= {*self.aliases, *self.aliases.values()}
        return sorted(key for key, value in raw.items() if key not in known and value is not None)

    def check_tensors(self, folder: Folder, config: Config) -> None:
        """Raise FormatError for stored tensors that are not needed, and are not what they should be."""

    def read_more(self, raw: JSON) -> dict[str, Any]:
        """Our fields that `keys` cannot express."""
        return {}

    def write_more(self, config: Config) -> dict[str, Any]:
        """Their keys that `keys` cannot express."""
        return {}

    def names(self, config: Config) -> Names:
        """What the tensors of such a network are called."""
        raise NotImplementedError

    def recognizes(self, path: Path) -> bool:
        """Whether a folder without a config.json is of this family, by its files."""
        return False

    def read_folder(self, path: Path) -> Config:
        """The config of a folder, or of a config.json alone."""
        return self.read(huggingface.read_config(path))

    def config_by_tensors(self, config: Config, folder: Folder) -> Config:
        """The config, completed with what only the tensors tell: a head, a pooler, a second input
        table."""
        return config_by_tensors(config, self.names, folder)

    def load(self, path: Path, *, tied: bool | None) -> Loaded:
        """The checkpoint in a folder; `tied` overrides what its config says."""
        from inlaid.neural.weights import load_folder

        return load_folder(self, huggingface.open_folder(path), tied=tied)

    def tensors_to_write(self, config: Config, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """Our tensors by their names and in their layout."""
        from inlaid.neural.weights import write_tensors

        without_head = config.head.kind == "none"
        return write_tensors(self.names(config), tensors, without_prefix=without_head, tied=config.head.tied)

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """The tokenizer of a folder, or None."""
        return of_model(path, reads_both_ways=self.reads_both_ways)

    def _with_keys(self, raw: JSON) -> JSON:
        """With the keys that are given by another name."""
        given = {key: raw[alias] for alias, key in self.aliases.items() if alias in raw}
        for alias, key in self.aliases.items():
            if alias in raw and raw.get(key, raw[alias]) != raw[alias]:
                raise FormatError(
                    "config.json: {key} is {found!r} and {alias}, another name of it, {other!r}. Remove one.",
                    key=key,
                    found=raw[key],
                    alias=alias,
                    other=raw[alias],
                )
        return {**raw, **given}

    def _read(self, raw: JSON) -> Config:
        for key, value in self.required.items():
            if raw.get(key, value) != value:
                raise FormatError(
                    "config.json: {key} is {found!r}; {model_type} is only supported with {expected!r}.",
                    key=key,
                    found=raw[key],
                    model_type=self.model_type,
                    expected=value,
                )
        fields = {name: raw.get(key, default) for name, (key, default) in self.keys.items()}
        if "special.padding" in self.keys:
            fields["special.padding"] = read_padding(raw, default=self.keys["special.padding"][1])
        fields |= {"head.kind": self._head(raw), **self.fixed}
        fields |= {**self._read_activation(raw), **self.read_more(raw)}
        given = {name: value for name, value in fields.items() if value is not None or name in MAY_BE_NONE}
        config = make_config(given)
        self._check_causal(raw, config)
        return config

    def _read_activation(self, raw: JSON) -> dict[str, str]:
        if self.activation is None:
            return {}
        key, default = self.activation
        return {"feed_forward.activation": read_activation(raw.get(key, default), key)}

    def _write_activation(self, config: Config) -> dict[str, str]:
        if self.activation is None:
            return {}
        return {self.activation[0]: self.their_activations[config.feed_forward.activation]}

    def _check_causal(self, raw: JSON, config: Config) -> None:
        """`is_causal` turns decoders into encoders there, encoders into decoders, and both sides of a
        seq2seq into one of them."""
        usual = {"decoder": True, "encoder": False}.get(config.kind)
        if "is_causal" in raw and "is_causal" not in self.also_read and raw["is_causal"] is not usual:
            raise FormatError(
                "config.json: is_causal is {found!r}; {model_type} is only supported without it.",
                found=raw["is_causal"],
                model_type=self.model_type,
            )

    def class_name(self, raw: JSON) -> str:
        """The class a folder was saved from."""
        return (raw.get("architectures") or [next(iter(self.classes.values()))])[0]

    def _head(self, raw: JSON) -> str:
        """The head of the class the folder was saved from; a class we do not know is not guessed at."""
        found = self.class_name(raw)
        for head, known in self.classes.items():
            if found == known:
                return head
        raise FormatError(
            "config.json: architectures says {found}; of {model_type}, {known} are supported.",
            found=found,
            model_type=self.model_type,
            known=Listed(self.classes.values()),
        )


def read_activation(name: str, key: str) -> str:
    """Our name of an activation."""
    if name not in ACTIVATIONS:
        raise FormatError(
            "config.json: {key} is {found!r}; supported are {known}.",
            key=key,
            found=name,
            known=Listed(ACTIVATIONS),
        )
    return ACTIVATIONS[name]


def read_end(raw: JSON, default: int | None) -> tuple[int, ...]:
    """eos_token_id may be one id, a list, or null."""
    end = raw.get("eos_token_id", default)
    if end is None:
        return ()
    return tuple(end) if isinstance(end, list) else (end,)


def write_end(config: Config) -> int | list[int] | None:
    end = config.special.end
    if not end:
        return None
    return end[0] if len(end) == 1 else list(end)


def read_padding(raw: JSON, default: int | None = None) -> int | None:
    """Some configs give a padding id outside the table (-1) to say that there is none."""
    padding = raw.get("pad_token_id", default)
    if padding is None or not 0 <= padding < raw.get("vocab_size", padding + 1):
        return None
    return padding
