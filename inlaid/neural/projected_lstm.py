"""Projected LSTM: an LSTM whose outputs are projected to a smaller dimension and clipped (Sak et al. 2014).

A step is two matrix products and a few operations on its gates. What does not depend on the step before is
computed for all steps at once: the gates' share of the input, the derivatives of the gates, and the gradients
of the weights. So the backward pass is written out here instead of recorded step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from inlaid.neural.config import Config

FORGET_BIAS = 1.0
"""Added to the forget gate, and not in the weights (Jozefowicz et al. 2015)."""


@dataclass
class LSTMState:
    """The state of one LSTM: its last output (batch, dim) and its cells (batch, cell_dim)."""

    output: Tensor
    cells: Tensor


class Limits(NamedTuple):
    """Cells and outputs are clipped to plus and minus these."""

    cells: float
    outputs: float


class ProjectedLSTM(nn.Module):
    """One layer of one direction."""

    def __init__(self, config: Config, *, backward: bool) -> None:
        super().__init__()
        self.backward = backward
        self.cell_dim = config.cell_dim
        self.limits = Limits(config.lstm.cell_clip or torch.inf, config.lstm.projection_clip or torch.inf)
        self.input = nn.Linear(config.dim, 4 * self.cell_dim)
        self.hidden = nn.Linear(config.dim, 4 * self.cell_dim, bias=False)
        self.project = nn.Linear(self.cell_dim, config.dim, bias=False)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, state: LSTMState | None = None
    ) -> tuple[Tensor, LSTMState]:
        """x (batch, token, dim), mask (batch, token): outputs, and the state after the last real token.

        At a token that is not real, the state stays as it was.
        """
        state = state or LSTMState(x.new_zeros(len(x), x.shape[2]), x.new_zeros(len(x), self.cell_dim))
        read = x.transpose(0, 1)
        real = None if mask is None else mask.transpose(0, 1)[..., None]
        if self.backward:
            read = read.flip(0)
            real = None if real is None else real.flip(0)
        # the gates' share of the input: (token, batch, 4 cell_dim)
        shares = functional.linear(read, self.input.weight, self._bias())
        with torch.autocast(x.device.type, enabled=False):
            outputs, cells = _Steps.apply(  # pyright: ignore[reportGeneralTypeIssues]
                shares.to(self.hidden.weight.dtype),
                real,
                state.output.to(self.hidden.weight.dtype),
                state.cells.to(self.hidden.weight.dtype),
                self.hidden.weight,
                self.project.weight,
                self.limits,
            )
        last = outputs[-1]
        if self.backward:
            outputs = outputs.flip(0)
        return outputs.transpose(0, 1), LSTMState(last, cells)

    def _bias(self) -> Tensor:
        """The biases of the input, candidate, forget and output gates, with the one that is not stored."""
        start = 2 * self.cell_dim
        return torch.cat(
            [
                self.input.bias[:start],
                self.input.bias[start : start + self.cell_dim] + FORGET_BIAS,
                self.input.bias[start + self.cell_dim :],
            ]
        )


class _Steps(torch.autograd.Function):
    """All steps of one LSTM: from (step, batch, 4 cell_dim) to outputs (step, batch, dim) and last cells."""

    @staticmethod
    def forward(
        ctx: Any,
        shares: Tensor,
        real: Tensor | None,
        output: Tensor,
        cells: Tensor,
        recurrent: Tensor,
        project: Tensor,
        limits: Limits,
    ) -> tuple[Tensor, Tensor]:
        steps, batch, _ = shares.shape
        dim = cells.shape[1]
        gates = torch.empty_like(shares)
        all_cells = shares.new_empty(steps + 1, batch, dim)
        outputs = shares.new_empty(steps + 1, batch, output.shape[1])
        all_cells[0] = cells
        outputs[0] = output
        for step in range(steps):
            at = torch.addmm(shares[step], outputs[step], recurrent.T, out=gates[step])
            enter = at[:, :dim].sigmoid_()
            candidate = at[:, dim : 2 * dim].tanh_()
            forget_and_output = at[:, 2 * dim :].sigmoid_()
            new = torch.mul(forget_and_output[:, :dim], all_cells[step], out=all_cells[step + 1])
            new.addcmul_(enter, candidate).clamp_(-limits.cells, limits.cells)
            shown = forget_and_output[:, dim:] * new.tanh()
            torch.mm(shown, project.T, out=outputs[step + 1]).clamp_(-limits.outputs, limits.outputs)
            if real is not None:
                torch.where(real[step], new, all_cells[step], out=new)
                torch.where(real[step], outputs[step + 1], outputs[step], out=outputs[step + 1])
        ctx.save_for_backward(gates, all_cells, outputs, real, recurrent, project)
        ctx.limits = limits
        return outputs[1:].clone(), all_cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        gates, all_cells, outputs, real, recurrent, project = ctx.saved_tensors
        local = _derivatives(gates, all_cells, ctx.limits)
        passed = (outputs[1:].abs() < ctx.limits.outputs).to(gates.dtype)
        counted = None if real is None else real.to(gates.dtype)
        if counted is not None:
            passed *= counted
        output_gradient = torch.zeros_like(outputs[0])
        cell_gradient = gradients[1]
        gate_gradients = torch.empty_like(gates)
        raw_gradients = torch.empty_like(outputs[1:])
        for step in range(len(gates) - 1, -1, -1):
            arriving = gradients[0][step] + output_gradient
            raw = torch.mul(arriving, passed[step], out=raw_gradients[step])
            shown = raw @ project
            through = cell_gradient if counted is None else cell_gradient * counted[step]
            inside = torch.addcmul(through * local.clip[step], shown, local.cell[step])
            torch.mul(inside[:, None], local.gates[step, :, :3], out=_parts(gate_gradients[step])[:, :3])
            torch.mul(shown, local.gates[step, :, 3], out=_parts(gate_gradients[step])[:, 3])
            output_gradient = gate_gradients[step] @ recurrent
            kept = inside * _parts(gates[step])[:, 2]
            if real is None:
                cell_gradient = kept
            else:
                cell_gradient = torch.where(real[step], kept, cell_gradient)
                output_gradient = torch.where(real[step], output_gradient, arriving)
        return (
            gate_gradients,
            None,
            output_gradient,
            cell_gradient,
            gate_gradients.flatten(0, 1).T @ outputs[:-1].flatten(0, 1),
            raw_gradients.flatten(0, 1).T @ local.shown.flatten(0, 1),
            None,
        )


class _Local(NamedTuple):
    """Derivatives inside each step."""

    gates: Tensor
    """Of the cells by the input, candidate and forget gates, and of the output by the output gate, before
    their activation: (step, batch, gate, cell_dim)."""
    cell: Tensor
    """Of the output by the cells."""
    clip: Tensor
    """1 where a cell was not clipped, 0 where it was."""
    shown: Tensor
    """What is projected: the cells as the output gate lets them through."""


def _derivatives(gates: Tensor, all_cells: Tensor, limits: Limits) -> _Local:
    enter, candidate, forget, output = _parts(gates).unbind(-2)
    tanh = all_cells[1:].tanh()
    shown = output * tanh
    clip = (all_cells[1:].abs() < limits.cells).to(gates.dtype)
    by_gates = torch.empty_like(_parts(gates))
    torch.mul(candidate * enter, 1 - enter, out=by_gates[..., 0, :])
    torch.mul(enter, 1 - candidate.square(), out=by_gates[..., 1, :])
    torch.mul(all_cells[:-1] * forget, 1 - forget, out=by_gates[..., 2, :])
    torch.mul(shown, 1 - output, out=by_gates[..., 3, :])
    return _Local(by_gates, output * (1 - tanh.square()) * clip, clip, shown)


def _parts(gates: Tensor) -> Tensor:
    """(..., 4 cell_dim) -> (..., gate, cell_dim)"""
    return gates.unflatten(-1, (4, -1))
