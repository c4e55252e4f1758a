"""Row-wise optimizers: each row moves as torch would move it alone, and rows not seen do not move at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from inlaid.errors import SettingError
from inlaid.kernels.optimizer import reference
from inlaid.neural.embedding import TokenEmbedding
from inlaid.neural.optimizer import RowAdagrad, RowAdam, RowSGD, rows_of

ROWS = 6
DIM = 3
STEPS = st.lists(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=8), min_size=1, max_size=6)
KINDS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (
        lambda rows: RowSGD(rows, learning_rate=0.3, weight_decay=0.1),
        lambda rows: torch.optim.SGD(rows, lr=0.3, weight_decay=0.1),
    ),
    (
        lambda rows: RowAdagrad(rows, learning_rate=0.3, weight_decay=0.1),
        lambda rows: torch.optim.Adagrad(rows, lr=0.3, weight_decay=0.1),
    ),
    (
        lambda rows: RowAdam(rows, learning_rate=0.3, weight_decay=0.1),
        lambda rows: torch.optim.AdamW(rows, lr=0.3, weight_decay=0.1),
    ),
]


def pull(layer: TokenEmbedding, ids: list[int], goal: torch.Tensor) -> None:
    layer.weight.grad = None
    (layer(torch.tensor(ids)) - goal[: len(ids)]).square().sum().backward()


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from(KINDS), st.booleans(), st.booleans())
def test_each_row_moves_as_torch_moves_it_alone(
    steps: list[list[int]], kind: Any, sparse: bool, by_freq: bool
):
    layer = TokenEmbedding(ROWS, DIM, sparse=sparse, scale_grad_by_freq=by_freq, dtype=torch.float64)
    alone = [torch.nn.Parameter(row.detach().clone()) for row in layer.weight]
    optimizer = kind[0](layer.parameters())
    others = [kind[1]([row]) for row in alone]
    goal = torch.randn(8, DIM, dtype=torch.float64)
    for ids in steps:
        pull(layer, ids, goal)
        assert layer.weight.grad is not None
        gradient = layer.weight.grad.to_dense()
        optimizer.step()
        for id in set(ids):
            alone[id].grad = gradient[id].clone()
            others[id].step()
    torch.testing.assert_close(
        layer.weight.detach(), torch.stack([row.detach() for row in alone]), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("rest", [{}, {"clip": 0.5, "weight_decay": 0.1}, {"beta1": 0.0, "beta2": 0.9}])
def test_adam_moves_rows_as_the_reference_says(rest: dict[str, float]):
    settings = reference.AdamSettings(learning_rate=0.1, **rest)
    table = torch.nn.Parameter(torch.randn(ROWS, DIM, dtype=torch.float64))
    expected = table.detach().numpy().copy()
    state = reference.AdamState(np.zeros((ROWS, DIM)), np.zeros((ROWS, DIM)), np.zeros(ROWS, np.int32))
    optimizer = RowAdam(
        [table],
        learning_rate=0.1,
        betas=(settings.beta1, settings.beta2),
        weight_decay=settings.weight_decay,
        clip=settings.clip,
    )
    for ids in ([1, 4, 4, 1, 4], [0], [4, 5]):
        gradients = torch.randn(len(ids), DIM, dtype=torch.float64)
        table.grad = torch.sparse_coo_tensor(
            torch.tensor([ids]), gradients, (ROWS, DIM), check_invariants=True
        )
        optimizer.step()
        reference.adam_step(expected, state, np.array(ids), gradients.numpy(), settings)
    torch.testing.assert_close(table.detach(), torch.from_numpy(expected))
    assert optimizer.state[table]["steps"].flatten().tolist() == state.steps.tolist() == [1, 1, 0, 0, 2, 1]


@pytest.mark.parametrize("kind", [RowSGD, RowAdagrad, RowAdam])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_not_seen_and_padding_keep_every_bit(kind: Any, sparse: bool):
    layer = TokenEmbedding(ROWS, DIM, padding_idx=5, sparse=sparse)
    optimizer = kind(layer.parameters(), learning_rate=0.5, weight_decay=0.5)
    before = layer.weight.detach().clone()
    for _ in range(3):
        pull(layer, [1, 3, 3, 5], torch.randn(8, DIM))
        optimizer.step()
    assert (layer.weight != before).any(1).tolist() == [False, True, False, True, False, False]


def test_clipping_equals_torch():
    layer = TokenEmbedding(ROWS, DIM, sparse=True)
    goal = torch.randn(8, DIM) * 10
    dense = torch.nn.Parameter(layer.weight.detach().clone())
    pull(layer, [0, 1, 1], goal)
    assert layer.weight.grad is not None
    dense.grad = layer.weight.grad.to_dense()
    torch.nn.utils.clip_grad_norm_([dense], 0.7)
    torch.optim.SGD([dense], lr=1.0).step()
    RowSGD(layer.parameters(), learning_rate=1.0, clip=0.7).step()
    torch.testing.assert_close(layer.weight.detach(), dense.detach())


def test_bfloat16_repeats_are_summed_in_float32():
    layer = TokenEmbedding(3, 2, dtype=torch.bfloat16, sparse=True)
    layer(torch.zeros(1000, dtype=torch.int64)).sum().backward()
    assert layer.weight.grad is not None
    found = rows_of(layer.weight.grad)
    assert found.ids.tolist() == [0]
    assert found.rows.tolist() == [[1000.0, 1000.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_state_is_saved_and_schedules_work(dtype: torch.dtype):
    goal = torch.randn(8, DIM, dtype=dtype)
    layers = [TokenEmbedding(ROWS, DIM, sparse=True, dtype=dtype) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    first = RowAdam(layers[0].parameters(), learning_rate=0.5)
    pull(layers[0], [1, 2], goal)
    first.step()
    layers[1].load_state_dict(layers[0].state_dict())
    second = RowAdam(layers[1].parameters(), learning_rate=0.5)
    second.load_state_dict(first.state_dict())
    assert [value.dtype for value in second.state[layers[1].weight].values()] == [
        torch.float32,
        torch.float32,
        torch.int32,
    ]
    for optimizer, layer in zip((first, second), layers, strict=True):
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
        pull(layer, [2, 3], goal)
        optimizer.step()
        schedule.step()
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)
    assert torch.equal(layers[0].weight, layers[1].weight)


def test_wrong_settings_are_named():
    with pytest.raises(SettingError, match="learning_rate is -1"):
        RowSGD([torch.nn.Parameter(torch.ones(2, 2))], learning_rate=-1.0)
    with pytest.raises(SettingError, match=r"tables .*shape \(2,\)"):
        RowAdagrad([torch.nn.Parameter(torch.ones(2))])
    with pytest.raises(SettingError, match="betas"):
        RowAdam([torch.nn.Parameter(torch.ones(2, 2))], betas=(0.9, 1.0))


@pytest.mark.parametrize("kind", [RowSGD, RowAdagrad, RowAdam])
def test_settings_and_states_that_do_not_fit_are_named(kind: Any):
    table = nn.Parameter(torch.randn(4, 2))
    with pytest.raises(SettingError, match="at least one"):
        kind([])
    with pytest.raises(SettingError, match="at least one"):
        kind(table)
    if kind is not RowSGD:
        with pytest.raises(SettingError, match="eps is -1.0"):
            kind([table], eps=-1.0)
    optimizer = kind([table])
    table.grad = torch.ones(4, 2)
    optimizer.step()
    if kind is not RowSGD:
        with pytest.raises(SettingError, match="state of table 0 has 4 rows of .*, and the table 5"):
            kind([nn.Parameter(torch.randn(5, 2))]).load_state_dict(optimizer.state_dict())
