"""Gradient checkpointing keeps less, and changes no bit of a gradient, dropout included."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from inlaid.neural.config import make_config
from inlaid.neural.network import make_network
from inlaid.neural.stack import checkpoint_gradients

LAYERS = 4
SHARED = {
    "vocab_size": 50,
    "dim": 32,
    "layers": LAYERS,
    "attention.heads": 4,
    "positions.max_length": 16,
    "dropout": 0.1,
    "attention.dropout": 0.1,
}
KINDS: dict[str, dict[str, Any]] = {
    "decoder": {"kind": "decoder"},
    "encoder": {"kind": "encoder", "norm.placement": "post", "norm.final": False},
    "seq2seq": {"kind": "seq2seq", "decoder_layers": LAYERS},
}


class Learned(NamedTuple):
    gradients: dict[str, Tensor]
    kept: int
    """Bytes of activations that were kept for the gradients."""


def learned(kind: str, *, checkpointing: bool, precision: torch.dtype = torch.float32) -> Learned:
    torch.manual_seed(1)
    network: Any = make_network(make_config(SHARED | KINDS[kind])).train()
    if checkpointing:
        checkpoint_gradients(network)
    ids = torch.randint(1, 50, (4, 16))
    mask = torch.arange(16) < torch.tensor([[16], [12], [9], [3]])
    weights = {each.untyped_storage().data_ptr() for each in network.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    low = precision == torch.bfloat16
    keeping = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with torch.autocast("cpu", precision, enabled=low), keeping:
        output = network(ids, ids, mask) if kind == "seq2seq" else network(ids, mask)
        loss = output.hidden.float().square().mean() + output.hidden.float().sum()
    loss.backward()
    gradients = {name: each.grad for name, each in network.named_parameters() if each.grad is not None}
    return Learned(gradients, sum(kept.values()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_gradients_are_the_same_to_the_bit(kind: str, precision: torch.dtype):
    plain = learned(kind, checkpointing=False, precision=precision)
    checkpointed = learned(kind, checkpointing=True, precision=precision)
    assert plain.gradients.keys() == checkpointed.gradients.keys()
    for name, gradient in plain.gradients.items():
        assert torch.equal(gradient, checkpointed.gradients[name]), name
    assert checkpointed.kept < plain.kept / 3


def test_what_was_asked_for_is_still_there():
    torch.manual_seed(1)
    network: Any = make_network(make_config(SHARED | KINDS["decoder"])).train()
    checkpoint_gradients(network)
    output = network(torch.randint(1, 50, (2, 7)), layers=True, attention=[1])
    assert len(output.layers) == LAYERS + 1
    assert list(output.attention) == [1]
