"""Compiles and exports layers and networks, and calls them with what their types forbid.

Prints a line for each that agrees with itself untraced, and for each error of ours."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

from inlaid.errors import InlaidError
from inlaid.neural.bag import TokenEmbeddingBag
from inlaid.neural.bilm import character_ids
from inlaid.neural.checkpoint import load_model, save_model
from inlaid.neural.config import make_config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.encoder import MaskedHead
from inlaid.neural.loss import word_loss
from inlaid.neural.model import Model
from inlaid.neural.network import make_network
from inlaid.neural.optimizer import RowAdam
from inlaid.neural.positions import Sinusoidal

IDS = torch.tensor([[1, 2, 2], [0, 6, 1]])


def compile_layer(name: str, layer: nn.Module) -> None:
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    compiled(IDS).sum().backward()
    gradient = layer.weight.grad
    layer.weight.grad = None
    layer(IDS).sum().backward()
    assert torch.equal(gradient, layer.weight.grad), name
    sys.stdout.write(f"compiled {name}\n")


def compile_network(positions: str) -> None:
    fields = {"kind": "decoder", "vocab_size": 20, "dim": 8, "attention.heads": 2, "special.padding": 0}
    network = make_network(make_config({**fields, "positions.kind": positions}))
    batch = torch.tensor([[1, 2, 3, 0]])
    compiled = torch.compile(network, backend="eager", fullgraph=True)(batch).logits
    torch.testing.assert_close(compiled, network(batch).logits)
    compiled.sum().backward()
    assert network.tokens.weight.grad[1].any()
    sys.stdout.write(f"compiled {positions}\n")


def compile_loss(name: str, head: OutputEmbedding | MaskedHead) -> None:
    """A loss in a fullgraph-compiled function, and its gradients, are those of cross_entropy."""
    hidden = torch.randn(2, 5, 8, requires_grad=True)
    targets = torch.tensor([[1, 2, -100, 4, 5], [-100, 0, 3, 6, 1]])
    gradients = []
    for loss_of in (
        torch.compile(lambda x: word_loss(x, head, targets), fullgraph=True, backend="aot_eager"),
        lambda x: functional.cross_entropy(head(x).flatten(0, 1), targets.flatten()),
    ):
        loss = loss_of(hidden)
        gradients.append([loss, *torch.autograd.grad(loss, [hidden, *head.parameters()])])
    torch.testing.assert_close(*gradients)
    sys.stdout.write(f"compiled {name}\n")


def export(name: str, **fields: Any) -> None:
    """Exported with two texts of four tokens; run with five of nine, some of them padding."""
    config = make_config({"vocab_size": 20, "dim": 8, "attention.heads": 2, "special.padding": 0, **fields})
    network = make_network(config).eval()
    texts = Dim("texts", max=64)
    lengths = [Dim(f"tokens{number}", min=2, max=64) for number in range(2 if config.decoder_layers else 1)]
    ids = torch.tensor([[4, 5, 6, 7], [4, 5, 6, 0]])
    sides = len(lengths)
    shapes = tuple({0: texts, 1: length} for length in lengths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            network, (ids,) * sides + (ids != 0,) * sides, dynamic_shapes=shapes + shapes
        )
    batch = torch.randint(1, 20, (5, 9))
    batch[2, 6:] = 0
    inputs = (batch,) * sides + (batch != 0,) * sides
    torch.testing.assert_close(program.module()(*inputs).logits, network(*inputs).logits)
    sys.stdout.write(f"exported {name}\n")


def refuse(folder: Path) -> None:
    """What a user may give by mistake ends in an error of ours."""
    network = make_network(make_config({"kind": "decoder", "vocab_size": 20, "dim": 8}))
    model = Model(network)
    save_model(model, folder / "model")
    calls: dict[str, Callable[[], Any]] = {
        "ids": lambda: network([[1, 2]]),
        "no ids": lambda: network(None),
        "mask": lambda: network(IDS, [[1, 1, 1], [1, 1, 1]]),
        "attention": lambda: network(IDS, attention=0),
        "layer": lambda: TokenEmbedding(4, 2)([1]),
        "renorm": lambda: TokenEmbedding(4, 2, max_norm=1.0).renorm_([1]),
        "offsets": lambda: TokenEmbeddingBag(4, 2)(torch.tensor([1]), [0]),
        "grow": lambda: network.tokens.grow(30.5),
        "start": lambda: network.tokens.grow(30, "median"),
        "load": lambda: load_model(None),
        "dtype": lambda: load_model(folder / "model", dtype="bfloat16"),
        "save": lambda: save_model(network, folder / "other"),
        "save path": lambda: save_model(model, 3),
        "optimizer": lambda: RowAdam(None),
        "rate": lambda: RowAdam([network.tokens.weight], learning_rate="fast"),
        "layout": lambda: Sinusoidal(4, "quarters"),
        "characters": lambda: character_ids([None]),
    }
    for name, call in calls.items():
        try:
            call()
        except InlaidError:
            sys.stdout.write(f"refused {name}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        refuse(Path(folder))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    compile_layer("plain", TokenEmbedding(7, 3))
    compile_layer("max_norm", TokenEmbedding(7, 3, max_norm=1.0, padding_idx=1))
    compile_layer("bfloat16", TokenEmbedding(7, 3, dtype=torch.bfloat16))
    compile_layer("bag", TokenEmbeddingBag(7, 3, max_norm=1.0, padding_idx=1, mode="sum"))
    table = TokenEmbedding(7, 8, padding_idx=0)
    compile_loss("loss", OutputEmbedding(7, 8, tied_to=table, bias=True))
    masked = make_config({"kind": "encoder", "vocab_size": 7, "dim": 8, "head.kind": "masked"})
    compile_loss("masked loss", MaskedHead(masked, None))
    for positions in ("learned", "rotary", "t5"):
        compile_network(positions)
    export("encoder", kind="encoder")
    for positions in ("rotary", "transformer-xl"):
        export(positions, kind="decoder", **{"positions.kind": positions})
    export("seq2seq", kind="seq2seq", decoder_layers=1, **{"positions.kind": "t5"})


if __name__ == "__main__":
    main()
