"""Parquet: a column of words and a column of vectors, as in data frames (.parquet)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inlaid import files
from inlaid.collect.parquet_pages import batch_rows, measure_column
from inlaid.errors import FormatError, need
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.formats.words import accept_words
from inlaid.messages import Listed
from inlaid.report import Progress, Report, silent
from inlaid.untrusted import check_size, reading_file
from inlaid.vectors import Card, Vectors

SUFFIXES = (".parquet",)
STORES = ("counts",)
ROWS = 65_536
"""Rows written at a time."""
ENCODING: dict[str, Any] = {"use_dictionary": ["word"]}
"""A dictionary of numbers makes tables of mostly zeros thousands of times smaller, as bombs are, and others
larger."""
DECODED = 20
"""Bytes that a number takes while it is read: as stored, as float64, as float32, and its place in a list."""


def recognizes(start: Start) -> bool:
    return start.head[:4] == b"PAR1"


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """The columns `word` and `vector` (and `count`), or the only column of text and the only column of
    lists."""
    parquet = need("pyarrow.parquet", extra="parquet")
    with reading_file(path, "parquet"):
        file = parquet.ParquetFile(path)
        columns = _columns(path, file.schema_arrow)
    words = list[bytes]()
    tables = list[np.ndarray]()
    counts = list[np.ndarray]()
    word_bytes = 0
    for batch in _batches(path, file, columns):
        done = len(words)
        batch = batch.slice(0, None if reading.top is None else max(0, reading.top - done))
        words += _words(path, done, batch.column(0))
        word_bytes += batch.column(0).nbytes
        check_size(path, word_bytes)
        tables.append(_rows(path, done, batch.column(1), tables[0].shape[1] if tables else None))
        if columns.counts:
            counts.append(np.asarray(batch.column(2).fill_null(0)).astype(np.int64))
        report(Progress("reading", len(words), file.metadata.num_rows, "words"))
        if reading.top is not None and len(words) >= reading.top:
            break
    if not words:
        raise FormatError("{path}: empty; expected rows of a word and its vector.", path=path)
    accepted = accept_words(path, words, reading, report)
    table = accepted.select(np.concatenate(tables))
    return Vectors(
        accepted.words, table, accepted.select(np.concatenate(counts)) if columns.counts else None, Card()
    )


def check_output(path: Path) -> None:
    """Raise MissingExtra if parquet cannot be written here."""
    need("pyarrow", extra="parquet")


def write(vectors: Vectors, path: Path, report: Report = silent) -> None:
    arrow = need("pyarrow", extra="parquet")
    parquet = need("pyarrow.parquet", extra="parquet")
    fields = [("word", arrow.string()), ("vector", arrow.list_(arrow.float32(), vectors.dim))]
    if vectors.counts is not None:
        fields.append(("count", arrow.int64()))
    schema = arrow.schema(fields)
    with files.writing(path) as file, parquet.ParquetWriter(file, schema, **ENCODING) as writer:
        for start in range(0, len(vectors), ROWS):
            stop = min(start + ROWS, len(vectors))
            values = arrow.array(vectors.table[start:stop].reshape(-1))
            columns = [
                arrow.array(vectors.words[start:stop]),
                arrow.FixedSizeListArray.from_arrays(values, vectors.dim),
            ]
            if vectors.counts is not None:
                columns.append(arrow.array(vectors.counts[start:stop]))
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            report(Progress("writing", stop, len(vectors), "words"))


class Columns(NamedTuple):
    """The names of the columns that are read."""

    word: str
    vector: str
    counts: str
    """Empty where there is none."""


def _columns(path: Path, schema: Any) -> Columns:
    types = need("pyarrow", extra="parquet").types

    def is_vector(kind: Any) -> bool:
        if not (types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind)):
            return False
        of = kind.value_type
        return types.is_floating(of) or types.is_integer(of) or types.is_decimal(of)

    word = _column(path, schema, "word", lambda kind: types.is_string(kind) or types.is_large_string(kind))
    vector = _column(path, schema, "vector", is_vector)
    counts = [field for field in schema if field.name == "count"]
    has_counts = len(counts) == 1 and types.is_integer(counts[0].type)
    return Columns(word, vector, "count" if has_counts else "")


def _column(path: Path, schema: Any, name: str, fits: Callable[[Any], bool]) -> str:
    """The column of this name or, in a file of another program, the only one that fits."""
    fitting = [field.name for field in schema if fits(field.type)]
    chosen = name if name in fitting else "".join(fitting[:1])
    unique = schema.names.count(chosen) == 1
    if unique and (chosen == name or len(fitting) == 1):
        return chosen
    raise FormatError(
        "{path}: expected one column '{name}'; found columns: {found}.",
        path=path,
        name=name,
        found=Listed(f"{field.name} ({field.type})" for field in schema),
    )


def _batches(path: Path, file: Any, columns: Columns) -> Iterator[Any]:
    """The columns in the order of `columns`, some rows at a time, if the file can hold what it declares."""
    rows = file.metadata.num_rows
    word = measure_column(path, columns.word)
    vector = measure_column(path, columns.vector)
    numbers = np.dtype(np.float32).itemsize
    check_size(path, vector.values * numbers)
    size = min(batch_rows(word, rows), batch_rows(vector, rows, DECODED))
    names = [columns.word, columns.vector]
    if columns.counts:
        names.append(columns.counts)
    with reading_file(path, "parquet"):
        batches = file.iter_batches(batch_size=size, columns=names)
    while True:
        with reading_file(path, "parquet"):
            batch = next(batches, None)
            if batch is None:
                return
            batch = batch.select(names)
        yield batch


def _words(path: Path, done: int, column: Any) -> list[bytes]:
    with reading_file(path, "parquet"):
        words = column.to_pylist()
    if None in words:
        raise FormatError(
            "{path}: row {row:,} has no word. Remove it.", path=path, row=done + words.index(None) + 1
        )
    return [word.encode("utf-8") for word in words]


def _rows(path: Path, done: int, column: Any, dim: int | None) -> np.ndarray:
    """A column of lists as a matrix; every list has the length of the first. `done` rows were read before."""
    with reading_file(path, "parquet"):
        values = np.asarray(column.flatten().cast("float64"))
    if column.null_count or not hasattr(column.type, "list_size"):
        lengths = np.asarray(column.value_lengths().fill_null(-1))
        if dim is None and len(lengths):
            dim = int(lengths[0])
        _check_lengths(path, done, lengths, dim)
    else:
        dim = column.type.list_size
    if not dim or dim < 1 or values.size != len(column) * dim:
        raise FormatError(
            "{path}: the vectors are empty or contain nulls; expected the same number of numbers in each "
            "row.",
            path=path,
        )
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinity, which Vectors refuses
        return values.astype(np.float32).reshape(len(column), dim)


def _check_lengths(path: Path, done: int, lengths: np.ndarray, dim: int | None) -> None:
    wrong = np.flatnonzero(lengths != dim) if dim is not None else []
    if len(wrong):
        raise FormatError(
            "{path}: row {row:,}: expected {expected} numbers, found {found}.",
            path=path,
            row=done + int(wrong[0]) + 1,
            expected=dim,
            found=max(0, int(lengths[wrong[0]])),
        )
