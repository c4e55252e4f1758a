"""Corpus: ids in one flat memory-mapped array, with sentence offsets; encoded once, used by all."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import xxhash

from inlay import arrays, files, registry
from inlay.collect.sources import Source, Text, Tokens, blocks_of
from inlay.config import Positive, check, values_of
from inlay.encode import subword_scanning
from inlay.encode.cleaning import Cleaning
from inlay.encode.numbering import END, PlainNumbering
from inlay.encode.scanning import Scanned, scan
from inlay.encode.tokenizers import Tokenizer, Whitespace, read_dictionary
from inlay.encode.vocabulary import Vocabulary, Words, by_count, pack, unpack
from inlay.errors import FormatError, SettingError, SourceError
from inlay.kernels import words_cpu
from inlay.report import Report, silent
from inlay.shapes import Ids, Offsets

FILE = "corpus.safetensors"
TOKENIZER = "tokenizer.json"
VERSION = 1
NO_WORDS = "No words were found: the text is empty, or holds only punctuation."
LONG_WORD, LONG_SENTENCE = 100, 10_000
"""Bytes and tokens beyond which the report mentions words and sentences; they are kept whole all the same."""


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How text becomes ids."""

    tokenizer: str = "word"
    """What a token is: whitespace, word, char, or parts of words learned from the text: bpe, wordpiece, unigram."""
    tokenizer_file: Path | None = None
    """A tokenizer made elsewhere instead: tokenizer.json, GPT-2's or BERT's vocabulary, a SentencePiece model, or their folder."""
    subwords: Positive = 8000
    """How many parts of words bpe, wordpiece and unigram learn."""
    dictionary: Path | tuple[str, ...] | None = None
    """Chinese words that are always one token: a file with one a line, or the words."""
    normalize: tuple[str, ...] | None = None
    """Steps every text passes through first: nfc, nfkc, width, lower, simplified. None: nfc and lower for words, nfc for subwords
    learned here, nothing for a tokenizer file, which has its own."""
    sentences: Literal["line", "split"] = "line"
    """Where sentences end: at each line's end, or also at the full stops of running text."""
    min_count: Positive = 5
    """Words seen less often than this are left out."""
    max_size: Positive | None = None
    """At most this many words, the most frequent ones."""
    special: tuple[str, ...] = ()
    """Words that get the first ids, whether they are seen or not."""
    unknown: str | None = None
    """Stands for every word left out; None drops them."""
    field: str = "text"
    """The key or column that holds the text, in jsonl, csv, tsv and parquet files."""
    invalid: Literal["error", "replace", "skip"] = "error"
    """What to do about bytes that are not UTF-8."""

    def __post_init__(self) -> None:
        check(self)
        registry.entry("tokenizer", self.tokenizer, "subwords")
        if self.has_subwords and (self.max_size or self.special or self.unknown is not None):
            raise SettingError("max_size, special and unknown are for words; the vocabulary of subwords is the tokenizer's own.")
        for name in self.steps:
            registry.entry("normalizer", name)
        if self.dictionary and self.tokenizer != "word":
            raise SettingError(f"dictionary goes with the word tokenizer, but the tokenizer is '{self.tokenizer}'.")

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of normalisation, decided."""
        if self.normalize is not None:
            return self.normalize
        return () if self.tokenizer_file else ("nfc",) if self.has_subwords else ("nfc", "lower")

    @property
    def has_subwords(self) -> bool:
        """Whether the vocabulary is a tokenizer's own, rather than the words of the text."""
        return self.tokenizer_file is not None or registry.entry("tokenizer", self.tokenizer, "subwords").kind == "subwords"

    def make_tokenizer(self) -> Tokenizer:
        if self.tokenizer_file is not None:
            return subword_scanning.load(self.tokenizer_file)
        if self.has_subwords:
            raise SettingError(f"{self.tokenizer} learns its subwords from a text. Name a tokenizer_file, or encode a corpus with it.")
        kind = registry.find("tokenizer", self.tokenizer)
        if not self.dictionary:
            return kind()
        words = read_dictionary(self.dictionary) if isinstance(self.dictionary, Path) else self.dictionary
        return kind(dictionary=words)

    def cleaning(self) -> Cleaning:
        tokenizer = Whitespace() if self.has_subwords else self.make_tokenizer()
        return Cleaning(tokenizer, self.steps, self.sentences, self.invalid)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Encoded text: `ids` of all sentences end to end; sentence s is ids[offsets[s]:offsets[s + 1]]."""

    ids: Ids
    offsets: Offsets
    vocabulary: Vocabulary
    manifest: Mapping[str, Any]
    """How it was made: encoding, inputs with their hashes, what was read, used and dropped, a hash of the content."""
    tokenizer_json: str | None = None
    """The tokenizer whose subwords these are, in the form Hugging Face's library reads."""

    def save(self, folder: Path) -> None:
        """Write the corpus as a folder that `open_corpus` maps back."""
        _write(folder, {"ids": self.ids, "offsets": self.offsets}, self.vocabulary, self.manifest, self.tokenizer_json)


