"""Cosine similarity of two words, of several words pair by pair, or of the pairs in a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from inlaid.errors import FormatError, OutOfVocabulary, SettingError, SourceError
from inlaid.messages import Message
from inlaid.report import Note, Report, silent
from inlaid.study.analysis import OneByOne, Row, analysis
from inlaid.study.search.queries import note_words, unit_rows
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class Similarity:
    """Two words and their cosine; None where one of them has no vector."""

    first: str
    second: str
    cosine: float | None


@dataclass(frozen=True)
class Similarities(Sequence[Similarity]):
    """The similarity of every pair, in their order."""

    pairs: tuple[Similarity, ...]

    @overload
    def __getitem__(self, at: int) -> Similarity: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Similarity, ...]: ...
    def __getitem__(self, at: int | slice) -> Similarity | tuple[Similarity, ...]:
        return self.pairs[at]

    def __len__(self) -> int:
        return len(self.pairs)

    def rows(self) -> Sequence[Row]:
        shown = [
            (Message("none") if each.cosine is None else f"{each.cosine:+.4f}", each.first, each.second)
            for each in self.pairs
        ]
        return [(Message("cosine"), Message("first"), Message("second")), *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"pairs": [vars(each) for each in self.pairs]}


class Cosine(float):
    """The cosine of two words: a number, which knows its words."""

    first: str
    second: str

    def __new__(cls, cosine: float, first: str, second: str) -> Cosine:
        made = super().__new__(cls, cosine)
        made.first = first
        made.second = second
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.first, self.second

    def rows(self) -> Sequence[Row]:
        return self._pairs().rows()

    def to_dict(self) -> dict[str, Any]:
        return self._pairs().to_dict()

    def _pairs(self) -> Similarities:
        return Similarities((Similarity(self.first, self.second, float(self)),))


@overload
def similarity(vectors: Vectors, first: str, second: str, /, *, report: Report = silent) -> Cosine: ...
@overload
def similarity(
    vectors: Vectors, words: Sequence[str] = (), *, pairs: Path | None = None, report: Report = silent
) -> Similarities: ...
@analysis
def similarity(
    vectors: Vectors, words: Sequence[str] = (), *, pairs: Path | None = None, report: Report = silent
) -> Cosine | Similarities:
    """The cosine similarity of two words, of several words pair by pair, or of the pairs in a file.

    A word out of the vocabulary is answered through its subwords, where the vectors have them. In a file, a
    pair with a word that has no vector gets no cosine; a named word without one is an error. In Python, two
    words give a number, and a list of words gives one for each pair.

    >>> similarity(vectors, "cat", "dog") > 0.5
    >>> similarity(vectors, ["cat", "dog", "fish"])[0].cosine

    Args:
        vectors: a file of vectors
        words: two words, or several to compare each with each
        pairs: a file with two words on each line, separated by a tab or a space; more columns are ignored

    Examples:
        inlaid similarity vectors.inlaid king queen
        inlaid similarity vectors.inlaid --pairs pairs.tsv --json
    """
    if isinstance(words, str):
        raise SettingError("words is {words!r}; expected a list of at least two words.", words=words)
    if (pairs is None) == (len(words) == 0):
        raise SettingError(
            "Expected either words or a file of pairs: name at least two words, or give pairs."
        )
    if pairs is not None:
        return _of_file(vectors, pairs, report)
    if len(words) < 2:
        raise SettingError("Only '{word}' was named; expected at least two words.", word=words[0])
    found = tuple(_cosine(vectors, one, two) for one, two in itertools.combinations(words, 2))
    note_words(vectors, words, report)
    if isinstance(words, OneByOne) and len(words) == 2:
        return Cosine(found[0].cosine or 0.0, *words)
    return Similarities(found)


def _of_file(vectors: Vectors, path: Path, report: Report) -> Similarities:
    found: list[Similarity] = []
    for one, two in _read_pairs(path):
        try:
            found.append(_cosine(vectors, one, two))
        except OutOfVocabulary:
            found.append(Similarity(one, two, None))
    missing = sum(each.cosine is None for each in found)
    if missing:
        report(
            Note(
                "{missing:,} of {total:,} pairs hold a word without a vector: they have no cosine.",
                missing=missing,
                total=len(found),
            )
        )
    return Similarities(tuple(found))


def _cosine(vectors: Vectors, first: str, second: str) -> Similarity:
    one, two = unit_rows(vectors, [first, second])
    return Similarity(first, second, float(np.dot(one, two)))


def _read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Two words a line; where a line has a tab, words may hold spaces."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("{path} is not UTF-8. Convert the file to UTF-8.", path=path) from None
    except OSError as error:
        raise SourceError("Cannot read {path}: {reason}.", path=path, reason=error.strerror) from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()
        if len(cells) < 2 or not cells[0] or not cells[1]:
            raise FormatError(
                "{path}:{line}: expected two words separated by a tab or a space, found {found!r}.",
                path=path,
                line=number,
                found=line[:60],
            )
        yield cells[0], cells[1]
