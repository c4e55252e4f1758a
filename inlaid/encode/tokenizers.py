"""The Tokenizer protocol; whitespace, word and character tokenizers."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from inlaid import config
from inlaid.encode import chinese, special
from inlaid.encode.chinese import Entry, Segmenter
from inlaid.encode.dictionary import entry
from inlaid.encode.patterns import char_pattern, word_pattern
from inlaid.encode.special import Special, Symbols


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
    """The ids of the tokens, if they are those of the tokenizer's own vocabulary."""


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
        return [Token(found[0], found.start(), found.end()) for found in char_pattern().finditer(text)]

    def words(self, text: str) -> list[str]:
        return char_pattern().findall(text)


@dataclass(frozen=True, kw_only=True)
class Word:
    """Unicode words of alphabetic scripts, Chinese words by rjieba; punctuation is dropped.

    >>> Word().words("I don't like 3.14, 我喜欢苹果手机。")
    ['I', "don't", 'like', '3.14', '我', '喜欢', '苹果', '手机']
    """

    dictionary: tuple[str, ...] = ()
    """Words for the segmenter, each alone or with its frequency, as in a dictionary of jieba: "云计算 5"."""
    force_dictionary: bool = False
    """Make each word of the dictionary one token, also where it breaks a longer word."""
    hmm: bool = True
    """Join single characters to words that are in no dictionary."""
    symbols: Symbols = "drop"
    """Which symbols are tokens."""

    def __post_init__(self) -> None:
        config.check(self)
        _ = self.entries

    @functools.cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The words of the dictionary with their frequencies."""
        return tuple(entry(line) for line in self.dictionary)

    @functools.cached_property
    def segment(self) -> Segmenter:
        return chinese.segmenter(self.entries, force=self.force_dictionary, hmm=self.hmm)

    @functools.cached_property
    def special(self) -> Special | None:
        """Finds the tokens that are neither Chinese words nor words of letters."""
        words = (each.word for each in self.entries)
        if self.force_dictionary:
            return special.special(words, self.symbols, None)
        return special.special(words, self.symbols, lambda: chinese.segmenter(self.entries, hmm=False))

    def tokenize(self, text: str) -> list[Token]:
        if self.special is None:
            return list(self._usual_tokens(text, 0, len(text)))
        tokens: list[Token] = []
        here = 0
        for start, end in self.special.spans(text):
            tokens += self._usual_tokens(text, here, start)
            tokens.append(Token(text[start:end], start, end))
            here = end
        return [*tokens, *self._usual_tokens(text, here, len(text))]

    def _usual_tokens(self, text: str, start: int, end: int) -> Iterator[Token]:
        for found in word_pattern().finditer(text, start, end):
            here = found.start()
            pieces = self.segment(found[0]) if found.lastgroup == "han" else [found[0]]
            for piece in pieces:
                yield Token(piece, here, here + len(piece))
                here += len(piece)

    def words(self, text: str) -> list[str]:
        return [token.text for token in self.tokenize(text)]
