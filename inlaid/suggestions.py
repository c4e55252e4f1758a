"""Suggestions: the known words that a user may have meant by an unknown one."""

from __future__ import annotations

import re
from collections import Counter
from typing import Protocol, runtime_checkable

from inlaid.collect.normalize import nfkc, simplified, traditional
from inlaid.encode.vocabulary import Words
from inlaid.errors import did_you_mean
from inlaid.messages import Message

SUGGESTED_FROM = 50_000
"""How many words are searched for the one a user may have meant: the first ones, which are the most
frequent."""
CHINESE = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")


@runtime_checkable
class KnowsWords(Protocol):
    """What suggestions ask of vectors."""

    @property
    def words(self) -> Words: ...

    def find(self, word: str) -> int | None: ...

    def normalized(self, word: str) -> str: ...


def suggestion(word: str, vectors: KnowsWords) -> Message:
    """A sentence that names known words a user may have meant by an unknown one; an empty message if none.

    First the same word in another form (case, width, traditional or simplified, joined by _ or -); then,
    for Chinese, words that share at least half their characters; for all others the closest in spelling.
    """
    for form in _forms(word):
        if vectors.find(form) is not None:
            return Message(" Did you mean '{word}'?", word=form)
    frequent = vectors.words[:SUGGESTED_FROM]
    if CHINESE.search(word):
        return _any_of(_sharing_characters(word, frequent))
    return did_you_mean(vectors.normalized(word), frequent)


def _any_of(words: list[str]) -> Message:
    """A suggestion of up to three words."""
    if not words:
        return Message("")
    if len(words) == 1:
        return Message(" Did you mean '{word}'?", word=words[0])
    if len(words) == 2:
        return Message(" Did you mean '{first}' or '{second}'?", first=words[0], second=words[1])
    return Message(
        " Did you mean '{first}' or '{second}' or '{third}'?", first=words[0], second=words[1], third=words[2]
    )


def _forms(word: str) -> list[str]:
    """The same word in other forms that a text may have."""
    plain = nfkc(word).strip()
    forms = [plain, plain.lower(), plain.capitalize(), plain.title(), plain.upper()]
    if not plain.isascii():
        forms += [simplified(plain), traditional(plain)]
    forms += [re.sub(r"[\s_-]+", joint, form) for form in forms[:2] for joint in ("_", "-", "", " ")]
    return list(dict.fromkeys(forms))


def _sharing_characters(word: str, known: list[str]) -> list[str]:
    """Up to three words, by the share of characters in common (Dice coefficient, at least a half), then by
    rank. The word asked for counts in simplified form."""
    wanted = Counter(simplified(word))
    shares: list[tuple[float, int]] = []
    for rank, each in enumerate(known):
        if not wanted.keys().isdisjoint(each):
            common = sum((wanted & Counter(each)).values())
            shares.append((-2 * common / (len(word) + len(each)), rank))
    return [known[rank] for share, rank in sorted(shares)[:3] if share <= -0.5]
