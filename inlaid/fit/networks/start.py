"""Start: the network of a method with its first weights, fresh or from a model or vectors (torch)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from inlaid.encode.corpus import Corpus
from inlaid.encode.subwords.spelling import plain
from inlaid.errors import SettingError
from inlaid.fit.networks.earlier import read_vectors
from inlaid.fit.networks.method import NetworkMethod
from inlaid.fit.networks.training import NetworkTraining
from inlaid.fit.networks.transformer import TransformerMethod
from inlaid.neural.checkpoint import load_model
from inlaid.neural.model import Model
from inlaid.neural.network import Network, make_network
from inlaid.neural.stack import checkpoint_gradients
from inlaid.neural.vocabulary import NAMES, ModelVocabulary, surround, vocabulary_of
from inlaid.report import Note, Report


def start_training(method: NetworkMethod, data: Corpus, report: Report) -> NetworkTraining:
    """Everything ready for the first step. All sizes of the method are set."""
    if method.starts_from_model:
        model = load_model(method.init_from)  # pyright: ignore[reportArgumentType]
        vocabulary = _vocabulary_of_model(model, method, data, report)
        network = model.network
    else:
        vocabulary = vocabulary_of(data, method.roles, report)
        network = fresh_network(method, vocabulary)
        if method.init_from is not None:
            _start_table(network, vocabulary, method.init_from, report)
        if method.surrounds:
            surround(vocabulary, start="start" in method.roles)
    if method.freeze:
        _table_of(network).requires_grad_(False)
    if isinstance(method, TransformerMethod) and method.gradient_checkpointing:
        checkpoint_gradients(network)
    batches = method.batches(data, vocabulary.special, report)
    return NetworkTraining(network, batches, method.loss(), method, vocabulary.tokenizer)


def fresh_network(method: NetworkMethod, vocabulary: ModelVocabulary) -> Network:
    """A network whose weights depend on the seed alone."""
    with torch.random.fork_rng([]):
        torch.manual_seed(method.seed % (1 << 63))
        return make_network(method.config(vocabulary.size, vocabulary.special))


def _table_of(network: Network) -> torch.Tensor:
    """The table of token vectors."""
    if network.tokens is None:
        raise SettingError(
            "This network reads words by their characters and has no table of token vectors to start from "
            "vectors or to keep fixed. Turn off characters."
        )
    return network.tokens.weight


def _vocabulary_of_model(
    model: Model, method: NetworkMethod, data: Corpus, report: Report
) -> ModelVocabulary:
    """The tokenizer of a model, if the text was encoded with it."""
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise SettingError(
            "{path} has no tokenizer, so no text can be encoded for it. Put its tokenizer.json next to the "
            "weights.",
            path=method.init_from,
        )
    known = tokenizer.get_vocab(with_added_tokens=True)
    here = vocabulary_of(data, (), report).tokenizer.get_vocab(with_added_tokens=True)
    if any(known.get(word) != id for word, id in here.items()):
        raise SettingError(
            "The text was not encoded with the tokenizer of {path}: ids and words differ. Encode it with "
            "--tokenizer-file {path}.",
            path=method.init_from,
        )
    return ModelVocabulary(tokenizer, _special_of(model, method.roles, known))


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
        id = named if id is None else id
        if id is None:
            raise SettingError(
                "The tokenizer of this model has no token for {role}; expected one of {names}.",
                role=role,
                names=", ".join(NAMES[role]),
            )
        found[role] = id
    return found


def _start_table(network: Any, vocabulary: ModelVocabulary, path: Path, report: Report) -> None:
    """Start the rows of words that earlier vectors know from these."""
    vectors = read_vectors(path, report)
    table = _table_of(network)
    if vectors.dim != table.shape[1]:
        raise SettingError(
            "The vectors of init_from have dim {found}, and dim is {dim} here. Set dim to {found}.",
            found=vectors.dim,
            dim=table.shape[1],
        )
    words = vocabulary.tokenizer.get_vocab(with_added_tokens=True)
    found = {id: vectors.find(plain(word)) for word, id in words.items()}
    rows = {id: row for id, row in found.items() if row is not None}
    if not rows:
        raise SettingError(
            "None of the {words:,} words of this vocabulary is in {path}. Use the tokenizer that its words "
            "were made with.",
            words=len(words),
            path=path,
        )
    started = np.asarray(vectors.rows(list(rows.values())))
    scale = float(table.detach().std()) / max(float(started.std()), 1e-12)
    with torch.no_grad():
        table[list(rows)] = torch.from_numpy(started * scale).to(table.dtype)
    report(
        Note(
            "{found:,} of {words:,} token vectors start from {path}.",
            found=len(rows),
            words=len(words),
            path=path,
        )
    )
