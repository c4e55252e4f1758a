"""Model: a network with its tokenizer; texts in, vectors out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inlaid.encode.subwords.spelling import BYTE_LEVEL, mark_of, readable
from inlaid.encode.tokenizers import Tokenizer, Word
from inlaid.errors import SettingError
from inlaid.neural.batches import PackedBatch, packed_batches
from inlaid.neural.bilm import BiLM
from inlaid.neural.config import Config
from inlaid.neural.decoder import Decoder
from inlaid.neural.encoder import DetectorHead, Encoder, MaskedHead
from inlaid.neural.generation import FileSettings
from inlaid.neural.kinds import AnyModel
from inlaid.neural.network import Network
from inlaid.neural.pooling import check_poolings, pool
from inlaid.neural.products import fast_products
from inlaid.neural.sentence import Sentence, similarity
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.spelled_texts import check_words, has_boundaries, hidden_runs, spelled_texts
from inlaid.neural.tokens import (
    Batch,
    EncodedTexts,
    check_texts,
    encode_texts,
    make_batch,
    prompt_tokens,
    refuse_long,
    target_ids,
    target_word,
    words_in_order,
)
from inlaid.neural.words import TextWords, merged_words
from inlaid.progress import shows_progress
from inlaid.report import Note, Progress, Report, automatic, log, silent
from inlaid.vectors import Card, Vectors

TOKENS = 2048
"""Tokens computed at once by each thread of a CPU: more do not fit into its caches."""
GPU_TOKENS = 65_536
"""Fewer would leave a GPU idle."""


@dataclass(frozen=True)
class TextAttention:
    """The tokens of a text, and by layer the attention weights: (head, query, key).

    Of a seq2seq these are the encoder's. With a target, there are those of the decoder, too: between the
    tokens of the target, and from them to the tokens of the text (cross-attention).
    """

    tokens: list[str]
    weights: dict[int, np.ndarray]
    target_tokens: list[str] = field(default_factory=list[str])
    """What the decoder has read: the start token, then the target."""
    target_weights: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])
    cross_weights: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])


@dataclass(frozen=True, eq=False)
class Model(AnyModel):
    """A network, the tokenizer that makes its ids (if its folder had one), and its card.

    >>> model = load_model("all-MiniLM-L6-v2")
    >>> model.embed(["a cat", "猫"]).shape
    (2, 384)
    """

    network: Network
    tokenizer: Any = None
    card: Card = field(default_factory=Card)
    sentence: Sentence | None = None
    """How a folder of sentence-transformers embeds texts; None: as the mean of the hidden states."""
    generation: FileSettings | None = None
    """What its folder says about generating text, if it has one."""
    tokenizer_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The tokenizer_config.json of its folder."""

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
        if head is None or isinstance(head, DetectorHead):
            raise SettingError(
                "This model was saved without an output layer for words. Load the folder of the "
                "class that has it."
            )
        table = head.output if isinstance(head, MaskedHead) else head
        return self._vectors(table.weight, "output table", target=True)

    @shows_progress
    def embed(
        self,
        texts: str | Iterable[str],
        *,
        layer: int = -1,
        pooling: str | Sequence[str] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        truncate: bool = False,
        batch: int | None = None,
        report: Report = automatic,
    ) -> np.ndarray:
        """One vector for each text (text, dim), in the order given; a single text gives one vector (dim,).

        A folder of sentence-transformers says how (`sentence`); without one, it is the mean of the hidden
        states. With another `layer` or a `pooling` of your own, it is the pooled hidden states and no layer
        after them. Layer 0 is the input of the first block, 1 the output of the first block, -1 that of the
        last.

        A text that is too long is an error; with `truncate` it is cut, and a note says how many were.
        `batch` is the most texts computed at once; None: as many as are fast.
        """
        sentence = self.sentence or Sentence()
        number = self.layer_number(layer)
        poolings = sentence.poolings if pooling is None else check_poolings(pooling)
        prefix = sentence.prompt(prompt, prompt_name)
        listed = [prefix + text for text in check_texts([texts] if isinstance(texts, str) else texts)]
        encoded = self._encoded(listed, sentence, truncate, report)
        start = prompt_tokens(self.tokenizer, prefix) if prefix and not sentence.include_prompt else 0
        if start and isinstance(self.network, BiLM) and has_boundaries(self.config):
            start -= 1  # hidden states come without boundaries
        vectors = self._pooled(encoded, number, poolings, start, check_size(batch), report)
        if pooling is None and number == self.config.layers:
            vectors = sentence.finish(vectors)
        found = vectors.cpu().numpy()
        return found[0] if isinstance(texts, str) else found

    def embed_ids(self, ids: Sequence[Sequence[int]], *, batch: int | None = None) -> np.ndarray:
        """One vector for each list of ids (list, dim), pooled as the folder says and not scaled to length 1.

        What the tokenizer puts around a text is not added: it belongs into the ids.
        """
        sentence = self.sentence or Sentence()
        encoded = EncodedTexts([np.array(row, np.int32) for row in ids], [])
        vectors = self._pooled(encoded, self.config.layers, sentence.poolings, 0, check_size(batch))
        return sentence.finish(vectors, unit=False).cpu().numpy()

    def similarity(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Each vector of `one` with each of `other` by the similarity the model was trained for (cosine if
        it does not say); distances are negative, so that more is always closer."""
        name = self.sentence.similarity if self.sentence is not None else None
        rows = [torch.from_numpy(np.atleast_2d(np.asarray(each, np.float32))) for each in (one, other)]
        return similarity(name, *rows).numpy()

    @shows_progress
    def embed_words(
        self,
        texts: Iterable[str],
        *,
        layer: int = -1,
        tokenizer: Tokenizer | None = None,
        batch: int = 32,
        report: Report = automatic,
    ) -> list[TextWords]:
        """A contextual vector for each word of each text: the mean of its tokens, subwords and Chinese
        characters alike."""
        return self._words(texts, self.layer_number(layer), tokenizer, batch, report)

    @shows_progress
    def word_layers(
        self,
        texts: Iterable[str],
        *,
        tokenizer: Tokenizer | None = None,
        batch: int = 32,
        report: Report = automatic,
    ) -> list[TextWords]:
        """The vectors of `embed_words` after every layer at once: tables (word, layer, dim)."""
        return self._words(texts, None, tokenizer, batch, report)

    def _words(
        self,
        texts: Iterable[str],
        layer: int | None,
        tokenizer: Tokenizer | None,
        batch: int,
        report: Report,
    ) -> list[TextWords]:
        """Words with their vectors of one layer (word, dim), or of all layers (word, layer, dim)."""
        found: list[TextWords] = []
        listed = check_texts(texts)
        for start in range(0, len(listed), check_size(batch) or 1):
            some = listed[start : start + batch]
            encoded = self._batch(some, report)
            layers = self._layers(encoded)
            hidden = layers[layer] if layer is not None else torch.stack(layers, dim=2)
            found += [
                merged_words(text, spans, rows, tokenizer or Word())
                for text, spans, rows in zip(some, encoded.spans, hidden.float().cpu().numpy(), strict=True)
            ]
        return found

    @torch.no_grad()
    def attention(
        self, text: str, *, target: str | None = None, layers: Collection[int] | None = None
    ) -> TextAttention:
        """The tokens of one text and the attention weights of these layers, counted from 0; None: all.

        For a seq2seq, `target` is the text that its decoder reads, such as a translation: then the weights of
        the decoder are there, too.
        """
        network = self.network
        if isinstance(network, BiLM):
            raise SettingError("A biLM has no attention to show.")
        if target is not None and not isinstance(network, Seq2Seq):
            raise SettingError("A target is for models with an encoder and a decoder. Leave it out.")
        encoded = self._batch([text])
        tokens = [self.tokenizer.id_to_token(id) for id in encoded.ids[0].tolist()]
        wanted = range(self.config.layers) if layers is None else layers
        ids = encoded.ids.to(self.device)
        if not isinstance(network, Seq2Seq):
            return TextAttention(tokens, _arrays(network(ids, attention=wanted).attention))
        source = network.encode(ids, attention=wanted)
        weights = _arrays(source.output.attention)
        if target is None:
            return TextAttention(tokens, weights)
        read = target_ids(self.tokenizer, check_texts([target])[0], self.config.special)
        wanted = range(self.config.decoder_layers) if layers is None else layers
        decoded = network.decode(torch.tensor([read], device=self.device), source, attention=wanted)
        words = [target_word(self.tokenizer, id) for id in read]
        cross = _arrays(decoded.cross_attention)
        return TextAttention(tokens, weights, words, _arrays(decoded.attention), cross)

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

    def _encoded(
        self, texts: Sequence[str], sentence: Sentence, truncate: bool, report: Report
    ) -> EncodedTexts:
        self._check_readable()
        if self.reads_characters:
            spelled = spelled_texts(self.tokenizer, texts, self.config, report)
            encoded = spelled.encoded(self.config.characters.max_length)
            check_words(texts, encoded, self.config)
            return encoded
        limits = [limit for limit in (sentence.max_length, self.config.max_length) if limit is not None]
        limit = min(limits, default=None)
        side = sentence.truncation_side
        encoded = encode_texts(self.tokenizer, texts, limit=limit, truncate=truncate, side=side)
        if isinstance(self.network, BiLM):
            check_words(texts, encoded, self.config)
        if encoded.truncated:
            report(
                Note(
                    "{count:,} of {total:,} texts have more than {limit:,} tokens and were truncated.",
                    count=encoded.truncated,
                    total=len(texts),
                    limit=limit,
                )
            )
        return encoded

    @torch.no_grad()
    @fast_products(few_rows=False)
    def _pooled(
        self,
        encoded: EncodedTexts,
        layer: int,
        poolings: Sequence[str],
        start: int,
        batch: int | None,
        report: Report = silent,
    ) -> Tensor:
        """The vectors of all texts, in their order: (text, dim)."""
        parts: list[Tensor] = []
        places: list[np.ndarray] = []
        total = len(encoded.ids)
        done = 0
        tokens = TOKENS * torch.get_num_threads() if self.device.type == "cpu" else GPU_TOKENS
        for packed in packed_batches(encoded, tokens, batch):
            if isinstance(self.network, BiLM):  # its cells go from token to token
                runs = hidden_runs(self.network, packed, encoded, layer)
            else:
                runs = self._runs(self.network, packed, layer)
            for hidden in runs:
                if hidden.shape[1] <= start:
                    raise SettingError("A text has no tokens after the prompt, which is not pooled.")
                parts.append(pool(hidden.float(), poolings, start))  # sums of bfloat16 lose digits
            places.append(packed.places)
            done += len(packed.places)
            report(Progress("embedding", done, total, "texts"))
        vectors = torch.cat(parts)
        order = torch.from_numpy(np.argsort(np.concatenate(places)))
        return vectors[order.to(vectors.device)]

    def _runs(
        self, network: Encoder | Decoder | Seq2Seq, packed: PackedBatch, layer: int
    ) -> Iterator[Tensor]:
        """Hidden states (text, token, dim) after a layer, for each length of a batch."""
        sizes = [texts * length for texts, length in packed.runs]
        ids = packed.ids.to(self.device)
        runs = packed.runs
        if len(runs) == 1:
            ids = ids.view(runs[0])
        options: dict[str, Any] = {
            "runs": runs if len(runs) > 1 else (),
            "layers": layer < self.config.layers,
        }
        if packed.segments is not None and self.config.segment_types:
            options["segments"] = packed.segments.to(self.device).view(ids.shape)
        if isinstance(network, Seq2Seq):
            output = network.encode(ids, **options).output
        else:
            output = network(ids, logits=False, **options)
        hidden = output.layers[layer] if output.layers else output.hidden
        for part, run in zip(hidden.flatten(0, 1).split(sizes), runs, strict=True):
            yield part.unflatten(0, run)

    @property
    def reads_characters(self) -> bool:
        """Whether the network reads words by their characters, so that it knows all of them."""
        return isinstance(self.network, BiLM) and self.network.characters is not None

    def _check_readable(self) -> None:
        if self.reads_characters and (self.tokenizer is None or not has_boundaries(self.config)):
            raise SettingError(
                "This model's folder has no tokenizer that cuts text into words, so it takes tokenized "
                "sentences: call model.network(*character_ids(sentences))."
            )
        if self.tokenizer is None:
            raise SettingError(
                "This model's folder has no tokenizer.json, so it cannot read text. "
                "Put the tokenizer next to the weights."
            )

    def _batch(self, texts: Sequence[str], report: Report = log) -> Batch:
        self._check_readable()
        if self.reads_characters:
            spelled = spelled_texts(self.tokenizer, texts, self.config, report)
            return spelled.batch(self.config.characters.max_length)
        batch = make_batch(self.tokenizer, texts, padding=self.config.special.padding)
        lengths = batch.mask.sum(1)
        limit = self.config.max_length
        if limit is not None and int(lengths.max()) > limit:
            long = int((lengths > limit).sum())
            refuse_long(texts[int(lengths.argmax())], int(lengths.max()), limit, long, len(texts))
        return batch

    @torch.no_grad()
    def _layers(self, batch: Batch) -> tuple[Tensor, ...]:
        """Hidden states (text, token, dim): the input of the first block, then the output of each."""
        ids = batch.ids.to(self.device)
        mask = None if batch.mask.all() else batch.mask.to(self.device)
        network = self.network
        if isinstance(network, BiLM):
            return network(ids, mask).layers
        if isinstance(network, Seq2Seq):
            return network.encode(ids, mask, layers=True).output.layers
        if isinstance(network, Encoder) and self.config.segment_types and batch.segments is not None:
            segments = batch.segments.to(self.device)
            return network(ids, mask, layers=True, segments=segments, logits=False).layers
        return network(ids, mask, layers=True, logits=False).layers

    def _vectors(self, table: Tensor, note: str, *, target: bool = False) -> Vectors:
        words = words_in_order(self.tokenizer, len(table), target=target)
        mark = mark_of(words)
        if mark == BYTE_LEVEL:
            words = readable(words)
        card = Card(
            method=self.card.method,
            settings=self.card.settings,
            encoding={"spelling": mark},
            notes=(note,),
        )
        return Vectors.of(words, table.detach().float().cpu().numpy(), card)


def check_size(batch: int | None) -> int | None:
    """The size of a batch, if it is one."""
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise SettingError("batch is {found!r}; expected a number of texts, 1 or more.", found=batch)
    return batch


def _arrays(weights: dict[int, Tensor]) -> dict[int, np.ndarray]:
    return {layer: each[0].float().cpu().numpy() for layer, each in weights.items()}
