"""The attention weights of a text, between tokens and merged to words; rollout, entropy, distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from inlaid.encode.tokenizers import Tokenizer
from inlaid.errors import SettingError
from inlaid.messages import Listed, Message
from inlaid.neural.kinds import check_use
from inlaid.report import Note, Report, silent
from inlaid.study.attend.reading import Reading, read_target, read_text

if TYPE_CHECKING:
    from inlaid.neural.model import Model

Part = Literal["encoder", "decoder", "cross"]
PARTS: tuple[Part, ...] = get_args(Part)
PART_NAMES: Mapping[Part, Message] = {
    "encoder": Message("encoder self-attention"),
    "decoder": Message("decoder self-attention"),
    "cross": Message("cross-attention"),
}
LONGEST = 200
"""Tokens that a seq2seq may answer."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of one part of a network, of all layers and heads."""

    part: Part
    queries: Reading
    keys: Reading
    tokens: np.ndarray
    """(layer, head, query, key) between tokens, as the network computes them."""

    @property
    def layers(self) -> int:
        return self.tokens.shape[0]

    @property
    def heads(self) -> int:
        return self.tokens.shape[1]

    def words(self) -> np.ndarray:
        """(layer, head, query, key) between words: the sum over the tokens of a key, the mean over those of a
        query. Each row still sums to 1."""
        return self.queries.merged_rows(self.keys.merged_columns(self.tokens))

    def visible(self) -> np.ndarray:
        """(query,): how many tokens each token may see; a decoder sees no later ones."""
        queries, keys = self.tokens.shape[2:]
        if self.part == "decoder":
            return np.arange(1, queries + 1)
        return np.full(queries, keys)

    def entropy(self) -> np.ndarray:
        """(layer, head): the mean entropy of a row, in bits. 0: one token gets everything."""
        safe = np.where(self.tokens > 0, self.tokens, 1)
        return -(safe * np.log2(safe)).sum(-1).mean(-1)

    def uniform_entropy(self) -> float:
        """The entropy of a head that attends to all tokens equally, in bits."""
        return float(np.log2(self.visible()).mean())

    def distance(self) -> np.ndarray | None:
        """(layer, head): the mean distance to what is attended to, in tokens. Between two texts there is
        none."""
        if self.part == "cross":
            return None
        places = np.arange(self.tokens.shape[2])
        apart = np.abs(places[:, None] - places)
        return (self.tokens * apart).sum(-1).mean(-1)

    def uniform_distance(self) -> float | None:
        """The mean distance of a head that attends to all tokens equally."""
        if self.part == "cross":
            return None
        places = np.arange(self.tokens.shape[2])
        apart = np.abs(places[:, None] - places).astype(np.float64)
        if self.part == "decoder":
            apart = np.tril(apart)
        return float((apart.sum(-1) / self.visible()).mean())

    def rollout(self) -> np.ndarray | None:
        """(query, key) between words: attention rollout (Abnar and Zuidema 2020).

        Each layer mixes half of a token's own state (the residual connection) with half of what its heads,
        averaged, attend to; the matrices of all layers are multiplied. For self-attention only.
        """
        if self.part == "cross":
            return None
        mixed = np.eye(self.tokens.shape[2])
        for layer in self.tokens.mean(1):
            mixed = (0.5 * layer + 0.5 * np.eye(len(mixed))) @ mixed
        return self.queries.merged_rows(self.keys.merged_columns(mixed))


@dataclass(frozen=True, eq=False)
class TextWeights:
    """The weights of every part of a network for one text."""

    text: str
    target: str | None
    """What the decoder of a seq2seq has read."""
    generated: bool
    """Whether the target is the model's own."""
    parts: Mapping[Part, Weights]

    def part(self, name: Part | None) -> Weights:
        """The part of this name; without one, that which says most: of a seq2seq its cross-attention."""
        if name is None:
            return self.parts["cross"] if "cross" in self.parts else next(iter(self.parts.values()))
        if name not in self.parts:
            raise SettingError(
                "This model has no {part} attention; it has: {known}.",
                part=name,
                known=Listed(self.parts),
            )
        return self.parts[name]


