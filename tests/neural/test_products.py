"""Fast products: torch's numbers; and no way of changing a weight leaves `generate` or `embed` behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

from inlaid.neural import products
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

    own = products.kernel()
    monkeypatch.setattr(products, "kernel", lambda: counted)
    monkeypatch.setattr(products, "has_wide_registers", lambda: True)
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
    monkeypatch.setattr(products, "PART", 1 << 18)
    torch.set_num_threads(threads)
    made = model(kind, **{"feed_forward.gated": True, "head.scaled": True})
    assert found(made) == expected(made)
    assert {columns for _, columns in kernel_calls} == {128, 512}
    assert sum(shape == (WORDS, 128) for shape in kernel_calls) == 4 * threads


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("rows", "dim"), [(1, 128), (9, 128), (64, 128), (65, 128), (200, 128), (9, 130)])
@pytest.mark.parametrize("activation", [None, functional.gelu, functional.silu])
@pytest.mark.parametrize("few_rows", [False, True])
@pytest.mark.usefixtures("kernel_calls")
def test_numbers_are_torchs(dtype: torch.dtype, rows: int, dim: int, activation: Any, few_rows: bool):
    layer = nn.Linear(dim, 300, dtype=dtype)
    x = torch.randn(rows, 2, dim, dtype=dtype)[:, 0]
    with torch.no_grad(), products.fast_products(few_rows=few_rows):
        found = products.apply(layer, x, activation)
    expected = layer(x) if activation is None else activation(layer(x))
    torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-5)


class Quantized(nn.Parameter):
    """As torchao replaces weights."""


@pytest.mark.parametrize("rows", [3, 100])
def test_a_layer_that_is_more_than_a_product_is_called(
    rows: int, kernel_calls: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(products, "_by_onednn", lambda *_: pytest.fail("not a plain product"))
    layer = nn.Linear(128, 300)
    layer.register_forward_hook(lambda *passed: passed[2] * 2)
    quantized = nn.Linear(128, 300)
    quantized.weight = Quantized(quantized.weight.data)
    x = torch.randn(rows, 128)
    with torch.no_grad(), products.fast_products(few_rows=True):
        for each in (layer, quantized):
            assert torch.equal(products.apply(each, x), each(x))
    assert kernel_calls == []


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("gated", [False, True])
@torch.no_grad()
def test_many_rows_by_onednn(activation: str, gated: bool, monkeypatch: pytest.MonkeyPatch):
    activations: list[str] = []

    def counted(x: Any, weight: Any, bias: Any, activation: str = "none") -> Any:
        activations.append(activation)
        return own(x, weight, bias, activation)

    own = products._by_onednn
    monkeypatch.setattr(products, "_by_onednn", counted)
    rest = {"feed_forward.activation": activation, "feed_forward.gated": gated, "attention.bias": not gated}
    network: Any = model("encoder", **rest).network
    ids = torch.randint(0, WORDS, (4, 40))
    expected = network(ids, logits=False).hidden
    assert activations == []
    with products.fast_products(few_rows=False):
        torch.testing.assert_close(network(ids, logits=False).hidden, expected, atol=2e-4, rtol=1e-4)
    fused = 1 if activation == "gelu" else 0
    assert sorted(activations) == ["gelu"] * fused + ["none"] * (6 + gated - fused)


def test_without_wide_registers_there_is_no_kernel(
    kernel_calls: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(products, "has_wide_registers", lambda: False)
    made = model()
    assert found(made) == expected(made)
    assert kernel_calls == []


@pytest.mark.parametrize(
    ("name", "features", "wide"), [("haswell", "", "False"), ("skylake-avx512", "+avx512f", "True")]
)
def test_kernels_compiled_for_another_cpu(name: str, features: str, wide: str):
    environment = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}
    program = "from inlaid.neural.products import has_wide_registers; print(has_wide_registers())"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == wide, done.stderr


def test_elsewhere_nothing_changes(kernel_calls: list[tuple[int, ...]]):
    with torch.no_grad():
        model().network(IDS)
    with products.fast_products(few_rows=True):  # gradients are wanted
        model().network(IDS)
    assert kernel_calls == []
