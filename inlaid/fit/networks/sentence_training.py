"""Sentence training: an encoder with its pooling, or a table of word vectors, learns to embed texts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from inlaid import files
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.feed.contrastive_text import UNKNOWN, ContrastiveText
from inlaid.fit.networks.earlier import read_vectors
from inlaid.fit.networks.method import held_out_every
from inlaid.fit.networks.optimizers import WordTable
from inlaid.fit.networks.start import fresh_network
from inlaid.fit.networks.training import NetworkTraining
from inlaid.neural.checkpoint import load_model
from inlaid.neural.config_parts import HeadConfig
from inlaid.neural.model import Model
from inlaid.neural.network import Network
from inlaid.neural.pooling import check_poolings, pool_padded
from inlaid.neural.sentence import Normalize, Sentence
from inlaid.neural.stack import checkpoint_gradients
from inlaid.neural.vocabulary import surround, vocabulary_of
from inlaid.report import Note, Report
from inlaid.vectors import Vectors

if TYPE_CHECKING:
    from inlaid.fit.contrastive import Contrastive


class SentenceEncoder(nn.Module):
    """A network and what makes one vector of its hidden states."""

    def __init__(self, network: Network, sentence: Sentence) -> None:
        super().__init__()
        self.network = network
        self.poolings = sentence.poolings
        self.layers = sentence.layers.requires_grad_(True)

    def forward(self, ids: Tensor, real: Tensor | None) -> Tensor:
        """ids (text, token) and which are real (None: all) -> vectors (text, dim)."""
        output: Any = self.network(ids, real, logits=False)
        found = pool_padded(output.hidden, _all_real(ids) if real is None else real, self.poolings)
        for layer in self.layers:
            found = layer(found)
        return found


class WordMean(WordTable):
    """A table of word vectors: the vector of a text is the mean of its rows."""

    def __init__(self, table: np.ndarray) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.from_numpy(np.array(table, np.float32)))

    def forward(self, ids: Tensor, real: Tensor | None) -> Tensor:
        """ids (text, token) and which are real (None: all) -> vectors (text, dim)."""
        real = _all_real(ids) if real is None else real
        weights = real / real.sum(1, keepdim=True)
        rows = nn.functional.embedding(ids, self.weight, sparse=self.sparse)
        return torch.einsum("ntd,nt->nd", rows, weights)


def _all_real(ids: Tensor) -> Tensor:
    return torch.ones_like(ids, dtype=torch.bool)


class EncoderTraining(NetworkTraining):
    """The training of an encoder. Its result is a model with a Sentence, which says how it embeds."""

    def __init__(
        self, model: Model, sentence: Sentence, method: Contrastive, batches: ContrastiveText
    ) -> None:
        encoder: Any = SentenceEncoder(model.network, sentence)
        super().__init__(encoder, batches, method.loss(), method, model.tokenizer)
        self.encoder = encoder
        self.sentence = sentence
        self.card = model.card

    def result(self) -> Model:
        self.encoder.eval()
        self.optimizers.sparse_gradients(False)
        card = dataclasses.replace(self.card, notes=(*self.card.notes, *self.optimizers.notes()))
        return Model(self.encoder.network, self.tokenizer, card, self.sentence)


class VectorsTraining(NetworkTraining):
    """The training of word vectors. Its result is vectors of the same words."""

    def __init__(self, vectors: Vectors, method: Contrastive, batches: ContrastiveText) -> None:
        network: Any = WordMean(vectors.table)
        super().__init__(network, batches, method.loss(), method)
        self.vectors = vectors

    def identity(self) -> dict[str, Any]:
        """A checkpoint has the rows of these words, in this order."""
        return {"words": files.checksum("\n".join(self.vectors.words).encode("utf-8", "surrogatepass"))}

    def result(self) -> Any:
        table = next(self.network.parameters()).detach().cpu().numpy().copy()
        card = dataclasses.replace(
            self.vectors.card, notes=(*self.vectors.card.notes, *self.optimizers.notes())
        )
        return dataclasses.replace(self.vectors, stored=table, card=card, contexts=None, subwords=None)


def start_sentence_training(method: Contrastive, data: Corpus, report: Report) -> NetworkTraining:
    """Everything ready for the first step. All sizes of the method are set."""
    if method.starts_from_vectors:
        return _start_from_vectors(method, data, report)
    rows = None
    if method.starts_from_model:
        model = load_model(method.init_from, dtype=torch.float32)  # pyright: ignore[reportArgumentType]
        rows = _rows_in_model(model, method, data, report)
        model = _without_head(model)
    else:
        vocabulary = vocabulary_of(data, method.roles, report)
        surround(vocabulary, start=True)
        model = Model(fresh_network(method, vocabulary), vocabulary.tokenizer)
    sentence = _sentence_of(model, method)
    _check_dims(method, _dim(model, sentence))
    method = dataclasses.replace(method, dim=_dim(model, sentence))
    if method.freeze and model.network.tokens is not None:
        model.network.tokens.weight.requires_grad_(False)
    if method.gradient_checkpointing:
        checkpoint_gradients(model.network)
    before, after = special_around(model.tokenizer)
    batches = ContrastiveText(
        corpus=data,
        padding=model.config.special.padding or 0,
        before=before,
        after=after,
        rows=rows,
        max_length=method.max_length or 1,
        cut="left" if sentence.truncation_side == "left" else "right",
        pairs=method.batch_pairs,
        held_out_every=held_out_every((len(data.offsets) - 1) // 2, method.held_out),
        seed=method.seed,
    )
    batches.note(report)
    return EncoderTraining(model, sentence, method, batches)


def special_around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that a tokenizer puts before and after every text."""
    encoding = tokenizer.encode("a")
    inside = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
    if not inside:
        raise SettingError("The tokenizer of this model has no token for 'a', not even an unknown one.")
    return tuple(encoding.ids[: inside[0]]), tuple(encoding.ids[inside[-1] + 1 :])