def with_attention(model: Any) -> Model:
    """The model, if it has attention and can read text."""
    loaded = check_use(model, "embed")
    if loaded.config.kind == "bilm":
        raise SettingError("A biLM has no attention: its layers are LSTMs. Use a Transformer.")
    if loaded.tokenizer is None:
        raise SettingError(
            "This model's folder has no tokenizer.json, so it cannot read text. Put the tokenizer next to "
            "the weights."
        )
    return loaded


def text_weights(
    model: Model,
    text: str,
    *,
    target: str | None = None,
    tokenizer: Tokenizer | None = None,
    merge: bool = True,
    report: Report = silent,
) -> TextWeights:
    """Run a model on a text and keep all attention weights. A seq2seq without a target reads the one that it
    generates itself."""
    seq2seq = model.config.kind == "seq2seq"
    if target is not None and not seq2seq:
        raise SettingError("A target is for models with an encoder and a decoder. Leave it out.")
    source = read_text(model, text, report, tokenizer=tokenizer, merge=merge)
    written: Reading | None = None
    generated = seq2seq and target is None
    if seq2seq:
        target = own_target(model, text, report) if target is None else target
        written = read_target(model, target, tokenizer=tokenizer, merge=merge)
    found = run(model, source, written)
    readings: dict[Part, tuple[Reading, Reading]] = {"encoder": (source, source), "decoder": (source, source)}
    if written is not None:
        readings |= {"decoder": (written, written), "cross": (written, source)}
    parts: dict[Part, Weights] = {
        name: Weights(name, *readings[name], tokens) for name, tokens in found.items()
    }
    return TextWeights(text, target, generated, parts)


def own_target(model: Model, text: str, report: Report) -> str:
    """What a seq2seq answers to a text."""
    from inlaid.neural.generate import GenerationSettings, generate_texts

    limit = model.config.max_length
    length = LONGEST if limit is None else min(LONGEST, limit - 1)
    settings = GenerationSettings(method="greedy", max_new_tokens=length)
    target = generate_texts(model, [text], settings)[0].strip()
    report(Note("The decoder reads what the model itself generates: {target!r}.", target=target))
    return target


def run(model: Model, source: Reading, target: Reading | None) -> dict[Part, np.ndarray]:
    """(layer, head, query, key) between tokens, for each part of the network."""
    import torch

    from inlaid.neural.encoder import Encoder
    from inlaid.neural.seq2seq import Seq2Seq

    network = model.network
    ids = torch.tensor([source.ids], device=model.device)
    layers = range(model.config.layers)
    with torch.no_grad():
        if isinstance(network, Seq2Seq):
            encoded = network.encode(ids, attention=layers)
            found: dict[Part, Any] = {"encoder": encoded.output.attention}
            if target is not None:
                read = torch.tensor([target.ids], device=model.device)
                wanted = range(model.config.decoder_layers)
                decoded = network.decode(read, encoded, attention=wanted, logits=False)
                found |= {"decoder": decoded.attention, "cross": decoded.cross_attention}
        elif isinstance(network, Encoder):
            segments = torch.tensor([source.segments], device=model.device)
            options = {"segments": segments} if model.config.segment_types else {}
            found = {"encoder": network(ids, attention=layers, logits=False, **options).attention}
        else:
            found = {"decoder": network(ids, attention=layers, logits=False).attention}
    return {
        name: np.stack([weights[layer][0].double().cpu().numpy() for layer in sorted(weights)])
        for name, weights in found.items()
    }


def layer_number(layer: int, count: int) -> int:
    """A layer counted from 0; negative ones count from the end."""
    return _number(layer, count, Message("layer"))


def head_number(head: int, count: int) -> int:
    return _number(head, count, Message("head"))


def _number(number: int, count: int, what: Message) -> int:
    if not -count <= number < count:
        raise SettingError(
            "There is no {what} {number}; there are 0 to {last}, or -1 to {lowest} from the end.",
            what=what,
            number=number,
            last=count - 1,
            lowest=-count,
        )
    return number % count
