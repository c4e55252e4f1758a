"""NomicBERT: BERT with rotary positions, SwiGLU and no biases in its layers (Nussbaum et al. 2024)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.errors import FormatError
from inlaid.messages import Listed
from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON, Family
from inlaid.neural.families.names import Names, Place, blocks
from inlaid.neural.families.rope import read_rotary, write_rotary

BLOCK = {
    "attention.query": Place("attn.Wqkv", part=0),
    "attention.key": Place("attn.Wqkv", part=1),
    "attention.value": Place("attn.Wqkv", part=2),
    "attention.output": "attn.out_proj",
    "attention_norm": "norm1",
    "feed_forward.up": "mlp.fc11",
    "feed_forward.gate": "mlp.fc12",
    "feed_forward.down": "mlp.fc2",
    "feed_forward_norm": "norm2",
}
FIRST_NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
    "rotary_emb_base": "rope_theta",
}
"""Keys of the first files, which came with code of their own -> those of `transformers`."""
FIRST_ACTIVATIONS = {"swiglu": "silu", "geglu": "gelu"}
FIRST_REQUIRED = {
    "causal": False,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "parallel_block": False,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": None,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "use_rms_norm": False,
}


class NomicBert(Family):
    model_type = "nomic_bert"
    tokenizer_class = "BertTokenizer"
    reads_both_ways = True
    activation = ("hidden_act", "silu")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 30528),
        "dim": ("hidden_size", 768),
        "layers": ("num_hidden_layers", 12),
        "attention.heads": ("num_attention_heads", 12),
        "attention.head_dim": ("head_dim", None),
        "attention.dropout": ("attention_probs_dropout_prob", 0.0),
        "feed_forward.dim": ("intermediate_size", 3072),
        "positions.max_length": ("max_position_embeddings", 2048),
        "segment_types": ("type_vocab_size", 2),
        "norm.eps": ("layer_norm_eps", 1e-12),
        "dropout": ("hidden_dropout_prob", 0.0),
        "special.padding": ("pad_token_id", 0),
        "head.tied": ("tie_word_embeddings", True),
    }
    fixed: ClassVar = {
        "kind": "encoder",
        "norm.placement": "post",
        "norm.final": False,
        "norm.embedding": True,
        "attention.bias": False,
        "attention.output_bias": False,
        "feed_forward.gated": True,
        "feed_forward.bias": False,
        "positions.kind": "rotary",
        "positions.layout": "halves",
    }
    required: ClassVar = {"tie_word_embeddings": True}
    also_read: ClassVar = (
        "activation_function",
        "rope_parameters",
        "rope_scaling",
        "rope_theta",
        *FIRST_NAMES,
        *FIRST_REQUIRED,
    )
    no_effect: ClassVar = (
        "bos_token_id",
        "classifier_dropout",
        "dense_seq_output",
        "embd_pdrop",
        "eos_token_id",
        "fused_bias_fc",
        "fused_dropout_add_ln",
        "initializer_range",
        "last_layer_subset",
        "max_trained_positions",  # where the frequencies are scaled, which is refused
        "pad_vocab_size_multiple",  # vocab_size counts the padded rows
        "parallel_block_tied_norm",
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
        "use_cache",
        "use_flash_attn",
        "use_xentropy",
    )
    classes: ClassVar = {"masked": "NomicBertForMaskedLM", "none": "NomicBertModel"}

    def read(self, raw: JSON) -> Config:
        return super().read(_of_first_files(raw) if "n_embd" in raw else raw)

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return {
            "positions.rotary": read_rotary({"rope_theta": 1000.0, **raw}),
            "head.bias": self.class_name(raw) != self.classes["none"],
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        return {"rope_parameters": write_rotary(config.positions.rotary)}

    def names(self, config: Config) -> Names:
        return Names(
            prefix="nomic_bert.",
            without_prefix=("cls.",),
            parts={
                "tokens": "nomic_bert.embeddings.word_embeddings",
                "stack.segments": "nomic_bert.embeddings.token_type_embeddings",
                "stack.embedding_norm": "nomic_bert.emb_ln",
                "head.transform": "cls.predictions.transform.dense",
                "head.norm": "cls.predictions.transform.layer_norm",
                "head.output.bias": "cls.predictions.bias",
                "head.output.table": "cls.predictions.decoder.weight",
                **blocks("stack", "nomic_bert.encoder.layers", BLOCK),
            },
            input_table="nomic_bert.embeddings.word_embeddings.weight",
            output_table="cls.predictions.decoder.weight",
            copies={"cls.predictions.decoder.bias": "cls.predictions.bias"},
        )


def _of_first_files(raw: JSON) -> dict[str, Any]:
    """A config.json of the first files, in the keys of `transformers`."""
    for key, expected in FIRST_REQUIRED.items():
        if raw.get(key, expected) != expected:
            raise FormatError(
                "config.json: {key} is {found!r}; nomic_bert is only supported with {expected!r}.",
                key=key,
                found=raw[key],
                expected=expected,
            )
    activation = raw.get("activation_function", "swiglu")
    if activation not in FIRST_ACTIVATIONS:
        raise FormatError(
            "config.json: activation_function is {found!r}; of nomic_bert, {known} are supported.",
            found=activation,
            known=Listed(FIRST_ACTIVATIONS),
        )
    named = {FIRST_NAMES.get(key, key): value for key, value in raw.items()}
    return {**named, "hidden_act": FIRST_ACTIVATIONS[activation]}


NOMIC_BERT = NomicBert()
