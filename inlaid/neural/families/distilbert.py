"""DistilBERT: BERT with half the layers, without segments and pooler (Sanh et al. 2019)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON, Family
from inlaid.neural.families.names import Names, blocks

BLOCK = {
    "attention.query": "attention.q_lin",
    "attention.key": "attention.k_lin",
    "attention.value": "attention.v_lin",
    "attention.output": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "feed_forward.up": "ffn.lin1",
    "feed_forward.down": "ffn.lin2",
    "feed_forward_norm": "output_layer_norm",
}
OTHER_NAMES = {"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"}
"""Keys that `transformers` reads as well -> those it writes."""


class Distilbert(Family):
    model_type = "distilbert"
    tokenizer_class = "BertTokenizer"
    reads_both_ways = True
    activation = ("activation", "gelu")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 30522),
        "dim": ("dim", 768),
        "layers": ("n_layers", 6),
        "attention.heads": ("n_heads", 12),
        "feed_forward.dim": ("hidden_dim", 3072),
        "positions.max_length": ("max_position_embeddings", 512),
        "dropout": ("dropout", 0.1),
        "attention.dropout": ("attention_dropout", 0.1),
        "special.padding": ("pad_token_id", 0),
        "head.tied": ("tie_word_embeddings", True),
    }
    fixed: ClassVar = {
        "kind": "encoder",
        "norm.placement": "post",
        "norm.final": False,
        "norm.embedding": True,
        "norm.eps": 1e-12,
        "positions.kind": "learned",
        "attention.output_dropout": 0.0,
    }
    also_read: ClassVar = (*OTHER_NAMES,)
    no_effect: ClassVar = (
        "bos_token_id",
        "eos_token_id",
        "initializer_range",
        "qa_dropout",
        "seq_classif_dropout",
        "sinusoidal_pos_embds",  # how the table is initialized; it is stored either way
    )
    classes: ClassVar = {"masked": "DistilBertForMaskedLM", "none": "DistilBertModel"}

    def read(self, raw: JSON) -> Config:
        named = {OTHER_NAMES.get(key, key): value for key, value in raw.items()}
        return super().read(named)

    def read_more(self, raw: JSON) -> dict[str, Any]:
        return {"head.bias": self.class_name(raw) != self.classes["none"]}

    def names(self, config: Config) -> Names:
        return Names(
            prefix="distilbert.",
            without_prefix=("vocab_",),
            parts={
                "tokens": "distilbert.embeddings.word_embeddings",
                "stack.positions.table": "distilbert.embeddings.position_embeddings.weight",
                "stack.embedding_norm": "distilbert.embeddings.LayerNorm",
                "head.transform": "vocab_transform",
                "head.norm": "vocab_layer_norm",
                "head.output.bias": "vocab_projector.bias",
                "head.output.table": "vocab_projector.weight",
                **blocks("stack", "distilbert.transformer.layer", BLOCK),
            },
            input_table="distilbert.embeddings.word_embeddings.weight",
            output_table="vocab_projector.weight",
            unused=r"distilbert\.embeddings\.position_ids",
        )


DISTILBERT = Distilbert()
