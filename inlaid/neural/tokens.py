"""Tokens: the tokenizer of a model folder, and texts turned into padded batches with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inlaid.encode.subwords.loading import of_model
from inlaid.encode.subwords.marian import SentencePieces
from inlaid.errors import FormatError, SettingError
from inlaid.neural.architecture import Architecture

TOKENIZER = "tokenizer.json"
SETTINGS = "tokenizer_config.json"


@dataclass(frozen=True)
class Batch:
    """Texts as a network takes them: ids and mask (text, token), and where each token stands in its text."""

    ids: Tensor
    mask: Tensor
    spans: list[list[tuple[int, int]]]
    """Start and end of each token in its text; (0, 0) for those the tokenizer adds, as [CLS]."""
    segments: Tensor | None = None


def read_tokenizer(path: Path, shape: Architecture) -> Any:
    """The tokenizer a folder carries, or None; one with words that the table has no rows for raises
    FormatError."""
    made = of_model(path, reads_both_ways=shape.kind == "encoder")
    sizes = [] if made is None else [(made.get_vocab_size(), shape.words)]
    if isinstance(made, SentencePieces):
        sizes.append((max(made.target_words) + 1, shape.written_words))
    for words, rows in sizes:
        if words > rows:
            raise FormatError(f"{path}: the tokenizer has {words:,} words, the table only {rows:,} rows.")
    return made


def tokenizer_files(tokenizer: Any, shape: Architecture) -> dict[str, bytes]:
    """What `read_tokenizer` and `transformers` need to have the same tokenizer again."""
    if tokenizer is None:
        return {}
    if isinstance(tokenizer, SentencePieces):
        return tokenizer.files
    names = {
        "pad_token": shape.padding,
        "eos_token": shape.end[0] if shape.end else None,
        "bos_token": shape.start,
    }
    special = {
        name: tokenizer.id_to_token(id)
        for name, id in names.items()
        if id is not None and tokenizer.id_to_token(id)
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": shape.length, **special}
    return {
        TOKENIZER: tokenizer.to_str().encode("utf-8"),
        SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False).encode("utf-8"),
    }


def make_batch(tokenizer: Any, texts: Sequence[str], *, padding: int | None, side: str = "right") -> Batch:
    """Encode texts and fill the shorter ones on one side."""
    if not texts:
        raise SettingError("There are no texts: give at least one.")
    encodings = tokenizer.encode_batch(list(texts))
    for text, encoding in zip(texts, encodings, strict=True):
        if not encoding.ids:
            raise SettingError(f"The text {text!r} has no tokens. Leave it out.")
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = torch.full((len(texts), longest), padding or 0)
    mask = torch.zeros(len(texts), longest, dtype=torch.bool)
    segments = torch.zeros(len(texts), longest, dtype=torch.int64)
    for row, encoding in enumerate(encodings):
        taken = (
            slice(0, len(encoding.ids)) if side == "right" else slice(longest - len(encoding.ids), longest)
        )
        ids[row, taken] = torch.tensor(encoding.ids)
        segments[row, taken] = torch.tensor(encoding.type_ids)
        mask[row, taken] = True
    return Batch(ids, mask, [[tuple(span) for span in encoding.offsets] for encoding in encodings], segments)


def words_in_order(tokenizer: Any, rows: int, *, written: bool = False) -> list[str]:
    """The word of each row; rows the tokenizer has no word for are called `<row N>`.

    `written`: of the words a model writes, which Marian's tokenizer may number otherwise than those it reads.
    """
    words = [f"<row {row}>" for row in range(rows)]
    if written and isinstance(tokenizer, SentencePieces):
        known = tokenizer.target_vocabulary
    else:
        known = {} if tokenizer is None else tokenizer.get_vocab(with_added_tokens=True)
    for word, id in known.items():
        words[id] = word
    return words
