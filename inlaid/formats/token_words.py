"""Token words: the word of each row of a checkpoint's input table, from the tokenizer in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from inlaid.encode.subwords.loading import vocabulary_of
from inlaid.errors import MissingExtra, need
from inlaid.report import Note, Report
from inlaid.untrusted import read_json_object, reading_file

TOKENIZER = "tokenizer.json"
SENTENCEPIECE_FILES = ("spiece.model", "tokenizer.model")
SENTENCEPIECE_MODELS = ("t5", "mt5", "umt5", "llama", "mistral", "gemma")
"""Model types whose token ids are the ids in the SentencePiece file. Others shift them (XLM-R by 1, Pegasus
by 103)."""


def read_vocabulary(folders: Iterable[Path], model_type: str, report: Report) -> Mapping[str, int]:
    """Token -> id, from the first of `folders` that has a tokenizer; empty where none has."""
    for folder in folders:
        found = vocabulary_of(folder) or _sentencepiece(folder, model_type, report)
        if found:
            return found
    return {}


def words_of_rows(path: Path, vocabulary: Mapping[str, int], rows: int, report: Report) -> list[str]:
    """The token of each row. A row without one is called `<row N>`, so that the row number stays the token
    id."""
    words = [""] * rows
    named = np.zeros(rows, bool)
    for token, id in vocabulary.items():
        if 0 <= id < rows:
            words[id] = token
            named[id] = True
    for row in np.flatnonzero(~named).tolist():
        words[row] = f"<row {row}>"
    _report_mismatch(path, len(vocabulary), named, report)
    return words


def normalizers_of(path: Path) -> tuple[str, ...]:
    """The normalizers of a tokenizer.json that Inlaid has, too; a query goes through them."""
    if not path.is_file():
        return ()
    text = json.dumps(read_json_object(path).get("normalizer"))
    steps = list[str]()
    if '"NFC"' in text:
        steps.append("nfc")
    if '"NFKC"' in text:
        steps.append("nfkc")
    if '"Lowercase"' in text or '"lowercase": true' in text:
        steps.append("lower")
    return tuple(steps)


def _sentencepiece(folder: Path, model_type: str, report: Report) -> Mapping[str, int]:
    path = next((folder / name for name in SENTENCEPIECE_FILES if (folder / name).is_file()), None)
    if path is None or model_type not in SENTENCEPIECE_MODELS:
        return {}
    try:
        library = need("sentencepiece", extra="sentencepiece")
    except MissingExtra as error:
        report(Note("{path} was not read: {error}.", path=path, error=error))
        return {}
    with reading_file(path, "SentencePiece"):
        pieces = library.SentencePieceProcessor(model_proto=path.read_bytes())
        return {pieces.id_to_piece(id): id for id in range(pieces.get_piece_size())}


def _report_mismatch(path: Path, tokens: int, named: np.ndarray, report: Report) -> None:
    rows = len(named)
    if not tokens and rows:
        report(
            Note(
                "{path} has no tokenizer that Inlaid can read; its words are called <row 0> to <row {last}>. "
                "Put the tokenizer.json of the model into the folder to see its words.",
                path=path,
                last=rows - 1,
            )
        )
        return
    if tokens > named.sum():
        report(
            Note(
                "{path}: {count:,} tokens of the tokenizer have no row in the table; they were left out.",
                path=path,
                count=int(tokens - named.sum()),
            )
        )
    if not named.all():
        report(
            Note(
                "{path}: {count:,} of {rows:,} rows belong to no token (the first is row {first:,}); "
                "they are called <row N>.",
                path=path,
                count=int((~named).sum()),
                rows=rows,
                first=int(np.flatnonzero(~named)[0]),
            )
        )
