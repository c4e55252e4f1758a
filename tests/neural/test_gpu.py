"""On a GPU: kernels agree with their references, give the same bits every time, and never synchronize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

if not torch.cuda.is_available():
    pytest.skip("needs a GPU: torch.cuda.is_available() is false", allow_module_level=True)

import inlaid
from inlaid import pipeline, registry
from inlaid.collect import world
from inlaid.jobs.training import Queued
from inlaid.kernels.loss import reference as loss_reference
from inlaid.kernels.optimizer import reference
from inlaid.neural.config import make_config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.loss import cross_entropy_, word_loss
from inlaid.neural.network import make_network
from inlaid.neural.optimizer import RowAdam


def gradient(rows: int, dim: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Ids as words occur: the first thousands of times, most once. All above 0: what cancels out would show
    rounding, not rows."""
    ids = (rows ** torch.rand(count, dtype=torch.float64)).long().clamp(1, rows) - 1
    values = (0.5 + torch.rand(count, dim)).to(dtype)
    return sparse(ids, values, rows)


def sparse(ids: torch.Tensor, values: torch.Tensor, rows: int) -> torch.Tensor:
    with torch.sparse.check_sparse_tensor_invariants(enable=True):
        return torch.sparse_coo_tensor(ids[None].cuda(), values.cuda(), (rows, values.shape[1]))


@pytest.mark.parametrize(
    ("rows", "dim", "count", "dtype"),
    [
        (5, 3, 1, torch.float32),
        (37, 300, 5000, torch.float32),
        (1, 64, 4096, torch.float32),
        (9000, 600, 8191, torch.float32),
        (50, 128, 1000, torch.bfloat16),
    ],
)
@pytest.mark.parametrize("rest", [{}, {"clip": 0.5, "weight_decay": 0.1}, {"beta1": 0.0, "beta2": 0.9}])
def test_rows_move_as_the_reference_says(
    rows: int, dim: int, count: int, dtype: torch.dtype, rest: dict[str, float]
):
    settings = reference.AdamSettings(learning_rate=0.1, eps=1e-4, **rest)
    start = torch.randn(rows, dim, device="cuda").to(dtype)
    tables = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    optimizers = [
        RowAdam(
            [table],
            learning_rate=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.eps,
            weight_decay=settings.weight_decay,
            clip=settings.clip,
        )
        for table in tables
    ]
    expected = start.double().cpu()
    state = reference.AdamState(np.zeros((rows, dim)), np.zeros((rows, dim)), np.zeros(rows, np.int32))
    for _ in range(3):
        given = gradient(rows, dim, count, dtype)
        for table, optimizer in zip(tables, optimizers, strict=True):
            table.grad = given
            optimizer.step()
        ids = given._indices()[0].cpu().numpy()
        values = given._values().double().cpu().numpy()
        reference.adam_step(expected.numpy(), state, ids, values, settings)
        expected.copy_(expected.to(dtype))  # a table is rounded to its dtype at every step
    rough = dtype == torch.bfloat16
    near = {"rtol": 1e-2, "atol": 1e-2} if rough else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(tables[0].detach().double().cpu(), expected, **near)
    assert torch.equal(tables[0], tables[1])  # the same bits every time
    assert optimizers[0].state[tables[0]]["steps"].flatten().tolist() == state.steps.tolist()


def test_a_table_beyond_two_billion_numbers():
    table = torch.nn.Parameter(torch.ones(2**22 + 1, 512, device="cuda"))
    table.grad = sparse(torch.tensor([2**22, 0]), torch.ones(2, 512), 2**22 + 1)
    RowAdam([table], learning_rate=0.5).step()
    assert table[[0, 1, 2**22]].mean(1).tolist() == pytest.approx([0.5, 1.0, 0.5])


def test_an_update_can_be_captured():
    layer = TokenEmbedding(100, 16, sparse=True, device="cuda")
    optimizer = RowAdam(layer.parameters(), learning_rate=0.1)
    ids = torch.arange(50, device="cuda") % 7

    def update() -> None:
        layer.weight.grad = None
        layer(ids).backward(torch.ones(50, 16, device="cuda"))
        optimizer.step()

    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        update()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    before = layer.weight.detach().clone()
    graph.replay()
    assert (layer.weight != before).any(1).nonzero().flatten().tolist() == list(range(7))
    assert optimizer.state[layer.weight]["steps"][:8].flatten().tolist() == [2] * 7 + [0]


