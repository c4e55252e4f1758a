"""Regular expressions of words, visible characters, emoji and symbols."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable

from inlaid.encode.chinese import HAN

MARK = "\ue000"
"""Takes the place of a special token while the text around it is cut. A private character is part of no word,
so none of a text is lost."""
SELECTORS = "\ufe00-\ufe0f\u20e3\U000e0100-\U000e01ef"
"""Variation selectors and the frame of a keycap: combining marks that choose a glyph and are part of no
word."""

_PICTURES = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u2600-\u2767\u2794-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf\U0001f170-\U0001f19a\U0001f201-\U0001f265"
    "\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0"
    "\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
_SELECTED_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe"
    "\u2934\u2935"
)
"""Emoji only before U+FE0F, which selects the picture: © ™ ↔ and others."""
_TONE_AND_TAGS = "[\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*"
_PICTURE = f"(?:[{_PICTURES}]\ufe0f?|[{_SELECTED_PICTURES}]\ufe0f){_TONE_AND_TAGS}"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
EMOJI = f"{_FLAG}|{_KEYCAP}|{_PICTURE}(?:\u200d{_PICTURE})*"
"""One emoji: a flag, a keycap, or pictures joined by U+200D (families, professions)."""


@functools.cache
def word_pattern(marked: bool = False) -> re.Pattern[str]:
    """Letters, digits and combining marks; also an apostrophe inside a word and . or , inside a number."""
    words = f"(?P<han>[{HAN}]+)|{letter()}+(?:(?:['’]|(?<=\\d)[.,](?=\\d)){letter()}+)*"
    return re.compile(f"{words}|{MARK}" if marked else words)


@functools.cache
def letter() -> str:
    """A letter, digit or combining mark of a word that is not Chinese."""
    return f"(?:(?![{HAN}])[^\\W_]|(?![{SELECTORS}])[{marks()}])"


@functools.cache
def char_pattern() -> re.Pattern[str]:
    # flags, emoji families (joined by U+200D) and skin tones stay one character
    joined = f"[{marks()}\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|(?<=\u200d)\\S"
    return re.compile(f"{_FLAG}|[^\\s\u200d](?:{joined})*")


@functools.cache
def symbol() -> str:
    """One character of Unicode's categories of symbols: + = $ ℃ ★."""
    points = (point for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point))[0] == "S")
    return f"[{_runs(points)}]"


@functools.cache
def marks() -> str:
    """All combining marks, as the inside of a regular-expression class; \\w does not contain them."""
    points = [point for point in range(0x300, 0x1F000) if unicodedata.category(chr(point))[0] == "M"]
    return _runs([*points, *range(0xE0100, 0xE01F0)])


def _runs(points: Iterable[int]) -> str:
    """Ascending code points as ranges of a regular-expression class."""
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in runs)