def _rows_in_model(model: Model, method: Contrastive, data: Corpus, report: Report) -> np.ndarray | None:
    """The id in the model of each word of the corpus; None if they are the same."""
    if model.tokenizer is None:
        raise SettingError(
            "{path} has no tokenizer, so no text can be encoded for it. Put its tokenizer.json next to the "
            "weights.",
            path=method.init_from,
        )
    known = model.tokenizer.get_vocab(with_added_tokens=True)
    if data.tokenizer_json is None:
        unknown = known.get(str(data.manifest["encoding"].get("unknown")), UNKNOWN)
        return np.array([known.get(word, unknown) for word in data.vocabulary.words], np.int64)
    here = vocabulary_of(data, (), report).tokenizer.get_vocab(with_added_tokens=True)
    if any(known.get(word) != id for word, id in here.items()):
        raise SettingError(
            "The text was not encoded with the tokenizer of {path}: ids and words differ. Encode it with "
            "--tokenizer-file {path}.",
            path=method.init_from,
        )
    return None


def _without_head(model: Model) -> Model:
    """The output layer is for words; it would stay as it is while all below it changes."""
    network: Any = model.network
    if network.head is not None:
        network.head = None
        network.config = dataclasses.replace(network.config, head=HeadConfig(kind="none", tied=False))
    return model


def _sentence_of(model: Model, method: Contrastive) -> Sentence:
    """How the model embeds: as its folder says, or pooled and of unit length."""
    own = model.sentence
    if own is None:
        poolings = check_poolings(method.pooling or "mean")
        return Sentence(
            poolings=poolings,
            layers=nn.ModuleList([Normalize()]),
            max_length=method.max_length,
            similarity="cosine",
        )
    if method.pooling is not None and check_poolings(method.pooling) != own.poolings:
        raise SettingError(
            "pooling is {given}, and {path} has {found}. Leave out pooling.",
            given=method.pooling,
            path=method.init_from,
            found="+".join(own.poolings),
        )
    if own.default_prompt_name is not None and own.prompts.get(own.default_prompt_name):
        raise SettingError(
            "{path} puts the prompt {prompt!r} before every text. Put it before the texts of the pairs, and "
            "set default_prompt_name to null in its config_sentence_transformers.json.",
            path=method.init_from,
            prompt=own.prompts[own.default_prompt_name],
        )
    return dataclasses.replace(own, max_length=method.max_length, similarity=own.similarity or "cosine")


def _dim(model: Model, sentence: Sentence) -> int:
    """Components of the vector of a text."""
    with torch.no_grad():
        pooled = torch.zeros(1, model.config.dim * len(sentence.poolings))
        for layer in sentence.layers:
            pooled = layer(pooled)
    return pooled.shape[1]


def _check_dims(method: Contrastive, dim: int) -> None:
    for each in method.dims:
        if each > dim:
            raise SettingError(
                "dims has {found}, and the vectors have {dim} components. Lower it, or leave it out.",
                found=each,
                dim=dim,
            )


# ---- Word vectors


def _start_from_vectors(method: Contrastive, data: Corpus, report: Report) -> VectorsTraining:
    vectors = read_vectors(method.init_from, report)  # pyright: ignore[reportArgumentType]
    _check_dims(method, vectors.dim)
    if method.freeze:
        raise SettingError("freeze would keep all that there is to learn fixed. Leave it out.")
    rows = _rows_in_vectors(vectors, data)
    counts = np.asarray(data.vocabulary.counts)
    report(
        Note(
            "{known:,} of the {total:,} words in the pairs have vectors; the others are left out.",
            known=int(counts[rows >= 0].sum()),
            total=int(counts.sum()),
        )
    )
    batches = ContrastiveText(
        corpus=data,
        padding=0,
        rows=rows,
        max_length=method.max_length or 1,
        pairs=method.batch_pairs,
        held_out_every=held_out_every((len(data.offsets) - 1) // 2, method.held_out),
        seed=method.seed,
    )
    batches.note(report)
    return VectorsTraining(vectors, method, batches)


def _rows_in_vectors(vectors: Vectors, data: Corpus) -> np.ndarray:
    """The row of each word of the corpus; a word that is not there is looked for in lower case, too."""
    words = list(data.vocabulary.words)
    if data.tokenizer_json is not None:  # tokens are looked up as they are
        found = [vectors.words.find(word) for word in words]
    else:
        found = [vectors.find(word) for word in words]
        found = [
            vectors.find(word.lower()) if row is None else row for word, row in zip(words, found, strict=True)
        ]
    return np.array([UNKNOWN if row is None else row for row in found], np.int64)
