"""Torch tensors of a State: to host arrays and back, and where they hold NaN or infinity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor in host memory; bfloat16, which NumPy lacks, as its bits in uint16."""
    host = tensor.detach().cpu().contiguous()
    if host.dtype == torch.bfloat16:
        return host.view(torch.int16).numpy().view(np.uint16)
    return host.numpy()


@torch.no_grad()
def copy_into(tensor: torch.Tensor, array: np.ndarray) -> None:
    """Overwrite `tensor` with what `to_array` made of a tensor of the same dtype."""
    if tensor.dtype == torch.bfloat16:
        host = torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    else:
        host = torch.from_numpy(np.array(array))
    tensor.copy_(host.reshape(tensor.shape))


@torch.no_grad()
def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether none holds NaN or infinity. One synchronisation for each device."""
    answers: dict[torch.device, list[torch.Tensor]] = {}
    for tensor in tensors:
        if tensor.is_floating_point():
            answers.setdefault(tensor.device, []).append(torch.isfinite(tensor).all())
    return all(bool(torch.stack(each).all()) for each in answers.values())


@torch.no_grad()
def bad_row(tensor: torch.Tensor, rows: int | None) -> int | None:
    """The first row that holds NaN or infinity; None if there is none. One synchronisation on a device."""
    if not tensor.is_floating_point():
        return None
    flat = tensor.detach()[:rows] if tensor.dim() else tensor.detach()[None]
    finite = torch.isfinite(flat).reshape(len(flat), -1).all(dim=1)
    if bool(finite.all()):
        return None
    return int(torch.nonzero(~finite)[0])
