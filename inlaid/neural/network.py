"""Network: an architecture turned into the module it describes."""

from __future__ import annotations

import dataclasses

from inlaid.errors import SettingError
from inlaid.neural.architecture import Architecture
from inlaid.neural.bilm import BiLM
from inlaid.neural.decoder import Decoder
from inlaid.neural.embedding import Rows
from inlaid.neural.encoder import Encoder, MaskedHead
from inlaid.neural.seq2seq import Seq2Seq

Network = Encoder | Decoder | Seq2Seq | BiLM
KINDS = {"encoder": Encoder, "decoder": Decoder, "seq2seq": Seq2Seq, "bilm": BiLM}


def make_network(shape: Architecture) -> Network:
    """A network with fresh weights."""
    return KINDS[shape.kind](shape)


def grow_network(network: Network, words: int, start: Rows = "mean") -> None:
    """Room for new words in the input table, the output layer and the architecture; a tie stays a tie.

    Old rows keep every bit, new ones start as the mean of the old or as given. Make optimizers after growing.
    """
    if network.tokens is None:
        raise SettingError("This model spells its words and has no table that could grow.")
    if network.shape.target_words:
        raise SettingError(
            "This model has one table for what it reads and one for what it writes; only one that serves both can grow."
        )
    network.tokens.grow(words, start)
    if network.head is not None:
        output = network.head.output if isinstance(network.head, MaskedHead) else network.head
        output.grow(words, start)
    network.shape = dataclasses.replace(network.shape, words=words)