def open_corpus(folder: Path) -> Corpus:
    """Map a corpus that was saved; every byte is verified."""
    if not is_corpus(folder):
        raise FormatError(f"{folder} is not a corpus: it holds no {FILE}. Make one with `inlay corpus TEXT -o {folder}`.")
    opened = arrays.open_arrays(folder / FILE)
    manifest = json.loads(opened.metadata["manifest"])
    tokenizer = (folder / TOKENIZER).read_text("utf-8") if (folder / TOKENIZER).is_file() else None
    if tokenizer is not None and files.checksum(tokenizer.encode()) != manifest.get("tokenizer"):
        raise FormatError(f"{folder / TOKENIZER} is not the tokenizer this corpus was encoded with (checksum differs).")
    return Corpus(opened.whole("ids"), opened.whole("offsets"), unpack(opened), manifest, tokenizer)


def is_corpus(path: Path) -> bool:
    return (path / FILE).is_file()


def encode(
    text: Text, encoding: Encoding | None = None, report: Report = silent, *, workers: int | None = None, out: Path | None = None
) -> Corpus:
    """Read text once and turn it into ids, most frequent word first; the result is the same for any number of workers.

    With `out`, the corpus is written there piece by piece and mapped: it may be larger than memory.

    >>> corpus = encode(["the cat sits", "the cat runs"], Encoding(min_count=2))
    >>> list(corpus.vocabulary.words), corpus.ids.tolist(), corpus.offsets.tolist()
    (['cat', 'the'], [1, 0, 1, 0], [0, 2, 4])
    """
    if workers is not None and workers < 1:
        raise SettingError(f"workers is {workers}; expected at least 1, or None for all cores.")
    encoding, folder = encoding or Encoding(), out.parent if out else None
    if out is not None:
        files.can_write(out, folder=True)
    source, tokenizer = Source(text, encoding.field, report), None
    if encoding.has_subwords:
        tokenizer = subword_scanning.made(source, encoding.tokenizer, encoding.tokenizer_file, encoding.subwords, encoding.cleaning())
        scanned = subword_scanning.scan(source, tokenizer, encoding.cleaning(), folder)
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
    _write(out, {"ids": _stream(done.ids), "offsets": _stream(done.offsets)}, vocabulary, manifest, as_json)
    return open_corpus(out)


def _write(
    folder: Path, content: Mapping[str, Any], vocabulary: Vocabulary, manifest: Mapping[str, Any], tokenizer_json: str | None
) -> None:
    with files.writing_folder(folder) as part:
        arrays.write(part / FILE, {**content, **pack(vocabulary)}, {"manifest": json.dumps(manifest, ensure_ascii=False)})
        if tokenizer_json is not None:
            files.write_text(part / TOKENIZER, tokenizer_json)


def _tokenizers_own(scanned: Scanned, words: list[str]) -> tuple[Vocabulary, Ids]:
    """A vocabulary that is fixed beforehand: every id stays what it is."""
    if not scanned.counts.any():
        raise SourceError(NO_WORDS)
    return Vocabulary(Words.of(words), scanned.counts), np.arange(len(words), dtype=np.int32)


