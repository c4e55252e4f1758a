"""Predict: the distribution of a masked word, and of the next word, by the last layer or by each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from inlaid.neural.decoder import Decoder
from inlaid.neural.encoder import Encoder
from inlaid.neural.model import Model
from inlaid.neural.seq2seq import Seq2Seq


@torch.no_grad()
def masked_distributions(model: Model, ids: Sequence[int], segments: Sequence[int], mask: int) -> Tensor:
    """The probabilities of all words (mask, word) at each token of `ids` that is the mask."""
    network = model.network
    assert isinstance(network, Encoder)
    read = torch.tensor([list(ids)], device=model.device)
    options = {}
    if model.config.segment_types:
        options["segments"] = torch.tensor([list(segments)], device=model.device)
    hidden = network(read, logits=False, **options).hidden[0]
    assert network.head is not None
    return network.head(hidden[read[0] == mask]).float().softmax(-1).cpu()


@torch.no_grad()
def layer_distributions(model: Model, ids: Sequence[int], segments: Sequence[int] = ()) -> list[Tensor]:
    """By layer, the probabilities of all words (token, word) at every position of a decoder or a masked
    model: the logit lens."""
    network = model.network
    assert isinstance(network, Encoder | Decoder)
    read = torch.tensor([list(ids)], device=model.device)
    options = {}
    if isinstance(network, Encoder) and model.config.segment_types:
        options["segments"] = torch.tensor([list(segments)], device=model.device)
    output = network(read, layers=True, logits=False, **options)
    return [
        _words(network.head, hidden).softmax(-1).cpu()
        for hidden in _normed([each[0] for each in output.layers], network.stack.final_norm)
    ]


def _normed(layers: Sequence[Tensor], norm: Any) -> list[Tensor]:
    """Hidden states by layer as the output layer takes them: the last ones have the final norm already."""
    return [*(each if norm is None else norm(each) for each in layers[:-1]), layers[-1]]


def _words(head: Any, hidden: Tensor) -> Tensor:
    assert head is not None
    return head(hidden).float()


@torch.no_grad()
def next_distributions(
    model: Model, ids: Sequence[int], target: Sequence[int] = (), *, layers: bool = False
) -> Tensor:
    """The probabilities of all words (layer, word) after `ids`; of a seq2seq, which reads `ids`, after
    `target`.

    Without `layers` there is one row, that of the last layer. With it there is one for the input of the first
    block and one for the output of each: the final norm and the output layer are applied to the hidden state
    of each (the logit lens, nostalgebraist 2020).
    """
    network = model.network
    read = torch.tensor([list(ids)], device=model.device)
    if isinstance(network, Seq2Seq):
        so_far = torch.tensor([list(target)], device=model.device)
        output = network.decode(so_far, network.encode(read), layers=layers, logits=False)
        norm = network.decoder.final_norm
    else:
        assert isinstance(network, Decoder)
        output = network(read, layers=layers, logits=False)
        norm = network.stack.final_norm
    last = [output.hidden[0, -1:]]
    if layers:
        last = _normed([each[0, -1:] for each in output.layers], norm)
    return _words(network.head, torch.cat(last)).softmax(-1).cpu()