@pytest.mark.parametrize(
    ("words", "dtype"), [(37, torch.float32), (5000, torch.float32), (5000, torch.bfloat16)]
)
def test_loss_and_gradients_are_torchs(words: int, dtype: torch.dtype):
    head = OutputEmbedding(words, 64, device="cuda", dtype=dtype)
    hidden = torch.randn(300, 64, device="cuda", dtype=dtype, requires_grad=True)
    targets = torch.randint(0, words, (300,), device="cuda")
    targets[7] = -100
    expected = functional.cross_entropy(head(hidden).float(), targets)
    found = word_loss(hidden, head, targets)
    near = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 3e-2, "atol": 1e-4}
    torch.testing.assert_close(found, expected, **near)
    for ours, theirs in zip(
        torch.autograd.grad(found, [hidden, head.weight]),
        torch.autograd.grad(expected, [hidden, head.weight]),
        strict=True,
    ):
        assert ((ours - theirs).norm() / theirs.norm()) < (1e-5 if dtype == torch.float32 else 1e-2)
    targets[3] = words
    assert word_loss(hidden, head, targets).isnan()


@pytest.mark.parametrize("words", [1, 37, 5000])
def test_logits_become_what_the_reference_says(words: int):
    given = torch.randn(60, 5000) * 10
    targets = torch.randint(0, words, (60,))
    targets[7] = -100
    expected = given.double().numpy()
    losses = loss_reference.cross_entropy_(expected, targets.numpy(), 0.5, words)
    found = given.cuda()
    found_losses = cross_entropy_(found, targets.cuda(), torch.tensor(0.5).cuda(), words)
    torch.testing.assert_close(found_losses.double().cpu(), torch.from_numpy(losses), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.double().cpu(), torch.from_numpy(expected), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"attention.kv_heads": 1, "positions.kind": "rotary"},
        {"attention.bias": False, "attention.output_bias": False, "feed_forward.bias": False},
    ],
)
def test_one_product_for_three_projections_gives_the_same(rest: dict[str, Any]):
    config = make_config(
        {"kind": "decoder", "vocab_size": 50, "dim": 32, "attention.heads": 4, "layers": 2, **rest}
    )
    network = make_network(config).double()
    ids = torch.randint(0, 50, (2, 9))
    expected = network(ids).logits
    torch.testing.assert_close(network.cuda()(ids.cuda()).logits.cpu(), expected)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_packed_texts_are_as_alone(kind: str, dtype: torch.dtype):
    config = {"kind": kind, "vocab_size": 50, "dim": 64, "layers": 2, "attention.heads": 2}
    network: Any = make_network(make_config(config)).cuda().to(dtype).eval()
    runs = ((2, 7), (3, 5), (1, 1))
    ids = torch.randint(0, 50, (1, 30), device="cuda")
    packed = network(ids, runs=runs, logits=False).hidden[0]
    texts = torch.split(ids[0], [length for count, length in runs for _ in range(count)])
    alone = torch.cat([network(text[None], logits=False).hidden[0] for text in texts])
    tolerance = 1e-4 if dtype == torch.float32 else 0.05
    torch.testing.assert_close(packed, alone, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("name", ["causal", "masked", "translation", "contrastive"])
def test_a_training_step_waits_for_nothing(name: str):
    """Every operation that would wait for the GPU raises; the losses are those of the CPU."""
    sizes: dict[str, Any] = {"dim": 32, "layers": 2, "max_length": 64, "dropout": 0.0}
    sentences = list(world.sentences("en", words=3000))
    if name in ("translation", "contrastive"):
        sentences = [side for pair in world.pairs(words=3000) for side in (pair.zh, pair.en)]
    losses = list[list[float]]()
    for device in ("cpu", "cuda"):
        method = registry.find("method", name)(**sizes, device=device)
        encoding = method.prepared(pipeline.Encoding(tokenizer="bpe", subwords=600))
        training = method.start(inlaid.corpus(sentences, encoding=encoding))
        done = training.step(0).done
        steps = list[Any]()
        torch.cuda.set_sync_debug_mode("error" if device == "cuda" else "default")
        try:
            for _ in range(4):
                steps.append(training.step(done))
                done = steps[-1].done
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert all(isinstance(step, Queued) == (device == "cuda") for step in steps)
        losses.append([step.read().loss / step.read().pairs for step in steps])
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
