"""TokenEmbedding: torch's numbers where torch is right, the right ones where it is not."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from inlaid.errors import SettingError
from inlaid.neural.bag import TokenEmbeddingBag
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding, table_of
from inlaid.neural.lookup import check_integers
from inlaid.vectors import Vectors

ROWS = 7
DIM = 3
OPTIONS = st.fixed_dictionaries(
    {
        "padding_idx": st.sampled_from([None, 0, 3, -1]),
        "max_norm": st.sampled_from([None, 0.5, 1.5, 100.0]),
        "norm_type": st.sampled_from([1.0, 2.0, 3.0, float("inf")]),
        "scale_grad_by_freq": st.booleans(),
        "sparse": st.booleans(),
        "dtype": st.sampled_from([torch.float32, torch.float64]),
    }
)
IDS = st.lists(st.lists(st.integers(0, ROWS - 1), min_size=4, max_size=4), min_size=0, max_size=5)


def both(options: dict, seed: int) -> tuple[TokenEmbedding, nn.Embedding]:
    """Our layer and torch's with the same weights; torch's is dense, as it refuses sparse with
    frequencies."""
    torch.manual_seed(seed)
    ours = TokenEmbedding(ROWS, DIM, **options)
    torch.manual_seed(seed)
    theirs = nn.Embedding(ROWS, DIM, **{**options, "sparse": False})
    return ours, theirs


@settings(max_examples=300, deadline=None)
@given(OPTIONS, IDS, st.integers(0, 99), st.sampled_from([torch.int64, torch.int32]))
def test_equals_torch_for_all_options(options: dict, ids: list[list[int]], seed: int, kind: torch.dtype):
    ours, theirs = both(options, seed)
    before = ours.weight.detach().clone()
    assert torch.equal(ours.weight, theirs.weight)
    batch = torch.tensor(ids, dtype=kind).reshape(-1, 4)
    upstream = torch.randn(*batch.shape, DIM, dtype=options["dtype"])
    mine = ours(batch)
    other = theirs(batch)
    mine.backward(upstream)
    other.backward(upstream)
    assert ours.weight.grad is not None
    assert theirs.weight.grad is not None
    assert ours.weight.grad.is_sparse == options["sparse"]
    torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours.weight.grad.to_dense(), theirs.weight.grad, rtol=1e-4, atol=1e-6)
    assert torch.equal(ours.weight, before)


@settings(max_examples=50, deadline=None)
@given(IDS, st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_equals_torch_to_the_bit_without_max_norm(
    ids: list[list[int]], padding: int | None, by_freq: bool, sparse: bool
):
    ours, theirs = both({"padding_idx": padding, "scale_grad_by_freq": by_freq, "sparse": sparse}, 5)
    batch = torch.tensor(ids, dtype=torch.int64).reshape(-1, 4)
    assert torch.equal(ours(batch), theirs(batch))
    upstream = torch.randn(*batch.shape, DIM)
    ours(batch).backward(upstream)
    theirs(batch).backward(upstream)
    if (
        not sparse and not by_freq
    ):  # sparse sums in another order, and torch scales each summand by a rounded reciprocal
        assert torch.equal(ours.weight.grad, theirs.weight.grad)  # pyright: ignore[reportArgumentType]
    assert {**ours.state_dict()}.keys() == {**theirs.state_dict()}.keys()
    assert repr(ours).removeprefix("Token").replace(", sparse=True", "") == repr(theirs)


def test_one_hot_lookup_and_linear_are_one_thing():
    layer = TokenEmbedding(ROWS, DIM)
    ids = torch.tensor([4, 0, 4])
    linear = nn.Linear(ROWS, DIM, bias=False)
    linear.weight.data = layer.weight.data.T
    one_hot = functional.one_hot(ids, ROWS).float()
    assert torch.equal(one_hot @ layer.weight, layer(ids))
    assert torch.equal(linear(one_hot), layer(ids))


def test_published_tables_come_out_digit_for_digit():
    torch.manual_seed(123)
    six = """0.3374 -0.1778 -0.1690 0.9178 1.5810 1.3010 1.2753 -0.2010 -0.1606
             -0.4015 0.9666 -1.1481 -1.1589 0.3255 -0.6315 -2.8400 -0.7849 -1.4096"""
    assert [f"{number:.4f}" for number in TokenEmbedding(6, 3).weight.flatten().tolist()] == six.split()
    torch.manual_seed(42)
    five = TokenEmbedding(5, 3)(torch.tensor([0, 2, 4]))
    expected = "0.3367 0.1288 0.2345 2.2082 -0.6380 0.4617 1.1103 -1.6898 -0.9890"
    assert [f"{number:.4f}" for number in five.flatten().tolist()] == expected.split()


@pytest.mark.parametrize("sparse", [False, True])
def test_published_padding_step_comes_out_digit_for_digit(sparse: bool):
    torch.manual_seed(42)
    TokenEmbedding(5, 3)
    layer = TokenEmbedding(5, 3, padding_idx=0, sparse=sparse)
    before = layer.weight.detach().clone()
    functional.mse_loss(layer(torch.tensor([0, 2, 4])), torch.randn(3, 3)).backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    assert layer.weight.grad is not None
    gradient = layer.weight.grad.to_dense()
    after = layer.weight.detach()
    slopes = "-0.0395 0.1529 0.3742 -0.0863 0.0353 0.2030"
    rows = "0.6903 -0.3430 0.7576 -0.2297 -0.0534 0.5060"
    assert [f"{each:.4f}" for each in gradient[[2, 4]].flatten().tolist()] == slopes.split()
    assert [f"{each:.4f}" for each in after[[2, 4]].flatten().tolist()] == rows.split()
    assert torch.equal(after[[0, 1, 3]], before[[0, 1, 3]])
    assert not after[0].any()
    assert not gradient[0].any()


def test_sums_of_bfloat16_gradients_do_not_stall():
    for sparse in (False, True):
        layer = TokenEmbedding(3, 2, dtype=torch.bfloat16, sparse=sparse)
        layer(torch.zeros(1000, dtype=torch.int64)).sum().backward()
        assert layer.weight.grad is not None
        total = layer.weight.grad._values().float().sum(0) if sparse else layer.weight.grad[0]
        assert total.tolist() == [1000.0, 1000.0]  # torch's own sums stop at 256


def test_max_norm_can_be_used_twice_before_backward():
    layer = TokenEmbedding(ROWS, DIM, max_norm=0.1)
    total = layer.weight.sum() + layer(torch.tensor([1])).sum() + layer(torch.tensor([1, 2])).sum()
    total.backward()  # nn.Embedding has rewritten its weights by now, and autograd refuses


def test_renorm_rewrites_only_when_asked():
    layer = TokenEmbedding(ROWS, DIM, max_norm=0.5)
    other = nn.Embedding(ROWS, DIM, max_norm=0.5)
    other.weight.data.copy_(layer.weight.data)
    layer.renorm_(torch.tensor([1, 1, 4]))
    other(torch.tensor([1, 4]))
    torch.testing.assert_close(layer.weight, other.weight)
    layer.renorm_()
    assert (layer.weight.norm(dim=1) <= 0.5).all()
    with pytest.raises(SettingError, match="max_norm"):
        TokenEmbedding(2, 2).renorm_()


def test_training_with_renorm_is_torchs_training_with_max_norm():
    ours, theirs = both({"max_norm": 0.5}, 3)
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.3) for layer in (ours, theirs)]
    for step in range(5):
        ids = torch.tensor([step % ROWS, 1, 1])
        ours.renorm_(ids)
        for layer, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            layer(ids).sin().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.parametrize("options", [{}, {"max_norm": 1.0}, {"scale_grad_by_freq": True}, {"sparse": True}])
def test_shapes_without_values_pass(options: dict):
    """As nn.Embedding takes them: on a meta device, as fake tensors, under vmap and as a function."""
    ids = torch.tensor([[1, 2, 2], [0, 6, 1]])
    on_meta = TokenEmbedding(ROWS, DIM, **options, device="meta")
    assert on_meta(ids.to("meta")).shape == (2, 3, DIM)
    with FakeTensorMode():
        assert TokenEmbedding(ROWS, DIM, **options)(torch.zeros(2, 3, dtype=torch.int64)).shape == (2, 3, DIM)
    layer = TokenEmbedding(ROWS, DIM, **options)
    assert torch.equal(torch.vmap(layer)(ids), layer(ids))
    if not layer.sparse:
        weight = layer.weight.detach()
        gradient = torch.func.grad(
            lambda table: torch.func.functional_call(layer, {"weight": table}, ids).sum()
        )(weight)
        layer(ids).sum().backward()
        assert torch.equal(gradient, layer.weight.grad)  # pyright: ignore[reportArgumentType]


def test_second_derivatives_pass():
    layer = TokenEmbedding(ROWS, DIM, dtype=torch.float64)
    ids = torch.tensor([1, 4, 1])
    assert torch.autograd.gradgradcheck(
        lambda table: torch.func.functional_call(layer, {"weight": table}, ids), layer.weight
    )


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (torch.tensor([[0, 1], [2, 7]]), r"Id 7 at position \[1, 1\] is outside the table of 7 rows"),
        (torch.tensor([0, -1]), r"Id -1 at position \[1\]"),
        (torch.tensor(9), "Id 9 at position"),
        (torch.tensor([0.0]), "integers; found torch.float32"),
        (torch.tensor([True]), "integers; found torch.bool"),
    ],
)
def test_wrong_ids_are_named(ids: torch.Tensor, said: str):
    with pytest.raises(SettingError, match=said):
        TokenEmbedding(ROWS, DIM)(ids)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_embeddings": -1}, "num_embeddings is -1"),
        ({"embedding_dim": -3}, "embedding_dim is -3"),
        ({"padding_idx": ROWS}, "padding_idx is 7, outside the table of 7 rows"),
        ({"max_norm": -1.0}, "max_norm is -1.0"),
        ({"_weight": torch.zeros(2, 2)}, r"shape \(2, 2\); expected \(7, 3\)"),
        ({"max_norm": float("nan")}, "max_norm is nan"),
    ],
)
def test_settings_that_no_table_has_are_named(options: dict, said: str):
    for kind in (TokenEmbedding, TokenEmbeddingBag):
        with pytest.raises(SettingError, match=said):
            kind(**{"num_embeddings": ROWS, "embedding_dim": DIM, **options})


def test_every_integer_type_is_an_id():
    layer = TokenEmbedding(ROWS, DIM)
    for kind in (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64):
        assert torch.equal(layer(torch.tensor([3, 1]).to(kind)), layer.weight[[3, 1]])


def test_from_pretrained_copies_and_learns():
    table = torch.randn(4, 3)
    layer = TokenEmbedding.from_pretrained(table, padding_idx=1)
    assert torch.equal(layer.weight, table)  # the padding row too
    layer.weight.data.zero_()
    assert table.any(1).all()
    assert layer.weight.requires_grad
    assert not TokenEmbedding.from_pretrained(table, freeze=True).weight.requires_grad
    zeroed = TokenEmbedding.from_pretrained(table, padding_idx=-1, zero_padding=True)
    assert zeroed.weight.any(1).tolist() == [True, True, True, False]
    with pytest.raises(SettingError, match="padding_idx"):
        TokenEmbedding.from_pretrained(table, zero_padding=True)
    with pytest.raises(SettingError, match="found list"):
        table_of([[1.0]])
    with pytest.raises(SettingError, match="tensor of ids; found list"):
        check_integers([0, 1], "ids")
    with pytest.raises(SettingError, match=r"matrix of floats.*\(4,\)"):
        TokenEmbedding.from_pretrained(table[:, 0])


def test_from_pretrained_takes_our_vectors():
    vectors = Vectors.of(["cat", "猫"], [[1, 0], [0.9, 0.1]])
    layer = TokenEmbedding.from_pretrained(vectors)
    assert layer(torch.tensor([vectors.id("猫")])).tolist() == [vectors["猫"].tolist()]
    layer.weight.data.zero_()
    assert vectors["cat"].tolist() == [1, 0]


def tied(padding: int | None = None) -> nn.ModuleDict:
    layer = TokenEmbedding(ROWS, DIM, padding_idx=padding)
    return nn.ModuleDict({"in": layer, "out": OutputEmbedding(ROWS, DIM, tied_to=layer, bias=True)})


def is_tied(model: nn.ModuleDict) -> bool:
    """One table: a change of the input's shows in the logits."""
    with torch.no_grad():
        model["in"].weight.copy_(
            torch.arange(model["in"].weight.numel()).view(-1, DIM).to(model["in"].weight)
        )
        model["out"].bias.zero_()
    logits = model["out"](torch.eye(DIM).to(model["in"].weight))
    return torch.equal(logits, model["in"].weight.T) and model["out"].weight is model["in"].weight


