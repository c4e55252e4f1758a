"""Model: a network with its tokenizer; texts in, vectors out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from inlaid.encode.tokenizers import Tokenizer, Word
from inlaid.errors import SettingError
from inlaid.neural.bilm import BiLM
from inlaid.neural.config import Config
from inlaid.neural.encoder import MaskedHead
from inlaid.neural.network import Network
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.tokens import Batch, make_batch, words_in_order
from inlaid.vectors import Card, Vectors

Pooling = Literal["mean", "first"]


@dataclass(frozen=True)
class TextWords:
    """The words of one text, and a contextual vector (word, dim) for each."""

    words: list[str]
    table: np.ndarray


@dataclass(frozen=True)
class TextAttention:
    """The tokens of a text, and by layer the attention weights: (head, query, key)."""

    tokens: list[str]
    weights: dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Model:
    """A network, the tokenizer that makes its ids (if its folder had one), and its card.

    >>> model = load_model("all-MiniLM-L6-v2")
    >>> model.embed(["a cat", "猫"]).shape
    (2, 384)
    """

    network: Network
    tokenizer: Any = None
    card: Card = field(default_factory=Card)

    @property
    def config(self) -> Config:
        return self.network.config

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def input_vectors(self) -> Vectors:
        """The input table: each word by itself, before any context."""
        tokens = self.network.tokens
        if tokens is None:
            raise SettingError("This model reads words by their characters and has no table of words.")
        return self._vectors(tokens.weight, "input table")

    def output_vectors(self) -> Vectors:
        """The output table, which hidden states are compared with to predict a word; the input table if
        tied."""
        head = self.network.head
        if head is None:
            raise SettingError(
                "This model was saved without an output layer. Load the folder of the class that has it."
            )
        table = head.output if isinstance(head, MaskedHead) else head
        return self._vectors(table.weight, "output table", target=True)

    def embed(
        self, texts: Sequence[str], *, layer: int = -1, pooling: Pooling = "mean", batch: int = 32
    ) -> np.ndarray:
        """One vector for each text (text, dim): the mean of its hidden states after `layer`, or the first.

        Layer 0 is the input of the first block, 1 the output of the first block, -1 that of the last.
        """
        parts: list[Tensor] = []
        for start in range(0, len(texts), batch):
            encoded = self._batch(texts[start : start + batch])
            hidden = self._hidden(encoded, layer).float()  # sums of bfloat16 lose digits
            mask = encoded.mask.to(hidden.device)[..., None]
            parts.append(hidden[:, 0] if pooling == "first" else (hidden * mask).sum(1) / mask.sum(1))
        if not parts:
            raise SettingError("There are no texts: give at least one.")
        return torch.cat(parts).cpu().numpy()

    def embed_words(
        self, texts: Sequence[str], *, layer: int = -1, tokenizer: Tokenizer | None = None, batch: int = 32
    ) -> list[TextWords]:
        """A contextual vector for each word of each text: the mean of its tokens, subwords and Chinese
        characters alike."""
        found: list[TextWords] = []
        for start in range(0, len(texts), batch):
            some = texts[start : start + batch]
            encoded = self._batch(some)
            hidden = self._hidden(encoded, layer).float().cpu().numpy()
            found += [
                _merged(text, spans, rows, tokenizer or Word())
                for text, spans, rows in zip(some, encoded.spans, hidden, strict=True)
            ]
        return found

    @torch.no_grad()
    def attention(self, text: str, *, layers: Collection[int] | None = None) -> TextAttention:
        """The tokens of one text and the attention weights of these layers, counted from 0; None: all."""
        network = self.network
        if isinstance(network, BiLM):
            raise SettingError("A biLM has no attention to show.")
        encoded = self._batch([text])
        wanted = range(self.config.layers) if layers is None else layers
        ids = encoded.ids.to(self.device)
        if isinstance(network, Seq2Seq):
            output = network.encode(ids, attention=wanted).output
        else:
            output = network(ids, attention=wanted)
        tokens = [self.tokenizer.id_to_token(id) for id in encoded.ids[0].tolist()]
        weights = {layer: each[0].float().cpu().numpy() for layer, each in output.attention.items()}
        return TextAttention(tokens, weights)

    def layer_number(self, layer: int) -> int:
        """The layer counted from the input, which is 0."""
        last = self.config.layers
        if not -last - 1 <= layer <= last:
            raise SettingError(
                "There is no layer {layer}; layers are 0 (the input) to {last}, or -1 to {lowest} from the "
                "end.",
                layer=layer,
                last=last,
                lowest=-last - 1,
            )
        return layer % (last + 1)

    def _batch(self, texts: Sequence[str]) -> Batch:
        if isinstance(self.network, BiLM) and self.network.characters is not None:
            raise SettingError(
                "This model takes tokenized sentences: call model.network(*character_ids(sentences))."
            )
        if self.tokenizer is None:
            raise SettingError(
                "This model's folder has no tokenizer.json, so it cannot read text. "
                "Put the tokenizer next to the weights."
            )
        batch = make_batch(self.tokenizer, texts, padding=self.config.special.padding)
        lengths = batch.mask.sum(1)
        limit = self.config.max_length
        if limit is not None and int(lengths.max()) > limit:
            raise SettingError(
                "The text {text!r}... has {length:,} tokens; this model takes {limit:,}. "
                "Shorten it: texts are never truncated silently.",
                text=texts[int(lengths.argmax())][:30],
                length=int(lengths.max()),
                limit=limit,
            )
        return batch

    @torch.no_grad()
    def _hidden(self, batch: Batch, layer: int) -> Tensor:
        """Hidden states (text, token, dim) after one layer."""
        number = self.layer_number(layer)
        ids = batch.ids.to(self.device)
        mask = None if batch.mask.all() else batch.mask.to(self.device)
        network = self.network
        if isinstance(network, BiLM):
            return network(ids, mask).layers[number]
        if isinstance(network, Seq2Seq):
            return network.encode(ids, mask, layers=True).output.layers[number]
        if self.config.segment_types and batch.segments is not None:
            return network(ids, mask, layers=True, segments=batch.segments.to(self.device)).layers[number]
        return network(ids, mask, layers=True).layers[number]

    def _vectors(self, table: Tensor, note: str, *, target: bool = False) -> Vectors:
        words = words_in_order(self.tokenizer, len(table), target=target)
        card = Card(method=self.card.method, settings=self.card.settings, notes=(note,))
        return Vectors.of(words, table.detach().float().cpu().numpy(), card)


def _merged(text: str, spans: Sequence[tuple[int, int]], rows: np.ndarray, tokenizer: Tokenizer) -> TextWords:
    """The words of `text` that tokens overlap, each with the mean of their rows."""
    words = list[str]()
    table = list[np.ndarray]()
    for word in tokenizer.tokenize(text):
        inside = [place for place, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        if inside:
            words.append(word.text)
            table.append(rows[inside].mean(0))
    return TextWords(words, np.stack(table) if table else np.zeros((0, rows.shape[1]), np.float32))
