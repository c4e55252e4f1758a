"""Unicode normalization, width, case, traditional to simplified Chinese; str -> str.

Steps are named and applied in the order given, each exactly once. The names are stored in the corpus and in
the vectors trained on it, so that a query is normalized like the text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from inlaid import registry

Step = Callable[[str], str]
_CHARACTER = re.compile(r"\r\n|.[\u0300-\u036f\u1160-\u11ff\u3099\u309a]*", re.DOTALL)
"""A character and the combining marks that may join it."""
HAN = ((0x3400, 0xA000), (0xF900, 0xFB00), (0x20000, 0x2FA20))
"""Ranges of Chinese characters."""
HALF_WIDTH = {point: point - 0xFEE0 for point in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


def normalizer(names: Sequence[str]) -> Step:
    """The named steps as one function."""
    steps: list[Step] = [registry.find("normalizer", name) for name in names]
    if len(steps) == 2:  # the usual case, called for every line
        first, second = steps
        return lambda text: second(first(text))
    return lambda text: functools.reduce(lambda done, step: step(done), steps, text)


def each(step: Step, words: Sequence[str]) -> list[str]:
    """Every word changed by a step, all of them in one call, which takes a tenth of the time.

    >>> each(str.lower, ["CAT", "Dog"])
    ['cat', 'dog']
    """
    changed = step("\n".join(words)).split("\n")
    return changed if len(changed) == len(words) else [step(word) for word in words]


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def width(text: str) -> str:
    """Full-width letters, digits, signs and spaces to half-width; nothing else changes."""
    return text.translate(HALF_WIDTH)


def lower(text: str) -> str:
    return text.lower()


def simplified(text: str) -> str:
    """Traditional to simplified Chinese, by phrases. Not idempotent (乾縣 -> 乾县 -> 干县): apply it once."""
    return _opencc("t2s").convert(text)


@functools.cache
def simplified_characters() -> Mapping[str, str]:
    """What traditional characters become where no phrase decides otherwise (乾縣). On a slice of the Chinese
    Wikipedia that is what `simplified` does to 99.9 % of them."""
    characters = [chr(point) for first, last in HAN for point in range(first, last)]
    found = simplified("\n".join(characters)).split("\n")
    return {before: after for before, after in zip(characters, found, strict=True) if before != after}


def traditional(text: str) -> str:
    """Simplified to traditional Chinese, by phrases. Not a step for training text; used for suggestions."""
    return _opencc("s2t").convert(text)


@functools.cache
def _opencc(direction: str):  # cached: loading its dictionaries takes a moment
    import opencc

    return opencc.OpenCC(direction)


Span = tuple[int, int]


def origins(text: str, names: Sequence[str]) -> list[Span] | None:
    """For each character of the normalized text, start and end of the characters of `text` it came from.

    None if that is unknown: a step joined or reordered characters in a way not foreseen here.

    >>> origins("CAFE\\u0301", ("nfc", "lower"))
    [(0, 1), (1, 2), (2, 3), (3, 5)]
    """
    spans = [(place, place + 1) for place in range(len(text))]
    for name in names:
        step = registry.find("normalizer", name)
        moved = _origins_of_step(text, step)
        if moved is None:
            return None
        spans = [(spans[start][0], spans[end - 1][1]) for start, end in moved]
        text = step(text)
    return spans


def _origins_of_step(text: str, step: Step) -> list[Span] | None:
    normalized = step(text)
    if normalized == text or (text.isascii() and len(normalized) == len(text)):
        return [(place, place + 1) for place in range(len(text))]
    spans: list[Span] = []
    pieces: list[str] = []
    for found in _CHARACTER.finditer(text):
        piece = step(found[0])
        pieces.append(piece)
        if len(piece) == len(found[0]):
            spans += [(place, place + 1) for place in range(found.start(), found.end())]
        else:  # which character came from which is unknown
            spans += [found.span()] * len(piece)
    if "".join(pieces) == normalized:
        return spans
    if len(normalized) == len(text):  # a character depends on others: 乾隆, Σ at the end of a word
        return [(place, place + 1) for place in range(len(text))]
    return None


def original_span(places: Sequence[Span], start: int, end: int) -> Span:
    """Where normalized[start:end], which is not empty, came from."""
    return places[start][0], places[end - 1][1]
