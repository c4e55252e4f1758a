"""Unicode normalization, width, case, traditional to simplified Chinese; str -> str.

Steps are named and applied in the order given, each exactly once. The names are stored in the corpus and in
the vectors trained on it, so that a query is normalized like the text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence

from inlaid import registry

Step = Callable[[str], str]
_CHARACTER = re.compile(r"\r\n|.[\u0300-\u036f\u1160-\u11ff\u3099\u309a]*", re.DOTALL)
"""A character and the combining marks that may join it."""
HALF_WIDTH = {point: point - 0xFEE0 for point in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


def normalizer(names: Sequence[str]) -> Step:
    """The named steps as one function."""
    steps: list[Step] = [registry.find("normalizer", name) for name in names]
    if len(steps) == 2:  # the usual case, called for every line
        first, second = steps
        return lambda text: second(first(text))
    return lambda text: functools.reduce(lambda done, step: step(done), steps, text)


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


def traditional(text: str) -> str:
    """Simplified to traditional Chinese, by phrases. Not a step for training text; used for suggestions."""
    return _opencc("s2t").convert(text)


@functools.cache
def _opencc(direction: str):  # cached: loading its dictionaries takes a moment
    import opencc

    return opencc.OpenCC(direction)


def origins(text: str, names: Sequence[str]) -> list[int] | None:
    """For each character of the normalized text, and for its end, the offset in `text` it came from.

    None if there are no such offsets: a step changed more than single characters and their combining marks
    (traditional phrases).

    >>> origins("CAFE\\u0301", ("nfc", "lower"))
    [0, 1, 2, 3, 5]
    """
    normalize = normalizer(names)
    offsets: list[int] = []
    pieces: list[str] = []
    for found in _CHARACTER.finditer(text):
        piece = normalize(found[0])
        pieces.append(piece)
        if len(piece) == len(found[0]):
            offsets += range(found.start(), found.end())
        else:  # which character came from which is unknown
            offsets += [found.start()] * len(piece)
    if "".join(pieces) != normalize(text):
        return None
    return [*offsets, len(text)]
