"""Tokens the usual rules would cut or drop: dictionary words of mixed script (T恤, C++), emoji, symbols."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from inlaid.encode.chinese import HAN, SEGMENTED, Segmenter
from inlaid.encode.patterns import EMOJI, MARK, letter, symbol

Symbols = Literal["drop", "emoji", "all"]
CONTEXT = 8
"""Chinese characters beside a word that decide whether it breaks a longer one."""
LEVELS = 4
"""Characters that alternatives of a pattern share. With more, the pattern is hardly faster."""


class Special(NamedTuple):
    """Finds the special tokens of a text."""

    pattern: re.Pattern[str]
    words: frozenset[str]
    """Those from the dictionary; the others are symbols."""
    segment: Segmenter | None
    """Finds the longer words that dictionary words must not break; None if they may."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each token, left to right; of several at one place, the longest."""
        here = 0
        done = 0
        while found := self.pattern.search(text, here):
            start, end = found.span()
            if found[0] in self.words and self._breaks_word(text, start, end, done):
                here = start + 1
            else:
                yield start, end
                here = end
                done = end

    def mark(self, text: str) -> tuple[str, list[str]]:
        """The text with a MARK between spaces in place of each token, and the tokens."""
        text = text.replace(MARK, " ")
        tokens: list[str] = []
        pieces: list[str] = []
        here = 0
        for start, end in self.spans(text):
            tokens.append(text[start:end])
            pieces += (text[here:start], f" {MARK} ")
            here = end
        return "".join([*pieces, text[here:]]), tokens

    def _breaks_word(self, text: str, start: int, end: int, done: int) -> bool:
        """Whether a dictionary word would break another: A股 in USA股, 3D打印 in 3D打印机.

        Among Chinese words the fewest decide, as A股 / 市场 against A / 股市 / 场; where both ways give as
        many, the longer word of the segmenter stays whole.
        """
        if _starts_inside_word(text, start, done):
            return True
        if self.segment is None:
            return False
        head, tail = _chinese_edges(text[start:end])
        before = _last_chinese().search(text, max(done, start - CONTEXT), start)
        if head and before and len(self.segment(before[0])) >= len(self.segment(before[0] + head)):
            return True
        after = _first_chinese().match(text, end, end + CONTEXT)
        if tail and after:
            return len(self.segment(after[0])) >= len(self.segment(tail + after[0]))
        return False


def special(
    words: Iterable[str], symbols: Symbols, segmenter: Callable[[], Segmenter] | None
) -> Special | None:
    """What finds these tokens; None if there are none. The segmenter is only made where it is needed.

    Words that other rules make are left to them: those of Chinese characters alone to the segmenter, those
    of letters and digits alone to the pattern of words.
    """
    mixed = frozenset(
        word for word in words if not SEGMENTED.fullmatch(word) and not _plain_word().fullmatch(word)
    )
    segment = segmenter() if segmenter and mixed else None
    patterns: list[str] = []
    if mixed:
        patterns.append(f"(?:{_any_of(sorted(mixed), LEVELS)})(?:(?!{letter()})|(?<!{letter()}))")
    if symbols != "drop":
        patterns.append(EMOJI)
    if symbols == "all":
        patterns.append(symbol())
    return Special(re.compile("|".join(patterns)), mixed, segment) if patterns else None


def _any_of(words: list[str], levels: int) -> str:
    """A pattern of sorted words that prefers the longest. Words that start alike share their start."""
    if levels == 0:
        return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    alternatives: list[str] = []
    for first, group in itertools.groupby(words, key=lambda word: word[0]):
        rests = [word[1:] for word in group]
        longer = [rest for rest in rests if rest]
        pattern = re.escape(first)
        if longer:
            pattern += f"(?:{_any_of(longer, levels - 1)})"
            pattern += "?" if len(longer) < len(rests) else ""
        alternatives.append(pattern)
    return "|".join(alternatives)


def _starts_inside_word(text: str, start: int, done: int) -> bool:
    is_letter = _letter().match
    if start == done or not is_letter(text, start):
        return False
    in_number = text[start].isdecimal() and text[start - 1] in ".," and text[max(done, start - 2)].isdecimal()
    return in_number or bool(is_letter(text, start - 1))


def _chinese_edges(word: str) -> tuple[str, str]:
    """The Chinese that a word of mixed script starts with, and that it ends with."""
    head = _first_chinese().match(word)
    tail = _last_chinese().search(word)
    if head and head.end() == len(word):
        return "", ""
    return head[0] if head else "", tail[0] if tail else ""


@functools.cache
def _first_chinese() -> re.Pattern[str]:
    return re.compile(f"[{HAN}]+")


@functools.cache
def _last_chinese() -> re.Pattern[str]:
    return re.compile(f"[{HAN}]+\\Z")


@functools.cache
def _letter() -> re.Pattern[str]:
    return re.compile(letter())


@functools.cache
def _plain_word() -> re.Pattern[str]:
    """A word that is no Chinese: the usual rules find it wherever it is a whole word."""
    return re.compile(f"{letter()}+")
