"""Suggestions: the known words that a user may have meant by an unknown one, and words that begin so

Chinese words are found by their characters, by their sound (`pingguo`) and in either script.
"""

from __future__ import annotations

import difflib
import functools
import re
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from inlaid.collect import normalize
from inlaid.collect.normalize import nfkc, simplified, traditional
from inlaid.collect.pinyin import CHINESE, Syllables, alike, begins, readings, typed_alike, typed_pinyin
from inlaid.encode.vocabulary import Words
from inlaid.errors import did_you_mean
from inlaid.messages import Message

SUGGESTED_FROM = 50_000
"""How many words are searched for the one a user may have meant: the first ones, which are the most
frequent."""
SUGGESTED = 3
How = Literal["spelling", "script", "pinyin", "abbreviation"]


@runtime_checkable
class KnowsWords(Protocol):
    """What suggestions ask of vectors."""

    @property
    def words(self) -> Words: ...

    def find(self, word: str) -> int | None: ...

    def normalized(self, word: str) -> str: ...


@dataclass(frozen=True)
class Completion:
    """A known word that begins with what was typed."""

    word: str
    how: How
    """It is spelled so; it is, in the other Chinese script or another width or case; it sounds so; its
    syllables begin with these letters (pg: 苹果)."""


def suggestion(word: str, vectors: KnowsWords) -> Message:
    """A sentence that names known words a user may have meant by an unknown one; an empty message if none.

    First the same word in another form (case, width, traditional or simplified, joined by _ or -); then words
    that sound the same; then, for Chinese, words that share at least half their characters; for all others
    the closest in spelling, and then in pinyin.
    """
    for form in _forms(word):
        if vectors.find(form) is not None:
            return Message(" Did you mean '{word}'?", word=form)
    sounds = sounds_of(vectors.words)
    if CHINESE.search(word):
        same = sounds.same_sound(simplified(nfkc(word)))
        sharing = _sharing_characters(word, vectors.words[:SUGGESTED_FROM])
        return _any_of(list(dict.fromkeys([*same, *sharing]))[:SUGGESTED])
    if same := sounds.spelled(typed_pinyin(word)):
        return _any_of(same)
    close = did_you_mean(vectors.normalized(word), vectors.words[:SUGGESTED_FROM])
    return close or _any_of(sounds.spelled_alike(typed_pinyin(word)))


def completions(typed: str, words: Words, n: int = 10) -> list[Completion]:
    """Up to `n` known words that begin with what was typed, the most frequent of each kind first.

    >>> [each.word for each in completions("pingg", vectors.words)]
    ['苹果', '苹果汁']
    """
    if not typed.strip():
        return []
    found: dict[str, Completion] = {}
    for word, how in _completions(nfkc(typed).strip(), words):
        found.setdefault(word, Completion(word, how))
        if len(found) == n:
            break
    return list(found.values())


def _completions(typed: str, words: Words) -> Iterator[tuple[str, How]]:
    sounds = sounds_of(words)
    for word in sounds.words:
        if word.startswith(typed):
            yield word, "spelling"
    wanted = _folded(simplified(typed))
    for word, folded in zip(sounds.words, sounds.folded, strict=True):
        if folded.startswith(wanted):
            yield word, "script"
    letters = typed_pinyin(typed)
    if letters:
        for word in sounds.beginning(letters):
            yield word, "pinyin"
        for word in sounds.abbreviated(letters):
            yield word, "abbreviation"


# --- sounds -------------------------------------------------------------------------------------------------


class Sounds:
    """How the most frequent words of a vocabulary sound; computed when first asked."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    @functools.cached_property
    def folded(self) -> list[str]:
        """The words in simplified characters, half-width and lower case."""
        return [_folded(word) for word in normalize.each(simplified, self.words)]

    @functools.cached_property
    def of_words(self) -> list[tuple[str, tuple[Syllables, ...]]]:
        """Each Chinese word with its readings: those of its simplified form, since phrases are known in it
        (銀行 is yínháng)."""
        chinese = [word for word in self.words if CHINESE.match(word)]
        known = zip(chinese, map(readings, normalize.each(simplified, chinese)), strict=True)
        return [(word, syllables) for word, syllables in known if syllables]

    @functools.cached_property
    def by_letters(self) -> dict[str, list[str]]:
        """Pinyin -> words, those whose usual reading it is first."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for usual in (True, False):
            for word, syllables in self.of_words:
                for each in syllables[:1] if usual else syllables[1:]:
                    found["".join(each)].append(word)
        return found

    @functools.cached_property
    def by_alike(self) -> dict[str, list[str]]:
        """The usual pinyin, with one spelling for sounds that are easily confused -> words."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for word, syllables in self.of_words:
            found[alike(syllables[0])].append(word)
        return found

    @functools.cached_property
    def by_first_letter(self) -> dict[str, list[tuple[str, Syllables]]]:
        """The words whose usual reading begins with a letter."""
        found: defaultdict[str, list[tuple[str, Syllables]]] = defaultdict(list)
        for word, syllables in self.of_words:
            found[syllables[0][0][:1]].append((word, syllables[0]))
        return found

    def spelled(self, letters: str) -> list[str]:
        """Words of exactly this pinyin."""
        return self.by_letters.get(letters, [])[:SUGGESTED] if letters else []

    def spelled_alike(self, letters: str) -> list[str]:
        """Words whose pinyin is this one for speakers who say s for sh or n for ng; else the closest pinyin
        with the same first letter."""
        if not letters:
            return []
        for each in typed_alike(letters):
            if each in self.by_alike:
                return self.by_alike[each][:SUGGESTED]
        usual = {"".join(syllables): word for word, syllables in self.by_first_letter.get(letters[0], [])}
        close = difflib.get_close_matches(letters, usual, n=1, cutoff=0.8)
        return self.spelled(close[0]) if close else []

    def same_sound(self, word: str) -> list[str]:
        """Words that sound like a Chinese word, as when an input method offered the wrong one."""
        syllables = readings(word)
        return self.spelled("".join(syllables[0])) if syllables else []

    def beginning(self, letters: str) -> Iterator[str]:
        """Words whose pinyin begins with these letters; those of exactly this pinyin first."""
        yield from self.by_letters.get(letters, [])
        for word, syllables in self.by_first_letter.get(letters[0], []):
            if "".join(syllables).startswith(letters):
                yield word

    def abbreviated(self, letters: str) -> Iterator[str]:
        """Words whose syllables begin with these letters, one or more of each."""
        for word, syllables in self.by_first_letter.get(letters[0], []):
            if begins(letters, syllables):
                yield word


_SOUNDS: weakref.WeakKeyDictionary[Words, Sounds] = weakref.WeakKeyDictionary()


def sounds_of(words: Words) -> Sounds:
    """How the most frequent words sound; kept as long as the words live."""
    if words not in _SOUNDS:
        _SOUNDS[words] = Sounds(words[:SUGGESTED_FROM])
    return _SOUNDS[words]


# --- spelling -----------------------------------------------------------------------------------------------


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


def _folded(word: str) -> str:
    return nfkc(word).casefold()


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
    return [known[rank] for share, rank in sorted(shares)[:SUGGESTED] if share <= -0.5]
