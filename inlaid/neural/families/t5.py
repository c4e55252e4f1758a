"""T5: pre-norm seq2seq with RMSNorm, bucketed relative positions, unscaled scores (Raffel et al. 2020).

Sentence encoders such as gtr and sentence-t5 are its encoder alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from inlaid.encode.subwords.loading import of_model
from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    SHARED,
    THEIR_ACTIVATIONS,
    Family,
    read_activation,
    read_end,
    write_end,
)
from inlaid.neural.families.names import Names, Place, blocks
from inlaid.neural.families.pieces import of_pieces, t5_pieces

GATED = "gated-"
ENCODER = "encoder"
"""The class of the encoder alone."""
DROPOUTS = ("attention.dropout", "feed_forward.dropout", "final_dropout")
"""One rate serves everywhere."""
PROJECTIONS = ("query", "key", "value", "output")


class T5Family(Family):
    model_type = "t5"
    tokenizer_class = "T5Tokenizer"
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 32128),
        "dim": ("d_model", 512),
        "attention.head_dim": ("d_kv", 64),
        "feed_forward.dim": ("d_ff", 2048),
        "layers": ("num_layers", 6),
        "attention.heads": ("num_heads", 8),
        "positions.buckets": ("relative_attention_num_buckets", 32),
        "positions.max_distance": ("relative_attention_max_distance", 128),
        "dropout": ("dropout_rate", 0.1),
        "norm.eps": ("layer_norm_epsilon", 1e-6),
        "head.tied": ("tie_word_embeddings", True),
        "special.padding": ("pad_token_id", 0),
    }
    fixed: ClassVar = {
        "norm.kind": "rms",
        "positions.kind": "t5",
        "attention.bias": False,
        "attention.output_bias": False,
        "feed_forward.bias": False,
        "attention.scaled": False,
    }
    required: ClassVar = {"is_decoder": False}
    also_read: ClassVar = (
        "decoder_start_token_id",
        "dense_act_fn",
        "eos_token_id",
        "feed_forward_proj",
        "is_gated_act",
        "num_decoder_layers",
        "scale_decoder_outputs",
        SHARED,
    )
    no_effect: ClassVar = (
        "bos_token_id",
        "classifier_dropout",
        "initializer_factor",
        "is_encoder_decoder",  # the class says it
        "use_cache",
    )
    aliases: ClassVar = {
        "head_dim": "d_kv",
        "hidden_size": "d_model",
        "num_attention_heads": "num_heads",
        "num_hidden_layers": "num_layers",
    }
    classes: ClassVar = {
        "linear": "T5ForConditionalGeneration",
        "none": "T5Model",
        ENCODER: "T5EncoderModel",  # no head either
    }
    default_projection: ClassVar = "relu"

    def read_more(self, raw: JSON) -> dict[str, Any]:
        padding = raw.get("pad_token_id", 0)
        more = {
            **self._feed_forward(raw),
            "special.start": raw.get("decoder_start_token_id", padding),
            "special.end": read_end(raw, 1),
            **dict.fromkeys(DROPOUTS, raw.get("dropout_rate", 0.1)),
        }
        if self.class_name(raw) == self.classes[ENCODER]:
            return {**more, "kind": "encoder", "head.kind": "none"}
        layers = self.keys["layers"]
        return {
            **more,
            "kind": "seq2seq",
            "decoder_layers": raw.get("num_decoder_layers") or raw.get(*layers),
            "head.scaled": self._scales_head(raw),
            "target_vocab_size": 0 if raw.get(SHARED, True) else raw.get(*self.keys["vocab_size"]),
        }

    def _feed_forward(self, raw: JSON) -> dict[str, Any]:
        projection = raw.get("feed_forward_proj", self.default_projection)
        key = "dense_act_fn"  # derived from feed_forward_proj, but where a file has it, it decides
        derived = projection.removeprefix(GATED)
        if projection == "gated-gelu":
            derived = "gelu_new"  # a gated GELU is the tanh approximation here
        return {
            "feed_forward.activation": read_activation(
                raw.get(key, derived), key if key in raw else "feed_forward_proj"
            ),
            "feed_forward.gated": raw.get("is_gated_act", projection.startswith(GATED)),
        }

    def _scales_head(self, raw: JSON) -> bool:
        """In older files `tie_word_embeddings` says whether to scale."""
        return raw.get("scale_decoder_outputs", raw.get("tie_word_embeddings") is not False)

    def write_more(self, config: Config) -> dict[str, Any]:
        settings = config.feed_forward
        activation = THEIR_ACTIVATIONS[settings.activation]
        projection = activation
        if settings.gated:
            projection = "gated-gelu" if settings.activation == "gelu_tanh" else GATED + activation
        more = {
            "feed_forward_proj": projection,
            "dense_act_fn": activation,
            "is_gated_act": settings.gated,
            "num_decoder_layers": config.decoder_layers or config.layers,
            "decoder_start_token_id": config.special.start,
            "is_encoder_decoder": config.kind == "seq2seq",
            "eos_token_id": write_end(config),
        }
        if config.kind == "encoder":
            return {**more, "architectures": [self.classes[ENCODER]]}
        if config.target_vocab_size:
            more[SHARED] = False  # our own key: `transformers` goes by the tensors
        return {**more, "scale_decoder_outputs": config.head.scaled}

    def read_tokenizer(self, path: Path, config: Config) -> Any:
        """spiece.model says nothing of the "</s>" after a text, nor of the sentinels after the vocabulary."""
        tokenizer = of_model(path, reads_both_ways=False)
        return of_pieces(path / "spiece.model", t5_pieces) if tokenizer is None else tokenizer

    def names(self, config: Config) -> Names:
        gated = config.feed_forward.gated
        if config.kind == "encoder":
            return Names(
                prefix="",
                parts={"tokens": "shared", **_side("stack", "encoder", gated=gated)},
                input_table="shared.weight",
                output_table="",
                copies={"encoder.embed_tokens.weight": "shared.weight"},
                unused=r"decoder\..*|lm_head\.weight",
                fallback="encoder.embed_tokens.weight",
            )
        names = Names(
            prefix="",
            parts={
                "tokens": "shared",
                "head.table": "lm_head.weight",
                **_side("encoder", "encoder", gated=gated),
                **_side("decoder", "decoder", cross=True, gated=gated),
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


def _side(ours: str, theirs: str, *, gated: bool, cross: bool = False) -> dict[str, str | Place]:
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
        **blocks(ours, f"{theirs}.block", parts),
        f"{ours}.positions.table": f"{theirs}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        f"{ours}.final_norm": f"{theirs}.final_layer_norm",
    }


T5 = T5Family()
