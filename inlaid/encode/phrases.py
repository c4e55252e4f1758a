"""Collocations joined into one word.

Two adjacent words that occur together more often than their counts predict become one word: new york ->
new_york, 苹果 手机 -> 苹果手机. Each pass joins pairs; a second pass also joins phrases of the first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, check, settings_of, values_of
from inlaid.encode.chinese import HAN
from inlaid.encode.corpus import Corpus, content_hash
from inlaid.encode.tokenizers import Token
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import SettingError
from inlaid.kernels.text import adjacent_pairs
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Counts, Ids, Offsets

BLOCK = 1 << 25
"""Pairs counted at a time: 128 MB of ids. Every block reads the whole corpus once."""

_TWO_HAN = re.compile(f"[{HAN}]{{2}}")


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """Which pairs of words become one phrase, and how it is spelled."""

    min_count: Positive = 5
    """Pairs that occur less often are never joined."""
    threshold: float = 10.0
    """Pairs with a higher score are joined; for npmi between 0 and 1."""
    score: Literal["default", "npmi"] = "default"
    """default: (count(ab) - min_count) / (count(a) count(b)) times the number of distinct words and pairs
    (Mikolov et al. 2013); npmi: normalized pointwise mutual information."""
    joiner: str = "_"
    """String between the words of a phrase."""
    chinese_joiner: str = ""
    """String between two Chinese characters."""
    passes: Positive = 2
    """Number of passes: two make phrases of up to four words."""

    def __post_init__(self) -> None:
        check(self)
        if self.threshold <= 0:
            raise SettingError(
                "threshold is {threshold}; expected a number above 0.", threshold=self.threshold
            )
        if self.score == "npmi" and self.threshold >= 1:
            raise SettingError(
                "threshold is {threshold}, but npmi is never above 1. Try 0.5, or use the default score.",
                threshold=self.threshold,
            )


@dataclass(frozen=True, eq=False)
class Collocations:
    """Pairs with a score above the threshold, ordered by their ids."""

    first: Ids
    second: Ids
    counts: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def join(corpus: Corpus, settings: Phrases | None = None, report: Report = silent) -> Corpus:
    """The same sentences with phrases as words. Pairs are joined within sentences, from left to right.

    A phrase spelled like a word of the vocabulary becomes that word. The manifest records how many tokens
    were joined to the one before.

    >>> corpus = encode(["new york is new", "in new york", "york"], Encoding(min_count=1))
    >>> joined = join(corpus, Phrases(min_count=1, threshold=0.1))
    >>> list(joined.vocabulary.words), joined.ids.tolist()
    (['new_york', 'in', 'is', 'new', 'york'], [0, 2, 3, 1, 0, 4])
    """
    settings = settings or Phrases()
    text = _Text(corpus.ids, corpus.offsets, {word: id for id, word in enumerate(corpus.vocabulary.words)})
    passes: list[dict[str, list[str]]] = []
    for _ in range(settings.passes):
        corpus.refuse_changed()
        pairs = collocations(text.ids, text.offsets, len(text.words), settings, report)
        words = list(text.words)
        first = [words[id] for id in pairs.first.tolist()]
        second = [words[id] for id in pairs.second.tolist()]
        passes.append({"first": first, "second": second})
        if not len(pairs):
            break
        text = _joined(text, pairs, settings)
    found = [len(each["first"]) for each in passes]
    if not any(found):
        report(
            Note(
                "No phrases were found: no pair of words scored above {threshold}. "
                "Lower threshold or min_count.",
                threshold=settings.threshold,
            )
        )
    return _renumbered(corpus, text, {"settings": values_of(settings), "found": found, "passes": passes})


def join_tokens(tokens: Sequence[Token], corpus: Corpus) -> list[Token]:
    """The tokens of a sentence with phrases as one token, as they are in `corpus`. Words that the corpus
    dropped do not keep their neighbors apart."""
    passes = [
        (settings_of(Phrases, record["settings"]), {*zip(each["first"], each["second"], strict=True)})
        for record in corpus.manifest.get("phrases", ())
        for each in record["passes"]
    ]
    drops = corpus.manifest["encoding"].get("unknown") is None
    in_phrases = {word for _, pairs in passes for pair in pairs for word in pair}
    known = [
        token
        for token in tokens
        if not drops or token.text in in_phrases or token.text in corpus.vocabulary.words
    ]
    for settings, pairs in passes:
        known = list(_joined_tokens(known, pairs, settings))
    dropped = [
        token
        for token in tokens
        if not any(each.start <= token.start and token.end <= each.end for each in known)
    ]
    return sorted([*known, *dropped], key=lambda token: token.start)


def _joined_tokens(tokens: list[Token], pairs: set[tuple[str, str]], settings: Phrases) -> Iterator[Token]:
    here = 0
    while here < len(tokens):
        first, second = tokens[here], tokens[min(here + 1, len(tokens) - 1)]
        if second is not first and (first.text, second.text) in pairs:
            yield Token(_spelled(first.text, second.text, settings), first.start, second.end)
            here += 2
        else:
            yield first
            here += 1


def collocations(
    ids: Ids, offsets: Offsets, size: int, settings: Phrases, report: Report = silent
) -> Collocations:
    """Pairs of adjacent ids, all below `size`, that score above the threshold."""
    words = _count_words(ids, size)
    pairs = _count_pairs(ids, offsets, words, settings.min_count, report)
    a = words[pairs.first].astype(float)
    b = words[pairs.second].astype(float)
    together = pairs.counts.astype(float)
    if settings.score == "default":
        known = np.count_nonzero(words) + pairs.distinct  # as in gensim, whose vocabulary holds both
        scores = (together - settings.min_count) / (a * b) * known
    else:
        scores = _npmi(together / len(ids), a / len(ids), b / len(ids))
    above = np.flatnonzero(scores > settings.threshold)
    above = above[np.lexsort((pairs.second[above], pairs.first[above]))]
    return Collocations(pairs.first[above], pairs.second[above], pairs.counts[above], scores[above])


def _npmi(together: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Normalized pointwise mutual information of probabilities (Bouma 2009)."""
    return np.log(together / (first * second)) / -np.log(together)


