"""Word counts: those of pieces of text, divided among machines by the hashes of the words, and added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import xxhash


class WordCounts(NamedTuple):
    """Some words and how often each occurs."""

    words: list[bytes]
    counts: np.ndarray


class FrequentWords(NamedTuple):
    """The words of a part of all words that are frequent enough, and what is known of the others."""

    counts: WordCounts
    """With the most frequent of the others, if no word is frequent enough."""
    rare: int
    """How often the words occur that are not listed."""
    distinct: int
    """How many words there are, listed or not."""


def divided(words: Sequence[bytes], counts: np.ndarray, parts: int) -> list[WordCounts]:
    """Words and counts in parts; equal words are in the same part, whoever divides them."""
    hashes = np.fromiter(map(xxhash.xxh3_64_intdigest, words), np.uint64, len(words))
    owners = (hashes % np.uint64(parts)).astype(np.int64)
    found = list[WordCounts]()
    for part in range(parts):
        chosen = np.flatnonzero(owners == part)
        found.append(WordCounts([words[n] for n in chosen.tolist()], counts[chosen]))
    return found


def added(parts: Iterable[WordCounts]) -> WordCounts:
    """The counts of the same words in several texts, added up."""
    total = dict[bytes, int]()
    for part in parts:
        for word, count in zip(part.words, part.counts.tolist(), strict=True):
            total[word] = total.get(word, 0) + count
    return WordCounts(list(total), np.fromiter(total.values(), np.int64, len(total)))


def frequent(found: WordCounts, min_count: int) -> FrequentWords:
    """The words that occur at least `min_count` times."""
    counts = found.counts
    chosen = counts >= min_count
    if not chosen.any() and len(counts):
        chosen[counts.argmax()] = True  # an error names it
    listed = [found.words[n] for n in np.flatnonzero(chosen).tolist()]
    return FrequentWords(WordCounts(listed, counts[chosen]), int(counts[~chosen].sum()), len(counts))


def repeated(hashes: Sequence[np.ndarray]) -> int:
    """How many of these hashes of lines are equal to an earlier one."""
    joined = np.concatenate([np.empty(0, np.uint64), *hashes])
    return len(joined) - len(np.unique(joined))
