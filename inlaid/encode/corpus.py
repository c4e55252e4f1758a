"""Corpus: ids in one flat memory-mapped array, with sentence offsets; encoded once, used by all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xxhash

from inlaid import arrays, files, registry
from inlaid.collect.sources import Text
from inlaid.config import Positive, check
from inlaid.encode.tokenizers import Tokenizer, read_dictionary
from inlaid.encode.vocabulary import Vocabulary, pack, unpack
from inlaid.errors import FormatError, SettingError
from inlaid.report import Report, silent
from inlaid.shapes import Ids, Offsets

FILE = "corpus.safetensors"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """How text becomes ids."""

    tokenizer: str = "word"
    """What a token is: whitespace, word, char, or parts of words learned from the text: bpe, wordpiece,
    unigram."""
    tokenizer_file: Path | None = None
    """A tokenizer made elsewhere instead: tokenizer.json, GPT-2's or BERT's vocabulary, a SentencePiece
    model, or their folder."""
    subwords: Positive = 8000
    """How many parts of words bpe, wordpiece and unigram learn."""
    dictionary: Path | tuple[str, ...] | None = None
    """Chinese words that are always one token: a file with one a line, or the words."""
    normalize: tuple[str, ...] | None = None
    """Steps every text passes through first: nfc, nfkc, width, lower, simplified. None: nfc and lower for
    words, nfc for subwords learned here, nothing for a tokenizer file, which has its own."""
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
            raise SettingError(
                "max_size, special and unknown are for words; the vocabulary of subwords is the tokenizer's own."
            )
        for name in self.steps:
            registry.entry("normalizer", name)
        if self.dictionary and self.tokenizer != "word":
            raise SettingError(
                f"dictionary goes with the word tokenizer, but the tokenizer is '{self.tokenizer}'."
            )

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of normalisation, decided."""
        if self.normalize is not None:
            return self.normalize
        return () if self.tokenizer_file else ("nfc",) if self.has_subwords else ("nfc", "lower")

    @property
    def has_subwords(self) -> bool:
        """Whether the vocabulary is a tokenizer's own, rather than the words of the text."""
        return (
            self.tokenizer_file is not None
            or registry.entry("tokenizer", self.tokenizer, "subwords").kind == "subwords"
        )

    def make_tokenizer(self) -> Tokenizer:
        if self.tokenizer_file is not None:
            from inlaid.encode import (
                subword_scanning,
            )  # only those who have such a file pay for its libraries

            return subword_scanning.load(self.tokenizer_file)
        if self.has_subwords:
            raise SettingError(
                f"{self.tokenizer} learns its subwords from a text. Name a tokenizer_file, or encode a corpus with it."
            )
        kind = registry.find("tokenizer", self.tokenizer)
        if not self.dictionary:
            return kind()
        words = read_dictionary(self.dictionary) if isinstance(self.dictionary, Path) else self.dictionary
        return kind(dictionary=words)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Encoded text: `ids` of all sentences end to end; sentence s is ids[offsets[s]:offsets[s + 1]]."""

    ids: Ids
    offsets: Offsets
    vocabulary: Vocabulary
    manifest: Mapping[str, Any]
    """How it was made: encoding, inputs with their hashes, what was read, used and dropped, a hash of the
    content."""
    tokenizer_json: str | None = None
    """The tokenizer whose subwords these are, in the form Hugging Face's library reads."""

    def save(self, folder: Path) -> None:
        """Write the corpus as a folder that `open_corpus` maps back."""
        write_corpus(
            folder,
            {"ids": self.ids, "offsets": self.offsets},
            self.vocabulary,
            self.manifest,
            self.tokenizer_json,
        )


def open_corpus(folder: Path) -> Corpus:
    """Map a corpus that was saved; every byte is verified."""
    if not is_corpus(folder):
        raise FormatError(
            f"{folder} is not a corpus: it holds no {FILE}. Make one with `inlaid corpus TEXT -o {folder}`."
        )
    opened = arrays.open_arrays(folder / FILE)
    manifest = json.loads(opened.metadata["manifest"])
    tokenizer = (folder / TOKENIZER).read_text("utf-8") if (folder / TOKENIZER).is_file() else None
    if tokenizer is not None and files.checksum(tokenizer.encode()) != manifest.get("tokenizer"):
        raise FormatError(
            f"{folder / TOKENIZER} is not the tokenizer this corpus was encoded with (checksum differs)."
        )
    return Corpus(opened.whole("ids"), opened.whole("offsets"), unpack(opened), manifest, tokenizer)


def is_corpus(path: Path) -> bool:
    return (path / FILE).is_file()


def encode(
    text: Text,
    encoding: Encoding | None = None,
    report: Report = silent,
    *,
    workers: int | None = None,
    out: Path | None = None,
) -> Corpus:
    """Read text once and turn it into ids, most frequent word first; the result is the same for any number of
    workers.

    With `out`, the corpus is written there piece by piece and mapped: it may be larger than memory.

    >>> corpus = encode(["the cat sits", "the cat runs"], Encoding(min_count=2))
    >>> list(corpus.vocabulary.words), corpus.ids.tolist(), corpus.offsets.tolist()
    (['cat', 'the'], [1, 0, 1, 0], [0, 2, 4])
    """
    from inlaid.encode.encoder import encoded  # it brings the kernels, which reading a corpus does without

    return encoded(text, encoding or Encoding(), report, workers, out)


def write_corpus(
    folder: Path,
    content: Mapping[str, Any],
    vocabulary: Vocabulary,
    manifest: Mapping[str, Any],
    tokenizer_json: str | None,
) -> None:
    with files.writing_folder(folder) as part:
        arrays.write(
            part / FILE,
            {**content, **pack(vocabulary)},
            {"manifest": json.dumps(manifest, ensure_ascii=False)},
        )
        if tokenizer_json is not None:
            files.write_text(part / TOKENIZER, tokenizer_json)


def content_hash(ids: Iterable[np.ndarray], offsets: Iterable[np.ndarray], vocabulary: Vocabulary) -> str:
    """The same for the same ids and words, however and wherever they were encoded; ids and offsets come in
    pieces."""
    digest = xxhash.xxh3_128()
    words = (vocabulary.words.blob, vocabulary.words.offsets, vocabulary.counts)
    for part in itertools.chain(ids, offsets, words):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
