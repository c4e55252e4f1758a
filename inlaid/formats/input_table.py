"""Input table: which tensor of a checkpoint holds one row for each token, as a table of float32 rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.errors import FormatError
from inlaid.formats.huggingface import Folder, Stored
from inlaid.messages import Listed
from inlaid.shapes import LazyTable, Rows, Table
from inlaid.untrusted import check_size

OWN = "inlaid"
"""The model_type of folders that only Inlaid opens: no other tool has a name for their architecture."""
OWN_TABLE = "tokens.weight"
TABLE_NAMES = (
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
"""Suffixes of the names that input tables have, the most certain first."""
HEADS = ("lm_head.", "cls.", "output.", "generator_lm_head.", "score.")
"""Prefixes of the names that output layers have."""
FLOAT_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}
"""NumPy has no bfloat16: its bits are read as uint16."""
INDEX_DTYPES = {"I64": "<i8", "I32": "<i4"}
SHOWN = 12


@dataclass(frozen=True, eq=False)
class TensorTable:
    """A table stored as a tensor of any common dtype; rows are converted to float32 when they are read."""

    content: np.ndarray
    """(row, dim), in the dtype of the file."""
    mapping: np.ndarray | None = None
    """The row of each token, where tokens share rows."""
    weights: np.ndarray | None = None
    """A factor for the row of each token."""
    stored: Stored | None = None
    """Where a memory-mapped `content` is; None: it is in memory."""

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, has every number in memory, and no file."""
        return {**self.__dict__, "content": np.array(self.content), "stored": None}

    @property
    def shape(self) -> tuple[int, ...]:
        tokens = self.content if self.mapping is None else self.mapping
        return (len(tokens), self.content.shape[1])

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        wanted = np.asarray(ids, np.int64)
        if self.stored is not None:
            self.stored.refuse_changed()
        rows = _float32(self.content[wanted if self.mapping is None else self.mapping[wanted]])
        return rows if self.weights is None else rows * self.weights[wanted][:, None]

    def whole(self) -> Table:
        return self.rows(np.arange(self.shape[0]))


def input_table(folder: Folder) -> str:
    """The name of the tensor that holds a row for each token: found by its name, otherwise by its size."""
    if folder.config.get("model_type") == OWN:
        return _own_input_table(folder)
    matrices = _matrices(folder)
    vocab_size = _vocab_size(folder)
    sized = [
        name
        for name in matrices
        if folder.tensors[name].shape[0] == vocab_size and not name.startswith(HEADS)
    ]
    groups = [[name for name in matrices if f".{name}".endswith(f".{suffix}")] for suffix in TABLE_NAMES]
    candidates = next(filter(None, groups), sized)
    if len(candidates) > 1 and set(candidates) & set(sized):
        candidates = [name for name in candidates if name in sized]
    if candidates and all(_equal(folder, candidates[0], name) for name in candidates[1:]):
        return candidates[0]
    raise _ambiguous(folder, candidates or matrices)


def read_table(folder: Folder, name: str) -> LazyTable:
    """The tensor `name` as a table, with model2vec's mapping and weights where the folder has them."""
    shape = folder.tensors[name].shape
    if 0 in shape:
        raise FormatError(
            "{path}: the input table {name} has shape {shape}; expected at least one row and one dimension. "
            "Get the file again.",
            path=folder.path,
            name=name,
            shape=shape,
        )
    content = _values(folder, name)
    stored = folder.tensors[name]
    stored = stored if stored.is_mapped else None
    if name.rpartition(".")[2] != "embeddings":
        return TensorTable(content, stored=stored)
    mapping = _mapping(folder, len(content))
    tokens = len(content) if mapping is None else len(mapping)
    # Tokens that share rows: the table is larger than what is stored.
    check_size(folder.path, 4 * tokens * shape[1], sum(each.bytes for each in folder.tensors.values()))
    return TensorTable(content, mapping, _weights(folder, tokens), stored)


def _own_input_table(folder: Folder) -> str:
    if OWN_TABLE not in folder.tensors:
        raise no_input_table(folder.path)
    return OWN_TABLE


def no_input_table(path: object) -> FormatError:
    """The error for a model that has no table of words, as ELMo."""
    return FormatError(
        "{path}: this model builds the vector of a word from its characters, so it has no input table. "
        "Use load_model(path).embed_words(texts) in Python instead.",
        path=path,
    )


def _matrices(folder: Folder) -> list[str]:
    return [
        name
        for name, tensor in folder.tensors.items()
        if len(tensor.shape) == 2 and tensor.dtype in FLOAT_DTYPES
    ]


def _vocab_size(folder: Folder) -> int | None:
    text_config = folder.config.get("text_config")
    nested = text_config.get("vocab_size") if isinstance(text_config, dict) else None
    return folder.config.get("vocab_size", nested)


def _ambiguous(folder: Folder, candidates: list[str]) -> FormatError:
    if not candidates:
        return FormatError(
            "{path}: found no matrix among its {count} tensors; expected an input table, a row for each "
            "token.",
            path=folder.path,
            count=len(folder.tensors),
        )
    return FormatError(
        "{path}: cannot tell which tensor is the input table; candidates: {candidates}. "
        "In Python, use load_model(path).input_vectors(), or remove the other tensors from the file.",
        path=folder.path,
        candidates=Listed(f"{name} {folder.tensors[name].shape}" for name in candidates[:SHOWN]),
    )


def _equal(folder: Folder, first: str, second: str) -> bool:
    """Whether two tensors hold the same bytes: tied tables that were written twice."""
    if folder.tensors[first].shape != folder.tensors[second].shape:
        return False
    return np.array_equal(folder.content(first), folder.content(second))


def _mapping(folder: Folder, rows: int) -> np.ndarray | None:
    if "mapping" not in folder.tensors:
        return None
    stored = folder.tensors["mapping"]
    if stored.dtype not in INDEX_DTYPES or len(stored.shape) != 1 or not stored.size:
        raise FormatError(
            "{path}: `mapping` is {dtype} of shape {shape}; expected the number of a row for each token, "
            "{expected}. Get the file again.",
            path=folder.path,
            dtype=stored.dtype,
            shape=stored.shape,
            expected=" or ".join(INDEX_DTYPES),
        )
    mapping = _values(folder, "mapping").astype(np.int64)
    if not 0 <= mapping.min() <= mapping.max() < rows:
        raise FormatError(
            "{path}: `mapping` names rows outside the table of {rows:,} rows. Get the file again.",
            path=folder.path,
            rows=rows,
        )
    return mapping


def _weights(folder: Folder, tokens: int) -> np.ndarray | None:
    if "weights" not in folder.tensors:
        return None
    weights = _float32(_values(folder, "weights"))
    if weights.shape != (tokens,):
        raise FormatError(
            "{path}: expected {tokens:,} `weights`, one for each token; found shape {shape}. "
            "Get the file again.",
            path=folder.path,
            tokens=tokens,
            shape=weights.shape,
        )
    return weights


def _values(folder: Folder, name: str) -> np.ndarray:
    stored = folder.tensors[name]
    dtypes = FLOAT_DTYPES | INDEX_DTYPES
    if stored.dtype not in dtypes:
        raise FormatError(
            "{path}: {name} has dtype {dtype}; expected one of {expected}.",
            path=folder.path,
            name=name,
            dtype=stored.dtype,
            expected=Listed(FLOAT_DTYPES),
        )
    return folder.content(name).view(dtypes[stored.dtype]).reshape(stored.shape)


def _float32(values: np.ndarray) -> np.ndarray:
    if values.dtype == np.uint16:  # bfloat16 is the upper half of a float32
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)
