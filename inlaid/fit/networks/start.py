"""Start: the network of a method with its first weights, fresh or from a model or vectors (torch)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Engine

from inlaid.encode.corpus import Corpus
from inlaid.encode.pair_corpus import PairCorpus
from inlaid.encode.subwords.spelling import plain
from inlaid.encode.vocabulary import Vocabulary, Words
from inlaid.errors import SettingError
from inlaid.fit.networks.earlier import read_vectors
from inlaid.fit.networks.method import NetworkMethod
from inlaid.fit.networks.training import NetworkTraining
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.messages import Listed
from inlaid.neural.checkpoint import load_model
from inlaid.neural.model import Model
from inlaid.neural.network import Network, grow_network, make_network
from inlaid.neural.seq2seq import Seq2Seq
from inlaid.neural.stack import checkpoint_gradients
from inlaid.neural.tokenizer_pair import PairTokenizer, engines_of, target_size, vocabulary_of_pairs
from inlaid.neural.vocabulary import NAMES, CutsWords, ModelVocabulary, surround, vocabulary_of
from inlaid.report import Note, Report
from inlaid.vectors import Vectors


def start_training(method: NetworkMethod, data: Corpus, report: Report) -> NetworkTraining:
    """Everything ready for the first step. All sizes of the method are set."""
    model: Model | None = None
    if method.starts_from_model:
        # in bfloat16, small updates would be rounded away
        model = load_model(method.init_from, dtype=torch.float32)  # pyright: ignore[reportArgumentType]
        data = _in_words_of(model.tokenizer, data)
        _check_words(model, method, data, report)
        if "separator" in method.roles:
            model = _with_separator(model, report)
        vocabulary = _vocabulary_of_model(model, method)
        network = model.network
    else:
        if isinstance(data, PairCorpus):
            vocabulary = vocabulary_of_pairs(data, method.roles, report)
        else:
            vocabulary = vocabulary_of(data, method.roles, report)
        network = fresh_network(method, vocabulary)
        if method.init_from is not None:
            _start_tables(network, vocabulary, method.init_from, report)
        if method.surrounds:
            for engine in engines_of(vocabulary.tokenizer):
                own = ModelVocabulary(engine, vocabulary.special)
                surround(own, start="start" in method.roles, last=method.last_role)
    if method.freeze:
        for table in _tables_of(network):
            table.requires_grad_(False)
    if isinstance(method, TransformerMethod) and method.gradient_checkpointing:
        checkpoint_gradients(network)
    batches = method.batches(data, vocabulary.special, report)
    return NetworkTraining(network, batches, method.loss(), method, vocabulary.tokenizer, model)


def fresh_network(method: NetworkMethod, vocabulary: ModelVocabulary) -> Network:
    """A network whose weights depend on the seed alone."""
    with torch.random.fork_rng([]):
        torch.manual_seed(method.seed % (1 << 63))
        config = method.config(vocabulary.size, vocabulary.special)
        target = target_size(vocabulary.tokenizer)
        return make_network(dataclasses.replace(config, target_vocab_size=target) if target else config)


def _tables_of(network: Network) -> list[torch.Tensor]:
    """The table of token vectors; of a translator with two vocabularies that of the source and that of the
    target."""
    if network.tokens is None:
        raise SettingError(
            "This network reads words by their characters and has no table of token vectors to start from "
            "vectors or to keep fixed. Turn off characters."
        )
    own = network.target_tokens if isinstance(network, Seq2Seq) else None
    return [each.weight for each in (network.tokens, own) if each is not None]


def _check_words(model: Model, method: NetworkMethod, data: Corpus, report: Report) -> None:
    """Raise SettingError if the text was not encoded with the tokenizer of the model."""
    if model.tokenizer is None:
        raise SettingError(
            "{path} has no tokenizer, so no text can be encoded for it. Put its tokenizer.json next to the "
            "weights.",
            path=method.init_from,
        )
    if not _was_encoded_with(model.tokenizer, data, report):
        raise SettingError(
            "The text was not encoded with the tokenizer of {path}: ids and words differ. Train on the text "
            "itself, which is then encoded as the model needs it.",
            path=method.init_from,
        )


def _with_separator(model: Model, report: Report) -> Model:
    """A decoder that was trained to go on with text, with a token between a sentence and its translation and
    a row for it; one that has it stays as it is. How its folder generates text is not for translations."""
    tokenizer = model.tokenizer
    name = NAMES["separator"][0]
    if not isinstance(tokenizer, Engine) or tokenizer.token_to_id(name) is not None:
        return model
    tokenizer.add_special_tokens([name])
    id = tokenizer.get_vocab(with_added_tokens=True)[name]
    surround(ModelVocabulary(tokenizer, {"separator": id}), start=False, last="separator")
    if id >= model.config.vocab_size:  # some tables have more rows than there are words
        grow_network(model.network, id + 1)
    report(
        Note(
            "{name} was added to the vocabulary of the model, as token {id:,}. It stands between a sentence "
            "and its translation.",
            name=name,
            id=id,
        )
    )
    return dataclasses.replace(model, generation=None)


def _vocabulary_of_model(model: Model, method: NetworkMethod) -> ModelVocabulary:
    """The tokenizer of a model, with its special tokens."""
    tokenizer: Any = model.tokenizer
    known = tokenizer.get_vocab(with_added_tokens=True)
    special = _special_of(model, method.roles, known)
    if isinstance(tokenizer, PairTokenizer):  # the config has the ids of the target
        special["source_end"] = known[tokenizer.target_words[special["end"]]]
    return ModelVocabulary(tokenizer, special)


def _in_words_of(tokenizer: Any, data: Corpus) -> Corpus:
    """A corpus of words over the vocabulary of a model of words: what the model does not know is unknown."""
    if not isinstance(tokenizer, CutsWords) or data.tokenizer_json is not None:
        return data
    own = tokenizer.encoding_of_words
    if any(data.manifest["encoding"].get(name) != own.get(name) for name in ("tokenizer", "normalize")):
        return data
    known: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)  # pyright: ignore
    unknown = known.get(str(own.get("unknown")))
    if unknown is None:
        return data
    ids = np.array([known.get(word, unknown) for word in data.vocabulary.words], np.int32)
    counts = np.bincount(ids, data.vocabulary.counts, len(known)).astype(np.int64)
    words = Vocabulary(Words.of(sorted(known, key=known.__getitem__)), counts)
    return dataclasses.replace(data, ids=ids[data.ids], vocabulary=words)


def _was_encoded_with(tokenizer: Any, data: Corpus, report: Report) -> bool:
    """Whether the words of a corpus have the ids of a tokenizer."""
    known = tokenizer.get_vocab(with_added_tokens=True)
    if isinstance(tokenizer, PairTokenizer):
        sides = [(data, known)]
        sides += [(data.target, tokenizer.target_vocabulary)] if isinstance(data, PairCorpus) else []
        return len(sides) == 2 and all(
            vocabulary[word] == id
            for corpus, vocabulary in sides
            for id, word in enumerate(corpus.vocabulary.words)
            if word in vocabulary
        )
    here = vocabulary_of(data, (), report).tokenizer.get_vocab(with_added_tokens=True)
    return all(known.get(word) == id for word, id in here.items())


def _special_of(model: Model, roles: tuple[str, ...], known: Mapping[str, int]) -> dict[str, int]:
    """The special tokens of a model: as its config says, or by their names."""
    special = model.config.special
    by_config = {
        "padding": special.padding,
        "start": special.start,
        "end": special.end[0] if special.end else None,
    }
    found: dict[str, int] = {}
    for role in roles:
        named = next((known[name] for name in NAMES[role] if name in known), None)
        id = by_config.get(role)
        if id is None or not 0 <= id < model.config.vocab_size:  # some configs have the id of a larger model
            id = named
        if id is None:
            raise SettingError(
                "The tokenizer of this model has no token for {role}; expected one of {names}. Add it to the "
                "tokenizer and to the table of token vectors, or start from a model that has it.",
                role=role,
                names=Listed(NAMES[role]),
            )
        found[role] = id
    return found


def _start_tables(network: Any, vocabulary: ModelVocabulary, path: Path, report: Report) -> None:
    """Start the rows of words that earlier vectors know from these."""
    vectors = read_vectors(path, report)
    tables = _tables_of(network)
    if vectors.dim != tables[0].shape[1]:
        raise SettingError(
            "The vectors of init_from have dim {found}, and dim is {dim} here. Set dim to {found}.",
            found=vectors.dim,
            dim=tables[0].shape[1],
        )
    vocabularies = [each.get_vocab(with_added_tokens=True) for each in engines_of(vocabulary.tokenizer)]
    known = sum(_start_rows(table, words, vectors) for table, words in zip(tables, vocabularies, strict=True))
    words = sum(map(len, vocabularies))
    if not known:
        raise SettingError(
            "None of the {words:,} words of this vocabulary is in {path}. Use the tokenizer that its words "
            "were made with.",
            words=words,
            path=path,
        )
    report(
        Note("{found:,} of {words:,} token vectors start from {path}.", found=known, words=words, path=path)
    )


def _start_rows(table: torch.Tensor, words: Mapping[str, int], vectors: Vectors) -> int:
    """Start the rows of the words that vectors know; how many there are."""
    found = {id: vectors.find(plain(word)) for word, id in words.items()}
    rows = {id: row for id, row in found.items() if row is not None}
    if rows:
        started = np.asarray(vectors.rows(list(rows.values())))
        scale = float(table.detach().std()) / max(float(started.std()), 1e-12)
        with torch.no_grad():
            table[list(rows)] = torch.from_numpy(started * scale).to(table.dtype)
    return len(rows)
