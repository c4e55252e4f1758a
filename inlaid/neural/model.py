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
from inlaid.neural.architecture import Architecture
from inlaid.neural.bilm import BiLM
from inlaid.neural.encoder import MaskedHead
from inlaid.neural.network import Network
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.tokens import Batch, make_batch, words_in_order
from inlaid.vectors import Card, Vectors

Pooling = Literal["mean", "first"]


@dataclass(frozen=True)
class TextWords:
    """The words of one text, and a vector (word, dim) for each as it is meant there."""

    words: list[str]
    table: np.ndarray


@dataclass(frozen=True)
class TextAttention:
    """The tokens of a text, and by layer how much each looks at each: (head, query, key)."""

    tokens: list[str]
    weights: dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Model:
    """A network, the tokenizer that makes its ids (if its folder had one), and how it came to be.

    >>> model = load_model("all-MiniLM-L6-v2")
    >>> model.embed(["a cat", "猫"]).shape
    (2, 384)
    """

    network: Network
    tokenizer: Any = None
    card: Card = field(default_factory=Card)

    @property
    def shape(self) -> Architecture:
        return self.network.shape

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def input_vectors(self) -> Vectors:
        """The input table: each word by itself, before any context."""
        if isinstance(self.network, BiLM) and self.network.tokens is None:
            raise SettingError("This model spells its words and has no table of them.")
        tokens = self.network.tokens
        assert tokens is not None
        return self._vectors(tokens.weight, "input table")

    def output_vectors(self) -> Vectors:
        """The output table: what a hidden state is compared with to predict a word; the input table where
        they are tied."""
        head = self.network.head
        if head is None:
            raise SettingError(
                "This model was saved without an output layer. Load the folder of the class that has it."
            )
        table = head.output if isinstance(head, MaskedHead) else head
        return self._vectors(table.weight, "output table", written=True)

    def embed(
        self, texts: Sequence[str], *, layer: int = -1, pooling: Pooling = "mean", batch: int = 32
    ) -> np.ndarray:
        """One vector a text (text, dim): the mean of its tokens' vectors after `layer`, or its first token's.

        Layer 0 is the input of the first block, 1 the output of the first block, -1 that of the last.
        """
        parts: list[Tensor] = []
        for start in range(0, len(texts), batch):
            read = self._batch(texts[start : start + batch])
            rows = self._rows(read, layer).float()  # sums of bfloat16 lose digits
            mask = read.mask.to(rows.device)[..., None]
            parts.append(rows[:, 0] if pooling == "first" else (rows * mask).sum(1) / mask.sum(1))
        if not parts:
            raise SettingError("There are no texts: give at least one.")
        return torch.cat(parts).cpu().numpy()

    def embed_words(
        self, texts: Sequence[str], *, layer: int = -1, tokenizer: Tokenizer | None = None, batch: int = 32
    ) -> list[TextWords]:
        """A vector for each word of each text: the mean of the tokens that lie in it, subwords and Chinese
        characters alike."""
        found: list[TextWords] = []
        for start in range(0, len(texts), batch):
            some = texts[start : start + batch]
            read = self._batch(some)
            rows = self._rows(read, layer).float().cpu().numpy()
            found += [
                _merged(text, spans, row, tokenizer or Word())
                for text, spans, row in zip(some, read.spans, rows, strict=True)
            ]
        return found

    @torch.no_grad()
    def attention(self, text: str, *, layers: Collection[int] | None = None) -> TextAttention:
        """Who looks at whom in one text: the tokens, and the weights of these layers (all when none are
        named), from 0."""
        network = self.network
        if isinstance(network, BiLM):
            raise SettingError("A biLM has no attention to show.")
        read = self._batch([text])
        wanted = range(self.shape.layers) if layers is None else layers
        ids = read.ids.to(self.device)
        output = (
            network.read(ids, attention=wanted).output
            if isinstance(network, Seq2Seq)
            else network(ids, attention=wanted)
        )
        tokens = [self.tokenizer.id_to_token(id) for id in read.ids[0].tolist()]
        return TextAttention(
            tokens, {layer: weights[0].float().cpu().numpy() for layer, weights in output.attention.items()}
        )

    def layer_number(self, layer: int) -> int:
        """The layer counted from the input, which is 0."""
        last = self.shape.layers
        if not -last - 1 <= layer <= last:
            raise SettingError(
                f"There is no layer {layer}; layers are 0 (the input) to {last}, or -1 to {-last - 1} from the end."
            )
        return layer % (last + 1)

    def _batch(self, texts: Sequence[str]) -> Batch:
        if isinstance(self.network, BiLM) and self.network.spelling is not None:
            raise SettingError(
                "This model spells words that are cut already: call model.network(*spell(sentences))."
            )
        if self.tokenizer is None:
            raise SettingError(
                "This model's folder has no tokenizer.json, so it cannot read text. Put the tokenizer beside the weights."
            )
        read = make_batch(self.tokenizer, texts, padding=self.shape.padding)
        longest = int(read.mask.sum(1).max())
        if self.shape.positions in ("learned", "rotary") and longest > self.shape.length:
            text = texts[int(read.mask.sum(1).argmax())]
            most = f"this model takes {self.shape.length:,}. Cut it yourself: nothing is cut silently."
            raise SettingError(f"The text {text[:30]!r}... has {longest:,} tokens; {most}")
        return read

    @torch.no_grad()
    def _rows(self, read: Batch, layer: int) -> Tensor:
        """Contextual vectors (text, token, dim) after one layer."""
        number = self.layer_number(layer)
        ids = read.ids.to(self.device)
        mask = None if read.mask.all() else read.mask.to(self.device)
        network = self.network
        if isinstance(network, BiLM):
            return network(ids, mask).layers[number]
        if isinstance(network, Seq2Seq):
            return network.read(ids, mask, layers=True).output.layers[number]
        more = (
            {"segments": read.segments.to(self.device)}
            if self.shape.segments and read.segments is not None
            else {}
        )
        return network(ids, mask, layers=True, **more).layers[number]

    def _vectors(self, table: Tensor, what: str, *, written: bool = False) -> Vectors:
        words = words_in_order(self.tokenizer, len(table), written=written)
        card = Card(method=self.card.method, settings=self.card.settings, notes=(what,))
        return Vectors.of(words, table.detach().float().cpu().numpy(), card)


def _merged(text: str, spans: Sequence[tuple[int, int]], rows: np.ndarray, tokenizer: Tokenizer) -> TextWords:
    """Words of `text` that tokens lie in, each with the mean of their rows."""
    words = list[str]()
    table = list[np.ndarray]()
    for word in tokenizer.tokenize(text):
        inside = [place for place, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        if inside:
            words.append(word.text)
            table.append(rows[inside].mean(0))
    return TextWords(words, np.stack(table) if table else np.zeros((0, rows.shape[1]), np.float32))
