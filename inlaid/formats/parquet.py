"""Parquet: a column of words and a column of vectors, as data frames have them (.parquet)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inlaid import files
from inlaid.errors import FormatError, need
from inlaid.formats.reading import ALL, Reading, Start, keep_words
from inlaid.report import Progress, Report, silent
from inlaid.vectors import Card, Vectors

SUFFIXES = (".parquet",)
ROWS = 65_536


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
        raise FormatError(f"{path}: not a whole parquet file ({str(error).splitlines()[0]}).") from None


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
            numbers = arrow.array(vectors.table[start:stop].reshape(-1))
            columns = [
                arrow.array(vectors.words[start:stop]),
                arrow.FixedSizeListArray.from_arrays(numbers, vectors.dim),
            ]
            if vectors.counts is not None:
                columns.append(arrow.array(vectors.counts[start:stop]))
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            report(Progress("writing", stop, len(vectors), "words"))


def _read(path: Path, file: Any, reading: Reading, report: Report) -> Vectors:
    types = need("pyarrow", extra="parquet").types
    schema = file.schema_arrow
    word = _column(path, schema, "word", lambda kind: types.is_string(kind) or types.is_large_string(kind))
    vector = _column(
        path,
        schema,
        "vector",
        lambda kind: types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind),
    )
    has_counts = "count" in schema.names and types.is_integer(schema.field("count").type)
    found = list[bytes]()
    parts = list[np.ndarray]()
    counts = list[np.ndarray]()
    done = 0
    for batch in file.iter_batches(columns=[word, vector, *(["count"] if has_counts else [])]):
        batch = batch.slice(0, None if reading.top is None else max(0, reading.top - done))
        found += [_bytes(path, done + n, each) for n, each in enumerate(batch.column(word).to_pylist())]
        parts.append(_rows(path, done, batch.column(vector), parts[0].shape[1] if parts else None))
        if has_counts:
            counts.append(np.asarray(batch.column("count").fill_null(0)).astype(np.int64))
        done += len(batch)
        report(Progress("reading", done, file.metadata.num_rows, "words"))
        if reading.top is not None and done >= reading.top:
            break
    if not done:
        raise FormatError(f"{path}: holds no rows; expected a word and its vector in each.")
    kept = keep_words(path, found, reading, report)
    table = np.concatenate(parts)
    numbers = np.concatenate(counts) if has_counts else None
    if kept.rows is not None:
        table = table[kept.rows]
        numbers = None if numbers is None else numbers[kept.rows]
    return Vectors(kept.words, table, numbers, Card())


def _column(path: Path, schema: Any, name: str, fits: Any) -> str:
    able = [field.name for field in schema if fits(field.type)]
    if name in able or len(able) == 1:
        return name if name in able else able[0]
    raise FormatError(
        f"{path}: expected a column '{name}'; found {', '.join(f'{field.name} ({field.type})' for field in schema) or 'none'}."
    )


def _bytes(path: Path, number: int, word: str | None) -> bytes:
    if word is None:
        raise FormatError(f"{path}: row {number + 1:,} has no word.")
    return word.encode("utf-8")


def _rows(path: Path, done: int, column: Any, dim: int | None) -> np.ndarray:
    """A column of lists as a matrix; every list as long as the first."""
    flat = np.asarray(column.flatten().cast("float64"))
    lengths = (
        np.asarray(column.value_lengths().fill_null(-1))
        if column.null_count or not hasattr(column.type, "list_size")
        else None
    )
    if lengths is None:
        dim = column.type.list_size
    elif len(lengths):
        dim = int(lengths[0]) if dim is None else dim
        wrong = np.flatnonzero(lengths != dim)
        if len(wrong):
            raise FormatError(
                f"{path}: row {done + int(wrong[0]) + 1:,}: expected {dim} numbers, found {max(0, int(lengths[wrong[0]]))}."
            )
    if not dim or dim < 1 or flat.size != len(column) * dim:
        raise FormatError(
            f"{path}: the vectors hold no numbers; expected the same number of them in each row."
        )
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinity, and is refused as such
        return flat.astype(np.float32).reshape(len(column), dim)
