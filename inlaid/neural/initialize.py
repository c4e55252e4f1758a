"""Initial weights: as the paper of each kind of network has them, so that the first loss is about log(words).

Four schemes, and the config says which one a network follows:

- BERT and GPT-2: normal, 0.02. In pre-norm networks, what is added to the residual stream is divided by
  sqrt(2 layers), so that the stream does not grow with depth (Radford et al. 2019).
- T5, whose scores are not divided by sqrt(head_dim): each matrix by its inputs, queries smaller still
  (Raffel et al. 2020).
- The Transformer of 2017, whose token vectors are multiplied by sqrt(dim): Xavier, and a table of variance
  1 / dim (Vaswani et al. 2017).
- biLMs: LSTMs as torch draws them, by their inputs, and highways that carry their input (Peters et al. 2018).

A tied network recognizes its own input at first: the vector of a token stays in the residual stream, and its
product with itself is the largest logit, up to 28 at dim 768. There the norm before the output table starts
with a small gain, so that a fresh network prefers no word.

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
from inlaid.neural.blocks import FeedForward, ZeroCenteredRMSNorm
from inlaid.neural.config import Config
from inlaid.neural.embedding import OutputEmbedding, TokenEmbedding
from inlaid.neural.positions import Positions

STD = 0.02
"""Also of output tables that are not tied, in every scheme: logits of variance 1 add 0.5 to the loss."""
OWN_LOGIT = 1.0
"""The logit of a token for itself, at most, in a fresh network that is tied."""
CARRY = -2.0
"""The bias of the gate of a fresh highway: it lets 88 % of the input through (Srivastava et al. 2015)."""
Scheme = Literal["normal", "fan-in", "xavier", "lstm"]


@torch.no_grad()
def initialize(network: nn.Module, config: Config) -> None:
    """Draw all weights of a fresh network. Norms keep theirs, and biases become 0."""
    scheme = scheme_of(config)
    for module in network.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    {"normal": _normal, "fan-in": _fan_in, "xavier": _xavier, "lstm": _lstm}[scheme](network, config)
    for module in network.modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=input_std(config))
            module._fill_padding_idx_with_zero()  # pyright: ignore[reportPrivateUsage]
        elif isinstance(module, OutputEmbedding) and module.table is not None:
            nn.init.normal_(module.table, std=STD)
    if config.head.kind == "linear" and config.head.tied and _keeps_input(config):
        _lower_last_gain(network, config)


def scheme_of(config: Config) -> Scheme:
    """The scheme that a network of this config follows."""
    if config.kind == "bilm":
        return "lstm"
    if not config.attention.scaled:
        return "fan-in"
    return "xavier" if config.embedding_scale else "normal"


def input_std(config: Config) -> float:
    """The standard deviation of the table of token vectors."""
    match scheme_of(config):
        case "normal":
            return STD
        case "xavier":
            return config.dim**-0.5
        case "fan-in" | "lstm":
            return 1.0


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


def _xavier(network: nn.Module, config: Config) -> None:
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)


def _lstm(network: nn.Module, config: Config) -> None:
    """LSTMs and convolutions stay as torch draws them: uniform, by their inputs. Highways carry most of their
    input at first, as in ELMo."""
    for module in network.modules():
        if isinstance(module, Highway):
            nn.init.constant_(module.gate.bias, CARRY)


def _keeps_input(config: Config) -> bool:
    """Whether the vector of a token is still a large part of its hidden state after a fresh network."""
    return scheme_of(config) in ("fan-in", "xavier") or config.norm.placement == "post"


def _lower_last_gain(network: nn.Module, config: Config) -> None:
    """The gain of the norm before the output table, so low that no token recognizes itself."""
    own_logit = config.dim * input_std(config)
    if config.head.scaled:
        own_logit *= config.dim**-0.5
    stack = network.get_submodule("decoder" if config.kind == "seq2seq" else "stack")
    last_block = len(list(stack.get_submodule("blocks").children())) - 1
    norm = stack.get_submodule(
        "final_norm" if config.norm.final else f"blocks.{last_block}.feed_forward_norm"
    )
    gain = min(1.0, OWN_LOGIT / own_logit)
    weight = norm.get_parameter("weight")
    nn.init.constant_(weight, gain - 1 if isinstance(norm, ZeroCenteredRMSNorm) else gain)


def _added_to_residual(network: nn.Module) -> Iterator[Tensor]:
    """The weights whose products are added to the residual stream."""
    for module in network.modules():
        if isinstance(module, Attention):
            yield module.output.weight
        elif isinstance(module, FeedForward):
            yield module.down.weight
