"""Packed: a copy of a network for decoding on a CPU, its matrices prepacked for products with a few rows.

Each decoding step multiplies a few rows by every matrix of the network. A plain product reorders the matrix
each time; with a prepacked one it takes half the time (measured on one Zen 4 core: 4 rows x 512 x 2048 0.54
and 0.27 ms, 4 rows x 512 x 65,001 23 and 7 ms). The packed copy needs the memory of a second network, so
large networks are not packed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from inlaid.neural.attention import Attention, is_plain
from inlaid.neural.blocks import TransformerBlock
from inlaid.neural.embedding import OutputEmbedding

ROWS = 32
"""The number of rows the layout is optimized for; it works for any number."""
MIN_SIZE = 1 << 20
MAX_SIZE = 1 << 28
"""Numbers in all matrices: fewer stay in the cache and gain nothing, more would need over a gigabyte."""

N = TypeVar("N", bound=nn.Module)


@dataclass(frozen=True)
class Packed:
    """A packed copy, and the versions and addresses of the weights it was made from."""

    versions: list[tuple[int, int]]
    network: nn.Module


_packed: WeakKeyDictionary[nn.Module, Packed] = WeakKeyDictionary()


class PackedLinear(nn.Module):
    """A product with a prepacked matrix; without gradients."""

    def __init__(self, weight: Tensor, bias: Tensor | None, scale: float = 1.0) -> None:
        super().__init__()
        self.packed: Any = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS)
        self.bias = bias
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        x = x if self.scale == 1.0 else x * self.scale
        return torch.ops.mkldnn._linear_pointwise(x.contiguous(), self.packed, self.bias, "none", [], "")


def pack(network: N) -> N:
    """A copy with the same outputs, faster; or `network` itself where there is nothing to gain.

    Made once, and again when a matrix has changed since.
    """
    weights = [layer.weight for layer in _linears(network)]
    if not _is_worthwhile(weights):
        return network
    versions = [(weight._version, weight.data_ptr()) for weight in weights]
    known = _packed.get(network)
    if known is None or known.versions != versions:
        known = Packed(versions, _copy(network))
        _packed[network] = known
    return known.network  # pyright: ignore[reportReturnType]


def _copy(module: nn.Module) -> nn.Module:
    if _is_plain_product(module):
        scale = module.scale if isinstance(module, OutputEmbedding) else 1.0
        return PackedLinear(module.weight, module.bias, scale)
    if not module._modules:
        return module
    packed = copy.copy(module)
    packed._modules = {
        name: None if child is None else _copy(child) for name, child in module._modules.items()
    }
    if isinstance(module, TransformerBlock) and isinstance(packed, TransformerBlock):
        _fuse(packed.attention, module.attention)
    return packed


def _fuse(packed: Attention, own: Attention) -> None:
    """One product for the three projections of self-attention, which are not used any more and need no
    copy."""
    if not all(is_plain(each) for each in own.projections):
        return
    weights = [each.weight.detach() for each in own.projections]
    biases: list[Tensor] = [each.bias for each in own.projections if each.bias is not None]
    packed.fused = PackedLinear(torch.cat(weights), torch.cat(biases) if biases else None)
    packed._modules.update({name: own._modules[name] for name in ("query", "key", "value")})


def _linears(network: nn.Module) -> Iterator[nn.Linear | OutputEmbedding]:
    return (module for module in network.modules() if _is_plain_product(module))


def _is_plain_product(module: nn.Module) -> TypeGuard[nn.Linear | OutputEmbedding]:
    """A matrix product and nothing else: a subclass or a hook must keep its own forward."""
    known = type(module) in (nn.Linear, OutputEmbedding)
    return known and not module._forward_hooks and not module._forward_pre_hooks


def _is_worthwhile(weights: list[Tensor]) -> bool:
    """On CPUs, in float32, with a torch that has the operators its own compiler uses for prepacking."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    for weight in weights:
        if weight.device.type != "cpu" or weight.dtype != torch.float32 or weight.is_inference():
            return False
    return MIN_SIZE <= sum(weight.numel() for weight in weights) <= MAX_SIZE
