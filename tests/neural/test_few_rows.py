"""Products of few rows: torch's numbers; and no way of changing a weight leaves `generate` behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from inlaid.neural import few_rows
from inlaid.neural.config import make_config
from inlaid.neural.generate import GenerationSettings, generate
from inlaid.neural.model import Model
from inlaid.neural.network import grow_network, make_network

IDS = torch.tensor([[3, 4, 5], [6, 7, 8]])
WORDS = 1200


def model(kind: str = "decoder", **rest: Any) -> Model:
    """Every matrix is large enough for the kernel."""
    config = make_config(
        {
            "kind": kind,
            "vocab_size": WORDS,
            "dim": 128,
            "attention.heads": 4,
            "layers": 1,
            "decoder_layers": 1 if kind == "seq2seq" else 0,
            "special.start": 2,
            "head.bias": True,
            **rest,
        }
    )
    network = make_network(config).eval()
    for parameter in network.parameters():
        parameter.data.normal_(std=0.3)
    return Model(network)


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the matrices the kernel has multiplied, also on a CPU for which it is not meant."""
    calls: list[tuple[int, ...]] = []

    def counted(rows: Any, weights: Any, *rest: Any) -> None:
        calls.append(weights.shape)
        own(rows, weights, *rest)

    own = few_rows.kernel()
    monkeypatch.setattr(few_rows, "kernel", lambda: counted)
    monkeypatch.setattr(few_rows, "has_wide_registers", lambda: True)
    return calls


def expected(made: Model, tokens: int = 4) -> list[list[int]]:
    """Greedy decoding by the network itself, without `generate`."""
    network: Any = made.network
    ids = IDS if made.config.kind == "decoder" else torch.full((2, 1), 2)
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(tokens):
            logits = network(ids).logits if start == 3 else network(IDS, ids).logits
            ids = torch.cat([ids, logits[:, -1].argmax(-1)[:, None]], 1)
    return ids[:, start:].tolist()


def found(made: Model) -> list[list[int]]:
    return generate(made, IDS, None, GenerationSettings(max_new_tokens=4))


def _fused_steps(network: Any) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.5, fused=True)
    for _ in range(3):
        optimizer.zero_grad()
        network(IDS).logits.sum().backward()
        optimizer.step()


def _biases(network: Any) -> None:
    network.head.bias.data.normal_(std=100)


def _load(network: Any) -> None:
    network.load_state_dict({name: -tensor for name, tensor in network.state_dict().items()}, assign=True)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "fused AdamW": _fused_steps,
    "data.normal_": lambda network: [each.data.normal_() for each in network.parameters()],
    "data.copy_": lambda network: [each.data.copy_(each.data.flip(0)) for each in network.parameters()],
    "data is replaced": lambda network: [setattr(each, "data", -each.data) for each in network.parameters()],
    "bias only": _biases,
    "numpy view": lambda network: network.head.table.detach().numpy().__imul__(-1),
    "load_state_dict": _load,
    "new layer": lambda network: setattr(network.stack.blocks[0].feed_forward, "down", nn.Linear(512, 128)),
    "hook": lambda network: network.stack.blocks[0].feed_forward.up.register_forward_hook(
        lambda *passed: -9 * passed[2]
    ),
    "new forward": lambda network: setattr(
        network.stack.blocks[0].feed_forward.up, "forward", lambda x: x.repeat(1, 1, 4) * 9
    ),
    "parametrization": lambda network: parametrizations.weight_norm(network.stack.blocks[0].attention.value),
    "grow": lambda network: grow_network(network, WORDS + 1),
    "float64": lambda network: network.double(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_network_that_writes_is_the_network_as_it_is_now(
    change: str, kernel_calls: list[tuple[int, ...]]
):
    made = model(**{"head.tied": False})
    assert found(made) == expected(made)
    assert (WORDS, 128) in kernel_calls
    CHANGES[change](made.network)
    if change == "parametrization":
        made.network.stack.blocks[0].attention.value.parametrizations.weight.original0.data.mul_(-3)  # pyright: ignore
    assert found(made) == expected(made)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", ["decoder", "seq2seq"])
def test_every_layer_is_multiplied_by_the_kernel(
    kind: str, threads: int, kernel_calls: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(few_rows, "PART", 1 << 15)
    torch.set_num_threads(threads)
    made = model(kind, **{"feed_forward.gated": True, "head.scaled": True})
    assert found(made) == expected(made)
    assert {columns for _, columns in kernel_calls} == {128, 512}
    assert sum(shape == (WORDS, 128) for shape in kernel_calls) == 4 * threads


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("rows", "dim"), [(1, 128), (9, 128), (200, 128), (9, 130)])
@pytest.mark.usefixtures("kernel_calls")
def test_numbers_are_torchs(dtype: torch.dtype, rows: int, dim: int):
    layer = nn.Linear(dim, 300, dtype=dtype)
    x = torch.randn(rows, 2, dim, dtype=dtype)[:, 0]
    with torch.no_grad(), few_rows.few_rows():
        torch.testing.assert_close(few_rows.apply(layer, x), layer(x), rtol=1e-5, atol=1e-5)


def test_outside_of_generate_nothing_changes(kernel_calls: list[tuple[int, ...]]):
    with torch.no_grad():
        model().network(IDS)
    with few_rows.few_rows():  # gradients are wanted
        model().network(IDS)
    assert kernel_calls == []
