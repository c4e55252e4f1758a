"""Whole words: which tokens start a word, so that a word is masked as a whole, Chinese words included.

The tokens of a sentence are put together to text again, and the text is cut into words: Chinese, which has no
spaces, by rjieba. A token inside a word belongs to the token where the word starts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

from inlaid.encode.chinese import SEGMENTED
from inlaid.encode.subwords.spelling import BYTE_LEVEL, SENTENCEPIECE, WORDPIECE
from inlaid.encode.tokenizers import Tokenizer

BYTE = re.compile(rb"<0x([0-9A-F]{2})>")
"""How a vocabulary writes a byte that is no whole character."""


class WholeWords:
    """Finds the words in the tokens of a vocabulary with this mark of subwords."""

    def __init__(self, words: Sequence[str], mark: str, tokenizer: Tokenizer) -> None:
        self.bytes = [_bytes_of(word, mark) for word in words]
        """The text of each token; a space comes before those that start a word of letters."""
        self.tokenizer = tokenizer

    def starts(self, ids: np.ndarray) -> np.ndarray:
        """Whether each token of a sentence starts a word, or is outside of words; the first always does."""
        parts = [self.bytes[id] for id in ids.tolist()]
        ends = list(itertools.accumulate(map(len, parts)))
        text = b"".join(parts).decode("utf-8", "surrogateescape")
        places = np.cumsum([0, *(len(each.encode("utf-8", "surrogateescape")) for each in text)])
        inside = np.zeros(int(places[-1]) + 1, np.bool_)
        for token in self.tokenizer.tokenize(text):
            inside[places[token.start] + 1 : places[token.end]] = True
        firsts = [end - len(part.lstrip()) for end, part in zip(ends, parts, strict=True)]
        starts = ~inside[firsts]
        starts[:1] = True
        return starts


def _bytes_of(word: str, mark: str) -> bytes:
    """The text that a token stands for, with a space where its vocabulary marks one."""
    if mark == WORDPIECE:
        if word.startswith(WORDPIECE):
            return word.removeprefix(WORDPIECE).encode("utf-8")
        space = "" if SEGMENTED.fullmatch(word) else " "  # Chinese characters have none between them
        return f"{space}{word}".encode()
    if mark not in (BYTE_LEVEL, SENTENCEPIECE):
        return word.encode("utf-8")
    text = word.replace(mark, " ").encode("utf-8")
    return BYTE.sub(lambda found: bytes.fromhex(found[1].decode()), text)
