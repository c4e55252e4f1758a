"""Llama: pre-norm decoder with RMSNorm, SwiGLU, rotary positions and grouped queries (Touvron et al.
2023)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from inlaid.encode.subwords.loading import of_model
from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    THEIR_ACTIVATIONS,
    Family,
    read_end,
    write_end,
)
from inlaid.neural.families.names import Names, blocks
from inlaid.neural.families.pieces import llama_pieces, of_pieces
from inlaid.neural.families.rope import ROPE_KEYS, read_rotary, write_rotary

BLOCK = {
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    "attention_norm": "input_layernorm",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.down": "mlp.down_proj",
    "feed_forward_norm": "post_attention_layernorm",
}

BIAS = ("attention.bias", "attention.output_bias", "feed_forward.bias")


class Llama(Family):
    model_type = "llama"
    activation = ("hidden_act", "silu")
    their_activations: ClassVar = {**THEIR_ACTIVATIONS, "gelu_tanh": "gelu_pytorch_tanh"}
    """With torch's own GELU, as here: `gelu_new` is the same function and differs in the last bits."""
    tokenizer_class = "PreTrainedTokenizerFast"
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
        "norm.kind": "rms",
        "feed_forward.gated": True,
        "positions.kind": "rotary",
        "positions.layout": "halves",
    }
    required: ClassVar = {"pretraining_tp": 1}
    also_read: ClassVar = ("eos_token_id", "is_causal", *ROPE_KEYS)
    no_effect: ClassVar = ("initializer_range", "use_cache")
    classes: ClassVar = {"linear": "LlamaForCausalLM", "none": "LlamaModel"}
    default_end: ClassVar[int | None] = 2

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return {
            "kind": "decoder" if raw.get("is_causal", True) else "encoder",
            "positions.rotary": read_rotary(raw),
            "special.end": read_end(raw, self.default_end),
        }

    def our_window(self, raw: JSON, window: int | None) -> int:
        """A token sees those fewer than `sliding_window` places before it, or, where it sees later ones too,
        up to and with that many places on both sides."""
        if window is None:
            return 0
        return window if raw.get("is_causal", True) else window + 1

    def their_window(self, config: Config) -> int | None:
        window = config.attention.window
        if not window:
            return None
        return window if config.kind == "decoder" else window - 1

    def write_more(self, config: Config) -> dict[str, Any]:
        more = {
            "rope_parameters": write_rotary(config.positions.rotary),
            "eos_token_id": write_end(config),
        }
        if config.kind == "encoder":
            more["is_causal"] = False
        return more

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """A tokenizer.model does not say what is put around a text: tokenizer_config.json does."""
        tokenizer = of_model(path, reads_both_ways=False)
        return of_pieces(path / "tokenizer.model", llama_pieces) if tokenizer is None else tokenizer

    def names(self, config: Config) -> Names:
        return self.names_of(BLOCK)

    def names_of(self, block: Mapping[str, str]) -> Names:
        return Names(
            prefix="model.",
            without_prefix=("lm_head.",),
            parts={
                "tokens": "model.embed_tokens",
                "stack.final_norm": "model.norm",
                "head.table": "lm_head.weight",
                **blocks("stack", "model.layers", block),
            },
            input_table="model.embed_tokens.weight",
            output_table="lm_head.weight",
            # Llama's own code has a bias in all four projections or in none; models converted to it from
            # others often store three
            zero=r"model\.layers\.\d+\.self_attn\.o_proj\.bias",
            unused=r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",
        )


LLAMA = Llama()
