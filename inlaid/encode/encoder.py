"""The encoder: reads text once, tokenizes and numbers it, and writes a corpus piece by piece."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from inlaid import array_writer, files
from inlaid.collect.samples import spread_over
from inlaid.collect.sources import Source, Text, TextBlock, Tokens, blocks_of, unexpected_sentence
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.content_hash import content_hash
from inlaid.encode.corpus import Corpus, Encoding, open_corpus, write_corpus
from inlaid.encode.numbering import PlainNumbering
from inlaid.encode.renumbering import ReadWords, manifest_of, renumber, totals_read, totals_used
from inlaid.encode.scanning import Scanned, scan
from inlaid.encode.scripts import note_scripts, settled
from inlaid.encode.selection import all_words, select_words
from inlaid.encode.subwords import scanning as subword_scanning
from inlaid.encode.tokenizers import Whitespace
from inlaid.errors import SettingError, SourceError
from inlaid.report import Report


def encode_text(
    text: Text, encoding: Encoding, report: Report, workers: int | None, out: Path | None
) -> Corpus:
    """Implements `encode`."""
    check_workers(workers)
    folder = out.parent if out else None
    if out is not None:
        files.can_write(out, folder=True)
    source = Source(text, encoding.field, report, encoding.charset, encoding.invalid)
    tokenizer_json = None
    mark = ""
    if encoding.has_subwords:
        if encoding.tokenizer_file is None:
            subword_scanning.make_repeatable(source, encoding.tokenizer)
        encoding = settled(encoding, spread_over(source) or [], report)
        cleaner = cleaner_of(encoding)
        tokenizer = subword_scanning.tokenizer_for(
            source, encoding.tokenizer, encoding.tokenizer_file, encoding.subwords, cleaner
        )
        tokenizer_json = tokenizer.to_json()
        mark = tokenizer.mark
        scanned = subword_scanning.scan(source, tokenizer, cleaner, folder)
        selected = all_words(scanned.counts, tokenizer.vocabulary)
    else:
        scanned, encoding, cleaner = _scan_words(source, encoding, workers or os.cpu_count() or 1, folder)
        selected = select_words(scanned.counts, scanned.words, encoding)
    note_scripts(encoding, selected.vocabulary, report)
    renumbered = renumber(scanned, selected.ids, folder)
    totals = totals_read(source, scanned) + totals_used(renumbered)
    hashed = content_hash(renumbered.ids.pieces(), renumbered.offsets.pieces(), selected.vocabulary)
    words = ReadWords(len(scanned.counts), selected)
    manifest = manifest_of(encoding, cleaner, source.inputs, totals, words, hashed)
    if tokenizer_json is not None:
        manifest["tokenizer"] = files.checksum(tokenizer_json.encode())
        manifest["encoding"]["spelling"] = mark
    if out is None:
        ids = renumbered.ids.whole()
        offsets = renumbered.offsets.whole()
        return Corpus(ids, offsets, selected.vocabulary, manifest, tokenizer_json)
    content = {"ids": _stream(renumbered.ids), "offsets": _stream(renumbered.offsets)}
    write_corpus(out, content, selected.vocabulary, manifest, tokenizer_json)
    return open_corpus(out)


def check_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise SettingError(
            "workers is {workers}; expected at least 1. Leave it out to use all cores.", workers=workers
        )


def cleaner_of(encoding: Encoding) -> Cleaner:
    tokenizer = Whitespace() if encoding.has_subwords else encoding.make_tokenizer()
    return Cleaner(tokenizer, encoding.steps, encoding.sentences, encoding.invalid)


# ---- Text -> ids in order of first occurrence


class _ScannedWords(NamedTuple):
    """The words of the text, and how they were found."""

    scanned: Scanned
    encoding: Encoding
    """With the defaults that the text decides."""
    cleaner: Cleaner | None
    """None where the caller has tokenized the text."""


def _scan_words(source: Source, encoding: Encoding, workers: int, folder: Path | None) -> _ScannedWords:
    passed = source.sentences()
    if passed is None:
        blocks = source.blocks()
    else:
        sentences = iter(passed)
        first = next(sentences, "")
        everything = itertools.chain([first], sentences)
        if not isinstance(first, str):
            return _ScannedWords(_scan_tokens(cast("Iterator[Tokens]", everything), folder), encoding, None)
        blocks = blocks_of(cast("Iterator[str]", everything))
    first_block = next(blocks, TextBlock(b"", "", 1))
    pieces = spread_over(source)
    encoding = settled(encoding, [first_block.data] if pieces is None else pieces, source.report)
    cleaner = cleaner_of(encoding)
    everything = itertools.chain([first_block], blocks)
    return _ScannedWords(scan(everything, cleaner, workers, folder, source.report), encoding, cleaner)


def _scan_tokens(sentences: Iterable[Tokens], folder: Path | None) -> Scanned:
    """Sentences that the caller has tokenized are taken as they are."""
    numbering = PlainNumbering()
    spool = files.Spool(np.int32, folder)
    rest = iter(sentences)
    done = 0
    while batch := list(itertools.islice(rest, 10_000)):
        _check_token_lists(batch, done + 1)
        spool.append(numbering.ids(batch))
        done += len(batch)
    known = np.arange(len(numbering.first), dtype=np.int32)
    return Scanned(
        ids=spool,
        owners=[0] * len(spool.lengths),
        maps=[known],
        counts=numbering.counts(),
        lengths=numbering.lengths(),
        words=numbering.words,
        lint={},
    )


def _check_token_lists(batch: list[Any], first: int) -> None:
    """Refuse sentences that are not lists of tokens; `first` is the number of the first one."""
    for kind in set(map(type, batch)):
        if issubclass(kind, Iterable) and not issubclass(kind, (str, bytes, bytearray)):
            continue
        number, sentence = next((n, each) for n, each in enumerate(batch, first) if type(each) is kind)
        if issubclass(kind, str):
            raise SourceError(
                "Some sentences are lists of tokens, and sentence {number} is a string. "
                "Pass one kind or the other.",
                number=number,
            )
        raise unexpected_sentence(sentence, number)


def _stream(spool: files.Spool) -> array_writer.StreamedArray:
    return array_writer.StreamedArray(spool.pieces(), spool.dtype, (spool.size,))
