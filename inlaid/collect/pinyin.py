"""Pinyin: how Chinese words sound, as someone types them without tones"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

Syllables = tuple[str, ...]
CHINESE = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]+")
TYPED = re.compile(r"[a-z]+")
ALIKE = (("zh", "z"), ("ch", "c"), ("sh", "s"))
"""Sounds that many speakers do not tell apart, at the beginning of a syllable; at its end, n and ng."""


def typed_pinyin(text: str) -> str:
    """What was typed as letters: without tones, apostrophes and spaces, ü as v; empty if it is no pinyin.

    >>> typed_pinyin("Píng guǒ"), typed_pinyin("ping2guo3"), typed_pinyin("lǜ"), typed_pinyin("xi'an")
    ('pingguo', 'pingguo', 'lv', 'xian')
    """
    text = unicodedata.normalize("NFKC", text).lower().replace("u:", "v")
    parts = unicodedata.normalize("NFD", text)
    letters = re.sub(r"u[\u0300\u0301\u0304\u030c]*\u0308", "v", parts)
    plain = re.sub(r"[\u0300\u0301\u0304\u030c]", "", letters)
    joined = re.sub(r"(?<=[a-z])[1-5]|[\s'’-]", "", plain)
    return joined if TYPED.fullmatch(joined) else ""


def readings(word: str) -> tuple[Syllables, ...]:
    """The syllables of a Chinese word in simplified characters, the usual reading first; none for a word that
    is not all Chinese. Only words of one character have several: a phrase decides how its characters sound.

    >>> readings("苹果"), readings("行")[:2], readings("重庆"), readings("T恤")
    ((('ping', 'guo'),), (('xing',), ('hang',)), (('chong', 'qing'),), ())
    """
    if CHINESE.fullmatch(word) is None:
        return ()
    pinyin = _pypinyin()
    usual = tuple(pinyin.lazy_pinyin(word, errors="ignore"))
    if len(usual) != len(word):
        return ()
    if len(word) > 1:
        return (usual,)
    (several,) = pinyin.pinyin(word, style=pinyin.Style.NORMAL, heteronym=True)
    return tuple(dict.fromkeys([usual, *((each,) for each in several)]))


def shown_pinyin(word: str) -> str:
    """How a word sounds, with tones.

    >>> shown_pinyin("苹果")
    'píng guǒ'
    """
    pinyin = _pypinyin()
    return " ".join(pinyin.lazy_pinyin(word, style=pinyin.Style.TONE))


def alike(syllables: Syllables) -> str:
    """The same letters for sounds that many speakers do not tell apart.

    >>> alike(("ping", "guo")), alike(("shui",))
    ('pinguo', 'sui')
    """
    return "".join(_without_h(each).removesuffix("g") for each in syllables)


def typed_alike(letters: str) -> tuple[str, str]:
    """What `alike` may give for pinyin that is not cut into syllables: an n before g may end one.

    >>> typed_alike("pinguo"), typed_alike("shan")
    (('pinguo', 'pinuo'), ('san', 'san'))
    """
    plain = _without_h(letters)
    return plain, plain.replace("ng", "n")


def _without_h(letters: str) -> str:
    for long, short in ALIKE:
        letters = letters.replace(long, short)
    return letters


def begins(typed: str, syllables: Sequence[str]) -> bool:
    """Whether a word begins with what was typed: each syllable whole or abbreviated.

    >>> [begins(typed, ("ping", "guo")) for typed in ("ping", "pingg", "pg", "pguo", "guo", "pinguo")]
    [True, True, True, True, False, False]
    """
    if not typed:
        return True
    if not syllables:
        return False
    first, rest = syllables[0], syllables[1:]
    longest = len(first)
    while longest and not typed.startswith(first[:longest]):
        longest -= 1
    return any(begins(typed[length:], rest) for length in range(longest, 0, -1))


@functools.cache
def _pypinyin():
    """Loaded when it is asked for: it reads a dictionary of 47,000 phrases."""
    import pypinyin

    return pypinyin
