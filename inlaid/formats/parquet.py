"""Parquet: a column of words and a column of vectors, as in data frames (.parquet)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from inlaid import files
from inlaid.errors import FormatError, need
from inlaid.formats.reading import ALL, Reading, Start
from inlaid.formats.words import accept_words
from inlaid.report import Progress, Report, silent
from inlaid.vectors import Card, Vectors

SUFFIXES = (".parquet",)
ROWS = 65_536
"""Rows written at a time."""


def recognizes(start: Start) -> bool:
    return start.head[:4] == b"PAR1"


def read(path: Path, reading: Reading = ALL, report: Report = silent) -> Vectors:
    """The columns `word` and `vector` (and `count`), or the only column of text and the only column of
    lists."""
    arrow = need("pyarrow", extra="parquet")
    parquet = need("pyarrow.parquet", extra="parquet")
    try:
        return _read(path, parquet.ParquetFile(path), reading, report)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            "{path}: not a complete parquet file ({error}). Get the file again.",
            path=path,
            error=str(error).splitlines()[0],
        ) from None


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
    with files.writing(path) as file, parquet.ParquetWriter(file, schema) as writer:
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


def _read(path: Path, file: Any, reading: Reading, report: Report) -> Vectors:
    types = need("pyarrow", extra="parquet").types
    schema = file.schema_arrow
    word = _column(path, schema, "word", lambda kind: types.is_string(kind) or types.is_large_string(kind))
    is_list = (types.is_list, types.is_fixed_size_list, types.is_large_list)
    vector = _column(path, schema, "vector", lambda kind: any(fits(kind) for fits in is_list))
    columns = [word, vector]
    has_counts = "count" in schema.names and types.is_integer(schema.field("count").type)
    if has_counts:
        columns.append("count")
    found = list[bytes]()
    tables = list[np.ndarray]()
    counts = list[np.ndarray]()
    for batch in file.iter_batches(columns=columns):
        done = len(found)
        batch = batch.slice(0, None if reading.top is None else max(0, reading.top - done))
        found += [_encoded(path, done + n, each) for n, each in enumerate(batch.column(word).to_pylist())]
        tables.append(_rows(path, done, batch.column(vector), tables[0].shape[1] if tables else None))
        if has_counts:
            counts.append(np.asarray(batch.column("count").fill_null(0)).astype(np.int64))
        report(Progress("reading", len(found), file.metadata.num_rows, "words"))
        if reading.top is not None and len(found) >= reading.top:
            break
    if not found:
        raise FormatError("{path}: empty; expected rows of a word and its vector.", path=path)
    accepted = accept_words(path, found, reading, report)
    table = accepted.select(np.concatenate(tables))
    return Vectors(
        accepted.words, table, accepted.select(np.concatenate(counts)) if has_counts else None, Card()
    )


def _column(path: Path, schema: Any, name: str, fits: Callable[[Any], bool]) -> str:
    """The column of this name or, in a file of another program, the only one that fits."""
    fitting = [field.name for field in schema if fits(field.type)]
    if name in fitting:
        return name
    if len(fitting) == 1:
        return fitting[0]
    raise FormatError(
        "{path}: expected a column '{name}'; found columns: {found}.",
        path=path,
        name=name,
        found=", ".join(f"{field.name} ({field.type})" for field in schema),
    )


def _encoded(path: Path, number: int, word: str | None) -> bytes:
    if word is None:
        raise FormatError("{path}: row {row:,} has no word. Remove it.", path=path, row=number + 1)
    return word.encode("utf-8")


def _rows(path: Path, done: int, column: Any, dim: int | None) -> np.ndarray:
    """A column of lists as a matrix; every list has the length of the first. `done` rows were read before."""
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
