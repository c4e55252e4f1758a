"""Packed copies: the same numbers, never those of a matrix that has changed since, and the original
untouched."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from inlaid.neural.config import make_config
from inlaid.neural.network import Network, grow_network, make_network
from inlaid.neural.packed import MIN_SIZE, PackedLinear, pack

WORDS = MIN_SIZE // 16
IDS = torch.tensor([[3, 4, 5], [6, 7, 8]])


def network(**rest: object) -> Network:
    config = make_config(
        {"kind": "decoder", "vocab_size": WORDS, "dim": 16, "attention.heads": 2, "layers": 2, **rest}
    )  # pyright: ignore[reportArgumentType]
    made = make_network(config).eval()
    for parameter in made.parameters():
        parameter.data.normal_(std=0.3)
    return made


@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"head.tied": False, "head.bias": True},
        {
            "attention.bias": False,
            "attention.output_bias": False,
            "feed_forward.bias": False,
            "head.scaled": True,
            "feed_forward.gated": True,
        },
    ],
)
@torch.no_grad()
def test_a_packed_copy_gives_the_same_logits(rest: dict[str, object]):
    made = network(**rest)
    names = list(made.state_dict())
    packed = pack(made)
    assert any(isinstance(module, PackedLinear) for module in packed.modules())
    torch.testing.assert_close(packed(IDS).logits, made(IDS).logits, rtol=1e-4, atol=1e-5)  # pyright: ignore
    assert list(made.state_dict()) == names
    assert not any(isinstance(module, PackedLinear) for module in made.modules())
    assert pack(made) is packed


def check(made: Any) -> None:
    torch.testing.assert_close(pack(made)(IDS).logits, made(IDS).logits, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_changed_matrix_is_packed_again():
    made = network()
    pack(made)
    made.stack.blocks[1].feed_forward.up.weight.mul_(3)  # pyright: ignore
    check(made)
    made.tokens.weight.mul_(2)  # pyright: ignore
    check(made)
    grow_network(made, WORDS + 1)
    assert pack(made)(IDS).logits.shape == (2, 3, WORDS + 1)  # pyright: ignore


def test_what_gains_nothing_stays_as_it_is():
    small = make_network(make_config({"kind": "decoder", "vocab_size": 10, "dim": 4}))
    double = network().double()
    assert pack(small) is small
    assert pack(double) is double


@torch.no_grad()
def test_layers_with_hooks_keep_them():
    made = network()
    layer: Any = made.stack.blocks[0].feed_forward.up  # pyright: ignore
    layer.register_forward_hook(lambda *passed: passed[2] * 0)
    check(made)
