"""Texts to bags of features: words, and n-grams of words and of characters hashed into buckets.

A feature has a row in a table: words have the first rows, buckets that occurred in the training text follow.
What never occurred there has no row and is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from inlaid.collect.normalize import normalizer
from inlaid.collect.sources import TextBlock
from inlaid.encode.cleaning import Cleaner
from inlaid.encode.corpus import encoding_of, tokenizer_of
from inlaid.encode.joining import joining
from inlaid.encode.ngrams import bucket_ids
from inlaid.encode.numbering import FastNumbering, padded
from inlaid.encode.vocabulary import Words
from inlaid.kernels.bags import cpu

MOST_NEW_WORDS = 1 << 20
"""Out-of-vocabulary words that are remembered; with more of them, all are forgotten."""
MOST_NEW_BYTES = 64 << 20
"""Bytes that these words may have: one of them may be a whole text without a space."""
LINE_ENDS = str.maketrans({"\n": " ", "\r": " "})


class TokenIds(NamedTuple):
    """The tokens of texts: those of text t are ids[offsets[t]:offsets[t + 1]]. Ids of words in the vocabulary
    are below its size."""

    ids: np.ndarray
    offsets: np.ndarray


class BagIds(NamedTuple):
    """The features of texts: those of text t are ids[bounds[t]:bounds[t + 1]], rows of a table."""

    ids: np.ndarray
    bounds: np.ndarray


@dataclass(frozen=True, kw_only=True)
class BagSettings:
    """Which features a bag has."""

    word_ngrams: int = 1
    """Most words of an n-gram."""
    min_n: int = 0
    max_n: int = 0
    """Lengths of character n-grams; 0: none."""
    buckets: int = 1
    """Buckets that n-grams are hashed into."""

    @property
    def hashed(self) -> bool:
        return self.word_ngrams > 1 or self.max_n > 0


class Numbering:
    """Texts to ids of a fixed vocabulary; other words get ids beyond it. For one thread at a time."""

    def __init__(self, words: Words, cleaner: Cleaner) -> None:
        self.words = words
        self.cleaner = cleaner
        self.lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Only the words of the vocabulary are known, each by its id."""
        self.fast = FastNumbering()
        # A word with white space can never be found in a text; another name keeps its place.
        names = [
            b"\0%d" % id if word.split() != [word] else word for id, word in enumerate(self.words.all_bytes())
        ]
        joined = b" ".join(names) + b"\n"
        self.fast.ids(padded(joined), len(joined))
        self.own_bytes = self._bytes()

    def _bytes(self) -> int:
        """Bytes of all words that are known."""
        return int(self.fast.table.ends[self.fast.known])

    def tokens(self, texts: Sequence[str]) -> TokenIds:
        """The ids of the tokens of each text."""
        many = self.fast.known > len(self.words) + MOST_NEW_WORDS
        if many or self._bytes() > self.own_bytes + MOST_NEW_BYTES:
            self._forget()
        return tokens_of(texts, self.cleaner, self.fast)


class Subwords:
    """Texts to ids of words that are the tokens of a subword tokenizer."""

    def __init__(self, words: Iterable[str], encoding: Mapping[str, Any], tokenizer_json: str) -> None:
        from inlaid.encode.subwords.tokenizer import Subwords as Tokenizer  # imports the tokenizers library

        self.tokenizer = Tokenizer.from_json(tokenizer_json)
        self.normalize = normalizer(encoding.get("normalize", ()))
        self.found = {word: id for id, word in enumerate(words)}
        self.joining = joining(self.tokenizer, encoding, self.found)
        self.rows = np.array([self.found.get(word, -1) for word in self.tokenizer.vocabulary], np.int32)
        """The id of each token of the tokenizer; -1 where it is no word."""

    def bags(self, texts: Sequence[str]) -> BagIds:
        """The ids of the tokens that are words."""
        normalized = [self.normalize(text) for text in texts]
        if self.joining is self.tokenizer:
            ids = self.tokenizer.ids_of(normalized)
            flat = self.rows[np.fromiter(itertools.chain.from_iterable(ids), np.int64)]
        else:  # phrases are words, but no tokens of the tokenizer
            ids = [[self.found.get(word, -1) for word in self.joining.words(text)] for text in normalized]
            flat = np.fromiter(itertools.chain.from_iterable(ids), np.int32)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        known = flat >= 0
        before = np.concatenate([[0], np.cumsum(known)])
        return BagIds(flat[known], before[np.concatenate([[0], np.cumsum(lengths)])])


def tokens_of(texts: Sequence[str], cleaner: Cleaner, numbering: FastNumbering) -> TokenIds:
    """Every text as one sentence: cleaned by the kernels, all of them in one call."""
    if not texts:
        return TokenIds(np.zeros(0, np.int32), np.zeros(1, np.int64))
    joined = "\n".join(texts)
    if joined.count("\n") >= len(texts) or "\r" in joined:
        joined = "\n".join(text.translate(LINE_ENDS) for text in texts)
    cleaned = cleaner.clean(TextBlock(f"{joined}\n".encode("utf-8", "replace"), "texts", 1))
    ids = numbering.ids(cleaned.text, cleaned.size)
    ends = np.flatnonzero(ids < 0)
    offsets = np.concatenate([[0], ends - np.arange(len(ends))])
    return TokenIds(ids[ids >= 0], offsets)