def test_ties_survive_everything():
    model = tied()
    assert [name for name, _ in model.named_parameters()] == ["in.weight", "out.bias"]
    assert is_tied(model)
    assert is_tied(model.to(torch.float64))
    assert is_tied(model.to("meta").to_empty(device="cpu"))
    other = tied().double()
    model.load_state_dict(other.state_dict(), assign=True)
    assert is_tied(model)
    assert is_tied(copy.deepcopy(model))
    stored = io.BytesIO()
    torch.save(model.state_dict(), stored)
    stored.seek(0)
    fresh = tied()
    fresh.load_state_dict(torch.load(stored, weights_only=True))
    assert is_tied(fresh)
    fresh["in"].grow(ROWS + 2)
    fresh["out"].grow(ROWS + 2)
    assert is_tied(fresh)
    assert fresh["out"](torch.ones(1, DIM)).shape == (1, ROWS + 2)


def test_padding_row_stays_under_a_tied_output_layer():
    model = tied(padding=0)
    with torch.no_grad():
        model["in"].weight[0] = torch.tensor([1.0, 2.0, 3.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    before = model["in"].weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(
            model["out"](model["in"](torch.tensor([0, 1, 2]))), torch.tensor([1, 2, 3])
        ).backward()
        optimizer.step()
    moved = (model["in"].weight != before).any(1).tolist()
    assert moved == [False] + [True] * (ROWS - 1)


def test_tied_output_equals_linear_with_the_same_weight():
    model = tied()
    hidden = torch.randn(4, DIM)
    linear = nn.Linear(DIM, ROWS)
    linear.weight = model["in"].weight
    linear.bias = model["out"].bias
    assert torch.equal(model["out"](hidden), linear(hidden))
    alone = OutputEmbedding(ROWS, DIM)
    assert not alone.tied
    assert torch.equal(alone(hidden), hidden @ alone.weight.T)


def test_ties_that_cannot_be_are_refused():
    with pytest.raises(SettingError, match="sparse"):
        OutputEmbedding(ROWS, DIM, tied_to=TokenEmbedding(ROWS, DIM, sparse=True))
    with pytest.raises(SettingError, match="found 7 x 3"):
        OutputEmbedding(ROWS + 1, DIM, tied_to=TokenEmbedding(ROWS, DIM))


def test_growing_keeps_old_rows_to_the_bit():
    layer = TokenEmbedding(ROWS, DIM, padding_idx=2, dtype=torch.bfloat16)
    old = layer.weight.detach().clone()
    layer.grow(ROWS + 2)
    assert torch.equal(layer.weight[:ROWS], old)
    mean = old[[0, 1, 3, 4, 5, 6]].double().mean(0).bfloat16()  # without the padding row
    assert torch.equal(layer.weight[ROWS:], torch.stack([mean, mean]))
    layer.grow(ROWS + 3, torch.tensor([1.0, 2.0, 3.0]))
    assert layer(torch.tensor([ROWS + 2])).tolist() == [[1, 2, 3]]
    assert layer.weight.requires_grad
    with pytest.raises(SettingError, match="never drops"):
        layer.grow(3)
    with pytest.raises(SettingError, match=r"\(1, 3\)"):
        layer.grow(ROWS + 4, torch.ones(2, 2))


def test_a_frozen_bias_stays_frozen_when_it_grows():
    output = OutputEmbedding(ROWS, DIM, bias=True)
    assert output.bias is not None
    output.bias.requires_grad_(False)
    output.grow(ROWS + 1)
    assert not output.bias.requires_grad
    assert output.bias.shape == (ROWS + 1,)
    with pytest.raises(SettingError, match="never drops"):
        output.grow(ROWS)
    with pytest.raises(SettingError, match="num_embeddings is -1"):
        OutputEmbedding(-1, DIM)


def test_ids_on_another_device_are_refused():
    """torch reads whatever is in memory there."""
    with pytest.raises(SettingError, match="ids are on meta and the table is on cpu"):
        TokenEmbedding(ROWS, DIM)(torch.zeros(2, dtype=torch.int64, device="meta"))
