"""Texts to work on: given one by one, in a file of lines, in a column of a table, on standard input."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from inlaid.collect.archives import file_of
from inlaid.collect.charsets import AUTO, report_charset
from inlaid.collect.compression import STDIN, DecompressedFile
from inlaid.collect.tables import BYTE_ORDER_MARK, TABLES
from inlaid.errors import SettingError, SourceError, need
from inlaid.messages import Advice, Message
from inlaid.report import Note, Report

T = TypeVar("T")


def texts_of(texts: Any, file: Path | None, field: str, report: Report) -> Iterator[str]:
    """The texts, one after another; a file is read as they are asked for."""
    given = _listed(texts)
    if isinstance(given, Path) and file is None:
        file = given
        given = ()
    if file is None:
        if not isinstance(given, (list, tuple)) or given:
            return _checked(given)
        raise SettingError(
            "There is no text. {advice}",
            advice=Advice(
                typed=Message("Type some, name a file with --file, or read standard input with -."),
                called=Message("Give a text, a list of texts, or file=Path(...)."),
            ),
        )
    if given:
        raise SettingError("Texts and a file are given. Give one of them.")
    if file != STDIN and not file_of(file).is_file():
        raise SourceError("There is no file '{path}'. Check the path.", path=file)
    return _checked(_read(file, field, report))


def _listed(texts: Any) -> Any:
    """One text as a list of one, `-` as the path of standard input."""
    if isinstance(texts, PathLike):
        return Path(texts)
    if isinstance(texts, str):
        texts = (texts,)
    if not isinstance(texts, (list, tuple)):
        return texts
    if tuple(texts) == (str(STDIN),):
        return STDIN
    for text in texts[:1]:
        # os.path, unlike Path, calls what is too long for a name no file
        if isinstance(text, str) and "." in text and os.path.isfile(text):
            raise SettingError(
                "'{text}' is the name of a file, and a text is expected here. {advice}",
                text=text,
                advice=Advice(
                    typed=Message("Read it with --file {text}.", text=text),
                    called=Message("Read it with file=Path({text!r}).", text=text),
                ),
            )
    return texts


def _checked(texts: Any) -> Iterator[str]:
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise SettingError(
            "Expected a text or some texts; found {found}. Give strings.", found=type(texts).__name__
        )
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise SettingError(
                "Text {number:,} is {found!r}; expected a string. Texts are counted from 0.",
                number=number,
                found=text,
            )
        yield text


def _read(path: Path, field: str, report: Report) -> Iterator[str]:
    """The lines of a file, or the values of a column."""
    with DecompressedFile(path) as file:
        suffix = Path(file.name).suffix.lower()
        if suffix != ".parquet":  # that is not text
            file.recode(AUTO, "error")
            report_charset(path, file.charset, AUTO, report)
        if suffix == ".parquet":
            yield from _without_nulls(TABLES[suffix](file, path, field), path, report)
        elif suffix in TABLES:
            yield from TABLES[suffix](file, path, field)
        else:
            yield from _lines(file, path)
        file.finish()


def _without_nulls(values: Iterator[str], path: Path, report: Report) -> Iterator[str]:
    """The values of a column, which leave out rows without one; how many there are is noted at the end."""
    count = 0
    for value in values:
        count += 1
        yield value
    rows = need("pyarrow.parquet", extra="parquet").read_metadata(path).num_rows
    if rows > count:
        report(
            Note(
                "{path}: {missing:,} of {rows:,} rows have no text (null). They are left out, unnumbered.",
                path=path,
                missing=rows - count,
                rows=rows,
            )
        )


def _lines(file: DecompressedFile, path: Path) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        try:
            yield content.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise SourceError(
                "{path}:{line}: not UTF-8. Convert the file to UTF-8.", path=path, line=number
            ) from None


def chunks(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    """Lists of at most `size` items, in order.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    source = iter(items)
    while some := list(itertools.islice(source, size)):
        yield some


def shortened(text: str, places: int = 40) -> str:
    """A text on one line, cut where it is longer than this many characters.

    >>> shortened("one two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= places else f"{line[: places - 1]}…"
