"""Losses of networks: (network, batch) -> the loss summed over targets, and their number.

The network may be a compiled one, which torch gives a class of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from inlaid.encode.word_characters import cropped
from inlaid.errors import SettingError
from inlaid.feed.bidirectional_text import BidirectionalBatch
from inlaid.feed.contrastive_text import ContrastiveBatch, TextBatch
from inlaid.feed.masked_text import IGNORED, MaskedBatch
from inlaid.feed.pair_text import PairBatch
from inlaid.feed.prompt_text import PromptBatch
from inlaid.neural.bilm import BiLM
from inlaid.neural.loss import word_loss


class LossSum(NamedTuple):
    """The loss of a batch, summed over its targets, and their number."""

    total: Tensor
    targets: int


def next_token_loss(network: Any, windows: np.ndarray) -> LossSum:
    """Cross entropy of each token after the first, given those before it: windows (row, token)."""
    ids = on_device(windows, network)
    hidden = network(ids[:, :-1], logits=False).hidden
    targets = ids[:, 1:]
    return LossSum(_words(word_loss(hidden, _head(network), targets), targets.numel()), targets.numel())


def masked_loss(network: Any, batch: MaskedBatch) -> LossSum:
    """Cross entropy of the hidden words. Logits are computed for these alone."""
    places = np.flatnonzero(batch.targets != IGNORED)
    real = None if batch.real.all() else on_device(batch.real, network)
    hidden = network(on_device(batch.ids, network), real, logits=False).hidden
    found = hidden.flatten(0, 1)[on_device(places, network)]
    targets = on_device(batch.targets.flatten()[places], network)
    return LossSum(_words(word_loss(found, _head(network), targets), len(places)), len(places))


class TranslationLoss:
    """Cross entropy of each token of the target, given the source and the target before it (teacher
    forcing).

    With label smoothing, a part of the probability is spread over all tokens. The loss that is measured in
    evaluation is without it.
    """

    def __init__(self, label_smoothing: float) -> None:
        self.label_smoothing = label_smoothing

    def __call__(self, network: Any, batch: PairBatch) -> LossSum:
        target = on_device(batch.target, network)
        start = target.new_full((len(target), 1), _start(network))
        source_real = None if batch.source_real.all() else on_device(batch.source_real, network)
        source = on_device(batch.source, network)
        read = torch.cat([start, target[:, :-1]], 1)
        hidden = network(source, read, source_real, logits=False).hidden
        places = np.flatnonzero(batch.target_real)
        real = on_device(places, network)
        logits = network.head(hidden.flatten(0, 1)[real]).float()
        smoothing = self.label_smoothing if network.training else 0.0
        total = functional.cross_entropy(
            logits, target.flatten()[real], label_smoothing=smoothing, reduction="sum"
        )
        return LossSum(total, len(places))


class PromptLoss:
    """Cross entropy of each token of the target, given the line before it; label smoothing as in
    `TranslationLoss`."""

    def __init__(self, label_smoothing: float) -> None:
        self.label_smoothing = label_smoothing

    def __call__(self, network: Any, batch: PromptBatch) -> LossSum:
        places = np.flatnonzero(batch.targets != IGNORED)
        hidden = network(on_device(batch.ids, network), logits=False).hidden
        found = hidden.flatten(0, 1)[on_device(places, network)]
        logits = _head(network)(found).float()
        targets = on_device(batch.targets.flatten()[places], network)
        smoothing = self.label_smoothing if network.training else 0.0
        total = functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
        return LossSum(total, len(places))


class ContrastiveLoss:
    """InfoNCE with in-batch negatives: cross entropy of the target of each source among the targets of its
    batch, by their cosines times `scale`.

    Targets of pairs that have a text in common with the source's pair are left out. With `dims`, it is the
    sum of the losses of the first so many components (Matryoshka). With `symmetric`, it is the mean with the
    loss of the source of each target among the sources.

    van den Oord et al. 2018; Henderson et al. 2017; Kusupati et al. 2022.
    """

    def __init__(self, scale: float, dims: Sequence[int], *, symmetric: bool) -> None:
        self.scale = scale
        self.dims = dims
        self.symmetric = symmetric

    def __call__(self, network: Any, batch: ContrastiveBatch) -> LossSum:
        source, target = (_embedded(network, side) for side in (batch.source, batch.target))
        same = on_device(batch.same, network)
        with torch.autocast(same.device.type, enabled=False):  # bfloat16 is too coarse to compare cosines
            return LossSum(self._total(source.float(), target.float(), same), len(same))

    def _total(self, source: Tensor, target: Tensor, same: Tensor) -> Tensor:
        right = torch.arange(len(same), device=same.device)
        total = source.new_zeros(())
        for dim in self.dims or (source.shape[1],):
            one = functional.normalize(source[:, :dim], dim=-1)
            two = functional.normalize(target[:, :dim], dim=-1)
            scores = (self.scale * one @ two.T).masked_fill(same, -torch.inf)
            loss = functional.cross_entropy(scores, right, reduction="sum")
            if self.symmetric:
                loss = (loss + functional.cross_entropy(scores.T, right, reduction="sum")) / 2
            total = total + loss
        return total


def _embedded(network: Any, texts: TextBatch) -> Tensor:
    """One vector for each text."""
    real = None if texts.real.all() else on_device(texts.real, network)
    return network(on_device(texts.ids, network), real)


def _start(network: Any) -> int:
    start = network.config.special.start
    if start is None:
        raise SettingError("This model's config names no token that a decoder starts from.")
    return start


def both_directions_loss(network: BiLM, batch: BidirectionalBatch) -> LossSum:
    """The mean of two cross entropies: of each word given those before it, and given those after it."""
    real = None if batch.real.all() else on_device(batch.real, network)
    forward, backward = network.directions(network.read(_word_vectors(network, batch), real))
    ids = on_device(batch.ids, network)
    places = on_device(np.flatnonzero(batch.real[:, 1:]), network)
    hidden = [forward[:, :-1].flatten(0, 1)[places], backward[:, 1:].flatten(0, 1)[places]]
    targets = [ids[:, 1:].flatten()[places], ids[:, :-1].flatten()[places]]
    mean = word_loss(torch.cat(hidden), _head(network), torch.cat(targets))
    return LossSum(_words(mean, len(places)), len(places))


def _word_vectors(network: BiLM, batch: BidirectionalBatch) -> Tensor:
    """The vectors of all tokens (text, token, dim); each distinct word is computed once."""
    if batch.characters is None or batch.words is None:
        return network.word_vectors(on_device(batch.ids, network))
    characters = cropped(batch.characters, max(network.config.characters.filter_widths))
    distinct = network.word_vectors(on_device(characters, network))
    return functional.embedding(on_device(batch.words, network), distinct)


def on_device(values: np.ndarray, network: Any) -> Tensor:
    """An array as a tensor where the network is. A GPU fetches it by itself from pinned memory."""
    device = next(network.parameters()).device
    host = torch.from_numpy(values)
    if device.type == "cuda":
        host = host.pin_memory()
    return host.to(device, non_blocking=True)


def _words(mean: Tensor, targets: int) -> Tensor:
    """The sum of a mean; 0 where nothing counts, as the mean of nothing is NaN."""
    return mean * targets if targets else mean.nan_to_num() * 0


def _head(network: Any) -> Any:
    return network.head
