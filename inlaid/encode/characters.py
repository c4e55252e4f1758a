"""The class of every Unicode character for the cleaning kernel: letter, digit, space, Chinese, hard."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata

import numpy as np

from inlaid.collect.normalize import HALF_WIDTH
from inlaid.encode.chinese import HAN
from inlaid.encode.patterns import MARK, SELECTORS
from inlaid.kernels.text import clean_text
from inlaid.kernels.text.clean_text import Characters

CODE_POINTS = 0x110000

UNIFORM = (
    (0x3400, 0x4DC0, clean_text.HAN),
    (0x4E00, 0xA000, clean_text.HAN),
    (0xAC00, 0xD7A4, clean_text.LETTER),
    (0x20000, 0x2F800, clean_text.HAN),
    (0x2FA20, 0x40000, clean_text.HAN),
)
"""Ranges of one class throughout: Chinese characters and Korean syllables."""
MIXED = (
    (0, 0x3400),
    (0x4DC0, 0x4E00),
    (0xA000, 0xAC00),
    (0xD7A4, 0xD800),
    (0xF900, 0x20000),
    (0x2F800, 0x2FA20),
    (0xE0000, 0xE0200),
)
"""The other ranges Unicode has assigned, except private use, where there are no letters."""


@functools.cache
def character_classes(words: bool, steps: frozenset[str], marked: bool = False) -> Characters:
    """Classes for the word tokenizer, or the whitespace tokenizer, under some normalization steps.

    A character is HARD where the kernel cannot decide by that character alone: it composes with others, or
    its lower case or half-width form has another length or depends on what follows. With `marked`, a MARK
    is a word.
    """
    if marked:
        usual = character_classes(words, steps)
        kinds = usual.kinds.copy()
        kinds[ord(MARK)] = clean_text.LETTER
        return Characters(kinds, usual.lowered)
    kinds = np.full(CODE_POINTS + 1, clean_text.BLANK if words else clean_text.LETTER, np.uint8)
    lowered = np.arange(CODE_POINTS + 1, dtype=np.int32)
    for start, stop, kind in UNIFORM:
        kinds[start:stop] = kind if words else clean_text.LETTER
    for point in itertools.chain.from_iterable(range(start, stop) for start, stop in MIXED):
        character = chr(point)
        lower = character.lower() if "lower" in steps else character
        if not _lowers_in_place(character, lower):
            if lower != character or character == "Σ":
                kinds[point] = clean_text.HARD
            continue
        lowered[point] = ord(lower)
        if "nfc" in steps and _composes(character, lower):
            kinds[point] = clean_text.HARD
        else:
            kinds[point] = _kind(lower, words)
    if "width" in steps:
        for point, half_width in HALF_WIDTH.items():
            kinds[point] = _wide_kind(_kind(chr(half_width), words))
    kinds[CODE_POINTS] = clean_text.HARD
    return Characters(kinds, lowered)


def _lowers_in_place(character: str, lower: str) -> bool:
    """Whether lower case is one character of as many bytes in any context (Σ is σ, or ς at a word's end)."""
    same_size = len(lower) == 1 and len(lower.encode()) == len(character.encode())
    return same_size and character != "Σ"


def _kind(character: str, words: bool) -> int:
    if not words:
        return clean_text.BLANK if character.isspace() else clean_text.LETTER
    if han_pattern().match(character):
        return clean_text.HAN
    if character.isalnum():
        return clean_text.DIGIT if character.isdecimal() else clean_text.LETTER
    if unicodedata.category(character)[0] == "M" and not _selector_pattern().match(character):
        return clean_text.LETTER
    if character in ("'", "’"):
        return clean_text.APOSTROPHE
    if character in (".", ","):
        return clean_text.POINT
    return clean_text.BLANK


def _wide_kind(kind: int) -> int:
    """The class of a full-width character, by that of its half-width form, which is one byte and so cannot
    be written in its place."""
    if kind == clean_text.BLANK:
        return clean_text.BLANK
    return clean_text.WIDE_POINT if kind == clean_text.POINT else clean_text.HARD


def _composes(character: str, lower: str) -> bool:
    """Whether NFC may change the character, or join it to the one before."""
    jamo = "\u1161" <= character <= "\u1175" or "\u11a8" <= character <= "\u11c2"
    mark = unicodedata.combining(character) or unicodedata.category(character)[0] == "M"
    return bool(jamo or mark) or not unicodedata.is_normalized("NFC", character + lower)


@functools.cache
def han_pattern() -> re.Pattern[str]:
    """A run of Chinese characters, captured."""
    return re.compile(f"([{HAN}]+)")


@functools.cache
def _selector_pattern() -> re.Pattern[str]:
    return re.compile(f"[{SELECTORS}]")
