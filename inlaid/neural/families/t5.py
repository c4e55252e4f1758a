"""T5: pre-norm seq2seq with RMSNorm, bucketed relative positions, unscaled scores (Raffel et al. 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    SHARED,
    THEIR_ACTIVATIONS,
    Family,
    read_activation,
    read_end,
    read_padding,
    write_end,
)
from inlaid.neural.families.names import Names, Place, blocks

GATED = "gated-"
PROJECTIONS = ("query", "key", "value", "output")


class T5Family(Family):
    model_type = "t5"
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 32128),
        "dim": ("d_model", 512),
        "attention.head_dim": ("d_kv", 64),
        "feed_forward.dim": ("d_ff", 2048),
        "layers": ("num_layers", 6),
        "decoder_layers": ("num_decoder_layers", None),
        "attention.heads": ("num_heads", 8),
        "positions.buckets": ("relative_attention_num_buckets", 32),
        "positions.max_distance": ("relative_attention_max_distance", 128),
        "dropout": ("dropout_rate", 0.1),
        "norm.eps": ("layer_norm_epsilon", 1e-6),
        "head.tied": ("tie_word_embeddings", True),
        "special.padding": ("pad_token_id", 0),
    }
    fixed: ClassVar = {
        "kind": "seq2seq",
        "norm.kind": "rms",
        "positions.kind": "t5",
        "attention.bias": False,
        "attention.output_bias": False,
        "feed_forward.bias": False,
        "attention.scaled": False,
    }
    classes: ClassVar = {"linear": "T5ForConditionalGeneration", "none": "T5Model"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        projection = raw.get("feed_forward_proj", "relu")
        name = projection.removeprefix(GATED)
        if projection == "gated-gelu":
            name = "gelu_new"  # a gated GELU is the tanh approximation here
        padding = raw.get("pad_token_id", 0)
        return {
            "feed_forward.activation": read_activation(name, "feed_forward_proj"),
            "feed_forward.gated": projection.startswith(GATED),
            "decoder_layers": raw.get("num_decoder_layers") or raw.get("num_layers", 6),
            # in older files `tie_word_embeddings` says whether to scale
            "head.scaled": raw.get("scale_decoder_outputs", raw.get("tie_word_embeddings", True)),
            "target_vocab_size": 0 if raw.get(SHARED, True) else raw.get("vocab_size", 32128),
            "special.start": raw.get("decoder_start_token_id", padding),
            "special.end": read_end(raw, 1),
            "special.padding": read_padding(raw, default=0),
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        settings = config.feed_forward
        activation = THEIR_ACTIVATIONS[settings.activation]
        if settings.gated:
            activation = "gated-gelu" if settings.activation == "gelu_tanh" else GATED + activation
        more = {
            "feed_forward_proj": activation,
            "decoder_start_token_id": config.special.start,
            "scale_decoder_outputs": config.head.scaled,
            "is_encoder_decoder": True,
            "eos_token_id": write_end(config),
        }
        if config.target_vocab_size:
            more[SHARED] = False  # our own key: `transformers` goes by the tensors
        return more

    def names(self, config: Config) -> Names:
        gated = config.feed_forward.gated
        names = Names(
            prefix="",
            parts={
                "tokens": "shared",
                "head.table": "lm_head.weight",
                **_side("encoder", cross=False, gated=gated),
                **_side("decoder", cross=True, gated=gated),
            },
            input_table="shared.weight",
            output_table="lm_head.weight",
            copies={
                "encoder.embed_tokens.weight": "shared.weight",
                "decoder.embed_tokens.weight": "shared.weight",
            },
            unused=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
            tied_by_tensors=True,
        )
        return names.separated() if config.target_vocab_size else names


def _side(side: str, *, cross: bool, gated: bool) -> dict[str, str | Place]:
    last = 2 if cross else 1
    dense = f"layer.{last}.DenseReluDense"
    parts = {f"attention.{part}": f"layer.0.SelfAttention.{part[0]}" for part in PROJECTIONS}
    if cross:
        parts |= {f"cross.{part}": f"layer.1.EncDecAttention.{part[0]}" for part in PROJECTIONS}
    parts |= {
        "attention_norm": "layer.0.layer_norm",
        "cross_norm": "layer.1.layer_norm",
        "feed_forward_norm": f"layer.{last}.layer_norm",
        "feed_forward.down": f"{dense}.wo",
        "feed_forward.up": f"{dense}.wi_1" if gated else f"{dense}.wi",
    }
    if gated:
        parts["feed_forward.gate"] = f"{dense}.wi_0"
    return {
        **blocks(side, f"{side}.block", parts),
        f"{side}.positions.table": f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        f"{side}.final_norm": f"{side}.final_layer_norm",
    }


T5 = T5Family()
