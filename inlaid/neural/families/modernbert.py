"""ModernBERT: pre-norm encoder with rotary positions, GeGLU, and windows in most layers (Warner et al.
2024)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.errors import FormatError
from inlaid.neural.config import Config, RotaryConfig
from inlaid.neural.families.family import (
    JSON,
    THEIR_ACTIVATIONS,
    Family,
    read_activation,
    read_end,
    write_end,
)
from inlaid.neural.families.names import Names, Place, blocks
from inlaid.neural.families.rope import read_rotary, write_rotary
from inlaid.neural.families.windows import (
    FULL,
    SLIDING,
    check_layer_types,
    read_windows,
    write_layer_types,
)

BLOCK = {
    "attention.query": Place("attn.Wqkv", part=0),
    "attention.key": Place("attn.Wqkv", part=1),
    "attention.value": Place("attn.Wqkv", part=2),
    "attention.output": "attn.Wo",
    "attention_norm": "attn_norm",
    "feed_forward.gate": Place("mlp.Wi", part=0, parts=2),
    "feed_forward.up": Place("mlp.Wi", part=1, parts=2),
    "feed_forward.down": "mlp.Wo",
    "feed_forward_norm": "mlp_norm",
}
BASES = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}
"""Type of layer -> the key of its rope theta in older files, and the default."""


class ModernBert(Family):
    model_type = "modernbert"
    activation = ("hidden_activation", "gelu")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 50368),
        "dim": ("hidden_size", 768),
        "layers": ("num_hidden_layers", 22),
        "attention.heads": ("num_attention_heads", 12),
        "attention.bias": ("attention_bias", False),
        "attention.output_bias": ("attention_bias", False),
        "attention.dropout": ("attention_dropout", 0.0),
        "attention.output_dropout": ("attention_dropout", 0.0),
        "feed_forward.dim": ("intermediate_size", 1152),
        "feed_forward.bias": ("mlp_bias", False),
        "norm.eps": ("norm_eps", 1e-5),
        "norm.bias": ("norm_bias", False),
        "positions.max_length": ("max_position_embeddings", 8192),
        "special.padding": ("pad_token_id", 50283),
        "special.start": ("bos_token_id", 50281),
        "head.tied": ("tie_word_embeddings", True),
    }
    fixed: ClassVar = {
        "kind": "encoder",
        "norm.first": False,
        "norm.embedding": True,
        "feed_forward.gated": True,
        "positions.kind": "rotary",
        "positions.layout": "halves",
    }
    required: ClassVar = {"embedding_dropout": 0.0, "mlp_dropout": 0.0}
    also_read: ClassVar = (
        "classifier_activation",
        "classifier_bias",
        "decoder_bias",
        "eos_token_id",
        "global_attn_every_n_layers",
        "global_rope_theta",
        "layer_types",
        "local_attention",
        "local_rope_theta",
        "rope_parameters",
        "rope_scaling",
    )
    no_effect: ClassVar = (
        "classifier_dropout",
        "classifier_pooling",
        "cls_token_id",
        "deterministic_flash_attn",
        "gradient_checkpointing",
        "initializer_cutoff_factor",
        "initializer_range",
        "layer_norm_eps",
        "position_embedding_type",
        "reference_compile",
        "repad_logits_with_grad",
        "sep_token_id",
        "sparse_pred_ignore_index",
        "sparse_prediction",
    )
    classes: ClassVar = {"masked": "ModernBertForMaskedLM", "none": "ModernBertModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        windows = _read_windows(raw)
        rotary = _read_rotary(raw, FULL)
        window_rotary = _read_rotary(raw, SLIDING)
        same = window_rotary == rotary or not windows["attention.window"]
        return {
            "special.end": read_end(raw, 50282),
            "positions.rotary": rotary,
            "positions.window_rotary": None if same else window_rotary,
            **windows,
            **self._read_head(raw),
        }

    def _read_head(self, raw: JSON) -> dict[str, Any]:
        if self.class_name(raw) == self.classes["none"]:
            return {}
        activation = raw.get("classifier_activation", "gelu")
        return {
            "head.bias": raw.get("decoder_bias", True),
            "head.dense_bias": raw.get("classifier_bias", False),
            "head.activation": read_activation(activation, "classifier_activation"),
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        positions = config.positions
        more = {
            "eos_token_id": write_end(config),
            "layer_types": write_layer_types(config),
            "rope_parameters": {
                FULL: write_rotary(positions.rotary),
                SLIDING: write_rotary(positions.window_rotary or positions.rotary),
            },
        }
        if config.attention.window:
            more["local_attention"] = 2 * (config.attention.window - 1)
        if config.head.kind == "masked":
            more |= {
                "decoder_bias": config.head.bias,
                "classifier_bias": config.head.dense_bias,
                "classifier_activation": THEIR_ACTIVATIONS[config.head_activation],
            }
        return more

    def names(self, config: Config) -> Names:
        return Names(
            prefix="model.",
            without_prefix=("head.", "decoder."),
            parts={
                "tokens": "model.embeddings.tok_embeddings",
                "stack.embedding_norm": "model.embeddings.norm",
                "stack.final_norm": "model.final_norm",
                "head.transform": "head.dense",
                "head.norm": "head.norm",
                "head.output.bias": "decoder.bias",
                "head.output.table": "decoder.weight",
                **blocks("stack", "model.layers", BLOCK),
            },
            input_table="model.embeddings.tok_embeddings.weight",
            output_table="decoder.weight",
        )


def _read_windows(raw: JSON) -> dict[str, Any]:
    layers = raw.get("num_hidden_layers", 22)
    layer_types = raw.get("layer_types")
    if layer_types is None:
        every = raw.get("global_attn_every_n_layers", 3)
        layer_types = [SLIDING if layer % every else FULL for layer in range(min(layers, 1 << 16))]
    check_layer_types(layer_types, layers)
    sides = raw.get("local_attention", 128) // 2
    if sides < 0:
        raise FormatError("config.json: local_attention is {found}; expected at least 0.", found=2 * sides)
    return read_windows(layer_types, sides + 1)


def _read_rotary(raw: JSON, kind: str) -> RotaryConfig:
    """Each type of layer has rotary embeddings of its own; `rope_scaling` of older files is for both."""
    key, default = BASES[kind]
    given = (raw.get("rope_parameters") or {}).get(kind) or {}
    rope = {"rope_theta": raw.get(key, default), **given, **(raw.get("rope_scaling") or {})}
    return read_rotary({**raw, "rope_scaling": None, "rope_parameters": rope})


MODERNBERT = ModernBert()
