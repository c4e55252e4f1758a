"""mT5: T5 for 101 languages, with a gated feed-forward network and a head that is never scaled (Xue et al.
2021)."""

from __future__ import annotations

from typing import Any, ClassVar

from inlaid.neural.config import Config
from inlaid.neural.families.family import JSON
from inlaid.neural.families.t5 import ENCODER, T5Family


class MT5Family(T5Family):
    model_type = "mt5"
    keys: ClassVar = {
        **T5Family.keys,
        "vocab_size": ("vocab_size", 250112),
        "feed_forward.dim": ("d_ff", 1024),
        "layers": ("num_layers", 8),
        "attention.heads": ("num_heads", 6),
    }
    classes: ClassVar = {
        "linear": "MT5ForConditionalGeneration",
        "none": "MT5Model",
        ENCODER: "MT5EncoderModel",
    }
    default_projection = "gated-gelu"

    def _scales_head(self, raw: JSON) -> bool:
        return False

    def write_more(self, config: Config) -> dict[str, Any]:
        more = super().write_more(config)
        more.pop("scale_decoder_outputs", None)
        return more


MT5 = MT5Family()
