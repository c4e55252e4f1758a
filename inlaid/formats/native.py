"""Inlaid's own format: one safetensors file, memory-mapped and checksummed (.inlaid).

Opening reads the header only; words and rows are verified when they are used. The table is float32, float16
(half the size) or int8 with a scale for each row (a quarter). N-grams, where the vectors have them, are most
of the file; they are stored in the same dtype.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from inlaid import array_writer, arrays
from inlaid.encode.corpus import refuse_misfit
from inlaid.encode.ngrams import NGrams
from inlaid.encode.vocabulary import (
    expect_counts,
    expect_words,
    pack_words,
    unpack_counts,
    unpack_words,
)
from inlaid.errors import FormatError
from inlaid.formats.cards import read_card
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.report import Note, Report, silent
from inlaid.shapes import Rows, Table
from inlaid.untrusted import parse_json_part
from inlaid.values import Values
from inlaid.vectors import Int8Table, LazyTable, Vectors

SUFFIXES = (".inlaid",)
STORES = ("counts", "contexts", "n-grams", "tokenizer")
Dtype = Literal["float32", "float16", "int8"]
BLOCK = 1 << 13
"""Rows written at a time."""
NGRAM_SETTINGS = ("size", "min_n", "max_n")
MAX_SCALE = float(np.finfo(np.float32).max) / 128
"""The largest scale of a row of int8: beyond it, numbers would be infinite."""


def recognizes(start: Start) -> bool:
    """A safetensors file starts with the length of its header and a brace; reading checks the rest."""
    head = start.head
    return start.path.suffix in SUFFIXES or (len(head) >= 9 and head[8:9] == b"{" and head[4:8] == bytes(4))


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    vectors = _vectors(arrays.open_arrays(path), report)
    if reading.top is None or reading.top >= len(vectors):
        return vectors
    return vectors.top(reading.top)


def verify(path: Path) -> int:
    """Read every byte of a file of vectors or a checkpoint, and compare checksums; the number of bytes."""
    opened = arrays.open_arrays(path)
    if "card" not in opened.metadata:
        return opened.verify()
    _expect(opened)
    size = opened.verify()
    _ = _vectors(opened, silent).words.order
    return size


def _vectors(opened: arrays.Arrays, report: Report) -> Vectors:
    _expect(opened)
    return Vectors(
        unpack_words(opened),
        NativeTable(opened, "table"),
        unpack_counts(opened) if "counts" in opened else None,
        read_card(opened.path, opened.metadata["card"], report),
        NativeTable(opened, "contexts") if "contexts" in opened else None,
        _read_ngrams(opened),
        _read_tokenizer(opened),
    )


def _expect(opened: arrays.Arrays) -> None:
    """What the arrays of vectors must be."""
    if "classifier" in opened.metadata:
        raise FormatError(
            "{path} is a classifier; expected a file of vectors. `inlaid info` shows what it is, "
            "`inlaid classify predict` uses it.",
            path=opened.path,
        )
    if "card" not in opened.metadata:
        raise FormatError(
            "{path}: has no card; expected a file of vectors. A corpus or a checkpoint is not one.",
            path=opened.path,
        )
    words = expect_words(opened)
    _expect_table(opened, "table", words)
    if "counts" in opened:
        expect_counts(opened, words)
    if "contexts" in opened:
        _expect_table(opened, "contexts", words)
    if "ngrams" in opened.metadata:
        _expect_table(opened, "ngrams.own", words)
        _expect_table(opened, "ngrams.buckets", None)
    if "tokenizer" in opened:
        opened.expect("tokenizer", Values(dtypes=("U8",), shape=(None,)))
    if "ngrams.kept" in opened:
        kept = Values(dtypes=("I32",), shape=(None,), low=0, ascending=True, distinct=True)
        opened.expect("ngrams.kept", kept)


def _expect_table(opened: arrays.Arrays, name: str, rows: int | None) -> None:
    scales = f"{name}.scales"
    if scales not in opened:
        # NaN in the table is found by Vectors, which names the word.
        opened.expect(name, Values(dtypes=("F32", "F16"), shape=(rows, None), finite=name != "table"))
        return
    opened.expect(name, Values(dtypes=("I8",), shape=(rows, None)))
    opened.expect(scales, Values(dtypes=("F32",), shape=opened.shape(name)[:1], low=0, high=MAX_SCALE))


def write(vectors: Vectors, path: Path, report: Report = silent, *, dtype: Dtype = "float32") -> None:
    content: dict[str, np.ndarray | array_writer.StreamedArray] = {
        **_stored("table", vectors.stored, dtype),
        **pack_words(vectors.words),
    }
    if vectors.counts is not None:
        content["counts"] = vectors.counts
    if vectors.contexts is not None:
        content |= _stored("contexts", vectors.contexts, dtype)
    if vectors.tokenizer_json is not None:
        content["tokenizer"] = np.frombuffer(vectors.tokenizer_json.encode(), np.uint8)
    metadata = {"card": json.dumps(asdict(vectors.card), ensure_ascii=False)}
    ngrams = vectors.subwords
    if isinstance(ngrams, NGrams):
        content |= _stored("ngrams.own", ngrams.own, dtype)
        content |= _stored("ngrams.buckets", ngrams.buckets, dtype)
        if ngrams.kept is not None:
            content["ngrams.kept"] = ngrams.kept
        metadata["ngrams"] = json.dumps({name: getattr(ngrams, name) for name in NGRAM_SETTINGS})
    elif ngrams is not None:
        report(
            Note(
                "{path}: this format cannot hold {kind}, which gives out-of-vocabulary words a vector; it "
                "was "
                "left out.",
                path=path,
                kind=type(ngrams).__name__,
            )
        )
    array_writer.write(path, content, metadata)


@dataclass(frozen=True, eq=False)
class NativeTable:
    """A table in a native file, in any of its three dtypes."""

    opened: arrays.Arrays
    name: str

    @property
    def scales(self) -> str:
        """The name of the array of scales, which a table of int8 has."""
        return f"{self.name}.scales"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.opened.shape(self.name)

    def refuse_changed(self) -> None:
        """Raise FormatError if the numbers that `whole` gave have changed: those of float32 are mapped."""
        if self.opened.dtypes[self.name] == "F32":
            self.opened.refuse_changed()

    def rows(self, ids: Sequence[int] | np.ndarray) -> Rows:
        rows = self.opened.rows(self.name, ids)
        if self.scales in self.opened:
            return rows * self.opened.rows(self.scales, ids)[:, None]
        return rows.astype(np.float32)

    def whole(self) -> Table:
        table = self.opened.whole(self.name)
        if self.scales in self.opened:
            return table * self.opened.whole(self.scales)[:, None]
        return table.astype(np.float32, copy=False)

    def codes(self) -> Int8Table | None:
        """The table as it is stored, if that is int8."""
        if self.scales not in self.opened:
            return None
        return Int8Table(self.opened.whole(self.name), self.opened.whole(self.scales))


def _read_tokenizer(opened: arrays.Arrays) -> str | None:
    if "tokenizer" not in opened:
        return None
    try:
        return opened.whole("tokenizer").tobytes().decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            "{path}: its tokenizer is not UTF-8 ({error}). Restore the file from a copy.",
            path=opened.path,
            error=error,
        ) from None


def _read_ngrams(opened: arrays.Arrays) -> NGrams | None:
    if "ngrams" not in opened.metadata:
        return None
    values = parse_json_part(opened.path, "ngrams", opened.metadata["ngrams"])
    refuse_misfit(opened.path, "ngrams", values, dict.fromkeys(NGRAM_SETTINGS, 0))
    return NGrams(
        own=NativeTable(opened, "ngrams.own"),
        buckets=NativeTable(opened, "ngrams.buckets"),
        kept=opened.whole("ngrams.kept") if "ngrams.kept" in opened else None,
        **{name: values[name] for name in NGRAM_SETTINGS},
    )


def _stored(
    name: str, table: Table | LazyTable, dtype: Dtype
) -> Mapping[str, np.ndarray | array_writer.StreamedArray]:
    """The arrays that hold a table in this dtype."""
    if dtype == "float32":  # a block at a time: the table may be larger than memory
        starts = range(0, table.shape[0], BLOCK)
        blocks = (_rows(table, np.arange(start, min(start + BLOCK, table.shape[0]))) for start in starts)
        return {name: array_writer.StreamedArray(blocks, np.dtype("<f4"), table.shape)}
    whole = table if isinstance(table, np.ndarray) else table.whole()
    if dtype == "int8":
        quantized = Int8Table.of(whole)
        return {name: quantized.codes, f"{name}.scales": quantized.scales}
    largest = np.abs(whole).max(initial=0)
    if largest > np.finfo(np.float16).max:
        raise FormatError(
            "The largest number of '{name}' is {largest:g}, too large for float16. Write float32 or int8.",
            name=name,
            largest=float(largest),
        )
    return {name: whole.astype(np.float16)}


def _rows(table: Table | LazyTable, ids: np.ndarray) -> Rows:
    return table[ids] if isinstance(table, np.ndarray) else table.rows(ids)
