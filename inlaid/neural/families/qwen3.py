"""Qwen3: Llama with a norm for the queries and keys of each head (Yang et al. 2025)."""

from __future__ import annotations

from typing import ClassVar

from inlaid.neural.families.llama import Llama
from inlaid.neural.families.qwen2 import Qwen2


class Qwen3(Qwen2):
    model_type = "qwen3"
    tokenizer_class_fixed = False
    keys: ClassVar = {
        **Qwen2.keys,
        "attention.head_dim": ("head_dim", 128),
        "attention.bias": ("attention_bias", False),
        "attention.output_bias": ("attention_bias", False),
    }
    fixed: ClassVar = {**Llama.fixed, "attention.qk_norm": True, "feed_forward.bias": False}
    classes: ClassVar = {"linear": "Qwen3ForCausalLM", "none": "Qwen3Model"}


QWEN3 = Qwen3()
