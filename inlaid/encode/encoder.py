"""The encoder: reads text once, tokenizes and numbers it, and writes a corpus piece by piece."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from inlaid import array_writer, files
from inlaid.collect.samples import spread_over
from inlaid.collect.sources import Source, Text, TextBlock, Tokens, blocks_of, unexpected_sentence
from inlaid.config import values_of
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.corpus import Corpus, Encoding, content_hash, open_corpus, write_corpus
from inlaid.encode.numbering import END, PlainNumbering
from inlaid.encode.scanning import Scanned, scan
from inlaid.encode.scripts import note_scripts, settled
from inlaid.encode.subwords import scanning as subword_scanning
from inlaid.encode.tokenizers import Whitespace, Word
from inlaid.encode.vocabulary import Vocabulary, Words, by_count
from inlaid.errors import InlaidError, SettingError, SourceError
from inlaid.kernels.text import hash_table
from inlaid.report import Report
from inlaid.shapes import Counts, Ids

VERSION = 1
LONG_WORD = 100
LONG_SENTENCE = 10_000
"""Bytes and tokens above which words and sentences are counted in the report; they are kept all the same."""


def encode_text(
    text: Text, encoding: Encoding, report: Report, workers: int | None, out: Path | None
) -> Corpus:
    """Implements `encode`."""
    if workers is not None and workers < 1:
        raise SettingError(
            "workers is {workers}; expected at least 1. Leave it out to use all cores.", workers=workers
        )
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
        selected = _all_words(scanned, tokenizer.vocabulary)
    else:
        scanned, encoding, cleaner = _scan_words(source, encoding, workers or os.cpu_count() or 1, folder)
        selected = select_words(scanned.counts, scanned.words, encoding)
    note_scripts(encoding, selected.vocabulary, report)
    renumbered = _renumber(scanned, selected.ids, folder)
    manifest = _manifest(encoding, source, scanned, selected, renumbered)
    manifest["encoding"]["dictionary"] = _dictionary(cleaner)
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


# ---- The vocabulary


@dataclass(frozen=True)
class Selected:
    """The vocabulary, and the words that are not part of it."""

    vocabulary: Vocabulary
    ids: Ids
    """The id that each word read gets; -1 where it is dropped."""
    dropped: dict[str, int]
    """Tokens dropped, by reason."""


def _all_words(scanned: Scanned, words: list[str]) -> Selected:
    """The fixed vocabulary of a subword tokenizer: every id stays, nothing is dropped."""
    if not scanned.counts.any():
        raise _no_words()
    ids = np.arange(len(words), dtype=np.int32)
    return Selected(Vocabulary(Words.of(words), scanned.counts), ids, {})


def select_words(counts: Counts, words_of: Callable[[Any], list[bytes]], encoding: Encoding) -> Selected:
    """The words that are frequent enough, in the order of their ids; `words_of` has the UTF-8 of words."""
    if not len(counts):
        raise _no_words()
    special = _special_ids(encoding)
    frequent = np.flatnonzero(counts >= encoding.min_count)
    words = words_of(frequent)
    ranked = by_count(words, counts[frequent])
    seen_special = [place for place, word in enumerate(words) if word in special] if special else []
    if seen_special:
        ranked = ranked[np.isin(ranked, seen_special, invert=True)]
    most = len(ranked) if encoding.max_size is None else max(0, encoding.max_size - len(special))
    kept = ranked[:most]
    beyond = ranked[most:]
    if not len(kept) and not seen_special:
        raise _no_words_left(counts, words_of, encoding, len(special))
    unknown = -1 if encoding.unknown is None else special[encoding.unknown.encode()]
    ids = np.full(len(counts), unknown, np.int32)
    ids[frequent[kept]] = np.arange(len(special), len(special) + len(kept))
    for place in seen_special:
        ids[frequent[place]] = special[words[place]]
    vocabulary_words = Words.of_bytes([*special, *(words[place] for place in kept.tolist())])
    vocabulary = Vocabulary(vocabulary_words, _counts_by_id(ids, counts, len(vocabulary_words)))
    dropped = {"rare": int(counts[counts < encoding.min_count].sum())}
    if encoding.max_size is not None:
        dropped["beyond_max_size"] = int(counts[frequent[beyond]].sum())
    if encoding.unknown is not None:
        dropped = dict.fromkeys(dropped, 0)  # they are used, as the unknown word
    return Selected(vocabulary, ids, dropped)


def _special_ids(encoding: Encoding) -> dict[bytes, int]:
    """The words with fixed ids: the special ones, then the unknown word if it is not among them."""
    words = list(encoding.special)
    if encoding.unknown is not None and encoding.unknown not in words:
        words.append(encoding.unknown)
    return {word.encode(): id for id, word in enumerate(words)}


def _counts_by_id(ids: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    """The counts of the words read, summed by their new ids."""
    used = ids >= 0
    return np.bincount(ids[used], weights=counts[used], minlength=size).astype(np.int64)


def _no_words() -> SourceError:
    return SourceError(
        "No words were found: the text is empty, or has only punctuation. Check the file, or add text."
    )


def _no_words_left(
    counts: Counts, words_of: Callable[[Any], list[bytes]], encoding: Encoding, special: int
) -> InlaidError:
    most = int(counts.argmax())
    if counts[most] >= encoding.min_count:
        return SettingError(
            "max_size is {max_size}, and {special} special words leave no place for words of the text. "
            "Raise max_size.",
            max_size=encoding.max_size,
            special=special,
        )
    return SourceError(
        "All {words:,} words occur less than {min_count} times (the most frequent, '{word}', {count} times). "
        "Lower min_count, or add more text.",
        words=len(counts),
        min_count=encoding.min_count,
        word=words_of([most])[0].decode("utf-8", "replace"),
        count=int(counts[most]),
    )


# ---- Ids of the vocabulary


@dataclass(frozen=True)
class _Renumbered:
    """Ids of the vocabulary and offsets, without dropped words and the sentences this leaves empty."""

    ids: files.Spool
    offsets: files.Spool
    sentences: int
    """Sentences that had any word before words were dropped."""


def _renumber(scanned: Scanned, new_ids: Ids, folder: Path | None) -> _Renumbered:
    ids = files.Spool(np.int32, folder)
    offsets = files.Spool(np.int64, folder)
    offsets.append(np.zeros(1, np.int64))
    progress = hash_table.RenumberProgress(0, 0, 0, 0, 0, 0)
    maps = [new_ids[map] for map in scanned.maps]
    last = (np.full(1, END, np.int32), 0)  # the text may stop without an END
    for piece, owner in itertools.chain(zip(scanned.ids.pieces(), scanned.owners, strict=True), [last]):
        kept = np.empty(len(piece), np.int32)
        ends = np.empty(len(piece), np.int64)
        progress = hash_table.renumber(piece, maps[owner], kept, ends, progress)
        ids.append(kept[: progress.ids].copy())
        offsets.append(ends[: progress.ends].copy())
    return _Renumbered(ids, offsets, progress.sentences)


# ---- What the manifest records


def _manifest(
    encoding: Encoding, source: Source, scanned: Scanned, selected: Selected, renumbered: _Renumbered
) -> dict[str, Any]:
    tokens = {
        "read": int(scanned.counts.sum()),
        "used": renumbered.ids.size,
        "dropped": selected.dropped,
    }
    _check_account(tokens)
    lint = {
        "long_words": int(scanned.counts[scanned.lengths > LONG_WORD].sum()),
        "long_sentences": _long_sentences(renumbered.offsets),
    }
    charsets = {each.charset for each in source.inputs}
    charset = charsets.pop() if len(charsets) == 1 else encoding.charset
    if source.replaced:
        lint["invalid_bytes"] = scanned.lint["invalid_bytes"] + source.replaced
    return {
        "version": VERSION,
        "encoding": values_of(encoding) | {"normalize": list(encoding.steps), "charset": charset},
        "inputs": [asdict(each) for each in source.inputs],
        "documents": source.documents,
        "sentences": {"read": renumbered.sentences, "used": renumbered.offsets.size - 1},
        "tokens": tokens,
        "words": {"read": len(scanned.counts), "used": len(selected.vocabulary)},
        "lint": scanned.lint | lint,
        "hash": content_hash(renumbered.ids.pieces(), renumbered.offsets.pieces(), selected.vocabulary),
    }


def _dictionary(cleaner: Cleaner | None) -> list[str]:
    """The words that the text was segmented by: their files may change, or be elsewhere."""
    tokenizer = None if cleaner is None else cleaner.tokenizer
    return list(tokenizer.dictionary) if isinstance(tokenizer, Word) else []


def _check_account(tokens: dict[str, Any]) -> None:
    """Tokens read, used and dropped are counted in three places; they must add up."""
    dropped = sum(tokens["dropped"].values())
    if tokens["read"] != tokens["used"] + dropped:
        raise InlaidError(
            "Encoding lost tokens: {read:,} were read, {used:,} used and {dropped:,} dropped. "
            "This is a bug in Inlaid: please report it, with the text if you can.",
            read=tokens["read"],
            used=tokens["used"],
            dropped=dropped,
        )


def _long_sentences(offsets: files.Spool) -> int:
    last = 0
    found = 0
    for piece in offsets.pieces():
        found += int((np.diff(piece, prepend=last) > LONG_SENTENCE).sum())
        last = int(piece[-1]) if len(piece) else last
    return found


def _stream(spool: files.Spool) -> array_writer.StreamedArray:
    return array_writer.StreamedArray(spool.pieces(), spool.dtype, (spool.size,))
