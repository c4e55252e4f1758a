"""GPT-2: pre-norm decoder, learned positions; matrices are stored transposed (Radford et al. 2019)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    Family,
    read_end,
    write_end,
)
from inlaid.neural.families.names import Names, Place, blocks

QKV = "attn.c_attn"
BLOCK = {
    "attention.query": Place(QKV, transposed=True, part=0),
    "attention.key": Place(QKV, transposed=True, part=1),
    "attention.value": Place(QKV, transposed=True, part=2),
    "attention.output": Place("attn.c_proj", transposed=True),
    "attention_norm": "ln_1",
    "feed_forward.up": Place("mlp.c_fc", transposed=True),
    "feed_forward.down": Place("mlp.c_proj", transposed=True),
    "feed_forward_norm": "ln_2",
}


class Gpt2(Family):
    model_type = "gpt2"
    tokenizer_class = "GPT2Tokenizer"
    activation = ("activation_function", "gelu_new")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 50257),
        "dim": ("n_embd", 768),
        "layers": ("n_layer", 12),
        "attention.heads": ("n_head", 12),
        "feed_forward.dim": ("n_inner", None),
        "positions.max_length": ("n_positions", 1024),
        "norm.eps": ("layer_norm_epsilon", 1e-5),
        "dropout": ("resid_pdrop", 0.1),
        "attention.dropout": ("attn_pdrop", 0.1),
        "special.start": ("bos_token_id", 50256),
        "head.tied": ("tie_word_embeddings", True),
        "special.padding": ("pad_token_id", None),
    }
    fixed: ClassVar = {"kind": "decoder", "positions.kind": "learned"}
    required: ClassVar = {
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "add_cross_attention": False,
    }
    also_read: ClassVar = ("embd_pdrop", "eos_token_id")
    no_effect: ClassVar = (
        "initializer_range",
        "n_ctx",
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
    )
    aliases: ClassVar = {
        "hidden_size": "n_embd",
        "max_position_embeddings": "n_positions",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
    }
    classes: ClassVar = {"linear": "GPT2LMHeadModel", "none": "GPT2Model"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return {"special.end": read_end(raw, 50256), "embedding_dropout": _embedding_dropout(raw)}

    def write_more(self, config: Config) -> dict[str, Any]:
        return {
            "embd_pdrop": config.dropout if config.embedding_dropout is None else config.embedding_dropout,
            "eos_token_id": write_end(config),
        }

    def names(self, config: Config) -> Names:
        return Names(
            prefix="transformer.",
            without_prefix=("lm_head.",),
            parts={
                "tokens": "transformer.wte",
                "stack.positions.table": "transformer.wpe.weight",
                "stack.final_norm": "transformer.ln_f",
                "head.table": "lm_head.weight",
                **blocks("stack", "transformer.h", BLOCK),
            },
            input_table="transformer.wte.weight",
            output_table="lm_head.weight",
            unused=r"transformer\.h\.\d+\.attn\.(masked_)?bias",
        )


def _embedding_dropout(raw: JSON) -> float | None:
    """None if it is the same as that of the sublayers."""
    found = raw.get("embd_pdrop", 0.1)
    return None if found == raw.get("resid_pdrop", 0.1) else found


GPT2 = Gpt2()
