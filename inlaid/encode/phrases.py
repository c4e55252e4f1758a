"""Collocations joined into one word.

Two adjacent words that occur together more often than their counts predict become one word: new york ->
new_york, 苹果 手机 -> 苹果手机. Each pass joins pairs; a second pass also joins phrases of the first one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.config import Positive, check, values_of
from inlaid.encode.content_hash import content_hash
from inlaid.encode.corpus import Corpus, Encoding, encoding_of
from inlaid.encode.joining import JOINED, Join, Pass, values_of_joins
from inlaid.encode.selection import select_words
from inlaid.errors import SettingError
from inlaid.kernels.text import adjacent_pairs
from inlaid.report import Note, Progress, Report, silent
from inlaid.shapes import Counts, Ids, Offsets

BLOCK = 1 << 25
"""Pairs counted at a time: 128 MB of ids. Every block reads the whole corpus once."""


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

    A phrase spelled like a word of the vocabulary becomes that word. Words are counted again after joining,
    and those below the `min_count` of the corpus are dropped. The manifest records the phrases, and how many
    tokens were joined to the one before.

    >>> corpus = encode(["new york is new", "in new york", "york"], Encoding(min_count=1))
    >>> joined = join(corpus, Phrases(min_count=1, threshold=0.1))
    >>> list(joined.vocabulary.words), joined.ids.tolist()
    (['new_york', 'in', 'is', 'new', 'york'], [0, 2, 3, 1, 0, 4])
    """
    settings = settings or Phrases()
    text = _text_of(corpus)
    passes: list[Pass] = []
    for _ in range(settings.passes):
        corpus.refuse_changed()
        pairs = _without(_never_joined(corpus), text, _collocations(text, settings, report))
        words = list(text.words)
        first = [words[id] for id in pairs.first.tolist()]
        second = [words[id] for id in pairs.second.tolist()]
        passes.append(Pass(settings.joiner, settings.chinese_joiner, first, second))
        if not len(pairs):
            break
        text = _joined(text, pairs.first, pairs.second, passes[-1])
    found = [len(each.first) for each in passes]
    if not any(found):
        report(
            Note(
                "No phrases were found: no pair of words scored above {threshold}. "
                "Lower threshold or min_count.",
                threshold=settings.threshold,
            )
        )
    return _counted_again(corpus, text, passes, {"settings": values_of(settings), "found": found})


def join_again(corpus: Corpus, joins: Sequence[Join]) -> Corpus:
    """The corpus with phrases that were learned from another one, or from the same: then the result is the
    same, too."""
    for join in joins:
        text = _text_of(corpus)
        for each in join.passes:
            known = [
                (text.words[first], text.words[second])
                for first, second in zip(each.first, each.second, strict=True)
                if first in text.words and second in text.words
            ]
            pairs = np.array(sorted(known), np.int32).reshape(-1, 2)
            if len(pairs):
                text = _joined(text, pairs[:, 0].copy(), pairs[:, 1].copy(), each)
        found = [len(each.first) for each in join.passes]
        corpus = _counted_again(corpus, text, join.passes, {"settings": {}, "found": found})
    return corpus


def _text_of(corpus: Corpus) -> _Text:
    words = {word: id for id, word in enumerate(corpus.vocabulary.words)}
    return _Text(np.asarray(corpus.ids), corpus.offsets, words)


def _never_joined(corpus: Corpus) -> set[str | None]:
    """Special words, and the one that replaces others: they are no part of any phrase."""
    encoding = corpus.manifest["encoding"]
    return {*encoding.get("special", ()), encoding.get("unknown")}


def _collocations(text: _Text, settings: Phrases, report: Report) -> Collocations:
    return collocations(text.ids, text.offsets, len(text.words), settings, report)


def _without(never: set[str | None], text: _Text, pairs: Collocations) -> Collocations:
    ids = [text.words[word] for word in never if word is not None and word in text.words]
    if not ids:
        return pairs
    kept = ~(np.isin(pairs.first, ids) | np.isin(pairs.second, ids))
    return Collocations(pairs.first[kept], pairs.second[kept], pairs.counts[kept], pairs.scores[kept])


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


def _joined(text: _Text, first: Ids, second: Ids, how: Pass) -> _Text:
    """The text with these pairs, in ascending order, as words."""
    names = list(text.words)
    words = dict(text.words)
    spelled = (how.spelled(names[a], names[b]) for a, b in zip(first.tolist(), second.tolist(), strict=True))
    phrases = np.array([words.setdefault(phrase, len(words)) for phrase in spelled], np.int32)
    starts = np.searchsorted(first, np.arange(len(names) + 1))
    ids = np.empty_like(text.ids)
    offsets = np.empty_like(text.offsets)
    filled = adjacent_pairs.join_pairs(text.ids, text.offsets, starts, second, phrases, ids, offsets)
    return _Text(ids[:filled].copy(), offsets, words)


def _counted_again(corpus: Corpus, text: _Text, passes: Sequence[Pass], record: dict[str, Any]) -> Corpus:
    """The joined text and its vocabulary, counted after joining: a word that occurs less often than
    `min_count` now is dropped as others are, and so is one that occurs only in phrases."""
    counts = _count_words(text.ids, len(text.words))
    words = [word.encode() for word in text.words]
    encoding = encoding_of(corpus.manifest["encoding"])
    if encoding.has_subwords:  # they have no min_count
        encoding = Encoding(min_count=1)
    selected = select_words(counts, lambda ids: [words[id] for id in ids], encoding)
    ids = selected.ids[text.ids]
    kept = ids >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[text.offsets]
    offsets = offsets[np.concatenate([[True], np.diff(offsets) > 0])]
    fallen = [word for id, word in enumerate(text.words) if counts[id] and selected.ids[id] < 0]
    joined = len(corpus.ids) - len(text.ids)
    made = Corpus(ids[kept], offsets, selected.vocabulary, corpus.manifest, corpus.tokenizer_json)
    dropped = {**selected.dropped, "joined": joined}
    return dataclasses.replace(made, manifest=_manifest(made, corpus, Join(passes, fallen), dropped, record))


def _manifest(
    made: Corpus, corpus: Corpus, join: Join, dropped: Mapping[str, int], record: Mapping[str, Any]
) -> dict[str, Any]:
    """How the joined corpus was made from another."""
    before = corpus.manifest
    in_all = dict(before["tokens"]["dropped"])
    for reason, count in dropped.items():
        in_all[reason] = in_all.get(reason, 0) + count
    made_from = {
        "of": before["hash"],
        "tokens": {"read": len(corpus.ids), "used": len(made.ids), "joined": dropped["joined"]},
        "fallen": len(join.fallen),
    }
    joins = [*before["encoding"].get(JOINED, []), *values_of_joins([join])]
    return {
        **before,
        "encoding": {**before["encoding"], JOINED: joins},
        "sentences": {**before["sentences"], "used": len(made.offsets) - 1},
        "tokens": {**before["tokens"], "used": len(made.ids), "dropped": in_all},
        "words": {**before["words"], "used": len(made.vocabulary)},
        "phrases": [*before.get("phrases", []), {**record, **made_from}],
        "hash": content_hash([np.asarray(made.ids)], [made.offsets], made.vocabulary),
    }
