"""Selection: which words of a text are its vocabulary, and the id of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.encode.corpus import Encoding
from inlaid.encode.vocabulary import Vocabulary, Words, by_count
from inlaid.errors import InlaidError, SettingError, SourceError
from inlaid.shapes import Counts, Ids


@dataclass(frozen=True)
class Selected:
    """The vocabulary, and the words that are not part of it."""

    vocabulary: Vocabulary
    ids: Ids
    """The id that each word read gets; -1 where it is dropped."""
    dropped: dict[str, int]
    """Tokens dropped, by reason."""


def all_words(counts: Counts, words: list[str]) -> Selected:
    """The fixed vocabulary of a subword tokenizer: every id stays, nothing is dropped."""
    if not counts.any():
        raise _no_words()
    ids = np.arange(len(words), dtype=np.int32)
    return Selected(Vocabulary(Words.of(words), counts), ids, {})


def select_words(
    counts: Counts, words_of: Callable[[Any], list[bytes]], encoding: Encoding, rare: int = 0
) -> Selected:
    """The words that are frequent enough, in the order of their ids; `words_of` has the UTF-8 of words.

    `rare` is how often further words occur that are not listed, because each of them is rare."""
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
    counts_by_id = _counts_by_id(ids, counts, len(vocabulary_words))
    if unknown >= 0:
        counts_by_id[unknown] += rare
    vocabulary = Vocabulary(vocabulary_words, counts_by_id)
    dropped = {"rare": int(counts[counts < encoding.min_count].sum()) + rare}
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
