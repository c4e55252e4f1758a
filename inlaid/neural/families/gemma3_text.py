"""Gemma 3, text only: norms before and after each sublayer, five layers with a window for each without one
(Gemma team 2025).

The encoder EmbeddingGemma is the same network without the causal mask.
"""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.errors import FormatError
from inlaid.messages import Listed
from inlaid.neural.config import Config
from inlaid.neural.config_parts import RotaryConfig
from inlaid.neural.families.family import JSON, read_end, write_end
from inlaid.neural.families.llama import BLOCK, Llama
from inlaid.neural.families.names import Names
from inlaid.neural.families.rope import ROPE_KEYS, read_rotary_of, write_rotary
from inlaid.neural.families.windows import (
    FULL,
    SLIDING,
    check_layer_types,
    make_layer_types,
    read_windows,
    write_layer_types,
)

GLOBAL_BASE = 1_000_000.0
LOCAL_BASE = 10_000.0
ROPE = "rope_parameters"
BIDIRECTIONAL = "use_bidirectional_attention"


class Gemma3(Llama):
    model_type = "gemma3_text"
    activation = ("hidden_activation", "gelu_pytorch_tanh")
    tokenizer_class = "GemmaTokenizer"
    keys: ClassVar = {
        **{name: key for name, key in Llama.keys.items() if name != "feed_forward.bias"},
        "vocab_size": ("vocab_size", 262208),
        "dim": ("hidden_size", 2304),
        "layers": ("num_hidden_layers", 26),
        "attention.heads": ("num_attention_heads", 8),
        "attention.kv_heads": ("num_key_value_heads", 4),
        "attention.head_dim": ("head_dim", 256),
        "attention.scale_dim": ("query_pre_attn_scalar", 256),
        "feed_forward.dim": ("intermediate_size", 9216),
        "positions.max_length": ("max_position_embeddings", 131072),
        "special.start": ("bos_token_id", 2),
        "special.padding": ("pad_token_id", 0),
        "head.tied": ("tie_word_embeddings", True),
    }
    fixed: ClassVar = {
        **Llama.fixed,
        "attention.qk_norm": True,
        "embedding_scale": True,
        "feed_forward.bias": False,
        "norm.placement": "sandwich",
        "norm.zero_centered": True,
    }
    required: ClassVar = {
        "is_causal": True,  # also of the encoder: use_bidirectional_attention is the key
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
    }
    also_read: ClassVar = (
        "eos_token_id",
        "is_causal",
        "layer_types",
        "rope_local_base_freq",
        "sliding_window",
        "sliding_window_pattern",
        BIDIRECTIONAL,
        *ROPE_KEYS,
    )
    classes: ClassVar = {"linear": "Gemma3ForCausalLM", "none": "Gemma3TextModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        layers = raw.get(*self.keys["layers"])
        types = raw.get("layer_types")
        if types is None:
            types = _by_pattern(layers, raw.get("sliding_window_pattern", 6))
        check_layer_types(types, layers)
        window = raw.get("sliding_window", 4096)
        if SLIDING in types and not window:
            raise FormatError(
                "config.json: layer_types has {sliding}, and no sliding_window.", sliding=SLIDING
            )
        both_ways = bool(raw.get(BIDIRECTIONAL, False))
        if both_ways:
            window = window // 2 + 1  # their window is the whole, ours one side and the token itself
        return {
            "kind": "encoder" if both_ways else "decoder",
            "special.end": read_end(raw, 1),
            **read_windows(types, window),
            **_read_rotaries(raw, has_window=SLIDING in types),
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        window = config.attention.window
        both_ways = config.kind == "encoder"
        positions = config.positions
        more: dict[str, Any] = {
            ROPE: {
                FULL: write_rotary(positions.rotary),
                SLIDING: write_rotary(positions.window_rotary or RotaryConfig(base=LOCAL_BASE)),
            },
            "layer_types": write_layer_types(config),
            BIDIRECTIONAL: both_ways,
            "eos_token_id": write_end(config),
        }
        if window:
            more["sliding_window"] = 2 * (window - 1) if both_ways else window
        return more

    def names(self, config: Config) -> Names:
        return self.names_of(
            {
                **BLOCK,
                "attention_output_norm": "post_attention_layernorm",
                "feed_forward_norm": "pre_feedforward_layernorm",
                "feed_forward_output_norm": "post_feedforward_layernorm",
            }
        )


def _by_pattern(layers: int, pattern: int) -> list[str]:
    """Older files do not list the types: every `pattern`-th layer sees all tokens."""
    if pattern < 1:
        raise FormatError(
            "config.json: sliding_window_pattern is {found}; expected 1 or more.", found=pattern
        )
    return make_layer_types(layers, lambda layer: (layer + 1) % pattern != 0)


def _read_rotaries(raw: JSON, *, has_window: bool) -> dict[str, Any]:
    """One for the layers that see all tokens, one for those with a window. Older files have a key each."""
    rope = raw.get(ROPE) or {}
    other = sorted(set(rope) - {FULL, SLIDING})
    if other:
        raise FormatError(
            "config.json: rope_parameters has {found}; expected one entry for {full} and one for {sliding}.",
            found=Listed(other),
            full=FULL,
            sliding=SLIDING,
        )
    scaled = {**(rope.get(FULL) or {}), **(raw.get("rope_scaling") or {})}
    raw = {**raw, ROPE: {**rope, FULL: scaled}}
    return {
        "positions.rotary": read_rotary_of(FULL, raw, raw.get("rope_theta", GLOBAL_BASE)),
        "positions.window_rotary": (
            read_rotary_of(SLIDING, raw, raw.get("rope_local_base_freq", LOCAL_BASE)) if has_window else None
        ),
    }


GEMMA3 = Gemma3()
