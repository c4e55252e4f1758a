"""Rope: what a config says about its rotations <-> the fields of Architecture; no torch needed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from inlaid.errors import FormatError
from inlaid.neural.architecture import Architecture

PARTLY = ("llama3", "yarn")
"""Those that slow some rotations and leave others."""
TURNS = {"llama3": ("low_freq_factor", "high_freq_factor"), "yarn": ("beta_slow", "beta_fast")}
BETAS = (1.0, 32.0)
"""What yarn's absence of them means."""


def read_rotations(config: Mapping[str, Any]) -> dict[str, Any]:
    """The rotary fields of a config; a kind that is not built raises FormatError.

    `dynamic` and `longrope` turn otherwise the longer the text is, so that keys kept from a shorter one would
    be wrong.
    """
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "linear", *PARTLY):
        raise FormatError(
            f"config.json: the rotations are of type {kind!r}; built are default, linear, {', '.join(PARTLY)}."
        )
    if rope.get("partial_rotary_factor", config.get("partial_rotary_factor")) not in (None, 1):
        raise FormatError("config.json: partial_rotary_factor is set; built is the rotation of whole heads.")
    found = {"rotary_base": float(rope.get("rope_theta", config.get("rope_theta", 10_000.0)))}
    if kind == "default":
        return found
    if rope.get("factor") is None:
        raise FormatError(f"config.json: rotations of type {kind!r} need a factor, and there is none.")
    found |= {"rotary_scaling": kind, "rotary_factor": float(rope["factor"])}
    return found | (_read_partly(kind, rope, config) if kind in PARTLY else {})


def _read_partly(kind: str, rope: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    named = "original_max_position_embeddings"
    length = config.get(named) or rope.get(named) or config.get("max_position_embeddings", 2048)
    low, high = TURNS[kind]
    if kind == "llama3":
        if low not in rope or high not in rope:
            raise FormatError(
                f"config.json: rotations of type 'llama3' need {low} and {high}; found {', '.join(rope)}."
            )
        return {"rotary_length": length, "rotary_turns": (float(rope[low]), float(rope[high]))}
    if rope.get("truncate", True) is not True:
        raise FormatError("config.json: yarn's truncate is not true; only true is built.")
    turns = (float(rope.get(low) or BETAS[0]), float(rope.get(high) or BETAS[1]))
    return {"rotary_length": length, "rotary_turns": turns, "rotary_gain": _gain(rope)}


def _gain(rope: Mapping[str, Any]) -> float:
    """As it is said, or as the paper suggests (section 3.4), or as DeepSeek splits that in two."""
    if rope.get("attention_factor") is not None:
        return float(rope["attention_factor"])
    above = rope.get("mscale")
    below = rope.get("mscale_all_dim")
    log = math.log(max(float(rope["factor"]), 1.0))
    if above and below:
        return (0.1 * above * log + 1.0) / (0.1 * below * log + 1.0)
    return 0.1 * log + 1.0


def write_rotations(shape: Architecture) -> dict[str, Any]:
    """Their `rope_parameters`."""
    kind = shape.rotary_scaling
    rope = {"rope_theta": shape.rotary_base, "rope_type": "default" if kind == "none" else kind}
    rope |= {"factor": shape.rotary_factor} if kind != "none" else {}
    if kind in PARTLY:
        rope |= {
            "original_max_position_embeddings": shape.rotary_length,
            **dict(zip(TURNS[kind], shape.rotary_turns, strict=True)),
        }
    return rope | ({"attention_factor": shape.rotary_gain} if kind == "yarn" else {})
