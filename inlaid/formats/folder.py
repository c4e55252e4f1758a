"""Hugging Face folders as vectors: any checkpoint's input table read; folders for sentence-transformers and
model2vec written.

What is written holds one token a word, and one row of zeros for what is unknown. Texts are cut as the
vectors' own tokenizer cuts them, as far as a tokenizer.json can say it: words of alphabetic scripts whole,
and every word that does not stand between blanks (Chinese words, phrases, signs) wherever it stands, the
longest first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inlaid import files
from inlaid.encode.subwords.loading import vocabulary_of
from inlaid.encode.subwords.spelling import MARK
from inlaid.encode.subwords.word_level import tokenizer_for
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError
from inlaid.formats.huggingface import CONFIG, WEIGHTS, Folder, open_weights, read_config
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.report import Note, Report, silent
from inlaid.shapes import LazyTable, Rows, Table
from inlaid.vectors import Card, Vectors

MODULES = "modules.json"
TOKENIZER = "tokenizer.json"
STATIC = "sentence_transformers.models.StaticEmbedding"
USUAL = (
    "embedding.weight",
    "embeddings",
    "encoder.embed_tokens.weight",
    "shared.weight",
    "word_embeddings.weight",
    "wte.weight",
    "embed_tokens.weight",
    "tokens_embed.weight",
    "word_embedding.weight",
    "embed_in.weight",
    "tok_embeddings.weight",
)
"""How names of input tables end, the surest first."""
HEADS = ("lm_head.", "cls.", "output.", "generator_lm_head.", "score.")
"""How names of output tables start."""
NUMBERS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}


@dataclass(frozen=True)
class Layout:
    """A folder of vectors as one library lays it out; every layout reads all of them."""

    name: str
    SUFFIXES: tuple[str, ...] = ()

    def recognizes(self, start: Start) -> bool:
        if not start.path.is_dir() or not any((start.path / name).is_file() for name in (MODULES, CONFIG)):
            return False
        return _is_model2vec(start.path) == (self.name == "model2vec")

    def read(self, path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
        """The input table of whatever the folder holds, one row a token, in the order of their ids."""
        part = _first_module(path)
        folder = open_weights(part, read_config(part) if (part / CONFIG).is_file() else {})
        name = input_table(folder)
        table = _table(folder, name)
        vocabulary = vocabulary_of(part if (part / TOKENIZER).is_file() else path)
        rows = table.shape[0] if reading.top is None else min(reading.top, table.shape[0])
        words = _words(vocabulary, table.shape[0], report)[:rows]
        if rows < table.shape[0]:
            table = table.rows(np.arange(rows))
        encoding = {"spelling": _spelling(vocabulary), "normalize": _normalizer(part / TOKENIZER)}
        card = Card(
            method=str(folder.config.get("model_type", "")), encoding=encoding, notes=(f"input table {name}",)
        )
        return Vectors(Words.of(words), table, card=card)

    def write(self, vectors: Vectors, path: Path, report: Report = silent) -> None:
        """A new folder; one that exists is left alone."""
        made = tokenizer_for(vectors.words, vectors.card.encoding, report)
        table = vectors.table
        if made.rows > len(vectors):  # the unknown token
            table = np.concatenate([table, np.zeros((made.rows - len(vectors), vectors.dim), np.float32)])
        with files.writing_folder(path) as folder:
            _write(folder, self.name, table, made.json)


STATIC_EMBEDDING = Layout("static-embedding")
MODEL2VEC = Layout("model2vec")


@dataclass(frozen=True, eq=False)
class Tensor:
    """A table in a file, its numbers in any of the usual forms; float32 as they are asked for."""

    content: np.ndarray
    """(row, dim), as they lie there."""
    mapping: np.ndarray | None = None
    """Where tokens share rows: the row of each token."""
    weights: np.ndarray | None = None
    """What each token's row is multiplied with."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.content) if self.mapping is None else len(self.mapping), self.content.shape[1])

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = np.asarray(ids, np.int64)
        rows = _float32(self.content[wanted if self.mapping is None else self.mapping[wanted]])
        return rows if self.weights is None else rows * self.weights[wanted][:, None]

    def whole(self) -> Table:
        return self.rows(np.arange(self.shape[0]))


def input_table(folder: Folder) -> str:
    """The name of the tensor that holds a row for each token: by its usual names, else by its size."""
    matrices = [
        name for name, tensor in folder.tensors.items() if len(tensor.shape) == 2 and tensor.dtype in NUMBERS
    ]
    inner = folder.config.get("text_config")
    size = folder.config.get("vocab_size", inner.get("vocab_size") if isinstance(inner, dict) else None)
    sized = [
        name for name in matrices if folder.tensors[name].shape[0] == size and not name.startswith(HEADS)
    ]
    groups = [[name for name in matrices if f".{name}".endswith(f".{usual}")] for usual in USUAL]
    candidates = next(filter(None, groups), sized)
    if len(candidates) > 1 and set(candidates) & set(sized):
        candidates = [name for name in candidates if name in sized]
    if candidates and all(_same(folder, candidates[0], name) for name in candidates[1:]):
        return candidates[0]
    shown = (
        ", ".join(f"{name} {folder.tensors[name].shape}" for name in (candidates or matrices)[:12])
        or "no matrix at all"
    )
    raise FormatError(
        f"{folder.path}: which tensor is the input table cannot be told; candidates: {shown}. Load the folder as a model and take its "
        "input_vectors(), or keep only the weights that are meant."
    )


