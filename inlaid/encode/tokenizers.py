"""The Tokenizer protocol; whitespace, word and character tokenizers."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from inlaid import config
from inlaid.encode import chinese
from inlaid.errors import SourceError


class Token(NamedTuple):
    """A token and its character offsets in the normalized text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Tokenized:
    """A normalized text and its tokens."""

    text: str
    tokens: list[Token]
    original: list[tuple[int, int]] | None
    """Character offsets of each token in the original text; None if normalization does not preserve them."""
    ids: list[int] | None = None
    """The ids of the tokens, if the tokenizer has its own vocabulary."""


@runtime_checkable
class HasIds(Protocol):
    """A tokenizer with its own vocabulary."""

    def ids(self, text: str) -> list[int]: ...


@runtime_checkable
class Tokenizer(Protocol):
    """A frozen dataclass that cuts normalized text into tokens, left to right, without overlap."""

    def tokenize(self, text: str) -> list[Token]: ...
    def words(self, text: str) -> list[str]:
        """The tokens as strings only: what a corpus needs, without the cost of offsets."""
        ...


@dataclass(frozen=True, kw_only=True)
class Whitespace:
    """Tokens between white space; punctuation stays attached.

    >>> Whitespace().words("I like  NLP.")
    ['I', 'like', 'NLP.']
    """

    def tokenize(self, text: str) -> list[Token]:
        return [Token(found[0], found.start(), found.end()) for found in re.finditer(r"\S+", text)]

    def words(self, text: str) -> list[str]:
        return text.split()


@dataclass(frozen=True, kw_only=True)
class Char:
    """Every visible character, with its combining marks.

    >>> Char().words("我喜欢 é!")
    ['我', '喜', '欢', 'é', '!']
    """

    def tokenize(self, text: str) -> list[Token]:
        return [Token(found[0], found.start(), found.end()) for found in _char_pattern().finditer(text)]

    def words(self, text: str) -> list[str]:
        return _char_pattern().findall(text)


@dataclass(frozen=True, kw_only=True)
class Word:
    """Unicode words of alphabetic scripts, Chinese words by rjieba; punctuation is dropped.

    >>> Word().words("I don't like 3.14, 我喜欢苹果手机。")
    ['I', "don't", 'like', '3.14', '我', '喜欢', '苹果', '手机']
    """

    dictionary: tuple[str, ...] = ()
    """Chinese words that are always one token."""

    def __post_init__(self) -> None:
        config.check(self)

    def tokenize(self, text: str) -> list[Token]:
        segment = chinese.segmenter(self.dictionary)
        tokens: list[Token] = []
        for found in word_pattern().finditer(text):
            start = found.start()
            pieces = segment(found[0]) if found.lastgroup == "han" else [found[0]]
            for piece in pieces:
                tokens.append(Token(piece, start, start + len(piece)))
                start += len(piece)
        return tokens

    def words(self, text: str) -> list[str]:
        return [token.text for token in self.tokenize(text)]


def read_dictionary(path: Path) -> tuple[str, ...]:
    """The words of a file, one per line; anything after the first space (a frequency, a tag) is ignored."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            "Cannot read the dictionary {path}: {reason}. Expected UTF-8 text with one word per line.",
            path=path,
            reason=str(error),
        ) from None
    return tuple(dict.fromkeys(line.split()[0] for line in lines if line.strip()))


@functools.cache
def word_pattern() -> re.Pattern[str]:
    """Letters, digits and combining marks; also an apostrophe inside a word and . or , inside a number."""
    letter = f"(?:(?![{chinese.HAN}])[^\\W_]|[{_marks()}])"
    return re.compile(f"(?P<han>[{chinese.HAN}]+)|{letter}+(?:(?:['’]|(?<=\\d)[.,](?=\\d)){letter}+)*")


@functools.cache
def _char_pattern() -> re.Pattern[str]:
    # emoji families (joined by U+200D) and skin tones stay one character
    joined = f"[{_marks()}\u200d\ufe0f\U0001f3fb-\U0001f3ff]|(?<=\u200d)\\S"
    return re.compile(f"[^\\s\u200d](?:{joined})*")


@functools.cache
def _marks() -> str:
    """All combining marks, as the inside of a regular-expression class; \\w does not contain them."""
    points = [point for point in range(0x300, 0x1F000) if unicodedata.category(chr(point))[0] == "M"]
    points += range(0xE0100, min(0xE01F0, sys.maxunicode))
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][1] + 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in runs)
