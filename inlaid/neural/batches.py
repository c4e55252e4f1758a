"""Batches: encoded texts sorted by length and packed without padding, so that no time goes into padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inlaid.neural.tokens import EncodedTexts


@dataclass(frozen=True)
class PackedBatch:
    """Texts one after the other in one row of ids (1, token), longest first."""

    places: np.ndarray
    """Which texts they are."""
    ids: Tensor
    segments: Tensor | None
    runs: tuple[tuple[int, int], ...]
    """How many texts there are of each length."""


def packed_batches(encoded: EncodedTexts, tokens: int, texts: int | None = None) -> Iterator[PackedBatch]:
    """All texts, longest first, at most `tokens` tokens and `texts` texts in a batch, and at least one."""
    lengths = np.array([len(row) for row in encoded.ids])
    order = np.argsort(-lengths, kind="stable")
    ends = lengths[order].cumsum()
    start = 0
    while start < len(order):
        before = ends[start] - lengths[order[start]]
        stop = max(start + 1, int(np.searchsorted(ends, before + tokens, side="right")))
        if texts is not None:
            stop = min(stop, start + texts)
        places = order[start:stop]
        yield _packed(encoded, places, lengths[places])
        start = stop


def _packed(encoded: EncodedTexts, places: np.ndarray, lengths: np.ndarray) -> PackedBatch:
    different, counts = np.unique(lengths, return_counts=True)
    runs = zip(counts[::-1].tolist(), different[::-1].tolist(), strict=True)
    segments = _row(encoded.segments, places) if encoded.segments else None
    return PackedBatch(places, _row(encoded.ids, places), segments, tuple(runs))


def _row(rows: list[np.ndarray], places: np.ndarray) -> Tensor:
    return torch.from_numpy(np.concatenate([rows[place] for place in places])).long()[None]
