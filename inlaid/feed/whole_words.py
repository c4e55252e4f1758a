"""Whole words: which tokens start a word, so that a word is masked as a whole, Chinese words included.

Subword tokenizers mark the pieces of a word in scripts with spaces. Chinese has none: there the characters of
neighboring tokens are put together and segmented by rjieba.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inlaid.encode.chinese import SEGMENTED, Segmenter
from inlaid.encode.subwords.spelling import BYTE_LEVEL, SENTENCEPIECE, WORDPIECE, plain


class WholeWords:
    """Finds the words in the tokens of a vocabulary."""

    def __init__(self, words: Sequence[str], mark: str, segment: Segmenter) -> None:
        self.texts = [plain(word) for word in words]
        self.segment = segment
        self.chinese = np.array([SEGMENTED.fullmatch(text) is not None for text in self.texts])
        self.continues = np.array([_continues(word, mark) for word in words])

    def starts(self, ids: np.ndarray) -> np.ndarray:
        """Whether each token of a sentence starts a word; the first always does."""
        starts = ~self.continues[ids]
        edges = np.flatnonzero(np.diff(self.chinese[ids].astype(np.int8), prepend=0, append=0))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            starts[first:last] = self._chinese_starts(ids[first:last])
        starts[:1] = True
        return starts

    def _chinese_starts(self, ids: np.ndarray) -> np.ndarray:
        """The same for tokens that are Chinese characters, one or more each."""
        texts = [self.texts[id] for id in ids.tolist()]
        if len(texts) == 1:
            return np.ones(1, np.bool_)
        words = self.segment("".join(texts))
        bounds = np.cumsum([0, *map(len, words)])
        places = np.cumsum([0, *map(len, texts[:-1])])
        return np.isin(places, bounds)


def _continues(word: str, mark: str) -> bool:
    """Whether a token goes on with the word before it, by how its vocabulary marks words."""
    if mark == WORDPIECE:
        return word.startswith(WORDPIECE)
    if mark not in (BYTE_LEVEL, SENTENCEPIECE):
        return False
    is_byte = word.startswith("<0x")  # a part of a character
    return is_byte or word[:1].isalnum()
