"""Text -> ids of a subword tokenizer, whose vocabulary is fixed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from inlaid.collect.sources import Source, Text, blocks_of
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.numbering import END
from inlaid.encode.scanning import Scanned
from inlaid.errors import SourceError
from inlaid.files import Spool
from inlaid.report import Note

if TYPE_CHECKING:
    from inlaid.encode.subwords.tokenizer import Subwords

TRAINING_CHARACTERS = 100_000_000
"""Characters of text that a tokenizer is trained on: more only take more time and memory."""
BATCH = 50_000
"""Sentences encoded at once."""


def make_repeatable(source: Source, name: str) -> None:
    """Hold sentences that can be read once: text is read twice, to train the tokenizer and to encode it."""
    if source.reads_stdin:
        raise SourceError(
            "{name} reads the text twice, and standard input can be read once. Save it to a file first.",
            name=name,
        )
    if source.sentences() is not None and not isinstance(source.text, (list, tuple)):
        source.text = cast("Text", list(cast("Iterable[str]", source.text)))


def tokenizer_for(
    source: Source, name: str, file: Path | None, size: int | None, cleaner: Cleaner
) -> Subwords:
    """The tokenizer of a file, or one trained on the beginning of the text."""
    if file is not None:
        from inlaid.encode.subwords.loading import load  # imports the tokenizers library, as below

        return load(file)
    from inlaid.encode.subwords.training import learn

    read = 0
    sample: list[str] = []
    for line in _lines(source.again(), cleaner, {}):
        sample.append(line)
        read += len(line)
        if read > TRAINING_CHARACTERS:
            source.report(
                Note(
                    "{name} is trained on the first {count:,} characters of the text.",
                    name=name,
                    count=TRAINING_CHARACTERS,
                )
            )
            break
    return learn(name, sample, size=size, report=source.report)


def scan(source: Source, tokenizer: Subwords, cleaner: Cleaner, folder: Path | None) -> Scanned:
    """All text as ids of the tokenizer, in batches. The tokenizer uses all cores itself."""
    spool = Spool(np.int32, folder)
    size = len(tokenizer.vocabulary)
    counts = np.zeros(size, np.int64)
    lint = {"invalid_bytes": 0, "nul_bytes": 0, "cut_lines": 0}
    lines = _lines(source, cleaner, lint)
    while batch := list(itertools.islice(lines, BATCH)):
        encoded = tokenizer.ids_of(batch)
        total = sum(map(len, encoded)) + len(encoded)
        ids = np.fromiter(itertools.chain.from_iterable((*each, END) for each in encoded), np.int32, total)
        counts += np.bincount(ids[ids >= 0], minlength=size)
        spool.append(ids)
    return Scanned(
        ids=spool,
        owners=[0] * len(spool.lengths),
        maps=[np.arange(size, dtype=np.int32)],
        counts=counts,
        lengths=np.array([len(word.encode()) for word in tokenizer.vocabulary], np.int64),
        words=_no_words,
        lint=lint,
    )


def _lines(source: Source, cleaner: Cleaner, lint: dict[str, int]) -> Iterator[str]:
    """The sentences of the text that are not empty; `lint` counts oddities on the way."""
    passed = source.sentences()
    blocks = source.blocks() if passed is None else blocks_of(_strings(passed))
    for block in blocks:
        lines, invalid = cleaner.lines(block)
        lint["invalid_bytes"] = lint.get("invalid_bytes", 0) + invalid
        lint["nul_bytes"] = lint.get("nul_bytes", 0) + block.data.count(0)
        lint["cut_lines"] = lint.get("cut_lines", 0) + (not block.ends_line)
        yield from (line for line in lines if line)


def _strings(sentences: Iterable[object]) -> Iterator[str]:
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise SourceError(
                "Subwords are learned from strings, but sentence {number} is of type {found}. Pass strings.",
                number=number,
                found=type(sentence).__name__,
            )
        yield sentence


def _no_words(ids: Sequence[int] | np.ndarray) -> list[bytes]:
    raise AssertionError("the vocabulary of a subword tokenizer is its own")
