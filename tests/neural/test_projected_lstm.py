"""Projected LSTM: outputs and gradients are those of single steps, which torch differentiates."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from inlaid.neural.config import make_config
from inlaid.neural.projected_lstm import LSTMState, ProjectedLSTM

BATCH = 3
TOKENS = 5
DIM = 4
CELLS = 6


def lstm(backward: bool = False, **rest: Any) -> ProjectedLSTM:
    fields = {"kind": "bilm", "vocab_size": 9, "dim": DIM, "lstm.cell_dim": CELLS}
    torch.manual_seed(1)
    made = ProjectedLSTM(make_config({**fields, **rest}), backward=backward).double()
    for weight in made.parameters():
        weight.data.normal_(std=0.8)
    return made


def step_by_step(made: ProjectedLSTM, x: Tensor, mask: Tensor, state: LSTMState) -> tuple[Tensor, LSTMState]:
    """The definition (Sak et al. 2014), with a forget bias of 1."""
    output, cells = state.output, state.cells
    found: dict[int, Tensor] = {}
    places = range(TOKENS)
    for place in reversed(places) if made.backward else places:
        gates = made.input(x[:, place]) + made.hidden(output)
        enter, candidate, forget, show = gates.chunk(4, -1)
        new = (forget + 1).sigmoid() * cells + enter.sigmoid() * candidate.tanh()
        new = new.clamp(-made.limits.cells, made.limits.cells)
        shown = made.project(show.sigmoid() * new.tanh()).clamp(-made.limits.outputs, made.limits.outputs)
        real = mask[:, place, None]
        output = torch.where(real, shown, output)
        cells = torch.where(real, new, cells)
        found[place] = output
    return torch.stack([found[place] for place in places], 1), LSTMState(output, cells)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("clip", [0.0, 0.7])
def test_outputs_and_gradients_are_those_of_single_steps(backward: bool, padded: bool, clip: float):
    made = lstm(backward, **{"lstm.cell_clip": clip, "lstm.projection_clip": clip})
    x = torch.randn(BATCH, TOKENS, DIM, dtype=torch.float64, requires_grad=True)
    first = [torch.randn(BATCH, size, dtype=torch.float64, requires_grad=True) for size in (DIM, CELLS)]
    mask = torch.ones(BATCH, TOKENS, dtype=torch.bool)
    if padded:
        mask[0, 2:] = False
        mask[2, 4:] = False
    found = made(x, mask if padded else None, LSTMState(*first))
    expected = step_by_step(made, x, mask, LSTMState(*first))
    weights = [torch.randn(BATCH, TOKENS, DIM).double(), torch.randn(BATCH, CELLS).double()]
    gradients = list[Any]()
    for outputs, state in (found, expected):
        loss = (outputs * weights[0]).sum() + (state.cells * weights[1]).sum() + state.output.square().sum()
        gradients.append(torch.autograd.grad(loss, [x, *first, *made.parameters()]))
    torch.testing.assert_close(found[0], expected[0])
    torch.testing.assert_close(found[1].cells, expected[1].cells)
    torch.testing.assert_close(gradients[0], gradients[1])
    if clip:
        assert (found[0].abs() == clip).any()


def test_half_precision_products_keep_the_state_in_float32():
    made = lstm().float()
    x = torch.randn(BATCH, TOKENS, DIM)
    exact = made(x)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = made(x)[0]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=0, atol=0.1)
