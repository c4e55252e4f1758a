"""Learning: small networks learn planted rules, with a row-wise optimizer on the table and torch's on the
rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from inlaid.neural.bilm import BiLM
from inlaid.neural.config import Config, make_config
from inlaid.neural.decoder import Decoder
from inlaid.neural.encoder import Encoder
from inlaid.neural.generate import GenerationSettings, generate
from inlaid.neural.model import Model
from inlaid.neural.optimizer import RowAdam
from inlaid.neural.seq2seq import Seq2Seq

WORDS = 12
MASK = 0
START = 1
END = 2


def config(kind: str, **rest: Any) -> Config:
    settings = {
        "vocab_size": WORDS,
        "dim": 32,
        "attention.heads": 4,
        "layers": 2,
        "feed_forward.dim": 64,
        "positions.max_length": 16,
        "special.start": START,
        "special.end": (END,),
        **rest,
    }
    return make_config({"kind": kind, **settings})


def learn(network: nn.Module, loss: Callable[[], Tensor], steps: int = 120) -> None:
    table = network.tokens.weight  # pyright: ignore
    rest = [parameter for parameter in network.parameters() if parameter is not table]
    optimizers = [RowAdam([table], learning_rate=3e-3, clip=1.0), torch.optim.Adam(rest, lr=3e-3)]
    for _ in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss().backward()
        for optimizer in optimizers:
            optimizer.step()  # pyright: ignore
    network.eval()


def cycles(texts: int, length: int) -> Tensor:
    """Numbers that go round: 3 4 5 ... 11 3 4, from anywhere."""
    return (torch.randint(0, 9, (texts, 1)) + torch.arange(length)) % 9 + 3


def entropy(logits: Tensor | None, targets: Tensor) -> Tensor:
    assert logits is not None
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


@pytest.mark.parametrize(
    "rest",
    [
        {},
        {
            "positions.kind": "rotary",
            "positions.layout": "halves",
            "norm.kind": "rms",
            "feed_forward.gated": True,
            "head.tied": False,
        },
    ],
)
def test_a_decoder_continues_counting(rest: dict[str, Any]):
    network = Decoder(config("decoder", **rest))

    def loss() -> Tensor:
        batch = cycles(16, 9)
        return entropy(network(batch[:, :-1]).logits, batch[:, 1:])

    learn(network, loss)
    assert generate(Model(network), torch.tensor([[9, 10]]), None, GenerationSettings(max_new_tokens=5)) == [
        [11, 3, 4, 5, 6]
    ]


def test_an_encoder_fills_the_gap():
    network = Encoder(config("encoder", **{"head.kind": "masked"}))

    def loss() -> Tensor:
        batch = cycles(32, 5)
        return entropy(network(batch.index_fill(1, torch.tensor([2]), MASK)).logits[:, 2], batch[:, 2])

    learn(network, loss)
    assert network(torch.tensor([[10, 11, MASK, 4, 5]])).logits[0, 2].argmax() == 3


def test_a_seq2seq_reverses_a_text():
    network = Seq2Seq(config("seq2seq", **{"decoder_layers": 2, "positions.kind": "sinusoidal"}))

    def loss() -> Tensor:
        source = torch.randint(3, WORDS, (32, 3))
        target = torch.cat([torch.full((32, 1), START), source.flip(1), torch.full((32, 1), END)], 1)
        return entropy(network(source, target[:, :-1]).logits, target[:, 1:])

    learn(network, loss, 300)
    generated = generate(
        Model(network),
        torch.tensor([[3, 7, 9], [11, 4, 5]]),
        None,
        GenerationSettings(method="beam", max_new_tokens=6),
    )
    assert generated == [[9, 7, 3, END], [5, 4, 11, END]]


def test_a_bilm_knows_both_neighbors():
    network = BiLM(config("bilm", **{"dim": 16, "lstm.cell_dim": 32, "head.kind": "linear"}))

    def loss() -> Tensor:
        batch = cycles(16, 6)
        read = network(batch)
        assert read.forward_logits is not None
        assert read.backward_logits is not None
        return entropy(read.forward_logits[:, :-1], batch[:, 1:]) + entropy(
            read.backward_logits[:, 1:], batch[:, :-1]
        )

    learn(network, loss)
    read = network(torch.tensor([[3, 4, 5]]))
    assert read.forward_logits is not None
    assert read.backward_logits is not None
    assert (int(read.forward_logits[0, 1].argmax()), int(read.backward_logits[0, 1].argmax())) == (5, 3)
