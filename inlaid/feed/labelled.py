"""Labelled texts: lines of fastText (`__label__sports the text`), or a table with a column of labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inlaid.collect.archives import file_of
from inlaid.collect.charsets import AUTO, report_charset
from inlaid.collect.compression import DecompressedFile
from inlaid.collect.tables import BYTE_ORDER_MARK, TABLES, read_csv, read_tsv
from inlaid.errors import SettingError, SourceError, need
from inlaid.messages import Listed, option
from inlaid.report import Report, silent
from inlaid.untrusted import parse_json

PREFIX = "__label__"
"""What a label starts with in a line of fastText."""
COLUMN = "label"

Rows = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Labelled:
    """Texts, and the label of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str], labels: Sequence[Any]) -> Labelled:
        """Check texts and labels that a Python caller gave; numbers become text."""
        if isinstance(texts, str) or len(texts) != len(labels):
            raise SettingError(
                "Expected a label for each text; found {texts:,} texts and {labels:,} labels.",
                texts=1 if isinstance(texts, str) else len(texts),
                labels=len(labels),
            )
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise SettingError(
                    "Text {number:,} is {found!r}; expected a string. Texts are counted from 0.",
                    number=number,
                    found=text,
                )
        return cls(tuple(texts), tuple(str(label) for label in labels))

    def __len__(self) -> int:
        return len(self.texts)


def read_labelled(
    paths: Sequence[Path], *, field: str = "text", label_field: str = COLUMN, report: Report = silent
) -> Labelled:
    """All texts of some files and their labels, one label a text."""
    if not paths:
        raise SettingError("No file of labelled texts was named. Name one or several.")
    rows = list(itertools.chain.from_iterable(_read(path, field, label_field, report) for path in paths))
    if not rows:
        raise SourceError("{path}: there is no labelled text in it. Check the file.", path=paths[0])
    return Labelled(tuple(text for text, _ in rows), tuple(label for _, label in rows))


def _read(path: Path, field: str, label_field: str, report: Report) -> Rows:
    if not file_of(path).is_file():
        raise SourceError("There is no file '{path}'. Check the path.", path=path)
    with DecompressedFile(path) as file:
        suffix = Path(file.name).suffix.lower()
        if suffix == ".parquet":
            yield from _parquet(path, field, label_field)
            return
        file.recode(AUTO, "error")
        report_charset(path, file.charset, AUTO, report)
        if suffix in (".jsonl", ".ndjson"):
            yield from _jsonl(file, path, field, label_field)
        elif suffix in TABLES:
            yield from _table(path, read_tsv if suffix == ".tsv" else read_csv, field, label_field)
        else:
            yield from _lines(file, path)
        file.finish()


def _lines(file: Any, path: Path) -> Rows:
    """Lines of fastText. Several labels of a text are refused: the classifiers here choose one."""
    for number, line in enumerate(file, 1):
        content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        words = content.decode("utf-8", "replace").split()
        if not words:
            continue
        labels = [word for word in words if word.startswith(PREFIX)]
        if len(labels) != 1 or labels[0] == PREFIX:
            raise _bad_line(path, number, labels)
        text = content.decode("utf-8", "replace").strip()
        yield text.replace(labels[0], "", 1).strip(), labels[0].removeprefix(PREFIX)


def without_labels(text: str) -> str:
    """A text without the labels that a line of fastText has.

    >>> without_labels("__label__sports the text")
    'the text'
    """
    if PREFIX not in text:
        return text
    return " ".join(word for word in text.split() if not word.startswith(PREFIX))


def _bad_line(path: Path, number: int, labels: list[str]) -> SourceError:
    if len(labels) > 1:
        return SourceError(
            "{path}:{line}: the text has {count} labels ({labels}). A classifier chooses one label for each "
            "text: keep one of them, or train one classifier for each label.",
            path=path,
            line=number,
            count=len(labels),
            labels=Listed(labels[:5]),
        )
    return SourceError(
        "{path}:{line}: expected `{prefix}NAME the text`, found no label. A table of texts and labels has "
        "one of the suffixes .csv, .tsv, .jsonl and .parquet.",
        path=path,
        line=number,
        prefix=PREFIX,
    )


def _table(path: Path, read: Callable[..., Iterator[str]], field: str, label_field: str) -> Rows:
    """Two columns of a table; it is read once for each."""
    with DecompressedFile(path) as one, DecompressedFile(path) as two:
        for file in (one, two):
            file.recode(AUTO, "error")
        rows = zip(read(one, path, field), read(two, path, label_field), strict=True)
        for number, (text, label) in enumerate(rows, 1):
            yield text, _checked(label, path, number)


def _jsonl(file: Any, path: Path, field: str, label_field: str) -> Rows:
    """A label may be a number or text."""
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not isinstance(row.get(field), str) or label_field not in row:
            raise SourceError(
                "{path}:{line}: expected a JSON object with text under '{field}' and a label under "
                "'{label_field}'. Name other keys with {option} and {label_option}.",
                path=path,
                line=number,
                field=field,
                label_field=label_field,
                option=option("field"),
                label_option=option("label_field"),
            )
        yield row[field], _checked(row[label_field], path, number)


def _parquet(path: Path, field: str, label_field: str) -> Rows:
    parquet = need("pyarrow.parquet", extra="parquet")
    names = parquet.read_schema(path).names
    for name in (field, label_field):
        if name not in names:
            raise SourceError(
                "{path}: no column is called '{field}'. There are: {names}.",
                path=path,
                field=name,
                names=Listed(names),
            )
    table = parquet.read_table(path, columns=[field, label_field])
    texts = table.column(field).to_pylist()
    labels = table.column(label_field).to_pylist()
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
        yield str(text or ""), _checked(label, path, number)


def _checked(label: Any, path: Path, number: int) -> str:
    """A label as text; lists of labels and missing ones are refused."""
    if isinstance(label, (list, dict)):
        raise SourceError(
            "{path}: row {number:,} has the labels {found!r}. A classifier chooses one label for each text: "
            "keep one of them, or train one classifier for each label.",
            path=path,
            number=number,
            found=label,
        )
    name = "" if label is None else str(label).strip().removeprefix(PREFIX)
    if not name:
        raise SourceError(
            "{path}: row {number:,} has no label. Give it one, or remove the row.", path=path, number=number
        )
    return name
