"""Encoder: text read once, cut, numbered, and written as a corpus, in pieces that fit into memory."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from inlaid import arrays, files
from inlaid.collect.sources import Source, Text, Tokens, blocks_of
from inlaid.config import values_of
from inlaid.encode import subword_scanning
from inlaid.encode.cleaning import Cleaning
from inlaid.encode.corpus import Corpus, Encoding, content_hash, open_corpus, write_corpus
from inlaid.encode.numbering import END, PlainNumbering
from inlaid.encode.scanning import Scanned, scan
from inlaid.encode.tokenizers import Whitespace
from inlaid.encode.vocabulary import Vocabulary, Words, by_count
from inlaid.errors import SettingError, SourceError
from inlaid.kernels.text import hash_table as words_cpu
from inlaid.report import Report
from inlaid.shapes import Ids

VERSION = 1
NO_WORDS = "No words were found: the text is empty, or holds only punctuation."
LONG_WORD = 100
LONG_SENTENCE = 10_000
"""Bytes and tokens beyond which the report mentions words and sentences; they are kept whole all the same."""


def encoded(text: Text, encoding: Encoding, report: Report, workers: int | None, out: Path | None) -> Corpus:
    """The work of `encode`."""
    if workers is not None and workers < 1:
        raise SettingError(f"workers is {workers}; expected at least 1, or None for all cores.")
    folder = out.parent if out else None
    if out is not None:
        files.can_write(out, folder=True)
    source = Source(text, encoding.field, report)
    tokenizer = None
    if encoding.has_subwords:
        tokenizer = subword_scanning.made(
            source, encoding.tokenizer, encoding.tokenizer_file, encoding.subwords, cleaning_of(encoding)
        )
        scanned = subword_scanning.scan(source, tokenizer, cleaning_of(encoding), folder)
        vocabulary, new = _tokenizers_own(scanned, tokenizer.vocabulary)
    else:
        scanned = _scanned(source, encoding, workers or os.cpu_count() or 1, folder)
        vocabulary, new = _vocabulary(scanned, encoding)
    done = _renumbered(scanned, new, folder)
    as_json = tokenizer.to_json() if tokenizer else None
    manifest = _manifest(encoding, source, scanned, vocabulary, done)
    manifest |= {"tokenizer": files.checksum(as_json.encode())} if as_json else {}
    if out is None:
        return Corpus(done.ids.whole(), done.offsets.whole(), vocabulary, manifest, as_json)
    write_corpus(
        out, {"ids": _stream(done.ids), "offsets": _stream(done.offsets)}, vocabulary, manifest, as_json
    )
    return open_corpus(out)


def cleaning_of(encoding: Encoding) -> Cleaning:
    tokenizer = Whitespace() if encoding.has_subwords else encoding.make_tokenizer()
    return Cleaning(tokenizer, encoding.steps, encoding.sentences, encoding.invalid)


def _tokenizers_own(scanned: Scanned, words: list[str]) -> tuple[Vocabulary, Ids]:
    """A vocabulary that is fixed beforehand: every id stays what it is."""
    if not scanned.counts.any():
        raise SourceError(NO_WORDS)
    return Vocabulary(Words.of(words), scanned.counts), np.arange(len(words), dtype=np.int32)


def _scanned(source: Source, encoding: Encoding, workers: int, folder: Path | None) -> Scanned:
    """All text as ids in order of first sight."""
    given = source.sentences()
    if given is None:
        return scan(source.blocks(), cleaning_of(encoding), workers, folder)
    sentences = iter(given)
    first = next(sentences, "")
    if isinstance(first, str):
        return scan(
            blocks_of(cast("Iterator[str]", itertools.chain([first], sentences))),
            cleaning_of(encoding),
            workers,
            folder,
        )
    return _scanned_tokens(cast("Iterator[Tokens]", itertools.chain([first], sentences)), folder)


def _scanned_tokens(sentences: Iterable[Tokens], folder: Path | None) -> Scanned:
    """Sentences that are cut into tokens already are taken as they are."""
    numbering = PlainNumbering()
    spool = files.Spool(np.int32, folder)
    rest = iter(sentences)
    while some := list(itertools.islice(rest, 10_000)):
        if any(isinstance(each, str) for each in some):
            raise SourceError(
                "Some sentences are strings and some are lists of tokens. Pass one kind or the other."
            )
        spool.append(numbering.ids(some))
    known = np.arange(len(numbering.first), dtype=np.int32)
    return Scanned(
        spool, [0] * len(spool.lengths), [known], numbering.counts(), numbering.lengths(), numbering.words, {}
    )


def _vocabulary(scanned: Scanned, encoding: Encoding) -> tuple[Vocabulary, Ids]:
    """The words that stay, in their order, and the id that each word read gets (or -1)."""
    counts = scanned.counts
    if not len(counts):
        raise SourceError(NO_WORDS)
    unknown = (
        (encoding.unknown,)
        if encoding.unknown is not None and encoding.unknown not in encoding.special
        else ()
    )
    special = {word.encode(): id for id, word in enumerate((*encoding.special, *unknown))}
    enough = np.flatnonzero(counts >= encoding.min_count)
    words = scanned.words(enough)
    kept = by_count(words, counts[enough])
    seen = [place for place, word in enumerate(words) if word in special] if special else []
    kept = kept[np.isin(kept, seen, invert=True)] if seen else kept
    kept = kept if encoding.max_size is None else kept[: max(0, encoding.max_size - len(special))]
    if not len(kept) and not seen:
        most = int(counts.argmax())
        word = scanned.words([most])[0].decode("utf-8", "replace")
        raise SourceError(
            f"All {len(counts):,} words were seen less than {encoding.min_count} times "
            f"(the most frequent, '{word}', {counts[most]}). Lower min_count, or bring more text."
        )
    new = np.full(
        len(counts), -1 if encoding.unknown is None else special[encoding.unknown.encode()], np.int32
    )
    new[enough[kept]] = np.arange(len(special), len(special) + len(kept))
    for place in seen:
        new[enough[place]] = special[words[place]]
    used = np.bincount(new[new >= 0], weights=counts[new >= 0], minlength=len(special) + len(kept)).astype(
        np.int64
    )
    return Vocabulary(Words.of_bytes([*special, *map(words.__getitem__, kept.tolist())]), used), new


@dataclass(frozen=True)
class _Renumbered:
    """The ids in the vocabulary's order and the offsets, without the words left out and the sentences that
    leaves empty."""

    ids: files.Spool
    offsets: files.Spool
    sentences: int
    """Sentences that held any word before."""


def _renumbered(scanned: Scanned, new: Ids, folder: Path | None) -> _Renumbered:
    ids = files.Spool(np.int32, folder)
    offsets = files.Spool(np.int64, folder)
    offsets.append(np.zeros(1, np.int64))
    state = np.zeros(6, np.int64)
    maps = [new[map] for map in scanned.maps]
    last = (np.full(1, END, np.int32), 0)  # the text may stop without an end
    for piece, owner in itertools.chain(zip(scanned.ids.pieces(), scanned.owners, strict=True), [last]):
        kept = np.empty(len(piece), np.int32)
        ends = np.empty(len(piece), np.int64)
        words_cpu.renumber(piece, maps[owner], kept, ends, state)
        ids.append(kept[: state[0]].copy())
        offsets.append(ends[: state[1]].copy())
    return _Renumbered(ids, offsets, int(state[4]))


def _manifest(
    encoding: Encoding, source: Source, scanned: Scanned, vocabulary: Vocabulary, done: _Renumbered
) -> dict[str, Any]:
    read = int(scanned.counts.sum())
    used = done.ids.size
    lint = {
        "long_words": int(scanned.counts[scanned.lengths > LONG_WORD].sum()),
        "long_sentences": _long_sentences(done.offsets),
    }
    return {
        "version": VERSION,
        "encoding": values_of(encoding) | {"normalize": list(encoding.steps)},
        "inputs": [asdict(each) for each in source.inputs],
        "documents": source.documents,
        "sentences": {"read": done.sentences, "used": done.offsets.size - 1},
        "tokens": {"read": read, "used": used, "dropped": {"rare": read - used}},
        "words": {"read": len(scanned.counts), "used": len(vocabulary)},
        "lint": scanned.lint | lint,
        "hash": content_hash(done.ids.pieces(), done.offsets.pieces(), vocabulary),
    }


def _long_sentences(offsets: files.Spool) -> int:
    last = 0
    found = 0
    for piece in offsets.pieces():
        found += int((np.diff(piece, prepend=last) > LONG_SENTENCE).sum())
        last = int(piece[-1]) if len(piece) else last
    return found


def _stream(spool: files.Spool) -> arrays.Stream:
    return arrays.Stream(spool.pieces(), spool.dtype, (spool.size,))
