"""Characters of a word as ELMo numbers them: its UTF-8 bytes between boundaries, padded (Peters et al. 2018).

猫  ->  start of word, 3 bytes, end of word, padding, padding, ...
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inlaid.errors import SettingError

SENTENCE_START = 256
SENTENCE_END = 257
WORD_START = 258
WORD_END = 259
PADDING = 260
"""Characters after the 256 bytes: sentence and word boundaries, and the padding of a short word. In the table
they are one row later: row 0 means no token."""
CHARACTERS = 262
"""Rows of the table, with a spare one that ELMo has, too."""
AROUND = 2
"""Boundaries of a word."""
BOUNDARIES = {"<S>": SENTENCE_START, "</S>": SENTENCE_END}
"""How ELMo writes the boundaries of a sentence among its words."""


def characters_of(words: Sequence[str], max_length: int = 50) -> np.ndarray:
    """The characters of each word: (word, max_length). Bytes past `max_length` - 2 are dropped, as ELMo does.

    >>> characters_of(["a"], 5)
    array([[259,  98, 260, 261, 261]])
    """
    if max_length <= AROUND:
        raise SettingError(
            "max_length is {found}; a word has a beginning, an end and at least one character.",
            found=max_length,
        )
    found = np.full((len(words), max_length), PADDING, np.int64)
    for row, word in zip(found, words, strict=True):
        inside = _inside(word)[: max_length - AROUND]
        row[0] = WORD_START
        row[1 : 1 + len(inside)] = inside
        row[1 + len(inside)] = WORD_END
    return found + 1


def with_boundaries(words: Sequence[str], start: int, end: int) -> list[str]:
    """The words of a vocabulary as their characters are read: those of these ids are sentence boundaries.

    >>> with_boundaries(["cat"], start=1, end=2)
    ['cat', '<S>', '</S>']
    """
    found = [*words, *[""] * (max(start, end) + 1 - len(words))]
    found[start] = "<S>"
    found[end] = "</S>"
    return found


def count_long(words: Sequence[str], max_length: int) -> int:
    """How many words have more bytes than are read.

    >>> count_long(["猫", "a"], 4)
    1
    """
    return sum(len(_inside(word)) > max_length - AROUND for word in words)


def cropped(characters: np.ndarray, widest: int) -> np.ndarray:
    """The characters (word, character) without padding that makes no difference to filters up to `widest`.

    A filter takes its maximum over all places in a word, so one place that is all padding is as good as many.
    """
    longest = int((characters != PADDING + 1).sum(1).max(initial=0))
    return characters[:, : longest + widest]


def _inside(word: str) -> list[int]:
    """What is between the boundaries of a word."""
    if word in BOUNDARIES:
        return [BOUNDARIES[word]]
    try:
        return list(word.encode("utf-8"))
    except UnicodeEncodeError:
        raise SettingError(
            "The word {word!r} holds half of a character (a lone surrogate). Decode the text again.",
            word=word,
        ) from None
