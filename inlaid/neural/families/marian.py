"""Marian: the original post-norm Transformer for translation (Junczys-Dowmunt et al. 2018)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from inlaid.errors import FormatError
from inlaid.formats.huggingface import Folder
from inlaid.neural.config import Config
from inlaid.neural.families.family import (
    JSON,
    SHARED,
    Family,
    read_end,
    write_end,
)
from inlaid.neural.families.names import Names, Place, blocks

PROJECTIONS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
SAME_ON_BOTH_SIDES = (
    ("encoder_ffn_dim", "decoder_ffn_dim"),
    ("encoder_attention_heads", "decoder_attention_heads"),
)


SINUSOID_ERROR = 4e-3
"""Of sinusoids stored in bfloat16."""


class Marian(Family):
    model_type = "marian"
    activation = ("activation_function", "gelu")
    keys: ClassVar = {
        "vocab_size": ("vocab_size", 58101),
        "dim": ("d_model", 1024),
        "feed_forward.dim": ("encoder_ffn_dim", 4096),
        "layers": ("encoder_layers", 12),
        "decoder_layers": ("decoder_layers", 12),
        "attention.heads": ("encoder_attention_heads", 16),
        "positions.max_length": ("max_position_embeddings", 1024),
        "dropout": ("dropout", 0.1),
        "attention.dropout": ("attention_dropout", 0.0),
        "feed_forward.dropout": ("activation_dropout", 0.0),
        "embedding_scale": ("scale_embedding", False),
        "head.tied": ("tie_word_embeddings", True),
        "special.padding": ("pad_token_id", 58100),
    }
    fixed: ClassVar = {
        "kind": "seq2seq",
        "norm.placement": "post",
        "norm.final": False,
        "positions.kind": "sinusoidal",
        "positions.layout": "halves",
    }
    required: ClassVar = {
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "static_position_embeddings": True,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "is_decoder": False,
    }
    also_read: ClassVar = (
        "activation_dropout",
        "bad_words_ids",
        "decoder_attention_heads",
        "decoder_ffn_dim",
        "decoder_start_token_id",
        "decoder_vocab_size",
        "eos_token_id",
        "forced_eos_token_id",
        SHARED,
    )
    no_effect: ClassVar = (
        "add_bias_logits",
        "bos_token_id",
        "classif_dropout",
        "classifier_dropout",
        "extra_pos_embeddings",
        "init_std",
    )
    aliases: ClassVar = {
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }
    generation: ClassVar = {"forced_eos_token_id": 0}
    classes: ClassVar = {"linear": "MarianMTModel", "none": "MarianModel"}

    def read_more(self, raw: JSON) -> dict[str, Any]:
        for encoder, decoder in SAME_ON_BOTH_SIDES:
            if raw.get(encoder) != raw.get(decoder):
                raise FormatError(
                    "config.json: {encoder} and {decoder} differ; only equal ones are supported.",
                    encoder=encoder,
                    decoder=decoder,
                )
        return {
            "target_vocab_size": _target_vocab_size(raw),
            "head.bias": self.class_name(raw) == self.classes["linear"],
            "special.start": raw.get("decoder_start_token_id", 58100),
            "special.end": read_end(raw, 0),
            "special.banned": _banned(raw),
        }

    def write_more(self, config: Config) -> dict[str, Any]:
        special = config.special
        more = {
            "decoder_ffn_dim": config.feed_forward_dim,
            "decoder_attention_heads": config.attention.heads,
            "decoder_start_token_id": special.start,
            "decoder_vocab_size": config.output_vocab_size,
            SHARED: not config.target_vocab_size,
            "is_encoder_decoder": True,
            "forced_eos_token_id": None,  # the settings for generating are in a file of their own
            "eos_token_id": write_end(config),
        }
        if special.banned:
            more["bad_words_ids"] = [[id] for id in special.banned]
        return more

    def fits(self, config: Config) -> bool:
        return config.special.start is not None and super().fits(config)  # theirs must have one

    def check_tensors(self, folder: Folder, config: Config) -> None:
        """Positions that are stored are used there; here they are computed, so they must be sinusoids."""
        for name in folder.tensors:
            if name.endswith("embed_positions.weight"):
                stored = folder.read(name, once=True).float().numpy()
                if not np.allclose(stored, _sinusoids(*stored.shape), rtol=0, atol=SINUSOID_ERROR):
                    raise FormatError(
                        "{path}: {name} holds other positions than sinusoids; only sinusoids are supported.",
                        path=folder.path,
                        name=name,
                    )

    def names(self, config: Config) -> Names:
        names = Names(
            prefix="model.",
            without_prefix=("lm_head.", "final_logits_bias"),
            parts={
                "tokens": "model.shared",
                "head.table": "lm_head.weight",
                "head.bias": Place("final_logits_bias", row=True),
                **_side("encoder"),
                **_side("decoder"),
            },
            input_table="model.shared.weight",
            output_table="lm_head.weight",
            copies={
                "model.encoder.embed_tokens.weight": "model.shared.weight",
                "model.decoder.embed_tokens.weight": "model.shared.weight",
            },
            unused=r"model\.(encoder|decoder)\.embed_positions\.weight",
        )
        return names.separated() if config.target_vocab_size else names


def _sinusoids(length: int, dim: int) -> np.ndarray:
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    return np.concatenate([np.sin(angles), np.cos(angles)[:, : dim // 2]], 1)


def _target_vocab_size(raw: JSON) -> int:
    """0 where one table serves both sides."""
    size = raw.get("vocab_size", 58101)
    target = raw.get("decoder_vocab_size") or size
    if not raw.get(SHARED, True):
        return target
    if target != size:
        raise FormatError(
            "config.json: {shared} is true, but decoder_vocab_size is {target} and vocab_size {size}. "
            "A shared table has one size.",
            shared=SHARED,
            target=target,
            size=size,
        )
    return 0


def _banned(raw: JSON) -> tuple[int, ...]:
    """Their files ban the padding token."""
    return tuple(word[0] for word in raw.get("bad_words_ids") or () if len(word) == 1)


def _side(side: str) -> dict[str, str | Place]:
    parts = {f"attention.{part}": f"self_attn.{name}" for part, name in PROJECTIONS.items()}
    parts |= {f"cross.{part}": f"encoder_attn.{name}" for part, name in PROJECTIONS.items()}
    parts |= {
        "attention_norm": "self_attn_layer_norm",
        "cross_norm": "encoder_attn_layer_norm",
        "feed_forward_norm": "final_layer_norm",
        "feed_forward.up": "fc1",
        "feed_forward.down": "fc2",
    }
    return blocks(side, f"model.{side}.layers", parts)


MARIAN = Marian()
