"""fastText's models: .bin, and quantized .ftz; memory-mapped, with character n-grams."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from inlaid.encode.ngrams import NGrams, NGramTable
from inlaid.errors import FormatError
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
from inlaid.formats.product_quantization import quantized, write_quantized
from inlaid.formats.reading import ALL, Reading, Start, compressing
from inlaid.formats.words import accept_words
from inlaid.messages import Message
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


def _is_quantized(path: Path) -> bool:
    """Whether this is the name of a quantized model, .ftz or .ftz.gz."""
    return path.suffix.lower() == ".ftz" or path.stem.lower().endswith(".ftz")


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    """A .bin or a quantized .ftz that fastText loads. What the file needs and the vectors lack is filled in,
    with a note; a .ftz, of an eighth of the size, says what it costs."""
    words = vectors.words.all_bytes()
    _refuse_zero_bytes(words)
    is_small = _is_quantized(path)
    ngrams = _writable_ngrams(vectors, report, pruned=is_small)
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
    write_matrix = _write_quantized if is_small else _write_matrix
    with compressing(path) as file:
        file.write(_header(vectors, ngrams, counts))
        entries = zip(words, counts.tolist(), strict=True)
        file.write(b"".join(word + b"\0" + ENTRY.pack(count, 0) for word, count in entries))
        file.write(_kept_buckets(ngrams))
        write_matrix(file, inputs, vectors, Message("writing the input matrix"), report)
        write_matrix(file, [vectors.contexts], vectors, Message("writing the output matrix"), report)


Tables = Sequence[np.ndarray | LazyTable | None]


def _write_matrix(file: Any, tables: Tables, vectors: Vectors, stage: Message, report: Report) -> None:
    file.write(struct.pack("<?2q", False, _rows(tables, vectors), vectors.dim))
    blocks = _blocks(tables, len(vectors), vectors.dim)
    for block in counted(blocks, stage.in_language("en"), unit="blocks", report=report):
        file.write(np.ascontiguousarray(block, "<f4").data)


def _write_quantized(file: Any, tables: Tables, vectors: Vectors, stage: Message, report: Report) -> None:
    """A matrix in an eighth of the size, with a note of how near its rows stay."""

    def blocks() -> Iterator[np.ndarray]:
        return _blocks(tables, len(vectors), vectors.dim)

    named = stage.in_language("en")
    table = quantized(lambda: counted(blocks(), named, unit="blocks", report=report), _rows(tables, vectors))
    file.write(b"\x01")
    write_quantized(file, table)
    if tables[0] is None:
        return
    nearness = _mean_cosine(next(blocks()), table.rows(np.arange(min(len(vectors), BLOCK))))
    report(
        Note(
            "{stage}, quantized: the rows of words have a mean cosine of {cosine:.3f} with what they were.",
            stage=stage,
            cosine=nearness,
        )
    )


def _mean_cosine(rows: np.ndarray, others: np.ndarray) -> float:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=1)
    products = np.einsum("wd,wd->w", rows, others)
    some = lengths > 0
    return float((products[some] / lengths[some]).mean()) if some.any() else 1.0


def _rows(tables: Tables, vectors: Vectors) -> int:
    return sum(len(vectors) if table is None else table.shape[0] for table in tables)


def _kept_buckets(ngrams: NGrams | None) -> bytes:
    """(bucket, row) of each bucket with a row, where not all have one."""
    if ngrams is None or ngrams.kept is None:
        return b""
    pairs = np.stack([ngrams.kept, np.arange(len(ngrams.kept))], axis=1)
    return pairs.astype("<i4").tobytes()


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


def _writable_ngrams(vectors: Vectors, report: Report, *, pruned: bool) -> NGrams | None:
    """The n-grams as a file can hold them: a .bin has a row for every bucket, a .ftz may be pruned."""
    ngrams = vectors.subwords
    if ngrams is None:
        return None
    if not isinstance(ngrams, NGrams):
        report(
            Note(
                "Out-of-vocabulary words get their vectors from {kind}, which this format cannot hold: only "
                "the words of the vocabulary are written.",
                kind=type(ngrams).__name__,
            )
        )
        return None
    if not pruned and not ngrams.has_rows_for(vectors.words):
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
    if pruned:
        return ngrams
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
    pruned = -1 if ngrams is None or ngrams.kept is None else len(ngrams.kept)
    return start + struct.pack("<3i2q", len(vectors), len(vectors), labels, int(counts.sum()), pruned)


def _blocks(tables: Tables, words: int, dim: int) -> Iterator[np.ndarray]:
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
