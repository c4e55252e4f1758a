"""Layer mix: one vector for each token out of all layers of a model, with weights that a task learns (ELMo).

    gamma * sum over layers j of  softmax(s)_j * h_j        (Peters et al. 2018, formula 1)

Lower layers know more of syntax, higher ones more of meaning in context; a task finds out what it needs. The
model itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError


class LayerMix(nn.Module):
    """A weighted mean of layers, times a factor. At first all layers have the same weight.

    >>> mix = LayerMix(3)
    >>> mix(model.network(ids).layers).shape
    torch.Size([1, 5, 256])
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        if layers < 1:
            raise SettingError("layers is {found}; there is at least one layer to mix.", found=layers)
        self.scores = nn.Parameter(torch.zeros(layers))
        """s: their softmax is the weights."""
        self.gamma = nn.Parameter(torch.ones(()))
        """The scale of the result, which a task may need to be other than that of the model."""

    @property
    def weights(self) -> Tensor:
        """The share of each layer, the input first; they sum to 1."""
        return self.scores.softmax(0)

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """layers (..., dim) each, all of one shape -> (..., dim)"""
        if len(layers) != len(self.scores):
            raise SettingError(
                "This mix has {expected} weights; found {found} layers. Make it with LayerMix({found}).",
                expected=len(self.scores),
                found=len(layers),
            )
        mixed = sum(weight * layer for weight, layer in zip(self.weights, layers, strict=True))
        return self.gamma * mixed
