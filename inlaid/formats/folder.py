"""Hugging Face folders as vectors: reads any checkpoint's input table, writes for two libraries of vectors.

The two are sentence-transformers and model2vec. A folder that is written has one token for each word, and
one row of zeros for the unknown token. Its tokenizer.json splits text as the tokenizer of the vectors does,
as far as that format allows: words of alphabetic scripts are whole tokens, and every word that need not be
between spaces (Chinese words, phrases, punctuation) is matched anywhere, the longest first.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from inlaid import files, registry
from inlaid.encode.subwords.spelling import BYTE_LEVEL, mark_of, readable
from inlaid.encode.subwords.word_level import FolderTokenizer, tokenizer_for, with_normalizer
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.formats import elmo
from inlaid.formats.cards import read_card
from inlaid.formats.huggingface import CONFIG, WEIGHTS, open_weights, read_config
from inlaid.formats.input_table import input_table, no_input_table, read_table
from inlaid.formats.reading import ALL, Part, Reading, Start
from inlaid.formats.token_words import (
    TOKENIZER,
    normalizers_of,
    read_vocabulary,
    words_of_rows,
)
from inlaid.report import Report, silent
from inlaid.shapes import Table
from inlaid.untrusted import parse_json
from inlaid.vectors import Card, Vectors

MODULES = "modules.json"
CARD = "card.json"
TOKENIZERS = ("tokenizer.json", "words.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
"""Files of which a folder that can read text has one."""
STATIC = "sentence_transformers.models.StaticEmbedding"


@dataclass(frozen=True)
class FolderFormat:
    """A folder of vectors as one library writes it; each of them reads the folders of all."""

    name: str
    SUFFIXES: tuple[str, ...] = ()
    STORES: tuple[Part, ...] = ("tokenizer",)

    def recognizes(self, start: Start) -> bool:
        path = start.path
        if not path.is_dir():
            return False
        if not ((path / MODULES).is_file() or (path / CONFIG).is_file() or elmo.recognizes(path)):
            return False
        return _is_model2vec(path) == (self.name == "model2vec")

    def read(self, path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
        """The input table of the checkpoint in the folder, one row for each token, in the order of ids."""
        if elmo.recognizes(path) and not (path / CONFIG).is_file():
            raise no_input_table(path)
        part = first_module(path)
        folder = open_weights(part, read_config(part) if (part / CONFIG).is_file() else {})
        name = input_table(folder)
        table = read_table(folder, name)
        model_type = str(folder.config.get("model_type", ""))
        vocabulary = read_vocabulary(dict.fromkeys((part, path)), model_type, report)
        mark = mark_of(vocabulary)
        words = words_of_rows(path, vocabulary, table.shape[0], report)
        if mark == BYTE_LEVEL:
            words = readable(words)
        if reading.top is not None and reading.top < table.shape[0]:
            words = words[: reading.top]
            table = table.rows(np.arange(reading.top))
        encoding = {"spelling": mark, "normalize": normalizers_of(part / TOKENIZER)}
        card = _card(path, model_type, report)
        card = replace(
            card, encoding={**card.encoding, **encoding}, notes=(*card.notes, f"input table {name}")
        )
        return Vectors(Words.of(words), table, card=card)

    def write(self, vectors: Vectors, path: Path, report: Report = silent) -> None:
        """Write a new folder; an existing one is never changed."""
        tokenizer = _tokenizer(vectors, report)
        table = vectors.table
        if tokenizer.rows > len(vectors):  # a row for the unknown token
            zeros = np.zeros((tokenizer.rows - len(vectors), vectors.dim), np.float32)
            table = np.concatenate([table, zeros])
        with files.writing_folder(path) as folder:
            _write(folder, self.name, table, tokenizer.json)
            card = replace(vectors.card, encoding={})  # the tokenizer of the folder says how text is cut
            files.write_text(folder / CARD, json.dumps(asdict(card), indent=2, ensure_ascii=False))


STATIC_EMBEDDING = FolderFormat("static-embedding")
MODEL2VEC = FolderFormat("model2vec")


def _tokenizer(vectors: Vectors, report: Report) -> FolderTokenizer:
    """The subword tokenizer of the vectors, where its ids are their rows; otherwise one of whole words."""
    own = vectors.tokenizer
    if own is None or own.vocabulary != list(vectors.words):
        return tokenizer_for(vectors.words, vectors.card.encoding, report)
    return FolderTokenizer(with_normalizer(own.to_json(), vectors.card.encoding, report), len(vectors))


def _is_model2vec(path: Path) -> bool:
    """By its config. A config that cannot be read counts as no: the other format then reports the error."""
    try:
        return parse_json((path / CONFIG).read_bytes()).get("model_type") == "model2vec"
    except (OSError, ValueError, AttributeError):
        return False


def is_static(path: Path) -> bool:
    """Whether a folder is vectors of words and no network: by its config, or by its first module."""
    if _is_model2vec(path):
        return True
    return (path / MODULES).is_file() and _module_of(path)[0].endswith("StaticEmbedding")


def is_model(path: Path) -> bool:
    """Whether a folder is a network with a tokenizer, of a family that is known, and torch is installed."""
    if not path.is_dir() or is_static(path):
        return False
    place = first_module(path)
    if not (place / CONFIG).is_file() or find_spec("torch") is None:
        return False
    model_type = str(read_config(place).get("model_type", ""))
    has_words = any((place / name).is_file() for name in TOKENIZERS)
    return has_words and model_type in {each.name for each in registry.entries("family")} - {"elmo"}


def _module_of(path: Path) -> tuple[str, Path]:
    """The type and the path of the first module of a folder."""
    modules = path / MODULES
    try:
        first = parse_json(modules.read_bytes())[0]
        return str(first["type"]), Path(str(first["path"]))
    except (ValueError, LookupError, TypeError) as error:
        raise FormatError(
            "{path}: expected a list of modules, each with a type and a path ({error}). Get the file again.",
            path=modules,
            error=repr(error),
        ) from None


def first_module(path: Path) -> Path:
    """The folder of the weights: modules.json of sentence-transformers names it."""
    modules = path / MODULES
    if not modules.is_file():
        return path
    kind, place = _module_of(path)
    if place.is_absolute() or ".." in place.parts or not os.path.isdir(path / place):
        raise FormatError(
            "{path}: the path of its first module ({kind}) is '{place}'; expected a folder inside {folder}.",
            path=modules,
            kind=kind,
            place=place,
            folder=path,
        )
    return path / place


def _card(path: Path, model_type: str, report: Report) -> Card:
    """The card that `save_model` wrote; in folders of other tools the model type is the method."""
    if not (path / CARD).is_file():
        return Card(method=model_type)
    card = read_card(path / CARD, (path / CARD).read_bytes(), report)
    return card if card.method else replace(card, method=model_type)


def _write(folder: Path, layout: str, table: Table, tokenizer: str) -> None:
    """The two layouts differ in the name of the tensor and in the config. modules.json is in both:
    sentence-transformers needs it, and model2vec accepts it."""
    from safetensors.numpy import save

    static = layout == "static-embedding"
    weights = {"embedding.weight" if static else "embeddings": np.ascontiguousarray(table)}
    files.write_bytes(folder / WEIGHTS, save(weights, {"format": "pt"}))
    files.write_text(folder / TOKENIZER, tokenizer)
    _write_json(folder / MODULES, [{"idx": 0, "name": "0", "path": "", "type": STATIC}])
    if static:
        _write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    else:
        config = {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": table.shape[1],
            "normalize": False,
        }
        _write_json(folder / CONFIG, config)


def _write_json(path: Path, content: Any) -> None:
    files.write_text(path, json.dumps(content, indent=2))
