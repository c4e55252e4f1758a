"""Sliding windows: which keys a layer sees, in every path, with padding and with a cache."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from inlaid.errors import FormatError, SettingError
from inlaid.neural.config import Config, RotaryConfig, make_config
from inlaid.neural.families.windows import FULL, SLIDING, check_layer_types, read_windows, write_layer_types
from inlaid.neural.network import make_network


def config(kind: str, **rest: Any) -> Config:
    return make_config(
        {
            "kind": kind,
            "vocab_size": 30,
            "dim": 8,
            "layers": 3,
            "attention.heads": 2,
            "attention.window": 3,
            "attention.global_layers": [1],
            "feed_forward.dim": 12,
            "positions.kind": "rotary",
            "positions.layout": "halves",
            "positions.max_length": 20,
            "positions.window_rotary": {"base": 50.0},
            **rest,
        }
    )


def ready(settings: Config) -> Any:
    """In float64, every number random."""
    network = make_network(settings)
    for parameter in network.parameters():
        parameter.data.normal_(std=0.4)
    return network.double().eval()


def expected(kind: str, places: int, window: int) -> torch.Tensor:
    """Which keys are seen, one by one."""
    rows = [
        [
            (window == 0 or abs(query - key) < window) and (kind == "encoder" or key <= query)
            for key in range(places)
        ]
        for query in range(places)
    ]
    return torch.tensor(rows)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("window", [1, 2, 3, 6, 7, 9])
@torch.no_grad()
def test_layers_see_their_window_and_nothing_else(kind: str, window: int):
    network = ready(config(kind, **{"attention.window": window}))
    ids = torch.randint(1, 30, (2, 7))
    weights = network(ids, attention=[0, 1, 2]).attention
    for layer, places in enumerate((window, 0, window)):
        seen = weights[layer] > 0
        assert torch.equal(seen, expected(kind, 7, places).expand_as(seen))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_both_paths_agree_with_padding(kind: str, side: str):
    network = ready(config(kind))
    ids = torch.randint(1, 30, (2, 9))
    mask = torch.ones(2, 9, dtype=torch.bool)
    padding = slice(0, 5) if side == "left" else slice(4, 9)
    mask[1, padding] = False
    fast = network(ids, mask).hidden
    slow = network(ids, mask, attention=[0, 1, 2]).hidden
    assert fast.isfinite().all()
    torch.testing.assert_close(fast[mask], slow[mask], rtol=0, atol=1e-12)
    alone = network(ids[1:, mask[1]]).hidden
    torch.testing.assert_close(fast[1:, mask[1]], alone, rtol=0, atol=2e-6)  # rotations are float32


@pytest.mark.parametrize("steps", [1, 2])
@torch.no_grad()
def test_a_cache_changes_nothing(steps: int):
    network = ready(config("decoder"))
    ids = torch.randint(1, 30, (2, 8))
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[0, :3] = False
    whole = network(ids, mask).logits
    cache = network.new_cache()
    parts = [
        network(ids[:, place : place + steps], mask[:, : place + steps], cache=cache).logits
        for place in range(0, 8, steps)
    ]
    real = mask[..., None].expand_as(whole)
    torch.testing.assert_close(torch.cat(parts, 1)[real], whole[real], rtol=0, atol=1e-12)


@torch.no_grad()
def test_layers_with_a_window_have_rotations_of_their_own():
    settings = config("encoder", **{"attention.window": 20})
    network = ready(settings)
    ids = torch.randint(1, 30, (1, 7))
    same = make_network(settings.replace({"positions.window_rotary": None})).double().eval()
    same.load_state_dict(network.state_dict())
    assert (network(ids).hidden - same(ids).hidden).abs().max() > 1e-3  # pyright: ignore
    swapped = {"positions.rotary": RotaryConfig(base=50.0), "positions.window_rotary": RotaryConfig()}
    other = make_network(settings.replace({**swapped, "attention.global_layers": (0, 2)})).double().eval()
    other.load_state_dict(network.state_dict())
    torch.testing.assert_close(other(ids).hidden, network(ids).hidden)  # pyright: ignore


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attention.window": 0}, "There are global_layers, but no window"),
        ({"attention.global_layers": [3]}, "expected numbers from 0 to 2, each once, in order"),
        ({"attention.global_layers": [1, 0]}, "expected numbers from 0 to 2, each once, in order"),
        ({"attention.global_layers": [0, 1, 2]}, "none has a window. Use window=0"),
        ({"kind": "seq2seq", "decoder_layers": 1}, "Only the layers of an encoder or a decoder"),
        ({"positions.kind": "alibi"}, "window_rotary is for layers with a window and rotary positions"),
    ],
)
def test_windows_that_mean_nothing_are_named(fields: dict[str, Any], message: str):
    with pytest.raises(SettingError, match=message):
        config(**{"kind": "decoder", **fields})


def test_layer_types_there_and_back():
    kinds = [SLIDING, FULL, SLIDING]
    fields = read_windows(kinds, 3)
    assert write_layer_types(config("decoder", **fields)) == kinds
    assert read_windows([FULL, FULL], 3) == {"attention.window": 0, "attention.global_layers": ()}
    with pytest.raises(FormatError, match="layer_types has 'chunked_attention'"):
        read_windows(["chunked_attention"], 3)
    with pytest.raises(FormatError, match="a type for each of the 2 layers"):
        check_layer_types([FULL], 2)
