"""Rope: what a config.json says about rotary embeddings <-> RotaryConfig; no torch needed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from inlaid.errors import FormatError
from inlaid.messages import Listed
from inlaid.neural.config import RotaryConfig

RAMPED = ("llama3", "yarn")
"""Scaling types that divide the low frequencies and keep the high ones."""
RAMP_KEYS = {"llama3": ("low_freq_factor", "high_freq_factor"), "yarn": ("beta_slow", "beta_fast")}
YARN_RAMP = (1.0, 32.0)
"""The defaults of beta_slow and beta_fast."""
ORIGINAL_LENGTH = "original_max_position_embeddings"

ROPE_KEYS = ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor", ORIGINAL_LENGTH)
"""Keys of a config.json that say something about rotary embeddings."""


def read_rotary(raw: Mapping[str, Any]) -> RotaryConfig:
    """The rotary embeddings of a config.json; a type that is not supported raises FormatError.

    `dynamic` and `longrope` change the frequencies with the length of the text, so that cached keys of a
    shorter one would be wrong.
    """
    rope = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "linear", *RAMPED):
        raise FormatError(
            "config.json: the rotary embeddings are of type {found!r}; supported are default, linear, "
            "{ramped}.",
            found=kind,
            ramped=Listed(RAMPED),
        )
    if rope.get("partial_rotary_factor", raw.get("partial_rotary_factor")) not in (None, 1):
        raise FormatError(
            "config.json: partial_rotary_factor is set; only rotations of whole heads are supported."
        )
    base = float(rope.get("rope_theta", raw.get("rope_theta", 10_000.0)))
    if kind == "default":
        return RotaryConfig(base=base)
    if rope.get("factor") is None:
        raise FormatError(
            "config.json: rotary embeddings of type {kind!r} need a factor, and there is none.", kind=kind
        )
    factor = float(rope["factor"])
    if kind == "linear":
        return RotaryConfig(base=base, scaling="linear", factor=factor)
    length = raw.get(ORIGINAL_LENGTH) or rope.get(ORIGINAL_LENGTH) or raw.get("max_position_embeddings", 2048)
    read_ramp = _read_llama3_ramp if kind == "llama3" else _read_yarn_ramp
    return RotaryConfig(
        base=base,
        scaling=kind,
        factor=factor,
        original_length=length,
        ramp=read_ramp(rope),
        attention_factor=_attention_factor(rope) if kind == "yarn" else 1.0,
    )


def read_rotary_of(layer_type: str, raw: Mapping[str, Any], base: float) -> RotaryConfig:
    """The rotary embeddings of the layers of one type, where `rope_parameters` lists them by type."""
    rope = dict((raw.get("rope_parameters") or {}).get(layer_type) or {})
    rope.setdefault("rope_theta", base)
    return read_rotary({**raw, "rope_scaling": None, "rope_parameters": rope})


def write_rotary(rotary: RotaryConfig) -> dict[str, Any]:
    """Their `rope_parameters`."""
    scaling = rotary.scaling
    if scaling == "none":
        return {"rope_theta": rotary.base, "rope_type": "default"}
    rope: dict[str, Any] = {"rope_theta": rotary.base, "rope_type": scaling, "factor": rotary.factor}
    if scaling in RAMPED:
        rope[ORIGINAL_LENGTH] = rotary.original_length
        rope |= zip(RAMP_KEYS[scaling], rotary.ramp, strict=True)
    if scaling == "yarn":
        rope["attention_factor"] = rotary.attention_factor
    return rope


def _read_llama3_ramp(rope: Mapping[str, Any]) -> tuple[float, float]:
    low, high = RAMP_KEYS["llama3"]
    if low not in rope or high not in rope:
        raise FormatError(
            "config.json: rotary embeddings of type 'llama3' need {low} and {high}; found {found}.",
            low=low,
            high=high,
            found=Listed(rope),
        )
    return float(rope[low]), float(rope[high])


def _read_yarn_ramp(rope: Mapping[str, Any]) -> tuple[float, float]:
    if rope.get("truncate", True) is not True:
        raise FormatError("config.json: yarn's truncate is not true; only true is supported.")
    low, high = RAMP_KEYS["yarn"]
    return float(rope.get(low) or YARN_RAMP[0]), float(rope.get(high) or YARN_RAMP[1])


def _attention_factor(rope: Mapping[str, Any]) -> float:
    """As given, or as the paper recommends (section 3.4), or as DeepSeek splits that in two."""
    if rope.get("attention_factor") is not None:
        return float(rope["attention_factor"])
    scale = rope.get("mscale")
    scale_all = rope.get("mscale_all_dim")
    log = math.log(max(float(rope["factor"]), 1.0))
    if scale and scale_all:
        return (0.1 * scale * log + 1.0) / (0.1 * scale_all * log + 1.0)
    return 0.1 * log + 1.0