@dataclass(frozen=True)
class _Text:
    """Ids between passes: new phrases follow the existing words, in the order they were made."""

    ids: Ids
    offsets: Offsets
    words: dict[str, int]


@dataclass(frozen=True)
class _Pairs:
    """Adjacent pairs that occur often enough, unordered, and the number of all distinct pairs."""

    first: Ids
    second: Ids
    counts: np.ndarray
    distinct: int


def _count_words(ids: Ids, size: int) -> Counts:
    counts = np.zeros(size, np.int64)
    adjacent_pairs.count_words(ids, counts)
    return counts


def _count_pairs(ids: Ids, offsets: Offsets, words: Counts, min_count: int, report: Report) -> _Pairs:
    """Count in blocks of first words, so that memory holds the pairs of one block and the frequent ones."""
    parts = [_Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), 0)]
    bounds = np.concatenate([[0], np.cumsum(words)])
    times = np.zeros(len(words), np.int64)
    for low, high in _blocks(bounds):
        starts = bounds[low:high] - bounds[low]
        ends = starts.copy()
        followers = np.empty(bounds[high] - bounds[low], np.int32)
        adjacent_pairs.scatter_followers(ids, offsets, low, high, ends, followers)
        most = len(followers) // min_count
        first = np.empty(most, np.int32)
        second = np.empty(most, np.int32)
        counts = np.empty(most, np.int64)
        filled, distinct = adjacent_pairs.count_followers(
            starts, ends, followers, min_count, times, first, second, counts
        )
        first = first[:filled] + np.int32(low)
        parts.append(_Pairs(first, second[:filled].copy(), counts[:filled].copy(), distinct))
        report(Progress("finding phrases", int(bounds[high]), len(ids), "words"))
    return _Pairs(
        first=np.concatenate([part.first for part in parts]),
        second=np.concatenate([part.second for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
        distinct=sum(part.distinct for part in parts),
    )


def _blocks(bounds: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of words that occur BLOCK times together (a single word may occur more often)."""
    low = 0
    while low < len(bounds) - 1:
        high = max(low + 1, int(np.searchsorted(bounds, bounds[low] + BLOCK, "right")) - 1)
        yield low, high
        low = high


def _joined(text: _Text, pairs: Collocations, settings: Phrases) -> _Text:
    names = list(text.words)
    words = dict(text.words)
    spelled = (
        _spelled(names[a], names[b], settings)
        for a, b in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    )
    phrases = np.array([words.setdefault(phrase, len(words)) for phrase in spelled], np.int32)
    starts = np.searchsorted(pairs.first, np.arange(len(names) + 1))
    ids = np.empty_like(text.ids)
    offsets = np.empty_like(text.offsets)
    filled = adjacent_pairs.join_pairs(text.ids, text.offsets, starts, pairs.second, phrases, ids, offsets)
    return _Text(ids[:filled].copy(), offsets, words)


def _spelled(first: str, second: str, settings: Phrases) -> str:
    both_chinese = _TWO_HAN.match(first[-1:] + second[:1])
    joiner = settings.chinese_joiner if both_chinese else settings.joiner
    return first + joiner + second


def _renumbered(corpus: Corpus, text: _Text, phrases: dict[str, Any]) -> Corpus:
    """The joined text and its vocabulary in the usual order, without words that occur only in phrases now."""
    counts = _count_words(text.ids, len(text.words))
    vocabulary = Vocabulary.of(dict(zip(text.words, counts.tolist(), strict=True)))
    new = np.full(len(text.words), -1, np.int32)
    new[[text.words[word] for word in vocabulary.words]] = np.arange(len(vocabulary), dtype=np.int32)
    ids = new[text.ids]
    manifest = _manifest(corpus, ids, text.offsets, vocabulary, phrases)
    return Corpus(ids, text.offsets, vocabulary, manifest, corpus.tokenizer_json)


def _manifest(
    corpus: Corpus, ids: Ids, offsets: Offsets, vocabulary: Vocabulary, phrases: dict[str, Any]
) -> dict[str, Any]:
    before = corpus.manifest
    joined = len(corpus.ids) - len(ids)
    dropped = before["tokens"]["dropped"]
    dropped = {**dropped, "joined": dropped.get("joined", 0) + joined}
    made_from = {
        "of": before["hash"],
        "tokens": {"read": len(corpus.ids), "used": len(ids), "joined": joined},
    }
    return {
        **before,
        "tokens": {**before["tokens"], "used": len(ids), "dropped": dropped},
        "words": {**before["words"], "used": len(vocabulary)},
        "phrases": [*before.get("phrases", []), {**phrases, **made_from}],
        "hash": content_hash([ids], [offsets], vocabulary),
    }
