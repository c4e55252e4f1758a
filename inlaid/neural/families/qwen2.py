"""Qwen2: Llama with a bias in the query, key and value projections only (Yang et al. 2024)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.errors import FormatError
from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON
from inlaid.neural.families.llama import Llama

BIAS = ("attention.bias", "attention.output_bias", "feed_forward.bias")
FULL = "full_attention"


class Qwen2(Llama):
    model_type = "qwen2"
    keys: ClassVar = {
        **{name: key for name, key in Llama.keys.items() if name not in BIAS},
        "vocab_size": ("vocab_size", 151936),
        "attention.kv_heads": ("num_key_value_heads", 32),
        "feed_forward.dim": ("intermediate_size", 22016),
        "positions.max_length": ("max_position_embeddings", 32768),
        "special.start": ("bos_token_id", None),
    }
    fixed: ClassVar = {
        **Llama.fixed,
        "attention.bias": True,
        "attention.output_bias": False,
        "feed_forward.bias": False,
    }
    required: ClassVar = {"use_sliding_window": False}
    classes: ClassVar = {"linear": "Qwen2ForCausalLM", "none": "Qwen2Model"}
    default_end = None

    def read_more(self, raw: JSON) -> dict[str, Any]:
        other = sorted(set(raw.get("layer_types") or ()) - {FULL})
        if other:
            raise FormatError(
                "config.json: layer_types has {found}; only {expected} is supported.",
                found=", ".join(map(str, other)),
                expected=FULL,
            )
        return super().read_more(raw)

    def write_more(self, config: Config) -> dict[str, Any]:
        return {**super().write_more(config), "layer_types": [FULL] * config.layers}


QWEN2 = Qwen2()
