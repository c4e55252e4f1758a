"""Llama: pre-norm decoder with RMSNorm, SwiGLU, rotary positions and grouped queries (Touvron et al.
2023)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    THEIR_ACTIVATIONS,
    Family,
    read_activation,
    read_end,
    read_padding,
    write_end,
)
from inlaid.neural.families.names import Names, blocks
from inlaid.neural.families.rope import read_rotary, write_rotary

BLOCK = {
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "attention_norm": "input_layernorm",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.down": "mlp.down_proj",
    "feed_forward_norm": "post_attention_layernorm",
}


class Llama(Family):
    model_type = "llama"
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 32000),
        "dim": ("hidden_size", 4096),
        "layers": ("num_hidden_layers", 32),
        "attention.heads": ("num_attention_heads", 32),
        "attention.kv_heads": ("num_key_value_heads", None),
        "attention.head_dim": ("head_dim", None),
        "feed_forward.dim": ("intermediate_size", 11008),
        "positions.max_length": ("max_position_embeddings", 2048),
        "norm.eps": ("rms_norm_eps", 1e-6),
        "attention.dropout": ("attention_dropout", 0.0),
        "special.start": ("bos_token_id", 1),
        "head.tied": ("tie_word_embeddings", False),
        "special.padding": ("pad_token_id", None),
        "attention.bias": ("attention_bias", False),
        "attention.output_bias": ("attention_bias", False),
        "feed_forward.bias": ("mlp_bias", False),
    }
    fixed: ClassVar = {
        "kind": "decoder",
        "norm.kind": "rms",
        "feed_forward.gated": True,
        "positions.kind": "rotary",
        "positions.layout": "halves",
    }
    required: ClassVar = {"pretraining_tp": 1}
    classes: ClassVar = {"linear": "LlamaForCausalLM", "none": "LlamaModel"}
    default_end: ClassVar[int | None] = 2

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return {
            "positions.rotary": read_rotary(raw),
            "feed_forward.activation": read_activation(raw.get("hidden_act", "silu"), "hidden_act"),
            "special.end": read_end(raw, self.default_end),
            "special.padding": read_padding(raw),
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        return {
            "hidden_act": THEIR_ACTIVATIONS[config.feed_forward.activation],
            "rope_parameters": write_rotary(config.positions.rotary),
            "eos_token_id": write_end(config),
        }

    def names(self, config: Config) -> Names:
        return Names(
            prefix="model.",
            without_prefix=("lm_head.",),
            parts={
                "tokens": "model.embed_tokens",
                "stack.final_norm": "model.norm",
                "head.table": "lm_head.weight",
                **blocks("stack", "model.layers", BLOCK),
            },
            input_table="model.embed_tokens.weight",
            output_table="lm_head.weight",
            unused=r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",
        )


LLAMA = Llama()
