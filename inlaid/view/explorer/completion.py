"""Completion: words that begin as typed, in either Chinese script or by pinyin, the most frequent first."""

from __future__ import annotations

import bisect
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inlaid.collect.normalize import simplified

HAN = re.compile(r"[㐀-鿿豈-﫿𠀀-𳎿]")
MARKS = "Ġ▁"
"""What some subword vocabularies put before the start of a word."""
LONGEST = 64
"""Characters of a word that completion looks at."""

Why = Literal["word", "pinyin"]


@dataclass(frozen=True)
class Suggestion:
    """A word that what was typed may become."""

    id: int
    word: str
    why: Why


@dataclass(frozen=True)
class Keys:
    """What words are found by, in order, and the id of the word of each key."""

    keys: Sequence[str]
    ids: np.ndarray

    @classmethod
    def of(cls, keys: Sequence[str], ids: Sequence[int]) -> Keys:
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return cls([keys[at] for at in order], np.array([ids[at] for at in order], np.int64))

    def beginning(self, prefix: str, n: int) -> list[int]:
        """The lowest ids among the keys that begin so, each once."""
        first = bisect.bisect_left(self.keys, prefix)
        last = bisect.bisect_left(self.keys, prefix + "\U0010ffff")
        found = self.ids[first:last]
        few = found if len(found) <= 4 * n else np.partition(found, 4 * n)[: 4 * n]
        return np.unique(few)[:n].tolist()


class Completion:
    """The words of one space, ready to be completed."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        ids = range(len(words))
        self.by_word = Keys.of(folded_all(words), list(ids))
        self.by_pinyin = _pinyin_keys(words)

    @property
    def knows_pinyin(self) -> bool:
        return self.by_pinyin is not None

    def suggestions(self, typed: str, n: int = 8) -> list[Suggestion]:
        """Words for what was typed; none for nothing."""
        prefix = folded(typed)
        if not prefix:
            return []
        found: dict[int, Why] = dict.fromkeys(self.by_word.beginning(prefix, n), "word")
        latin = re.sub(r"[\s']", "", prefix)
        if self.by_pinyin is not None and latin.isascii():
            for id in self.by_pinyin.beginning(latin, n):
                found.setdefault(id, "pinyin")
        exact = [id for id in found if folded(self.words[id]) == prefix]
        others = sorted(id for id in found if id not in exact)
        return [Suggestion(id, self.words[id], found[id]) for id in [*sorted(exact), *others][:n]]


def folded(word: str) -> str:
    """Lower case and simplified Chinese, without the mark of a subword."""
    return simplified(word[:LONGEST].lstrip(MARKS).lower())


def folded_all(words: Sequence[str]) -> list[str]:
    """The same for many words; opencc is called once."""
    cut = [" ".join(word[:LONGEST].lstrip(MARKS).lower().split()) for word in words]
    made = simplified("\n".join(cut)).split("\n")
    return made if len(made) == len(cut) else [folded(word) for word in words]


def _pinyin_keys(words: Sequence[str]) -> Keys | None:
    """Chinese words by their pinyin without tones, whole and by initials: guowang and gw."""
    if importlib.util.find_spec("pypinyin") is None:
        return None
    from pypinyin import lazy_pinyin

    keys = list[str]()
    ids = list[int]()
    for id, word in enumerate(words):
        if HAN.search(word[:LONGEST]) is None:
            continue
        syllables: list[Any] = lazy_pinyin(word[:LONGEST])
        whole = "".join(syllables).lower()
        initials = "".join(syllable[:1] for syllable in syllables).lower()
        keys += [whole, initials] if initials != whole else [whole]
        ids += [id, id] if initials != whole else [id]
    return Keys.of(keys, ids) if keys else None
