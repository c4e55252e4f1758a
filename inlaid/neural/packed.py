"""Packed: a twin of a network for writing on a CPU, its matrices laid out for products with a few rows.

Each step of writing multiplies a handful of rows by every matrix of the network. A plain product lays the
matrix out anew each time; one that finds it ready takes half the time (measured on one Zen 4 core: 4 rows x
512 x 2048 0.54 and 0.27 ms, 4 rows x 512 x 65,001 23 and 7 ms). The twin costs the memory of a second copy,
so large networks go without.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from inlaid.neural.attention import Attention, is_plain
from inlaid.neural.blocks import Block
from inlaid.neural.embedding import OutputEmbedding

ROWS = 32
"""What the layout is made for; it serves from 1 row to hundreds."""
LEAST = 1 << 20
MOST = 1 << 28
"""Numbers in all matrices: fewer stay in the cache and gain nothing, more would cost over a gigabyte."""

N = TypeVar("N", bound=nn.Module)
_twins: WeakKeyDictionary[nn.Module, tuple[list[tuple[int, int]], nn.Module]] = WeakKeyDictionary()


class PackedLinear(nn.Module):
    """A product with a matrix that was laid out beforehand; for use without gradients."""

    def __init__(self, weight: Tensor, bias: Tensor | None, scale: float = 1.0) -> None:
        super().__init__()
        self.packed: Any = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS)
        self.bias = bias
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        x = x if self.scale == 1.0 else x * self.scale
        return torch.ops.mkldnn._linear_pointwise(x.contiguous(), self.packed, self.bias, "none", [], "")


def pack(network: N) -> N:
    """A twin that gives what `network` gives, faster; or `network` itself where there is nothing to gain.

    Made once, and again when a matrix has changed since.
    """
    weights = [layer.weight for layer in _linears(network)]
    if not _worth(weights):
        return network
    state = [(weight._version, weight.data_ptr()) for weight in weights]
    known, twin = _twins.get(network, (None, None))
    if twin is None or known != state:
        twin = _twin(network)
        _twins[network] = (state, twin)
    return twin  # pyright: ignore[reportReturnType]


def _twin(module: nn.Module) -> nn.Module:
    if _plain(module):
        return PackedLinear(
            module.weight, module.bias, module.scale if isinstance(module, OutputEmbedding) else 1.0
        )
    if not module._modules:
        return module
    twin = copy.copy(module)
    twin._modules = {name: None if child is None else _twin(child) for name, child in module._modules.items()}
    if (
        isinstance(module, Block)
        and isinstance(twin, Block)
        and all(is_plain(each) for each in module.attention.projections)
    ):
        _join(twin.attention, module.attention)
    return twin


def _join(twin: Attention, own: Attention) -> None:
    """One product for the three projections of what attends to itself; the three are not used any more and
    need no copy."""
    weights, biases = zip(*((each.weight.detach(), each.bias) for each in own.projections), strict=True)
    twin.together = PackedLinear(torch.cat(weights), None if biases[0] is None else torch.cat(biases))
    twin._modules.update({name: own._modules[name] for name in ("query", "key", "value")})


def _linears(network: nn.Module) -> Iterator[nn.Linear | OutputEmbedding]:
    return (module for module in network.modules() if _plain(module))


def _plain(module: nn.Module) -> TypeGuard[nn.Linear | OutputEmbedding]:
    """Products and nothing else: what someone derived from them or hooked into them must keep its own way."""
    return (
        type(module) in (nn.Linear, OutputEmbedding)
        and not module._forward_hooks
        and not module._forward_pre_hooks
    )


def _worth(weights: list[Tensor]) -> bool:
    """On CPUs, in float32, with a torch that has the operators its own compiler uses for this."""
    usual = all(
        each.device.type == "cpu" and each.dtype == torch.float32 and not each.is_inference()
        for each in weights
    )
    able = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return usual and able and LEAST <= sum(each.numel() for each in weights) <= MOST
