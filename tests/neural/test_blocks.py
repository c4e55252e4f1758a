"""Blocks: norms and feed-forward networks are their formulas, in the order of pre-norm and post-norm."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from inlaid.neural.attention import View
from inlaid.neural.blocks import ACTIVATIONS, FeedForward, TransformerBlock, make_norm
from inlaid.neural.config import make_config

CONFIG = make_config(
    {"kind": "encoder", "vocab_size": 9, "dim": 6, "attention.heads": 2, "feed_forward.dim": 8}
)
POSITIONS = torch.arange(4)[None]


def test_norms_are_their_formulas_over_features():
    x = torch.randn(2, 4, 6, dtype=torch.float64) * 3 + 1
    layer = make_norm(CONFIG).double()
    rms = make_norm(CONFIG.replace({"norm.kind": "rms", "norm.eps": 1e-6})).double()
    for each in (layer, rms):
        nn.init.normal_(each.weight)  # pyright: ignore[reportArgumentType]
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, unbiased=False)
    torch.testing.assert_close(layer(x), (x - mean) / (variance + 1e-5).sqrt() * layer.weight + layer.bias)
    torch.testing.assert_close(rms(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * rms.weight)
    other = x.clone()
    other[:, 1:] = 7  # each token over its features: the others in its sentence do not matter
    assert torch.equal(layer(other)[:, 0], layer(x)[:, 0])


def test_activations_at_one():
    one = torch.tensor(1.0, dtype=torch.float64)
    assert ACTIVATIONS["gelu"](one).item() == pytest.approx(0.5 * (1 + math.erf(1 / math.sqrt(2))), abs=1e-12)
    assert ACTIVATIONS["gelu_tanh"](one).item() == pytest.approx(
        0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * 1.044715)), abs=1e-12
    )
    assert ACTIVATIONS["silu"](one).item() == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-12)
    assert ACTIVATIONS["relu"](-one).item() == 0


def test_feed_forward_with_and_without_a_gate():
    x = torch.randn(3, 6)
    plain = FeedForward(CONFIG.replace({"feed_forward.activation": "relu"}))
    torch.testing.assert_close(
        plain(x), (x @ plain.up.weight.T + plain.up.bias).relu() @ plain.down.weight.T + plain.down.bias
    )
    swiglu = FeedForward(
        CONFIG.replace(
            {
                "feed_forward.activation": "silu",
                "feed_forward.gated": True,
                "attention.bias": False,
                "attention.output_bias": False,
                "feed_forward.bias": False,
            }
        )
    )
    assert swiglu.gate is not None
    gate = x @ swiglu.gate.weight.T
    torch.testing.assert_close(
        swiglu(x), (gate * gate.sigmoid() * (x @ swiglu.up.weight.T)) @ swiglu.down.weight.T
    )


@pytest.mark.parametrize("place", ["pre", "post"])
def test_residuals_and_norms_are_in_the_right_order(place: str):
    # pyright: ignore[reportArgumentType]
    block = TransformerBlock(CONFIG.replace({"norm.placement": place}))
    x = torch.randn(2, 4, 6)
    attend = lambda y: block.attention(y, View(POSITIONS, POSITIONS)).output  # noqa: E731
    if place == "pre":
        middle = x + attend(block.attention_norm(x))
        expected = middle + block.feed_forward(block.feed_forward_norm(middle))
    else:
        middle = block.attention_norm(x + attend(x))
        expected = block.feed_forward_norm(middle + block.feed_forward(middle))
    torch.testing.assert_close(block(x, View(POSITIONS, POSITIONS)).hidden, expected)


def test_dropout_works_in_training_only():
    block = TransformerBlock(CONFIG.replace({"dropout": 0.5, "attention.dropout": 0.5}))
    x = torch.randn(2, 4, 6)
    assert not torch.equal(
        block(x, View(POSITIONS, POSITIONS)).hidden, block(x, View(POSITIONS, POSITIONS)).hidden
    )
    block.eval()
    assert torch.equal(
        block(x, View(POSITIONS, POSITIONS)).hidden, block(x, View(POSITIONS, POSITIONS)).hidden
    )
    assert torch.allclose(
        block(x, View(POSITIONS, POSITIONS), need_weights=True).hidden,
        block(x, View(POSITIONS, POSITIONS)).hidden,
        atol=1e-6,
    )
