"""ELECTRA: BERT that tells replaced tokens, with token vectors of another dimension (Clark et al. 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.bert import Bert
from inlaid.neural.families.family import JSON
from inlaid.neural.families.names import Names


class Electra(Bert):
    model_type = "electra"
    keys: ClassVar = {
        **Bert.keys,
        "dim": ("hidden_size", 256),
        "attention.heads": ("num_attention_heads", 4),
        "feed_forward.dim": ("intermediate_size", 1024),
    }
    also_read: ClassVar = (*Bert.also_read, "embedding_size")
    no_effect: ClassVar = (
        *Bert.no_effect,
        "summary_activation",
        "summary_last_dropout",
        "summary_type",
        "summary_use_proj",
    )
    classes: ClassVar = {
        "detector": "ElectraForPreTraining",
        "masked": "ElectraForMaskedLM",
        "none": "ElectraModel",
    }

    def read_more(self, raw: JSON) -> dict[str, Any]:
        generator = self.class_name(raw) == self.classes["masked"]
        dim = raw.get("hidden_size", 256)
        embedding_dim = raw.get("embedding_size", 128)
        more = {
            **super().read_more(raw),
            "embedding_dim": 0 if embedding_dim == dim else embedding_dim,
            "head.bias": generator,
            "pooler": False,
        }
        # the generator always uses GELU, whatever hidden_act says
        return {**more, "head.activation": "gelu"} if generator else more

    def write_more(self, config: Config) -> dict[str, Any]:
        return {**super().write_more(config), "embedding_size": config.input_dim}

    def names(self, config: Config) -> Names:
        names = super().names(config).renamed("bert.", "electra.")
        parts = {ours: theirs for ours, theirs in names.parts.items() if not ours.startswith("head.")}
        parts |= {"stack.project": "electra.embeddings_project"}
        if config.head.kind == "detector":
            parts |= {
                "head.transform": "discriminator_predictions.dense",
                "head.output": "discriminator_predictions.dense_prediction",
            }
        else:
            parts |= {
                "head.transform": "generator_predictions.dense",
                "head.norm": "generator_predictions.LayerNorm",
                "head.output.bias": "generator_lm_head.bias",
                "head.output.table": "generator_lm_head.weight",
            }
        return replace(
            names,
            without_prefix=("discriminator_predictions.", "generator_"),
            parts=parts,
            output_table="generator_lm_head.weight",
            copies={},
            unused=r"electra\.embeddings\.position_ids",
        )


ELECTRA = Electra()
