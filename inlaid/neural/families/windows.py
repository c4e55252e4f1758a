"""Windows: `layer_types` of a config.json <-> which of our layers have a sliding window; no torch needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from inlaid.errors import FormatError
from inlaid.neural.config import Config

FULL = "full_attention"
SLIDING = "sliding_attention"
MAX_LAYERS = 10_000
"""More would be a damaged config, and a list of their types large."""


def read_windows(layer_types: Sequence[str], window: int) -> dict[str, Any]:
    """Our fields for layers of these types. `window` is ours: a token sees those fewer than this many places
    away, itself included.

    >>> read_windows([FULL, SLIDING], 64)
    {'attention.window': 64, 'attention.global_layers': (0,)}
    """
    for found in layer_types:
        if found not in (FULL, SLIDING):
            raise FormatError(
                "config.json: layer_types has {found!r}; supported are {full} and {sliding}.",
                found=found,
                full=FULL,
                sliding=SLIDING,
            )
    if SLIDING not in layer_types:
        return {"attention.window": 0, "attention.global_layers": ()}
    global_layers = tuple(layer for layer, kind in enumerate(layer_types) if kind == FULL)
    return {"attention.window": window, "attention.global_layers": global_layers}


def make_layer_types(layers: int, has_window: Callable[[int], bool]) -> list[str]:
    """The types of a config.json that does not list them, by a rule over the number of the layer."""
    if layers > MAX_LAYERS:
        raise FormatError(
            "config.json: there are {layers:,} layers; at most {most:,} are supported.",
            layers=layers,
            most=MAX_LAYERS,
        )
    return [SLIDING if has_window(layer) else FULL for layer in range(layers)]


def check_layer_types(layer_types: Any, layers: int) -> None:
    """Raise FormatError unless there is one type for each layer."""
    if not isinstance(layer_types, list) or len(layer_types) != layers:
        raise FormatError(
            "config.json: layer_types is {found}; expected a list with a type for each of the {layers} "
            "layers.",
            found=layer_types,
            layers=layers,
        )


def write_layer_types(config: Config) -> list[str]:
    """Their `layer_types`."""
    return [SLIDING if config.has_window(layer) else FULL for layer in range(config.layers)]
