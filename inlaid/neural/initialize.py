"""Initial weights: as the paper of each kind of network has them, so that the first loss is about log(words).

Three schemes, and the config says which one a network follows:

- BERT, GPT-2 and Marian: normal, 0.02. In pre-norm networks, what is added to the residual stream is divided
  by sqrt(2 layers), so that the stream does not grow with depth (Radford et al. 2019).
- T5, whose scores are not divided by sqrt(head_dim): each matrix by its inputs, queries smaller still
  (Raffel et al. 2020).
- biLMs: LSTMs as torch draws them, by their inputs, and highways that carry their input (Peters et al. 2018).

A tied network recognizes its own input at first: the vector of a token stays in the residual stream, and its
product with itself is the largest logit, up to 28 at dim 768. So the table of a tied network starts small
enough that a fresh network prefers no word. A small gain of the norm before the output table would do the
same for a larger one, but grows by no more than the learning rate in a step: with a table of variance
1 / dim, as in the Transformer of 2017, and such a gain, translators learned slowly (docs/model-results.md).

The layers by themselves start as those of torch do: this is for whole networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from inlaid.neural.attention import Attention
from inlaid.neural.bilm import Highway
from inlaid.neural.blocks import FeedForward
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.positions import Positions

STD = 0.02
"""Also of output tables that are not tied, in every scheme: logits of variance 1 add 0.5 to the loss."""
OWN_LOGIT = 6.0
"""The logit of a token for itself, at most, in a fresh network that is tied; with 1,000 words it adds at most
5 % to the loss."""
LOGIT_STD = 0.5
"""The standard deviation of the logits of other tokens, at most: half of its square is added to the loss."""
CARRY = -2.0
"""The bias of the gate of a fresh highway: it lets 88 % of the input through (Srivastava et al. 2015)."""
Scheme = Literal["normal", "fan-in", "lstm"]


@torch.no_grad()
def initialize(network: nn.Module, config: Config) -> None:
    """Draw all weights of a fresh network. Norms keep theirs, and biases become 0."""
    scheme = scheme_of(config)
    for module in network.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    {"normal": _normal, "fan-in": _fan_in, "lstm": _lstm}[scheme](network, config)
    for module in network.modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=input_std(config))
            module._fill_padding_idx_with_zero()  # pyright: ignore[reportPrivateUsage]
        elif isinstance(module, OutputEmbedding) and module.table is not None:
            nn.init.normal_(module.table, std=STD)


def scheme_of(config: Config) -> Scheme:
    """The scheme that a network of this config follows."""
    if config.kind == "bilm":
        return "lstm"
    if not config.attention.scaled:
        return "fan-in"
    return "normal"


def input_std(config: Config) -> float:
    """The standard deviation of the table of token vectors."""
    std = STD if scheme_of(config) == "normal" else 1.0
    if config.head.kind != "linear" or not config.head.tied or not _keeps_input(config):
        return std
    largest = OWN_LOGIT / config.dim
    if config.head.scaled:
        largest *= config.dim**0.5
    if config.embedding_scale:  # as large as can be: positions of amplitude 1 are added to the token vectors
        return min(largest, LOGIT_STD * config.dim**-0.5)
    return min(std, largest)


def _normal(network: nn.Module, config: Config) -> None:
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=STD)
    if config.norm.placement == "pre":
        residual = STD / math.sqrt(2 * max(config.layers, config.decoder_layers))
        for weight in _added_to_residual(network):
            nn.init.normal_(weight, std=residual)


def _fan_in(network: nn.Module, config: Config) -> None:
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, Positions):
            for table in module.parameters(recurse=False):
                nn.init.normal_(table, std=config.dim**-0.5)
    for module in network.modules():
        if isinstance(module, Attention):
            nn.init.normal_(module.query.weight, std=(config.dim * module.head_dim) ** -0.5)


def _lstm(network: nn.Module, config: Config) -> None:
    """LSTMs and convolutions stay as torch draws them: uniform, by their inputs. Highways carry most of their
    input at first, as in ELMo."""
    for module in network.modules():
        if isinstance(module, Highway):
            nn.init.constant_(module.gate.bias, CARRY)


def _keeps_input(config: Config) -> bool:
    """Whether the vector of a token is still a large part of its hidden state after a fresh network."""
    return scheme_of(config) == "fan-in" or config.norm.placement == "post" or config.embedding_scale


def _added_to_residual(network: nn.Module) -> Iterator[Tensor]:
    """The weights whose products are added to the residual stream."""
    for module in network.modules():
        if isinstance(module, Attention):
            yield module.output.weight
        elif isinstance(module, FeedForward):
            yield module.down.weight