def _scanned(source: Source, encoding: Encoding, workers: int, folder: Path | None) -> Scanned:
    """All text as ids in order of first sight."""
    given = source.sentences()
    if given is None:
        return scan(source.blocks(), encoding.cleaning(), workers, folder)
    sentences = iter(given)
    first = next(sentences, "")
    if isinstance(first, str):
        return scan(blocks_of(cast("Iterator[str]", itertools.chain([first], sentences))), encoding.cleaning(), workers, folder)
    return _scanned_tokens(cast("Iterator[Tokens]", itertools.chain([first], sentences)), folder)


def _scanned_tokens(sentences: Iterable[Tokens], folder: Path | None) -> Scanned:
    """Sentences that are cut into tokens already are taken as they are."""
    numbering, spool = PlainNumbering(), files.Spool(np.int32, folder)
    rest = iter(sentences)
    while some := list(itertools.islice(rest, 10_000)):
        if any(isinstance(each, str) for each in some):
            raise SourceError("Some sentences are strings and some are lists of tokens. Pass one kind or the other.")
        spool.append(numbering.ids(some))
    known = np.arange(len(numbering.first), dtype=np.int32)
    return Scanned(spool, [0] * len(spool.lengths), [known], numbering.counts(), numbering.lengths(), numbering.words, {})


def _vocabulary(scanned: Scanned, encoding: Encoding) -> tuple[Vocabulary, Ids]:
    """The words that stay, in their order, and the id that each word read gets (or -1)."""
    counts = scanned.counts
    if not len(counts):
        raise SourceError(NO_WORDS)
    unknown = (encoding.unknown,) if encoding.unknown is not None and encoding.unknown not in encoding.special else ()
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
    new = np.full(len(counts), -1 if encoding.unknown is None else special[encoding.unknown.encode()], np.int32)
    new[enough[kept]] = np.arange(len(special), len(special) + len(kept))
    for place in seen:
        new[enough[place]] = special[words[place]]
    used = np.bincount(new[new >= 0], weights=counts[new >= 0], minlength=len(special) + len(kept)).astype(np.int64)
    return Vocabulary(Words.of_bytes([*special, *map(words.__getitem__, kept.tolist())]), used), new


@dataclass(frozen=True)
class _Renumbered:
    """The ids in the vocabulary's order and the offsets, without the words left out and the sentences that leaves empty."""

    ids: files.Spool
    offsets: files.Spool
    sentences: int
    """Sentences that held any word before."""


def _renumbered(scanned: Scanned, new: Ids, folder: Path | None) -> _Renumbered:
    ids, offsets = files.Spool(np.int32, folder), files.Spool(np.int64, folder)
    offsets.append(np.zeros(1, np.int64))
    state, maps = np.zeros(6, np.int64), [new[map] for map in scanned.maps]
    last = (np.full(1, END, np.int32), 0)  # the text may stop without an end
    for piece, owner in itertools.chain(zip(scanned.ids.pieces(), scanned.owners, strict=True), [last]):
        kept, ends = np.empty(len(piece), np.int32), np.empty(len(piece), np.int64)
        words_cpu.renumber(piece, maps[owner], kept, ends, state)
        ids.append(kept[: state[0]].copy())
        offsets.append(ends[: state[1]].copy())
    return _Renumbered(ids, offsets, int(state[4]))


def _manifest(encoding: Encoding, source: Source, scanned: Scanned, vocabulary: Vocabulary, done: _Renumbered) -> dict[str, Any]:
    read, used = int(scanned.counts.sum()), done.ids.size
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
    last, found = 0, 0
    for piece in offsets.pieces():
        found += int((np.diff(piece, prepend=last) > LONG_SENTENCE).sum())
        last = int(piece[-1]) if len(piece) else last
    return found


def content_hash(ids: Iterable[np.ndarray], offsets: Iterable[np.ndarray], vocabulary: Vocabulary) -> str:
    """The same for the same ids and words, however and wherever they were encoded; ids and offsets come in pieces."""
    digest = xxhash.xxh3_128()
    words = (vocabulary.words.blob, vocabulary.words.offsets, vocabulary.counts)
    for part in itertools.chain(ids, offsets, words):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _stream(spool: files.Spool) -> arrays.Stream:
    return arrays.Stream(spool.pieces(), spool.dtype, (spool.size,))
