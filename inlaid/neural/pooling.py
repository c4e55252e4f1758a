"""Pooling: the hidden states of a text become one vector; the names are those of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from inlaid.errors import SettingError, did_you_mean
from inlaid.messages import Listed

ALIASES = {"first": "cls", "last": "lasttoken"}


def _weighted_mean(hidden: Tensor, start: int) -> Tensor:
    """Later tokens weigh more: the n-th token of a text n times (Muennighoff 2022)."""
    weights = torch.arange(start + 1, hidden.shape[1] + 1, device=hidden.device, dtype=hidden.dtype)
    return weights @ hidden[:, start:] / weights.sum()


POOLINGS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "cls": lambda hidden, start: hidden[:, start],
    "max": lambda hidden, start: hidden[:, start:].amax(1),
    "mean": lambda hidden, start: hidden[:, start:].mean(1),
    "mean_sqrt_len_tokens": lambda hidden, start: hidden[:, start:].sum(1) / (hidden.shape[1] - start) ** 0.5,
    "weightedmean": _weighted_mean,
    "lasttoken": lambda hidden, _: hidden[:, -1],
}
"""From hidden states (text, token, dim) without padding, and the first token that counts."""


def check_poolings(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names in full; an unknown one raises SettingError.

    >>> check_poolings("last")
    ('lasttoken',)
    """
    asked = (names,) if isinstance(names, str) else tuple(names)
    if not asked:
        raise SettingError("No pooling is given. Use one of {known}.", known=Listed(POOLINGS))
    for name in asked:
        if name not in POOLINGS and name not in ALIASES:
            raise SettingError(
                "No pooling is called {name!r}.{hint} There are {known}; first is cls, last is lasttoken.",
                name=name,
                hint=did_you_mean(str(name), [*POOLINGS, *ALIASES]),
                known=Listed(POOLINGS),
            )
    return tuple(ALIASES.get(name, name) for name in asked)


def pool(hidden: Tensor, poolings: Sequence[str], start: int = 0) -> Tensor:
    """One vector for each text, from hidden states (text, token, dim) without padding.

    Tokens before `start` belong to a prompt that does not count. Several poolings are concatenated.
    """
    return torch.cat([POOLINGS[name](hidden, start) for name in poolings], -1)


# ---- With padding, for batches in training


def _padded_max(hidden: Tensor, real: Tensor) -> Tensor:
    return hidden.masked_fill(~real[..., None], torch.finfo(hidden.dtype).min).amax(1)


def _padded_sum(hidden: Tensor, weights: Tensor) -> Tensor:
    return torch.einsum("ntd,nt->nd", hidden, weights.to(hidden.dtype))


def _padded_weighted_mean(hidden: Tensor, real: Tensor) -> Tensor:
    weights = real * torch.arange(1, real.shape[1] + 1, device=real.device)
    return _padded_sum(hidden, weights) / weights.sum(1, keepdim=True)


def _padded_last(hidden: Tensor, real: Tensor) -> Tensor:
    return hidden[torch.arange(len(hidden), device=hidden.device), real.sum(1) - 1]


PADDED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cls": lambda hidden, _: hidden[:, 0],
    "max": _padded_max,
    "mean": lambda hidden, real: _padded_sum(hidden, real) / real.sum(1, keepdim=True),
    "mean_sqrt_len_tokens": lambda hidden, real: _padded_sum(hidden, real) / real.sum(1, keepdim=True) ** 0.5,
    "weightedmean": _padded_weighted_mean,
    "lasttoken": _padded_last,
}
"""From hidden states (text, token, dim), and which tokens are real (text, token): the first of each text."""


def pool_padded(hidden: Tensor, real: Tensor, poolings: Sequence[str]) -> Tensor:
    """As `pool`, from hidden states with padding at the end of each text."""
    return torch.cat([PADDED[name](hidden, real) for name in poolings], -1)
