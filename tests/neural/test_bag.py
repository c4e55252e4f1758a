"""TokenEmbeddingBag: torch's numbers where torch is right, the right ones where it is not."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from inlaid.errors import SettingError
from inlaid.neural.bag import TokenEmbeddingBag
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.optimizer import RowSGD
from inlaid.vectors import Vectors

ROWS = 7
DIM = 3
OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["sum", "mean", "max"]),
        "padding_idx": st.sampled_from([None, 0, 3, -1]),
        "max_norm": st.sampled_from([None, 0.5, 1.5]),
        "norm_type": st.sampled_from([1.0, 2.0]),
        "include_last_offset": st.booleans(),
        "dtype": st.sampled_from([torch.float32, torch.float64]),
    }
)
BAGS = st.lists(st.lists(st.integers(0, ROWS - 1), max_size=5), max_size=5)


def in_a_row(bags: list[list[int]], *, last: bool) -> tuple[Tensor, Tensor]:
    """All ids, and the offsets of the bags."""
    ids = torch.tensor([id for bag in bags for id in bag], dtype=torch.int64)
    bounds = torch.tensor([0, *(len(bag) for bag in bags)]).cumsum(0)
    return ids, bounds if last else bounds[:-1]


@settings(max_examples=150, deadline=None)
@given(OPTIONS, BAGS, st.booleans(), st.booleans(), st.integers(0, 99))
def test_equals_torch_for_all_options(
    options: dict, bags: list[list[int]], sparse: bool, weighted: bool, seed: int
):
    torch.manual_seed(seed)
    ours = TokenEmbeddingBag(ROWS, DIM, **options, sparse=sparse)
    torch.manual_seed(seed)
    theirs = nn.EmbeddingBag(ROWS, DIM, **options)
    before = ours.weight.detach().clone()
    ids, offsets = in_a_row(bags, last=options["include_last_offset"])
    weights: list[Tensor | None] = [None, None]
    if weighted and options["mode"] == "sum":
        drawn = torch.randn(len(ids), dtype=options["dtype"])
        weights = [drawn.clone().requires_grad_() for _ in range(2)]
    mine = ours(ids, offsets, weights[0])
    other = theirs(ids, offsets, weights[1])
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)
    assert torch.equal(ours.weight, before)
    if not bags:
        return  # torch has no gradient of nothing
    upstream = torch.randn_like(mine)
    mine.backward(upstream)
    other.backward(upstream)
    assert ours.weight.grad is not None
    assert ours.weight.grad.is_sparse == sparse
    torch.testing.assert_close(ours.weight.grad.to_dense(), theirs.weight.grad, rtol=1e-4, atol=1e-6)
    if weights[0] is not None:
        torch.testing.assert_close(weights[0].grad, weights[1].grad)  # pyright: ignore


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_a_matrix_is_one_bag_in_each_row(mode: str, last: bool):
    options = {"mode": mode, "include_last_offset": last, "padding_idx": 2}
    ours = TokenEmbeddingBag(ROWS, DIM, **options)
    theirs = nn.EmbeddingBag.from_pretrained(ours.weight.detach(), **options)
    ids = torch.randint(0, ROWS, (4, 5))
    assert torch.equal(ours(ids), theirs(ids))
    assert ours(ids[:, :0]).tolist() == [[0.0] * DIM] * 4
    rows = TokenEmbedding.from_pretrained(ours.weight.detach(), padding_idx=2)(ids)
    if mode == "sum":
        torch.testing.assert_close(ours(ids), (rows * (ids != 2)[..., None]).sum(1))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_frequencies_are_those_of_each_id(mode: str, sparse: bool):
    """nn.EmbeddingBag divides by the frequency of another id, on CPUs; nn.Embedding is right."""
    ours = TokenEmbeddingBag(ROWS, DIM, mode=mode, scale_grad_by_freq=True, sparse=sparse)
    rows = nn.Embedding(ROWS, DIM, scale_grad_by_freq=True)
    rows.weight.data.copy_(ours.weight.data)
    ids = torch.tensor([[0, 0, 1, 4], [0, 2, 1, 3]])
    reduce = {"sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "max": lambda x: x.max(1).values}[mode]
    upstream = torch.randn(2, DIM)
    ours(ids).backward(upstream)
    reduce(rows(ids)).backward(upstream)
    torch.testing.assert_close(ours.weight.grad.to_dense(), rows.weight.grad)  # pyright: ignore


def test_sums_of_bfloat16_gradients_do_not_stall():
    for mode in ("sum", "mean", "max"):
        layer = TokenEmbeddingBag(3, 2, dtype=torch.bfloat16, mode=mode)
        layer(torch.zeros(1000, 1, dtype=torch.int64)).sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad[0].tolist() == [1000.0, 1000.0]  # torch's own sums stop at 256


@pytest.mark.parametrize(
    "options", [{}, {"max_norm": 1.0, "padding_idx": 1}, {"mode": "max", "sparse": True}]
)
def test_shapes_without_values_pass(options: dict):
    layer = TokenEmbeddingBag(ROWS, DIM, **options, device="meta")
    ids = torch.zeros(6, dtype=torch.int64, device="meta")
    assert layer(ids, torch.zeros(2, dtype=torch.int64, device="meta")).shape == (2, DIM)
    with FakeTensorMode():
        layer = TokenEmbeddingBag(ROWS, DIM, **options)
        assert layer(torch.zeros(2, 3, dtype=torch.int64)).shape == (2, DIM)


IDS = torch.tensor([0, 1, 2, 3])


@pytest.mark.parametrize(
    ("options", "inputs", "said"),
    [
        ({}, (torch.tensor([[0, 1], [2, 7]]),), r"Id 7 at position \[1, 1\] is outside the table of 7 rows"),
        ({}, (IDS,), r"found shape \(4,\) without offsets"),
        ({}, (IDS[None, None],), r"found shape \(1, 1, 4\) without offsets"),
        ({}, (IDS[None], torch.tensor([0])), "leave offsets out"),
        ({}, (IDS, torch.tensor([1, 2])), "first offset is 1"),
        ({}, (IDS, torch.tensor([0, 3, 2])), "Bag 1 begins at 3 and ends at 2"),
        ({}, (IDS, torch.tensor([0, 5])), "last offset is 5, and there are 4 ids"),
        ({}, (IDS, torch.tensor([0.0])), "offsets that are integers; found torch.float32"),
        ({}, (IDS, torch.tensor([[0]])), r"found shape \(1, 1\)"),
        ({"include_last_offset": True}, (IDS, torch.tensor([0, 3])), "last offset is 3, and there are 4"),
        ({}, (IDS[None], None, torch.ones(1, 4)), "need mode='sum'; this layer has mode='mean'"),
        ({"mode": "sum"}, (IDS[None], None, torch.ones(4)), r"shape \(4,\).*\(1, 4\)"),
        ({"mode": "sum"}, (IDS[None], None, torch.ones(1, 4).double()), "torch.float64; expected the dtype"),
    ],
)
def test_what_does_not_fit_is_named(options: dict, inputs: tuple, said: str):
    with pytest.raises(SettingError, match=said):
        TokenEmbeddingBag(ROWS, DIM, **options)(*inputs)


def test_unknown_modes_are_named():
    with pytest.raises(SettingError, match="mode is 'median'; expected sum, mean, max"):
        TokenEmbeddingBag(ROWS, DIM, mode="median")


def test_vectors_optimizers_and_growing():
    vectors = Vectors.of(["cat", "dog", "猫"], [[1, 0], [0, 1], [0.9, 0.1]])
    layer = TokenEmbeddingBag.from_pretrained(vectors, mode="sum", sparse=True)
    ids = torch.tensor([[0, 2]])
    assert layer(ids)[0].tolist() == pytest.approx((vectors["cat"] + vectors["猫"]).tolist())
    layer(ids).sum().backward()
    RowSGD([layer.weight], learning_rate=1.0).step()
    assert layer.weight[1].tolist() == [0, 1]
    assert layer.weight[0].tolist() == [0, -1]
    layer.grow(5)
    assert layer(torch.tensor([[4]])).shape == (1, 2)
    assert not TokenEmbeddingBag.from_pretrained(vectors, freeze=True).weight.requires_grad
