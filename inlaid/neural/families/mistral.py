"""Mistral: Llama with a sliding window in every layer (Jiang et al. 2023)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON
from inlaid.neural.families.llama import BIAS, Llama


class Mistral(Llama):
    model_type = "mistral"
    tokenizer_class = ""
    keys: ClassVar = {
        **{name: key for name, key in Llama.keys.items() if name not in BIAS},
        "attention.kv_heads": ("num_key_value_heads", 8),
        "feed_forward.dim": ("intermediate_size", 14336),
        "positions.max_length": ("max_position_embeddings", 131072),
    }
    fixed: ClassVar = {**Llama.fixed, **dict.fromkeys(BIAS, False)}
    required: ClassVar = {}
    also_read: ClassVar = (*Llama.also_read, "sliding_window")
    no_effect: ClassVar = (*Llama.no_effect, "layer_types")
    classes: ClassVar = {"linear": "MistralForCausalLM", "none": "MistralModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        window = self.our_window(raw, raw.get("sliding_window", 4096))
        return {**super().read_more(raw), "attention.window": window}

    def write_more(self, config: Config) -> dict[str, Any]:
        return {**super().write_more(config), "sliding_window": self.their_window(config)}


MISTRAL = Mistral()
