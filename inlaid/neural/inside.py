"""Inside a network: its attention modules by part, what they are called with, and networks without a head.

    with without_heads(network, [HeadPlace("encoder", 0, 3)]):
        ...     # the network computes without head 3 of the first layer; afterwards with all of them again

Everything is done by hooks, which are removed at the end: no weight is ever changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from inlaid.errors import SettingError
from inlaid.messages import Listed
from inlaid.neural.attention import Attention, Steps, View
from inlaid.neural.bilm import BiLM
from inlaid.neural.blocks import BlockOutput, TransformerBlock
from inlaid.neural.decoder import Decoder
from inlaid.neural.encoder import Encoder
from inlaid.neural.network import Network
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.stack import Stack

Part = Literal["encoder", "decoder", "cross"]


class HeadPlace(NamedTuple):
    """One head; layers and heads are counted from 0."""

    part: Part
    layer: int
    head: int


class LayerPlace(NamedTuple):
    """A whole block of the encoder or the decoder, counted from 0."""

    part: Part
    layer: int


class Call(NamedTuple):
    """What an attention was called with."""

    x: Tensor
    view: View
    memory: Tensor | None


def stacks(network: Network) -> dict[Part, Stack]:
    """The stack of each kind of attention; cross-attention is in the decoder's."""
    if isinstance(network, BiLM):
        raise SettingError("A biLM has no attention: its layers are LSTMs. Use a Transformer.")
    if isinstance(network, Seq2Seq):
        return {"encoder": network.encoder, "decoder": network.decoder, "cross": network.decoder}
    part: Part = "encoder" if isinstance(network, Encoder) else "decoder"
    return {part: network.stack}


def blocks(network: Network, part: Part) -> list[TransformerBlock]:
    """The blocks that have this kind of attention."""
    found = stacks(network)
    if part not in found:
        raise SettingError(
            "This model has no {part} attention; it has: {known}.", part=part, known=Listed(found)
        )
    return [block for block in found[part].blocks if isinstance(block, TransformerBlock)]


def attentions(network: Network, part: Part) -> list[Attention]:
    """The attention of each layer."""
    found: list[Attention] = []
    for block in blocks(network, part):
        module = block.cross if part == "cross" else block.attention
        assert module is not None
        found.append(module)
    return found


@contextmanager
def recorded_calls(module: Attention) -> Iterator[list[Call]]:
    """What the module is called with meanwhile."""
    calls: list[Call] = []

    def keep(_: nn.Module, positional: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        calls.append(Call(*positional, memory=named.get("memory")))

    handle = module.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        yield calls
    finally:
        handle.remove()


def steps_of(module: Attention, call: Call) -> Steps:
    """The attention of a recorded call, step by step."""
    return module.steps(call.x, call.view, memory=call.memory)


# ---- Ablation


@contextmanager
def without_heads(
    network: Network, heads: Sequence[HeadPlace], instead: Mapping[HeadPlace, Tensor] | None = None
) -> Iterator[None]:
    """The network with the output of these heads replaced by zeros, or by vectors `instead` (head_dim,)."""
    by_module: defaultdict[tuple[Part, int], list[HeadPlace]] = defaultdict(list)
    for place in heads:
        by_module[place.part, place.layer].append(place)
    with ExitStack() as stack:
        for (part, layer), places in by_module.items():
            module = _at(attentions(network, part), layer)
            stack.enter_context(_replaced(module, places, instead or {}))
        yield


@contextmanager
def _replaced(
    module: Attention, places: Sequence[HeadPlace], instead: Mapping[HeadPlace, Tensor]
) -> Iterator[None]:
    for place in places:
        if not 0 <= place.head < module.heads:
            raise SettingError(
                "There is no head {head}; heads are 0 to {last}.", head=place.head, last=module.heads - 1
            )

    def replace(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        joined = inputs[0].unflatten(-1, (module.heads, module.head_dim)).clone()
        for place in places:
            joined[..., place.head, :] = instead.get(place, torch.tensor(0.0)).to(joined)
        return (joined.flatten(-2),)

    handle = module.output.register_forward_pre_hook(replace)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def without_layers(network: Network, layers: Sequence[LayerPlace]) -> Iterator[None]:
    """The network without these blocks: what comes in goes out, by the residual connection alone."""

    def skip(_: nn.Module, inputs: tuple[Any, ...], output: BlockOutput) -> BlockOutput:
        return BlockOutput(inputs[0], output.weights, output.cross_weights)

    with ExitStack() as stack:
        for place in layers:
            block = _at(blocks(network, place.part), place.layer)
            stack.callback(block.register_forward_hook(skip).remove)
        yield


@contextmanager
def mean_outputs(network: Network, parts: Sequence[Part]) -> Iterator[dict[HeadPlace, Tensor]]:
    """At the end, the mean output of every head (head_dim,) over all tokens that went through meanwhile."""
    sums: dict[tuple[Part, int], Tensor] = {}
    counts: dict[tuple[Part, int], int] = {}
    found: dict[HeadPlace, Tensor] = {}
    with ExitStack() as stack:
        for part in parts:
            for layer, module in enumerate(attentions(network, part)):

                def add(
                    linear: nn.Module,
                    inputs: tuple[Tensor, ...],
                    key: tuple[Part, int] = (part, layer),
                ) -> None:
                    rows = inputs[0].detach().flatten(0, -2)
                    sums[key] = sums.get(key, torch.zeros_like(rows[0])) + rows.sum(0)
                    counts[key] = counts.get(key, 0) + len(rows)

                stack.callback(module.output.register_forward_pre_hook(add).remove)
        yield found
    for (part, layer), total in sums.items():
        module = attentions(network, part)[layer]
        means = (total / counts[part, layer]).unflatten(-1, (module.heads, module.head_dim))
        for head, mean in enumerate(means):
            found[HeadPlace(part, layer, head)] = mean


def _at(items: list[Any], layer: int) -> Any:
    if not 0 <= layer < len(items):
        raise SettingError(
            "There is no layer {layer}; layers are 0 to {last}.", layer=layer, last=len(items) - 1
        )
    return items[layer]


# ---- Token vectors


@contextmanager
def given_rows(network: Network, *rows: Tensor) -> Iterator[None]:
    """In one forward pass meanwhile, the network reads these token vectors (batch, token, dim), whatever the
    ids are: those of its text, and for a seq2seq then those of its target."""
    assert isinstance(network, Encoder | Decoder | Seq2Seq)
    tables = [network.tokens, network.decoder_tokens] if isinstance(network, Seq2Seq) else [network.tokens]
    waiting: defaultdict[nn.Module, list[Tensor]] = defaultdict(list)
    for table, given in zip(tables, rows, strict=True):
        waiting[table].append(given)

    def give(table: nn.Module, _: tuple[Tensor, ...], __: Tensor) -> Tensor:
        return waiting[table].pop(0)  # one table may serve both sides: first the text, then the target

    with ExitStack() as stack:
        for table in waiting:
            stack.callback(table.register_forward_hook(give).remove)
        yield