def _is_model2vec(path: Path) -> bool:
    """By its config; one that cannot be read is left to the other layout, whose reader says what is wrong."""
    try:
        return json.loads((path / CONFIG).read_bytes()).get("model_type") == "model2vec"
    except (OSError, ValueError, AttributeError):
        return False


def _same(folder: Folder, one: str, two: str) -> bool:
    """Whether two tensors hold the same bytes: tied tables that were written twice."""
    return folder.tensors[one].shape == folder.tensors[two].shape and np.array_equal(
        folder.content(one), folder.content(two)
    )


def _first_module(path: Path) -> Path:
    """Where the weights lie: sentence-transformers says it in modules.json."""
    if not (path / MODULES).is_file():
        return path
    try:
        first = json.loads((path / MODULES).read_text("utf-8"))[0]
        kind = str(first["type"])
        place = Path(str(first["path"]))
    except (ValueError, LookupError, TypeError) as error:
        raise FormatError(
            f"{path / MODULES}: expected a list of modules, each with a type and a path ({error})."
        ) from None
    if place.is_absolute() or ".." in place.parts or not (path / place).is_dir():
        raise FormatError(
            f"{path / MODULES}: its first module, {kind}, lies in '{place}', which is no folder inside this one."
        )
    return path / place


def _table(folder: Folder, name: str) -> LazyTable:
    """The tensor, with model2vec's mapping and weights where they stand beside it."""
    content = _numbers(folder, name)
    if content.shape[1] == 0:
        raise FormatError(f"{folder.path}: {name} has rows of no numbers.")
    if name.rpartition(".")[2] != "embeddings":
        return Tensor(content)
    mapping = _numbers(folder, "mapping").astype(np.int64) if "mapping" in folder.tensors else None
    weights = _float32(_numbers(folder, "weights")) if "weights" in folder.tensors else None
    if mapping is not None and (
        mapping.ndim != 1 or (len(mapping) and not 0 <= mapping.min() <= mapping.max() < len(content))
    ):
        raise FormatError(
            f"{folder.path}: mapping leads to rows that the table of {len(content):,} does not have."
        )
    tokens = len(content) if mapping is None else len(mapping)
    if weights is not None and weights.shape != (tokens,):
        raise FormatError(f"{folder.path}: {tokens:,} tokens need as many weights; found {weights.shape}.")
    return Tensor(content, mapping, weights)


def _numbers(folder: Folder, name: str) -> np.ndarray:
    stored = folder.tensors[name]
    kinds = NUMBERS | {"I64": "<i8", "I32": "<i4"}
    if stored.dtype not in kinds:
        raise FormatError(f"{folder.path}: {name} is {stored.dtype}; expected one of {', '.join(NUMBERS)}.")
    return folder.content(name).view(kinds[stored.dtype]).reshape(stored.shape)


def _float32(numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype == np.uint16:  # bfloat16: the upper half of a float32
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.astype(np.float32)


def _words(vocabulary: Mapping[str, int], rows: int, report: Report) -> list[str]:
    """The token of each row; rows without one are called `<row N>`, so that a row's number stays its token's
    id."""
    words = [""] * rows
    named = np.zeros(rows, bool)
    for token, id in vocabulary.items():
        if 0 <= id < rows:
            words[id] = token
            named[id] = True
    if len(vocabulary) > named.sum():
        report(Note(f"{len(vocabulary) - named.sum():,} tokens have no row of their own and are left out."))
    if not named.all():
        nameless = np.flatnonzero(~named).tolist()
        report(
            Note(
                f"{len(nameless):,} of {rows:,} rows belong to no token (the first is row {nameless[0]:,}); they are called <row N>."
            )
        )
        for row in nameless:
            words[row] = f"<row {row}>"
    return words


def _spelling(vocabulary: Iterable[str]) -> str:
    """How the vocabulary marks the start of a word, if it does."""
    firsts = Counter(token[:1] for token in vocabulary)
    kind, mark = max((("byte-level", "Ġ"), ("sentencepiece", MARK)), key=lambda pair: firsts[pair[1]])
    return kind if firsts[mark] * 50 > firsts.total() else ""


def _normalizer(path: Path) -> tuple[str, ...]:
    """The steps that a tokenizer.json and we have in common; a query passes through them."""
    text = json.dumps(json.loads(path.read_text("utf-8")).get("normalizer")) if path.is_file() else ""
    lower = '"Lowercase"' in text or '"lowercase": true' in text
    return tuple(["nfc"] * ('"NFC"' in text) + ["nfkc"] * ('"NFKC"' in text) + ["lower"] * lower)


def _write(folder: Path, layout: str, table: Table, tokenizer: str) -> None:
    """The two differ in a name and a config; sentence-transformers reads both, by modules.json, and model2vec
    does, too."""
    from safetensors.numpy import save

    static = layout == "static-embedding"
    weights = {"embedding.weight" if static else "embeddings": np.ascontiguousarray(table)}
    files.write_bytes(folder / WEIGHTS, save(weights, {"format": "pt"}))
    files.write_text(folder / TOKENIZER, tokenizer)
    files.write_text(
        folder / MODULES, json.dumps([{"idx": 0, "name": "0", "path": "", "type": STATIC}], indent=2)
    )
    if static:
        files.write_text(
            folder / "config_sentence_transformers.json",
            json.dumps({"similarity_fn_name": "cosine"}, indent=2),
        )
    else:
        config = {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": table.shape[1],
            "normalize": False,
        }
        files.write_text(folder / CONFIG, json.dumps(config, indent=2))
