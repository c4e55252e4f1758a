"""Products by oneDNN: the same numbers as nn.Linear, from the weights as they are now."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from inlaid.neural.config import make_config
from inlaid.neural.network import make_network
from inlaid.neural.products import Product, with_fast_products


class Quantized(nn.Parameter):
    """As torchao replaces weights."""


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("gated", [False, True])
@torch.no_grad()
def test_products_are_those_of_the_network(kind: str, activation: str, gated: bool):
    config = {"kind": kind, "vocab_size": 9, "dim": 16, "layers": 2, "attention.heads": 2}
    more = {"feed_forward.activation": activation, "feed_forward.gated": gated, "attention.bias": not gated}
    network: Any = make_network(make_config(config | more)).eval()
    fast = with_fast_products(network)
    assert any(isinstance(module, Product) for module in fast.modules())
    assert not any(isinstance(module, Product) for module in network.modules())
    many = torch.randint(0, 9, (4, 40))
    few = torch.randint(0, 9, (1, 3))
    for _ in range(2):
        for ids in (many, few):
            torch.testing.assert_close(fast(ids).hidden, network(ids).hidden, atol=1e-5, rtol=1e-5)
        for parameter in network.parameters():
            parameter.data.normal_()  # no copy could be out of date


def test_layers_that_are_more_than_a_product_stay():
    config = {"kind": "encoder", "vocab_size": 9, "dim": 16, "layers": 1, "attention.heads": 2}
    network: Any = make_network(make_config(config)).eval()
    network.stack.blocks[0].feed_forward.up.register_forward_hook(lambda *passed: passed[2] * 2)
    assert type(with_fast_products(network).stack.blocks[0].feed_forward.up) is nn.Linear
    down = network.stack.blocks[0].feed_forward.down
    down.weight = Quantized(down.weight.data)
    assert type(with_fast_products(network).stack.blocks[0].feed_forward.down) is nn.Linear
    double = network.double()
    assert with_fast_products(double) is double
