"""Layer mix: the formula of ELMo, and a task that finds the layer it needs."""

from __future__ import annotations

import pytest
import torch

from inlaid.errors import SettingError
from inlaid.neural.layer_mix import LayerMix


def test_it_is_the_weighted_sum_of_the_layers():
    layers = [torch.full((2, 3, 4), value) for value in (1.0, 10.0, 100.0)]
    mix = LayerMix(3)
    torch.testing.assert_close(mix(layers), torch.full((2, 3, 4), 37.0))
    with torch.no_grad():
        mix.scores.copy_(torch.tensor([1.0, 2.0, 4.0]).log())
        mix.gamma.fill_(7.0)
    torch.testing.assert_close(mix.weights, torch.tensor([1.0, 2.0, 4.0]) / 7)
    torch.testing.assert_close(mix(layers), torch.full((2, 3, 4), 1.0 + 20.0 + 400.0))


def test_a_task_learns_which_layer_it_needs():
    torch.manual_seed(1)
    layers = [torch.randn(64, 8) for _ in range(3)]
    mix = LayerMix(3)
    optimizer = torch.optim.Adam(mix.parameters(), lr=0.1)
    for _ in range(200):
        loss = (mix(layers) - 2 * layers[1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(mix.weights[1].detach()) > 0.95
    assert float(mix.gamma.detach()) == pytest.approx(2, abs=0.15)


def test_another_number_of_layers_is_refused():
    with pytest.raises(SettingError, match=r"3 weights; found 2 layers. Make it with LayerMix\(2\)"):
        LayerMix(3)([torch.zeros(1), torch.zeros(1)])
    with pytest.raises(SettingError, match="layers is 0"):
        LayerMix(0)
