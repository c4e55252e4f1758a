"""Text -> ids of subwords, whose vocabulary a tokenizer has fixed beforehand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from inlaid.collect.sources import Source, Text, blocks_of
from inlaid.encode.cleaning import Cleaning
from inlaid.encode.numbering import END
from inlaid.encode.scanning import Scanned
from inlaid.errors import SourceError
from inlaid.files import Spool
from inlaid.report import Note

if TYPE_CHECKING:
    from inlaid.encode.subwords import Subwords

LEARNED_FROM = 100_000_000
"""Characters of text a tokenizer is learned from: more change nothing but the time and memory it takes."""


def load(path: Path) -> Subwords:
    from inlaid.encode.subword_files import load  # the library behind it is only loaded where it is used

    return load(path)


def made(source: Source, name: str, file: Path | None, size: int, cleaning: Cleaning) -> Subwords:
    """The tokenizer of a file, or one learned from the beginning of the text."""
    if file is not None:
        return load(file)
    from inlaid.encode.subword_training import train

    if source.sentences() is not None and not isinstance(source.text, (list, tuple)):
        source.text = cast(
            "Text", list(cast("Iterable[str]", source.text))
        )  # it is read twice: once to learn, once to encode
    if source.reads_stdin:
        raise SourceError(
            f"{name} reads the text twice, and standard input can be read once. Save it to a file first."
        )
    lines = _lines(Source(source.text, source.field), cleaning, {})
    read = 0
    sample: list[str] = []
    for line in lines:
        sample.append(line)
        read += len(line)
        if read > LEARNED_FROM:
            source.report(Note(f"{name} is learned from the first {LEARNED_FROM:,} characters of the text."))
            break
    return train(name, sample, size=size, report=source.report)


def scan(source: Source, tokenizer: Subwords, cleaning: Cleaning, folder: Path | None) -> Scanned:
    """All text as the tokenizer's ids, in blocks; the tokenizer shares a block out over all cores by
    itself."""
    spool = Spool(np.int32, folder)
    size = len(tokenizer.vocabulary)
    counts = np.zeros(size, np.int64)
    lint = {"invalid_bytes": 0, "nul_bytes": 0, "cut_lines": 0}
    lines = _lines(source, cleaning, lint)
    while some := list(itertools.islice(lines, 50_000)):
        found = tokenizer.ids_of(some)
        total = sum(map(len, found)) + len(found)
        ids = np.fromiter(itertools.chain.from_iterable((*each, END) for each in found), np.int32, total)
        counts += np.bincount(ids[ids >= 0], minlength=size)
        spool.append(ids)
    lengths = np.array([len(word.encode()) for word in tokenizer.vocabulary], np.int64)
    return Scanned(
        spool, [0] * len(spool.lengths), [np.arange(size, dtype=np.int32)], counts, lengths, _no_words, lint
    )


def _lines(source: Source, cleaning: Cleaning, lint: dict[str, int]) -> Iterator[str]:
    """The sentences of the text that hold anything; `lint` counts what looked odd on the way."""
    given = source.sentences()
    blocks = source.blocks() if given is None else blocks_of(_texts(given))
    for block in blocks:
        lines, invalid = cleaning.lines(block)
        for what, count in (
            ("invalid_bytes", invalid),
            ("nul_bytes", block.data.count(0)),
            ("cut_lines", not block.ends_line),
        ):
            lint[what] = lint.get(what, 0) + count
        yield from (line for line in lines if line)


def _texts(given: Iterable[object]) -> Iterator[str]:
    for text in given:
        if not isinstance(text, str):
            raise SourceError(
                "Subwords are cut from text, but some sentences are lists of tokens. Pass strings."
            )
        yield text


def _no_words(ids: Sequence[int] | np.ndarray) -> list[bytes]:
    raise AssertionError("the words of a tokenizer are its own")