@dataclass(frozen=True, eq=False, kw_only=True)
class Bags:
    """How texts become bags of features, the same at every time."""

    words: Words
    encoding: Mapping[str, Any]
    """How text becomes words, as the card of vectors records it."""
    settings: BagSettings = dataclasses.field(default_factory=BagSettings)
    kept: np.ndarray | None = None
    """The buckets that have a row, in ascending order; their rows follow those of the words."""
    tokenizer_json: str | None = None
    """The subword tokenizer whose tokens are the words, as Hugging Face's tokenizer.json."""

    def __getstate__(self) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names} | {"words": self.words.all_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"words": Words.of_bytes(state["words"])})

    @property
    def size(self) -> int:
        """Rows that a table for these features has."""
        return len(self.words) + (0 if self.kept is None else len(self.kept))

    @functools.cached_property
    def numbering(self) -> Numbering:
        return Numbering(self.words, cleaner_of(self.encoding, self.words))

    @functools.cached_property
    def _subwords(self) -> Subwords:
        return Subwords(self.words, self.encoding, self.tokenizer_json or "")

    @functools.cached_property
    def _rows(self) -> np.ndarray:
        """The row of each bucket; -1 where it has none."""
        kept = np.zeros(0, np.int32) if self.kept is None else self.kept
        rows = np.full(self.settings.buckets, -1, np.int32)
        rows[kept] = len(self.words) + np.arange(len(kept), dtype=np.int32)
        return rows

    @functools.cached_property
    def _spelled(self) -> BagIds:
        """Buckets of the character n-grams of the words."""
        return spelled(self.words.blob, self.words.offsets, self.settings)

    def of(self, texts: Sequence[str]) -> BagIds:
        """The features of each text that have a row."""
        if self.tokenizer_json is not None:
            return self._subwords.bags(texts)
        numbering = self.numbering
        with numbering.lock:
            tokens = numbering.tokens(texts)
            if not self.settings.hashed:
                return known_words(tokens, len(self.words))
            grams = self._spelled_with_new(tokens, numbering.fast)
        found = hashed_features(tokens, len(self.words), self.settings, grams)
        return with_rows(found, len(self.words), self._rows)

    def _spelled_with_new(self, tokens: TokenIds, numbering: FastNumbering) -> BagIds:
        """Buckets of the character n-grams of all words, those outside the vocabulary that occur included."""
        top = max(int(tokens.ids.max(initial=-1)) + 1, len(self.words))
        if not self.settings.max_n:
            return BagIds(np.zeros(0, np.int32), np.zeros(top + 1, np.int64))
        new = np.unique(tokens.ids[tokens.ids >= len(self.words)])
        if not len(new):
            return self._spelled
        counts = np.zeros(top - len(self.words), np.int64)
        encoded = numbering.words(new)
        blob = np.frombuffer(b"".join(encoded), np.uint8)
        found = spelled(blob, np.cumsum([0, *map(len, encoded)]), self.settings)
        counts[new - len(self.words)] = np.diff(found.bounds)
        ids = np.concatenate([self._spelled.ids, found.ids])
        return BagIds(
            ids, np.concatenate([self._spelled.bounds, self._spelled.bounds[-1] + np.cumsum(counts)])
        )


def cleaner_of(recorded: Mapping[str, Any], words: Words) -> Cleaner:
    """What cleans texts as a recorded encoding of these words did. Without a record: words as they are."""
    encoding = encoding_of(recorded)
    tokenizer = tokenizer_of(recorded, words)
    return Cleaner(tokenizer, encoding.steps if recorded else (), "line", "replace")


def known_words(tokens: TokenIds, size: int) -> BagIds:
    """The words of the vocabulary alone."""
    known = tokens.ids < size
    before = np.concatenate([[0], np.cumsum(known)])
    return BagIds(tokens.ids[known], before[tokens.offsets])


def spelled(blob: np.ndarray, offsets: np.ndarray, settings: BagSettings) -> BagIds:
    """Buckets of the character n-grams of some words."""
    if not settings.max_n:
        return BagIds(np.zeros(0, np.int32), np.zeros(len(offsets), np.int64))
    return BagIds(
        *bucket_ids(blob, offsets, min_n=settings.min_n, max_n=settings.max_n, buckets=settings.buckets)
    )


def hashed_features(tokens: TokenIds, size: int, settings: BagSettings, grams: BagIds) -> BagIds:
    """Words below `size`, and buckets from `size` on."""
    bounds = np.empty(len(tokens.offsets), np.int64)
    cpu.count_features(tokens.ids, tokens.offsets, size, settings.word_ngrams, grams.bounds, bounds)
    features = np.empty(bounds[-1], np.int32)
    cpu.fill_features(
        tokens.ids,
        tokens.offsets,
        size,
        settings.word_ngrams,
        settings.buckets,
        grams.bounds,
        grams.ids,
        features,
    )
    return BagIds(features, bounds)


def with_rows(features: BagIds, size: int, rows: np.ndarray) -> BagIds:
    """The rows of the features; those without one are left out."""
    kept = np.empty(len(features.ids), np.int32)
    bounds = np.empty_like(features.bounds)
    cpu.keep_rows(features.ids, features.bounds, size, rows, kept, bounds)
    return BagIds(kept[: bounds[-1]], bounds)


def weighted_means(table: np.ndarray, composed: np.ndarray, weights: np.ndarray, bags: BagIds) -> np.ndarray:
    """The mean of the weighted rows of each bag, (text, dim) float32; zeros for an empty one. Rows after
    those of the table are in `composed` and weigh 1."""
    out = np.empty((len(bags.bounds) - 1, table.shape[1]), np.float32)
    cpu.weighted_means(table, composed, weights, bags.ids, bags.bounds, out)
    return out


def means(table: np.ndarray, bags: BagIds) -> np.ndarray:
    """The mean of the rows of each bag, (text, dim) float32; zeros for an empty one."""
    out = np.empty((len(bags.bounds) - 1, table.shape[1]), np.float32)
    cpu.means(table, bags.ids, bags.bounds, out)
    return out
