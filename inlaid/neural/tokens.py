"""Tokens: texts turned into padded batches by a model's tokenizer, and the tokenizer's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from inlaid.encode.subwords.forking import prepare_for_forks
from inlaid.errors import FormatError, SettingError
from inlaid.neural.config import Config
from inlaid.untrusted import library_errors

prepare_for_forks()

TOKENIZER = "tokenizer.json"
SETTINGS = "tokenizer_config.json"


@runtime_checkable
class PairTokenizer(Protocol):
    """A tokenizer with a vocabulary for the source and one for the target, which may be the same."""

    target_words: Mapping[int, str]
    target_vocabulary: Mapping[str, int]
    files: Mapping[str, bytes]
    """The files it was read from, by name."""


@dataclass(frozen=True)
class Batch:
    """Texts as a network takes them: ids and mask (text, token), and each token's span in its text."""

    ids: Tensor
    mask: Tensor
    spans: list[list[tuple[int, int]]]
    """Start and end of each token in its text; (0, 0) for those the tokenizer adds, such as [CLS]."""
    segments: Tensor | None = None


def check_tokenizer(tokenizer: Any, path: Path, config: Config) -> None:
    """Raise FormatError for a tokenizer with words that the tables have no rows for."""
    sizes = [(max(tokenizer.get_vocab().values(), default=-1) + 1, config.vocab_size)]
    if isinstance(tokenizer, PairTokenizer):
        sizes.append((max(tokenizer.target_words) + 1, config.output_vocab_size))
    for words, rows in sizes:
        if words > rows:
            raise FormatError(
                "{path}: the tokenizer has {words:,} words, but the table only {rows:,} rows. "
                "Use the tokenizer the model was trained with.",
                path=path,
                words=words,
                rows=rows,
            )


def tokenizer_files(tokenizer: Any, config: Config) -> dict[str, bytes]:
    """The files from which Inlaid and `transformers` read the same tokenizer again."""
    if tokenizer is None:
        return {}
    if isinstance(tokenizer, PairTokenizer):
        return dict(tokenizer.files)
    ids = {
        "pad_token": config.special.padding,
        "eos_token": config.special.end[0] if config.special.end else None,
        "bos_token": config.special.start,
    }
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": config.positions.max_length,
    }
    for name, id in ids.items():
        token = None if id is None else tokenizer.id_to_token(id)
        if token:
            settings[name] = token
    return {
        TOKENIZER: tokenizer.to_str().encode("utf-8"),
        SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False).encode("utf-8"),
    }


def make_batch(
    tokenizer: Any, texts: Sequence[str], *, padding: int | None, side: Literal["left", "right"] = "right"
) -> Batch:
    """Encode texts and pad the shorter ones on one side."""
    if not texts:
        raise SettingError("There are no texts: give at least one.")
    with library_errors(_cannot_encode):
        encodings = tokenizer.encode_batch(list(texts))
    for text, encoding in zip(texts, encodings, strict=True):
        if not encoding.ids:
            raise SettingError("The text {text!r} has no tokens. Leave it out.", text=text)
    longest = max(len(encoding.ids) for encoding in encodings)
    ids = torch.full((len(texts), longest), padding or 0)
    mask = torch.zeros(len(texts), longest, dtype=torch.bool)
    segments = torch.zeros(len(texts), longest, dtype=torch.int64)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        columns = slice(0, length) if side == "right" else slice(longest - length, longest)
        ids[row, columns] = torch.tensor(encoding.ids)
        segments[row, columns] = torch.tensor(encoding.type_ids)
        mask[row, columns] = True
    spans = [[tuple(span) for span in encoding.offsets] for encoding in encodings]
    return Batch(ids, mask, spans, segments)


def _cannot_encode(reason: str) -> FormatError:
    return FormatError(
        "The tokenizer of this model cannot encode a text: {reason}. If its file is damaged, get it again.",
        reason=reason,
    )


def words_in_order(tokenizer: Any, rows: int, *, target: bool = False) -> list[str]:
    """The word of each row; rows the tokenizer has no word for are called `<row N>`.

    `target`: the words of the target vocabulary, where the tokenizer has one of its own.
    """
    words = [f"<row {row}>" for row in range(rows)]
    known: Mapping[str, int] = {}
    if target and isinstance(tokenizer, PairTokenizer):
        known = tokenizer.target_vocabulary
    elif tokenizer is not None:
        known = tokenizer.get_vocab(with_added_tokens=True)
    for word, id in known.items():
        words[id] = word
    return words
