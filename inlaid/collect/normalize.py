"""Unicode form, width, case, traditional/simplified; str -> str.

Steps are named and applied in the order given, each exactly once. The names are written into the corpus and
the vectors made from it, so that a query passes through the same steps as the text did.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence

from inlaid import registry

Step = Callable[[str], str]
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
    """Full-width letters, digits, signs and blanks become half-width; nothing else changes."""
    return text.translate(HALF_WIDTH)


def lower(text: str) -> str:
    return text.lower()


def simplified(text: str) -> str:
    """Traditional to simplified by phrases. Not idempotent (乾縣 -> 乾县 -> 干县): apply it once."""
    return _opencc("t2s").convert(text)


def traditional(text: str) -> str:
    """Simplified to traditional by phrases; no step for training text, but a way to find what a user may have
    meant."""
    return _opencc("s2t").convert(text)


@functools.cache
def _opencc(direction: str):  # its dictionaries take a moment to load
    import opencc

    return opencc.OpenCC(direction)


def origins(text: str, names: Sequence[str]) -> list[int] | None:
    """For each character of the normalised text, and for its end, where it came from in `text`.

    None where no such place exists: a step looked at more than one character and its marks (traditional
    phrases).

    >>> origins("CAFE\\u0301", ("nfc", "lower"))
    [0, 1, 2, 3, 5]
    """
    normalize = normalizer(names)
    places: list[int] = []
    done: list[str] = []
    for found in re.finditer(
        r"\r\n|.[\u0300-\u036f\u1160-\u11ff\u3099\u309a]*", text, flags=re.DOTALL
    ):  # a character and what may join it
        piece = normalize(found[0])
        done.append(piece)
        each = len(piece) == len(
            found[0]
        )  # character by character; otherwise all of it came from all of that
        places += [found.start() + n * each for n in range(len(piece))]
    return [*places, len(text)] if "".join(done) == normalize(text) else None
