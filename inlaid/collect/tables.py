"""Files of records (jsonl, csv, tsv, parquet) -> documents: the text of one field of each record."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from inlaid.collect.charsets import UTF8, not_decodable
from inlaid.collect.compression import BLOCK, MAX_LINE, Readable
from inlaid.collect.parquet_pages import batch_rows, measure_column
from inlaid.errors import SourceError, did_you_mean, need
from inlaid.messages import Listed, Message, option
from inlaid.untrusted import check_ratio, library_errors, parse_json

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_jsonl(file: Readable, path: Path, field: str) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except UnicodeDecodeError as error:
            raise not_decodable(path, line, error.start, UTF8, number) from None
        except ValueError as error:
            raise SourceError(
                "{path}:{line}: expected a JSON object on one line, found something that is not JSON "
                "({reason}). Fix or remove the line.",
                path=path,
                line=number,
                reason=str(error),
            ) from None
        if not isinstance(row, dict) or not isinstance(row.get(field), str):
            raise SourceError(
                "{path}:{line}: expected an object with text under '{field}', found {found}. "
                "Name the key of the text with {option}.",
                path=path,
                line=number,
                field=field,
                found=_json_found(row, field),
                option=option("field"),
            )
        yield row[field]


def _json_found(row: object, field: str) -> Message:
    if not isinstance(row, dict):
        return Message("a JSON {kind}", kind=type(row).__name__)
    if field in row:
        return Message("a {kind} there", kind=type(row[field]).__name__)
    return Message("the keys {keys}", keys=Listed(map(str, row)) or "{}")


def read_csv(file: Readable, path: Path, field: str, delimiter: str = ",") -> Iterator[str]:
    csv.field_size_limit(MAX_LINE)
    rows = csv.reader(_text_lines(file, path), delimiter=delimiter)
    try:
        columns = next(rows, [])
        _refuse_escaped(path, columns)
        if field not in columns:
            raise _no_column(path, field, columns)
        column = columns.index(field)
        for row in rows:
            if len(row) > column:
                yield row[column]
            elif row:
                raise SourceError(
                    "{path}:{line}: expected {expected} columns, found {found}. "
                    "Fix the row: a value that holds the delimiter needs quotes.",
                    path=path,
                    line=rows.line_num,
                    expected=len(columns),
                    found=len(row),
                )
    except csv.Error as error:
        raise SourceError(
            "{path}:{line}: not a CSV row ({reason}). Fix or remove it.",
            path=path,
            line=rows.line_num,
            reason=str(error),
        ) from None


def read_tsv(file: Readable, path: Path, field: str) -> Iterator[str]:
    return read_csv(file, path, field, "\t")


def _text_lines(file: Readable, path: Path) -> Iterator[str]:
    r"""Lines with their ends (\n, \r\n or \r) as csv.reader expects them; broken UTF-8 becomes surrogates.

    Not io.TextIOWrapper: it holds a whole line in memory, however long it is.
    """
    held = b""
    number = 0
    first = True
    while data := file.read(BLOCK):
        if first:
            data = data.removeprefix(BYTE_ORDER_MARK)
            first = False
        lines = (held + data).splitlines(keepends=True)
        held = lines.pop() if lines else b""  # the end of the last one may not have been read yet
        number += len(lines)
        if len(held) > MAX_LINE:
            raise SourceError(
                "{path}:{line}: the line is longer than {limit:,} bytes. Expected one record per line.",
                path=path,
                line=number + 1,
                limit=MAX_LINE,
            )
        for line in lines:
            yield line.decode("utf-8", "surrogateescape")
    for line in held.splitlines(keepends=True):
        yield line.decode("utf-8", "surrogateescape")


def read_parquet(file: Readable, path: Path, field: str) -> Iterator[str]:
    """The text of each row that has one."""
    return (value for value in parquet_values(path, field) if value is not None)


def parquet_values(path: Path, field: str) -> Iterator[str | None]:
    """The text of every row; None where a row has none."""
    parquet = need("pyarrow.parquet", extra="parquet")

    def failed(reason: str) -> SourceError:
        return SourceError(
            "{path} is not a complete parquet file: {reason}. Download or copy it again.",
            path=path,
            reason=reason,
        )

    with library_errors(failed):
        table = parquet.ParquetFile(path)
        schema = table.schema_arrow
    if field not in schema.names:
        raise _no_column(path, field, schema.names)
    if schema.names.count(field) > 1:
        raise SourceError(
            "{path}: {count} columns are called '{field}'; expected one. Give each a name of its own.",
            path=path,
            count=schema.names.count(field),
            field=field,
        )
    _check_text_column(path, field, schema.field(field).type)
    rows = batch_rows(measure_column(path, field), table.metadata.num_rows)
    size = 0
    with library_errors(failed):
        batches = table.iter_batches(batch_size=rows, columns=[field])
    while True:
        with library_errors(failed):
            batch = next(batches, None)
            values = [] if batch is None else batch.column(0).to_pylist()
        if batch is None:
            return
        size += batch.nbytes
        check_ratio(path, size)
        yield from values


def _check_text_column(path: Path, field: str, kind: Any) -> None:
    types = need("pyarrow.types", extra="parquet")
    stored = kind.value_type if types.is_dictionary(kind) else kind
    is_view = getattr(types, "is_string_view", lambda _: False)
    if not (types.is_string(stored) or types.is_large_string(stored) or is_view(stored)):
        raise SourceError(
            "{path}: expected text in the column '{field}', found {found}. Name a text column with {option}.",
            path=path,
            field=field,
            option=option("field"),
            found=str(kind),
        )


def _refuse_escaped(path: Path, columns: Sequence[str]) -> None:
    """The names of columns are needed as text, whatever is done about invalid bytes elsewhere."""
    header = ",".join(columns).encode("utf-8", "surrogateescape")
    try:
        header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_decodable(path, header, error.start, UTF8) from None


def _no_column(path: Path, field: str, columns: Sequence[str]) -> SourceError:
    hint = did_you_mean(field, columns)
    if not hint:
        hint = Message(" There are: {columns}.", columns=Listed(columns) or Message("none"))
    return SourceError(
        "{path}: no column is called '{field}'.{hint} Name it with {option}.",
        path=path,
        option=option("field"),
        field=field,
        hint=hint,
    )


TABLES: dict[str, Callable[[Readable, Path, str], Iterator[str]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}
