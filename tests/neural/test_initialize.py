"""Fresh networks predict every word with about the same probability: the first loss is about log(words)."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

from inlaid import registry
from inlaid.neural.config import Config, make_config
from inlaid.neural.network import make_network

WORDS = 1000
GPT2 = {"kind": "decoder", "feed_forward.activation": "gelu_tanh"}
LLAMA = {
    "kind": "decoder",
    "norm.kind": "rms",
    "positions.kind": "rotary",
    "feed_forward.gated": True,
    "feed_forward.activation": "silu",
    "head.tied": False,
}
BERT = {
    "kind": "encoder",
    "norm.placement": "post",
    "norm.embedding": True,
    "norm.final": False,
    "segment_types": 2,
    "head.kind": "masked",
    "head.bias": True,
}
T5 = {
    "kind": "seq2seq",
    "decoder_layers": 2,
    "norm.kind": "rms",
    "attention.scaled": False,
    "positions.kind": "t5",
    "head.scaled": True,
}
MARIAN = {
    "kind": "seq2seq",
    "decoder_layers": 2,
    "norm.placement": "post",
    "norm.final": False,
    "embedding_scale": True,
    "positions.kind": "sinusoidal",
    "head.bias": True,
}
BILM = {"kind": "bilm", "head.tied": False}
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": GPT2,
    "gpt2 untied": GPT2 | {"head.tied": False},
    "gpt2 post-norm": GPT2 | {"norm.placement": "post", "norm.final": False},
    "llama": LLAMA,
    "llama tied": LLAMA | {"head.tied": True},
    "bert": BERT,
    "bert untied": BERT | {"head.tied": False},
    "bert pre-norm": BERT | {"norm.placement": "pre", "norm.embedding": False, "norm.final": True},
    "t5": T5,
    "t5 untied": T5 | {"head.tied": False, "head.scaled": False},
    "marian": MARIAN,
    "marian untied": MARIAN | {"head.tied": False},
    "marian pre-norm": MARIAN | {"norm.placement": "pre", "norm.final": True},
    "marian, two vocabularies": MARIAN | {"target_vocab_size": WORDS},
    "bilm": BILM,
}


def config_of(name: str, dim: int, **rest: Any) -> Config:
    shared = {"vocab_size": WORDS, "dim": dim, "layers": 2, "attention.heads": 4, "positions.max_length": 32}
    return make_config(shared | KINDS[name] | rest)


def first_loss(config: Config) -> float:
    torch.manual_seed(1)
    network: Any = make_network(config).eval()
    ids = torch.randint(1, WORDS, (4, 16))
    if config.kind == "seq2seq":
        logits = network.decode(ids, network.encode(ids)).logits
    elif config.kind == "bilm":
        logits = network(ids).forward_logits
    else:
        logits = network(ids).logits
    targets = torch.randint(0, WORDS, (4 * 16,))  # of their own: a tied network knows its input
    return float(functional.cross_entropy(logits.flatten(0, 1), targets))


@torch.no_grad()
@pytest.mark.parametrize("dim", [64, 256, 768])
@pytest.mark.parametrize("name", KINDS)
def test_the_first_loss_is_that_of_guessing(name: str, dim: int):
    assert first_loss(config_of(name, dim)) == pytest.approx(math.log(WORDS), rel=0.1)


@torch.no_grad()
@pytest.mark.parametrize("positions", [entry.name for entry in registry.entries("position")])
@pytest.mark.parametrize("name", ["gpt2", "bert", "marian"])
def test_whatever_the_positions_are(name: str, positions: str):
    config = config_of(name, 256, **{"positions.kind": positions})
    assert first_loss(config) == pytest.approx(math.log(WORDS), rel=0.1)


@torch.no_grad()
def test_what_is_added_to_the_residual_stream_shrinks_with_depth():
    torch.manual_seed(1)
    network: Any = make_network(config_of("gpt2", 64, layers=8))
    block = network.stack.blocks[0]
    assert float(block.attention.query.weight.std()) == pytest.approx(0.02, rel=0.1)
    assert float(block.attention.output.weight.std()) == pytest.approx(0.02 / 4, rel=0.1)
    assert float(block.feed_forward.down.weight.std()) == pytest.approx(0.02 / 4, rel=0.1)


def test_the_row_of_padding_is_zero():
    network: Any = make_network(config_of("marian", 64, **{"special.padding": 3}))
    assert not network.tokens.weight[3].any()
    assert network.tokens.weight[4].any()


def test_norms_start_at_one():
    """A small gain before a tied output table grows by the learning rate in each step: that is slow."""
    network: Any = make_network(config_of("marian", 256))
    gains = [each for name, each in network.named_parameters() if name.endswith("norm.weight")]
    assert gains
    assert all((gain == 1).all() for gain in gains)
