"""fastText's models: .bin read and written, .ftz (quantized) read; memory-mapped, with character n-grams."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.errors import FormatError, SettingError
from inlaid.formats.binary import MappedTable
from inlaid.formats.fasttext_model import (
    ENTRY,
    MAGIC,
    SETTINGS,
    VERSION,
    FastTextModel,
    Matrix,
    has_magic,
    is_version_0,
    read_model,
)
from inlaid.formats.reading import ALL, Reading, Start, compressing
from inlaid.formats.words import accept_words
from inlaid.report import Note, Report, counted, silent
from inlaid.shapes import LazyTable
from inlaid.vectors import Card, Vectors

SUFFIXES = (".bin", ".ftz")
STORES = ("counts", "contexts", "n-grams")
COMPRESSIONS = (".gz", ".xz")
BLOCK = 1 << 13
"""Rows written at a time."""
DEFAULTS = {
    "window": 5,
    "epochs": 5,
    "min_count": 1,
    "negatives": 5,
    "word_ngrams": 1,
    "lr_update_rate": 100,
    "loss": 2,
    "buckets": 0,
    "min_n": 0,
    "max_n": 0,
}
"""Settings that are written where the card does not have them."""
FROM_CARD = ("window", "epochs", "min_count", "negatives", "lr_update_rate")
SUBSAMPLE = 1e-4


def recognizes(start: Start) -> bool:
    return has_magic(start.head) or is_version_0(start.head)


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """The words of a model. The output matrix becomes `contexts` if its rows are words."""
    model = read_model(path, report)
    found = model.dictionary.words
    accepted = accept_words(path, found[: reading.top], reading, report)
    rows = slice(0, len(accepted.words)) if accepted.rows is None else accepted.rows
    vectors = Vectors(
        accepted.words,
        _lazy(model.matrix[rows]),
        model.dictionary.counts[rows],
        Card(method="fasttext", settings=model.settings),
    )
    if model.contexts is not None:
        vectors = replace(vectors, contexts=_lazy(model.contexts[rows]))
    if not model.settings["max_n"]:
        return vectors
    ngrams = _ngrams(model, rows)
    # N-grams are made of the bytes in the file, even if the words were repaired.
    texts = found[rows] if isinstance(rows, slice) else [found[row] for row in rows.tolist()]
    blob = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    return replace(vectors, stored=NGramTable(ngrams, blob, offsets), subwords=ngrams)


def check_output(path: Path) -> None:
    """Raise SettingError if this is the name of a quantized model."""
    if path.suffix.lower() == ".ftz" or path.stem.lower().endswith(".ftz"):
        raise SettingError(
            "{path}: quantized models (.ftz) are read, not written. Write {stem}.bin.",
            path=path,
            stem=path.name.split(".")[0],
        )


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    """A .bin that fastText loads. What the file needs and the vectors lack is filled in, with a note."""
    check_output(path)
    words = vectors.words.all_bytes()
    _refuse_zero_bytes(words)
    ngrams = _writable_ngrams(vectors, report)
    counts = _counts(vectors, report)
    if vectors.contexts is None:
        report(
            Note(
                "The vectors have no context table: the output matrix is all zeros. fastText can look "
                "words up "
                "in the file, but not continue training."
            )
        )
    inputs = [vectors.stored] if ngrams is None else [ngrams.own, ngrams.buckets]
    with compressing(path) as file:
        file.write(_header(vectors, ngrams, counts))
        entries = zip(words, counts.tolist(), strict=True)
        file.write(b"".join(word + b"\0" + ENTRY.pack(count, 0) for word, count in entries))
        for stage, tables in (
            ("writing the input matrix", inputs),
            ("writing the output matrix", [vectors.contexts]),
        ):
            rows = sum(len(vectors) if table is None else table.shape[0] for table in tables)
            file.write(struct.pack("<?2q", False, rows, vectors.dim))
            blocks = _blocks(tables, len(vectors), vectors.dim)
            for block in counted(blocks, stage, unit="blocks", report=report):
                file.write(np.ascontiguousarray(block, "<f4").data)


def _ngrams(model: FastTextModel, rows: slice | np.ndarray) -> NGrams:
    settings = model.settings
    return NGrams(
        own=model.matrix[rows],
        buckets=model.matrix[model.dictionary.bucket_rows],
        size=settings["buckets"],
        min_n=settings["min_n"],
        max_n=settings["max_n"],
        kept=model.dictionary.kept,
    )


def _lazy(table: Matrix) -> LazyTable:
    return MappedTable(table) if isinstance(table, np.ndarray) else table


def _refuse_zero_bytes(words: Sequence[bytes]) -> None:
    broken = next((word for word in words if b"\0" in word), None)
    if broken is not None:
        raise FormatError(
            "The word {word!r} contains a zero byte, which ends a word in this format. Remove the word.",
            word=broken,
        )


def _counts(vectors: Vectors, report: Report) -> np.ndarray:
    if vectors.counts is not None:
        return vectors.counts
    report(
        Note(
            "The vectors have no counts: the file says {words:,} for the first word, and one less for each "
            "that follows.",
            words=len(vectors),
        )
    )
    return np.arange(len(vectors), 0, -1)


def _writable_ngrams(vectors: Vectors, report: Report) -> NGrams | None:
    """The n-grams with a row for every bucket, if a .bin can hold them."""
    ngrams = vectors.subwords
    if ngrams is None:
        return None
    if not isinstance(ngrams, NGrams):
        report(
            Note(
                "Out-of-vocabulary words get their vectors from {kind}, which a .bin cannot hold: only the "
                "words of the vocabulary are written.",
                kind=type(ngrams).__name__,
            )
        )
        return None
    if not ngrams.has_rows_for(vectors.words):
        report(
            Note(
                "Most n-grams of these vectors were pruned, which a .bin cannot hold: only the words of the "
                "vocabulary are written."
            )
        )
        return None
    if ngrams.own.shape[0] != len(vectors):
        raise FormatError(
            "Expected {words:,} rows beside the n-grams, one for each word; found {rows:,}.",
            words=len(vectors),
            rows=ngrams.own.shape[0],
        )
    if ngrams.kept is not None:
        report(
            Note(
                "{missing:,} of {buckets:,} buckets have no row and are written as zeros. fastText divides "
                "by "
                "them, too: an out-of-vocabulary word may get a shorter vector there, in the same direction.",
                missing=ngrams.size - len(ngrams.kept),
                buckets=ngrams.size,
            )
        )
    return ngrams.spread()


def _header(vectors: Vectors, ngrams: NGrams | None, counts: np.ndarray) -> bytes:
    """Magic number, version, settings (from the card, where it has them) and the head of the dictionary."""
    settings = dict(DEFAULTS)
    for name in FROM_CARD:
        value = vectors.card.settings.get(name)
        if isinstance(value, int) and 0 < value < 1 << 31:
            settings[name] = value
    settings["dim"] = vectors.dim
    settings["objective"] = 1 if vectors.card.settings.get("objective") == "cbow" else 2
    if ngrams is not None:
        settings |= {"buckets": ngrams.size, "min_n": ngrams.min_n, "max_n": ngrams.max_n}
    values = [settings[name] for name in SETTINGS]
    start = struct.pack("<14id", MAGIC, VERSION, *values, SUBSAMPLE)
    labels = 0
    not_pruned = -1
    return start + struct.pack("<3i2q", len(vectors), len(vectors), labels, int(counts.sum()), not_pruned)


def _blocks(tables: Sequence[np.ndarray | LazyTable | None], words: int, dim: int) -> Iterator[np.ndarray]:
    """The rows of some tables in order, a block at a time; None is a row of zeros for each word."""
    for table in tables:
        rows = words if table is None else table.shape[0]
        for start in range(0, rows, BLOCK):
            ids = np.arange(start, min(start + BLOCK, rows))
            if table is None:
                yield np.zeros((len(ids), dim), np.float32)
            elif isinstance(table, np.ndarray):
                yield table[ids]
            else:
                yield table.rows(ids)
