"""Network: a config turned into the module it describes."""

from __future__ import annotations

import os
from functools import partial

import torch

from inlaid.errors import SettingError
from inlaid.neural.bilm import BiLM
from inlaid.neural.config import Config
from inlaid.neural.decoder import Decoder
from inlaid.neural.embedding import Rows
from inlaid.neural.encoder import DetectorHead, Encoder, MaskedHead
from inlaid.neural.initialize import initialize
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.sizes import parameters

Network = Encoder | Decoder | Seq2Seq | BiLM
KINDS = {"encoder": Encoder, "decoder": Decoder, "seq2seq": Seq2Seq, "bilm": BiLM}

if hasattr(os, "register_at_fork"):
    # The threads of OpenMP do not survive a fork: a child that waits for them hangs.
    os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def make_network(config: Config) -> Network:
    """A network with fresh weights, drawn as the paper of its kind has them."""
    try:
        network = KINDS[config.kind](config)
    except RuntimeError as error:
        if "allocate" not in str(error):
            raise
        raise SettingError(
            "There is no memory for a network of {parameters:,} parameters. Make it smaller.",
            parameters=sum(parameters(config).values()),
        ) from None
    initialize(network, config)
    return network


def empty_network(config: Config) -> Network:
    """A network without memory for its weights: names and shapes only."""
    with torch.device("meta"):
        return make_network(config)


def parameter_shapes(config: Config) -> dict[str, torch.Size]:
    """The names and shapes of a network's tensors."""
    return {name: tensor.shape for name, tensor in empty_network(config).state_dict().items()}


def grow_network(network: Network, vocab_size: int, start: Rows = "mean") -> None:
    """Add words to the input table, the output layer and the config; tied tables stay tied.

    Old rows keep every bit; new ones start as the mean of the old or as given. Make optimizers after growing.
    """
    if network.tokens is None:
        raise SettingError("This model reads words by their characters and has no token table to grow.")
    if network.config.target_vocab_size:
        raise SettingError(
            "This model has one table for the source and one for the target; only a single shared table can "
            "grow."
        )
    network.tokens.grow(vocab_size, start)
    if network.head is not None and not isinstance(network.head, DetectorHead):
        output = network.head.output if isinstance(network.head, MaskedHead) else network.head
        output.grow(vocab_size, start)
    network.config = network.config.replace({"vocab_size": vocab_size})
