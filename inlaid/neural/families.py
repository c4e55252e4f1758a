"""Families: config.json <-> Architecture, for every model type Inlaid reads; no torch needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inlaid.config import settings_of, values_of
from inlaid.errors import FormatError, InlaidError, SettingError, UnknownName, did_you_mean
from inlaid.neural.architecture import Architecture
from inlaid.neural.rope import read_rotations, write_rotations

Config = Mapping[str, Any]
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
SHARED = "share_encoder_decoder_embeddings"
THEIR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


@dataclass(frozen=True)
class Family:
    """How one model type of `transformers` writes down an Architecture."""

    model_type: str
    keys: Mapping[str, tuple[str, Any]]
    """Our field -> their key, and what its absence means to them."""
    fixed: Mapping[str, Any]
    """Our fields that this family never varies."""
    must: Mapping[str, Any]
    """Their keys that must have this value, or be absent: what else they could mean is not built."""
    classes: Mapping[str, str]
    """Head -> the class that has it."""
    read_more: Callable[[Config], dict[str, Any]]
    write_more: Callable[[Architecture], dict[str, Any]]
    """Whatever a table of keys cannot say."""

    def read(self, config: Config) -> Architecture:
        """The architecture a config describes; one that asks for what is not built raises FormatError."""
        try:
            return self._read(config).resolved()
        except FormatError:
            raise
        except (SettingError, TypeError, ValueError, AttributeError, KeyError) as error:
            raise FormatError(f"config.json: no {self.model_type} can be made of it. {error}") from None

    def _read(self, config: Config) -> Architecture:
        for key, value in self.must.items():
            if config.get(key, value) != value:
                raise FormatError(
                    f"config.json: {key} is {config[key]!r}; of {self.model_type} only {value!r} is built."
                )
        values = {name: config.get(key, default) for name, (key, default) in self.keys.items()}
        values |= {"head": self._head(config), **self.fixed, **self.read_more(config)}
        return settings_of(
            Architecture,
            {name: value for name, value in values.items() if value is not None or name in NONE_ALLOWED},
        )

    def write(self, shape: Architecture) -> dict[str, Any]:
        """A config that `read` turns back into `shape`."""
        config = {key: getattr(shape, name) for name, (key, _) in self.keys.items()}
        config |= {
            "model_type": self.model_type,
            "architectures": [self.classes.get(shape.head, "")],
            **self.must,
        }
        return config | self.write_more(shape)

    def fits(self, shape: Architecture) -> bool:
        """Whether this family can say all that `shape` says."""
        try:
            return shape.head in self.classes and self.read(self.write(shape)) == shape.resolved()
        except InlaidError:
            return False

    def _head(self, config: Config) -> str:
        """By the class the folder was saved from; a class we do not know is no ground to guess on."""
        named = (config.get("architectures") or [next(iter(self.classes.values()))])[0]
        for head, known in self.classes.items():
            if named == known:
                return head
        known = ", ".join(self.classes.values())
        raise FormatError(
            f"config.json: architectures says {named}; of {self.model_type}, {known} are built."
        )


NONE_ALLOWED = ("padding", "start")


def _activation(key: str, default: str) -> Callable[[Config], dict[str, Any]]:
    def read(config: Config) -> dict[str, Any]:
        return {"activation": _known_activation(config.get(key, default), key)}

    return read


def _known_activation(name: str, key: str) -> str:
    if name not in ACTIVATIONS:
        raise FormatError(f"config.json: {key} is {name!r}; built are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def _end(config: Config, default: int | None) -> dict[str, Any]:
    """eos_token_id may be one id, a list, or null."""
    end = config.get("eos_token_id", default)
    return {"end": () if end is None else tuple(end) if isinstance(end, list) else (end,)}


def _write_end(shape: Architecture) -> dict[str, Any]:
    return {
        "eos_token_id": None if not shape.end else shape.end[0] if len(shape.end) == 1 else list(shape.end)
    }


def _padding(config: Config, key: str = "pad_token_id", default: int | None = None) -> dict[str, Any]:
    """Some configs name a padding id outside the table (-1) to say that there is none."""
    padding = config.get(key, default)
    return {
        "padding": padding
        if padding is not None and 0 <= padding < config.get("vocab_size", padding + 1)
        else None
    }


BERT = Family(
    "bert",
    {
        "words": ("vocab_size", 30522),
        "dim": ("hidden_size", 768),
        "layers": ("num_hidden_layers", 12),
        "heads": ("num_attention_heads", 12),
        "inner": ("intermediate_size", 3072),
        "length": ("max_position_embeddings", 512),
        "segments": ("type_vocab_size", 2),
        "norm_guard": ("layer_norm_eps", 1e-12),
        "dropout": ("hidden_dropout_prob", 0.1),
        "attention_dropout": ("attention_probs_dropout_prob", 0.1),
        "padding": ("pad_token_id", 0),
        "tied": ("tie_word_embeddings", True),
    },
    {
        "kind": "encoder",
        "norm_place": "post",
        "final_norm": False,
        "embedding_norm": True,
        "positions": "learned",
    },
    {"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"},
    {"masked": "BertForMaskedLM", "none": "BertModel"},
    lambda config: (
        _activation("hidden_act", "gelu")(config)
        | _padding(config, default=0)
        | {"head_bias": _bert_head(config), "pooler": not _bert_head(config)}
    ),
    lambda shape: {"hidden_act": THEIR_ACTIVATIONS[shape.activation]},
)


def _bert_head(config: Config) -> bool:
    return (config.get("architectures") or ["BertForMaskedLM"])[0] != "BertModel"


GPT2 = Family(
    "gpt2",
    {
        "words": ("vocab_size", 50257),
        "dim": ("n_embd", 768),
        "layers": ("n_layer", 12),
        "heads": ("n_head", 12),
        "inner": ("n_inner", None),
        "length": ("n_positions", 1024),
        "norm_guard": ("layer_norm_epsilon", 1e-5),
        "dropout": ("resid_pdrop", 0.1),
        "attention_dropout": ("attn_pdrop", 0.1),
        "start": ("bos_token_id", 50256),
        "tied": ("tie_word_embeddings", True),
        "padding": ("pad_token_id", None),
    },
    {"kind": "decoder", "positions": "learned"},
    {"scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True, "add_cross_attention": False},
    {"linear": "GPT2LMHeadModel", "none": "GPT2Model"},
    lambda config: (
        _activation("activation_function", "gelu_new")(config) | _end(config, 50256) | _padding(config)
    ),
    lambda shape: (
        {"activation_function": THEIR_ACTIVATIONS[shape.activation], "embd_pdrop": shape.dropout}
        | _write_end(shape)
    ),
)


def _read_llama(config: Config) -> dict[str, Any]:
    if config.get("attention_bias", False) != config.get("mlp_bias", False):
        raise FormatError("config.json: attention_bias and mlp_bias differ; built is both or neither.")
    more = {"linear_bias": config.get("attention_bias", False)} | read_rotations(config)
    return more | _activation("hidden_act", "silu")(config) | _end(config, 2) | _padding(config)


LLAMA = Family(
    "llama",
    {
        "words": ("vocab_size", 32000),
        "dim": ("hidden_size", 4096),
        "layers": ("num_hidden_layers", 32),
        "heads": ("num_attention_heads", 32),
        "kv_heads": ("num_key_value_heads", None),
        "head_dim": ("head_dim", None),
        "inner": ("intermediate_size", 11008),
        "length": ("max_position_embeddings", 2048),
        "norm_guard": ("rms_norm_eps", 1e-6),
        "attention_dropout": ("attention_dropout", 0.0),
        "start": ("bos_token_id", 1),
        "tied": ("tie_word_embeddings", False),
        "padding": ("pad_token_id", None),
    },
    {"kind": "decoder", "norm": "rms", "gated": True, "positions": "rotary", "layout": "halves"},
    {"pretraining_tp": 1},
    {"linear": "LlamaForCausalLM", "none": "LlamaModel"},
    _read_llama,
    lambda shape: (
        {
            "hidden_act": THEIR_ACTIVATIONS[shape.activation],
            "attention_bias": shape.linear_bias,
            "mlp_bias": shape.linear_bias,
            "rope_parameters": write_rotations(shape),
        }
        | _write_end(shape)
    ),
)


def _read_t5(config: Config) -> dict[str, Any]:
    said = config.get("feed_forward_proj", "relu")
    name = (
        "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")
    )  # by a gated gelu they mean the tanh
    padding = config.get("pad_token_id", 0)
    more = {"activation": _known_activation(name, "feed_forward_proj"), "gated": said.startswith("gated-")}
    more |= {"decoder_layers": config.get("num_decoder_layers") or config.get("num_layers", 6)}
    # older files say in `tie_word_embeddings` whether to scale
    more |= {"head_scale": config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True))}
    more |= {"target_words": 0 if config.get(SHARED, True) else config.get("vocab_size", 32128)}
    return (
        more
        | {"start": config.get("decoder_start_token_id", padding)}
        | _end(config, 1)
        | _padding(config, default=0)
    )


def _write_t5(shape: Architecture) -> dict[str, Any]:
    if shape.gated and shape.activation == "gelu_tanh":
        activation = "gated-gelu"
    else:
        activation = ("gated-" if shape.gated else "") + THEIR_ACTIVATIONS[shape.activation]
    more = {
        "feed_forward_proj": activation,
        "decoder_start_token_id": shape.start,
        "scale_decoder_outputs": shape.head_scale,
    }
    more |= (
        {SHARED: False} if shape.target_words else {}
    )  # nothing to them, who go by the tensors; our word for it
    return more | {"is_encoder_decoder": True} | _write_end(shape)


T5 = Family(
    "t5",
    {
        "words": ("vocab_size", 32128),
        "dim": ("d_model", 512),
        "head_dim": ("d_kv", 64),
        "inner": ("d_ff", 2048),
        "layers": ("num_layers", 6),
        "decoder_layers": ("num_decoder_layers", None),
        "heads": ("num_heads", 8),
        "buckets": ("relative_attention_num_buckets", 32),
        "reach": ("relative_attention_max_distance", 128),
        "dropout": ("dropout_rate", 0.1),
        "norm_guard": ("layer_norm_epsilon", 1e-6),
        "tied": ("tie_word_embeddings", True),
        "padding": ("pad_token_id", 0),
    },
    {"kind": "seq2seq", "norm": "rms", "positions": "t5", "linear_bias": False, "scaled_scores": False},
    {},
    {"linear": "T5ForConditionalGeneration", "none": "T5Model"},
    _read_t5,
    _write_t5,
)


def _read_marian(config: Config) -> dict[str, Any]:
    for ours, theirs in (
        ("encoder_ffn_dim", "decoder_ffn_dim"),
        ("encoder_attention_heads", "decoder_attention_heads"),
    ):
        if config.get(ours) != config.get(theirs):
            raise FormatError(f"config.json: {ours} and {theirs} differ; built is one width for both sides.")
    words = config.get("vocab_size", 58101)
    target = config.get("decoder_vocab_size") or words
    shared = config.get(SHARED, True)
    if shared and target != words:
        raise FormatError(
            f"config.json: {SHARED} is true, but decoder_vocab_size is {target} and vocab_size {words}."
        )
    more = (
        _activation("activation_function", "gelu")(config) | _end(config, 0) | _padding(config, default=58100)
    )
    headed = (config.get("architectures") or ["MarianMTModel"])[0] == "MarianMTModel"
    banned = config.get("bad_words_ids") or []
    if any(len(ids) != 1 for ids in banned):
        raise FormatError(f"config.json: bad_words_ids is {banned}; only single ids can be banned.")
    more |= {"banned": tuple(ids[0] for ids in banned), "target_words": 0 if shared else target}
    return more | {"start": config.get("decoder_start_token_id", 58100), "head_bias": headed}


MARIAN = Family(
    "marian",
    {
        "words": ("vocab_size", 58101),
        "dim": ("d_model", 1024),
        "inner": ("encoder_ffn_dim", 4096),
        "layers": ("encoder_layers", 12),
        "decoder_layers": ("decoder_layers", 12),
        "heads": ("encoder_attention_heads", 16),
        "length": ("max_position_embeddings", 1024),
        "dropout": ("dropout", 0.1),
        "attention_dropout": ("attention_dropout", 0.0),
        "embedding_scale": ("scale_embedding", False),
        "tied": ("tie_word_embeddings", True),
        "padding": ("pad_token_id", 58100),
    },
    {
        "kind": "seq2seq",
        "norm_place": "post",
        "final_norm": False,
        "positions": "sinusoidal",
        "layout": "halves",
    },
    {"normalize_before": False, "normalize_embedding": False},
    {"linear": "MarianMTModel", "none": "MarianModel"},
    _read_marian,
    lambda shape: (
        {
            "activation_function": THEIR_ACTIVATIONS[shape.activation],
            "decoder_ffn_dim": shape.inner_width,
            "decoder_attention_heads": shape.heads,
            "decoder_start_token_id": shape.start,
            "decoder_vocab_size": shape.written_words,
            SHARED: not shape.target_words,
            "is_encoder_decoder": True,
            "forced_eos_token_id": shape.end[0] if shape.end else None,
        }
        | _write_end(shape)
        | ({"bad_words_ids": [[id] for id in shape.banned]} if shape.banned else {})
    ),
)

FAMILIES = {family.model_type: family for family in (BERT, GPT2, LLAMA, T5, MARIAN)}
OWN = "inlaid"
"""The model type of folders that hold an architecture no other tool has a name for."""


def read_config(config: Config) -> Architecture:
    """The architecture of a config.json; a model type that is not built is named."""
    kind = config.get("model_type")
    if kind == OWN:
        return _read_own(config)
    if not isinstance(kind, str) or kind not in FAMILIES:
        hint = did_you_mean(str(kind), FAMILIES)
        raise UnknownName(f"config.json: model_type is {kind!r}; built are {', '.join(FAMILIES)}.{hint}")
    return FAMILIES[kind].read(config)


def _read_own(config: Config) -> Architecture:
    try:
        return settings_of(Architecture, config["architecture"])
    except (InlaidError, TypeError, AttributeError, KeyError) as error:
        raise FormatError(f"config.json: its architecture cannot be read. {error}") from None


def write_config(shape: Architecture) -> dict[str, Any]:
    """The config.json of an architecture: in the words of the family it belongs to, or in our own."""
    for family in FAMILIES.values():
        if family.fits(shape):
            return family.write(shape)
    return {"model_type": OWN, "architecture": values_of(shape)}


def read_elmo(options: Config) -> Architecture:
    """The architecture that ELMo's options.json describes."""
    lstm = options["lstm"]
    letters = options["char_cnn"]
    if not lstm.get("use_skip_connections", False):
        raise FormatError(
            "options.json: use_skip_connections is false; only biLMs with skip connections are built."
        )
    try:
        return Architecture(
            kind="bilm",
            words=letters["n_characters"],
            dim=lstm["projection_dim"],
            layers=lstm["n_layers"],
            inner=lstm["dim"],
            positions="none",
            head="none",
            activation=letters["activation"],
            characters=letters["n_characters"],
            character_dim=letters["embedding"]["dim"],
            token_length=letters["max_characters_per_token"],
            filter_widths=tuple(width for width, _ in letters["filters"]),
            filter_counts=tuple(count for _, count in letters["filters"]),
            highways=letters["n_highway"],
            cell_clip=float(lstm["cell_clip"] or 0),
            projection_clip=float(lstm["proj_clip"] or 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"options.json: lacks or misshapes {error}.") from None
