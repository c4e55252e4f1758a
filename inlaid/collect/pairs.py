"""Pairs of texts, such as a sentence and its translation: from one file of two columns, or from two files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from inlaid.collect.charsets import UTF8, not_decodable
from inlaid.collect.compression import DecompressedFile
from inlaid.collect.sources import TABLES
from inlaid.collect.tables import BYTE_ORDER_MARK, parquet_values
from inlaid.errors import SettingError, SourceError
from inlaid.report import Note, Report

PEEKED = 20
"""Lines of a file that show whether it has columns."""


class TextPair(NamedTuple):
    """Two texts that belong together."""

    source: str
    target: str


@dataclass(frozen=True)
class Columns:
    """The columns of the two texts: names, or numbers from 1 on in files without a header."""

    source: str = "1"
    target: str = "2"

    @property
    def numbers(self) -> tuple[int, int] | None:
        """Places of the columns, from 0 on; None if they are names."""
        if not (self.source.isdecimal() and self.target.isdecimal()):
            return None
        numbers = int(self.source), int(self.target)
        if min(numbers) < 1:
            raise SettingError(
                "The columns are {source} and {target}, and columns are counted from 1. Name others with "
                "source_column and target_column.",
                source=self.source,
                target=self.target,
            )
        return numbers[0] - 1, numbers[1] - 1


def read_pairs(text: Any, columns: Columns, report: Report, charset: str = UTF8) -> list[TextPair]:
    """All pairs of a text: files of two columns (tsv, csv, jsonl, parquet), or two files of lines, of which
    line i belongs to line i. Pairs may also be given as they are.

    A pair with an empty side is left out, and a note says how many there were.
    """
    found = list(_pairs(text, columns, charset))
    kept = [pair for pair in found if pair.source.strip() and pair.target.strip()]
    if len(kept) < len(found):
        report(
            Note(
                "{count:,} of {total:,} pairs have an empty side and are left out.",
                count=len(found) - len(kept),
                total=len(found),
            )
        )
    if not kept:
        raise SourceError("There are no pairs of texts. Check the files and their columns.")
    return kept


def _pairs(text: Any, columns: Columns, charset: str) -> Iterator[TextPair]:
    paths = _paths(text)
    if paths is None:
        yield from map(_pair, itertools.count(1), text)
        return
    for path in paths:
        if not path.exists():
            raise SourceError("There is no file '{path}'.", path=path)
    if len(paths) == 2 and not any(_has_columns(path, charset) for path in paths):
        yield from _pairs_of_lines(paths[0], paths[1], charset)
        return
    for path in paths:
        if not _has_columns(path, charset):
            raise SourceError(
                "{path} has no columns: expected pairs, separated by a tab, in each line. Pairs may also be "
                "in two files of as many lines: name both, the source first.",
                path=path,
            )
        yield from _pairs_of_columns(path, columns, charset)


def _paths(text: Any) -> list[Path] | None:
    """The files of a text; None if it is the pairs themselves."""
    if isinstance(text, (str, Path)):
        return [Path(text)]
    if isinstance(text, Sequence) and text and all(isinstance(each, (str, Path)) for each in text):
        return [Path(each) for each in cast("Sequence[str | Path]", text)]
    if not isinstance(text, Iterable):
        raise SourceError(
            "Expected pairs of texts, or files of them; found {found}.", found=type(text).__name__
        )
    return None


def _pair(number: int, pair: Any) -> TextPair:
    is_pair = isinstance(pair, (tuple, list)) and len(cast("Sequence[Any]", pair)) == 2
    if not is_pair or not all(isinstance(side, str) for side in pair):
        raise SourceError(
            "Pair {number:,} is {found!r}; expected two strings.", number=number, found=str(pair)[:60]
        )
    return TextPair(*pair)


def _lines(path: Path, charset: str) -> Iterator[str]:
    with DecompressedFile(path) as file:
        file.recode(charset)
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            try:
                yield line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise not_decodable(path, line, error.start, UTF8, number) from None
        file.finish()


def _suffix(path: Path) -> str:
    with DecompressedFile(path) as file:
        return Path(file.name).suffix.lower()


def _has_columns(path: Path, charset: str) -> bool:
    if _suffix(path) in TABLES:
        return True
    first = list(itertools.islice(_lines(path, charset), PEEKED))
    return all("\t" in line for line in first if line.strip())


def _pairs_of_lines(source: Path, target: Path, charset: str) -> Iterator[TextPair]:
    sides = [list(_lines(path, charset)) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise SourceError(
            "{source} has {sources:,} lines and {target} has {targets:,}; expected as many, as line i of one "
            "belongs to line i of the other. Check both files.",
            source=source,
            sources=len(sides[0]),
            target=target,
            targets=len(sides[1]),
        )
    yield from map(TextPair, *sides)


def _pairs_of_columns(path: Path, columns: Columns, charset: str) -> Iterator[TextPair]:
    numbers = columns.numbers
    suffix = _suffix(path)
    if numbers is not None and suffix not in (".jsonl", ".parquet", ".csv"):
        yield from _pairs_by_number(path, numbers, charset)
        return
    if numbers is not None:
        raise SourceError(
            "{path} has columns with names. Name those of the two texts with source_column and "
            "target_column.",
            path=path,
        )
    try:
        yield from map(TextPair, *(_column(path, name, charset) for name in (columns.source, columns.target)))
    except SourceError as error:  # readers of one column name another setting
        if "option" in error.values:
            error.values["option"] = "source_column, target_column"
        raise


def _column(path: Path, name: str, charset: str) -> list[str]:
    with DecompressedFile(path) as file:
        suffix = Path(file.name).suffix.lower()
        if suffix == ".parquet":  # a row without a text stays a row: left out, it would shift those after it
            return [value or "" for value in parquet_values(path, name)]
        file.recode(charset)
        return list(TABLES.get(suffix, TABLES[".tsv"])(file, path, name))


def _pairs_by_number(path: Path, numbers: tuple[int, int], charset: str) -> Iterator[TextPair]:
    """Columns separated by tabs. Not as CSV: quotes in files of sentence pairs are quotes."""
    for number, line in enumerate(_lines(path, charset), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) <= max(numbers):
            raise SourceError(
                "{path}:{line}: expected at least {expected} columns separated by tabs, found {found}. Fix "
                "the line, or name other columns with source_column and target_column.",
                path=path,
                line=number,
                expected=max(numbers) + 1,
                found=len(cells),
            )
        yield TextPair(cells[numbers[0]], cells[numbers[1]])
