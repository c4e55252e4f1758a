"""BERT: post-norm encoder, learned positions, segments, a masked head (Devlin et al. 2019)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON, Family
from inlaid.neural.families.names import Names, blocks

BLOCK = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
"""The first BERT files were converted from TensorFlow."""


class Bert(Family):
    model_type = "bert"
    tokenizer_class = "BertTokenizer"
    reads_both_ways = True
    activation = ("hidden_act", "gelu")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 30522),
        "dim": ("hidden_size", 768),
        "layers": ("num_hidden_layers", 12),
        "attention.heads": ("num_attention_heads", 12),
        "feed_forward.dim": ("intermediate_size", 3072),
        "positions.max_length": ("max_position_embeddings", 512),
        "segment_types": ("type_vocab_size", 2),
        "norm.eps": ("layer_norm_eps", 1e-12),
        "dropout": ("hidden_dropout_prob", 0.1),
        "attention.dropout": ("attention_probs_dropout_prob", 0.1),
        "special.padding": ("pad_token_id", 0),
        "head.tied": ("tie_word_embeddings", True),
    }
    fixed: ClassVar = {
        "kind": "encoder",
        "norm.placement": "post",
        "norm.final": False,
        "norm.embedding": True,
        "positions.kind": "learned",
    }
    required: ClassVar = {
        "is_decoder": False,
        "add_cross_attention": False,
        "position_embedding_type": "absolute",
    }
    no_effect: ClassVar = (
        "bos_token_id",
        "classifier_dropout",
        "eos_token_id",
        "initializer_range",
        "use_cache",
    )
    classes: ClassVar = {"masked": "BertForMaskedLM", "none": "BertModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        has_head = self.class_name(raw) != self.classes["none"]
        return {
            "head.bias": has_head,
            "pooler": not has_head,
        }

    def fits(self, config: Config) -> bool:
        """Theirs always has segments. The config does not say whether a network without a head has a pooler:
        the tensors do."""
        if "segment_types" in self.keys and not config.segment_types:
            return False
        poolers = {config.pooler, True} if config.head.kind == "none" else {config.pooler}
        return any(super(Bert, self).fits(config.replace({"pooler": pooler})) for pooler in poolers)

    def names(self, config: Config) -> Names:
        names = Names(
            prefix="bert.",
            without_prefix=("cls.",),
            parts={
                "tokens": "bert.embeddings.word_embeddings",
                "stack.positions.table": "bert.embeddings.position_embeddings.weight",
                "stack.segments": "bert.embeddings.token_type_embeddings",
                "stack.embedding_norm": "bert.embeddings.LayerNorm",
                "pooler": "bert.pooler.dense",
                "head.transform": "cls.predictions.transform.dense",
                "head.norm": "cls.predictions.transform.LayerNorm",
                "head.output.bias": "cls.predictions.bias",
                "head.output.table": "cls.predictions.decoder.weight",
                **blocks("stack", "bert.encoder.layer", BLOCK),
            },
            input_table="bert.embeddings.word_embeddings.weight",
            output_table="cls.predictions.decoder.weight",
            copies={"cls.predictions.decoder.bias": "cls.predictions.bias"},
            unused=r"bert\.embeddings\.position_ids|cls\.seq_relationship\..*|bert\.pooler\.dense\..*",
            old_names=OLD_NAMES,
        )
        return names if config.head.tied else names.with_own_bias()


BERT = Bert()
