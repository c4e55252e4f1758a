"""Words: the vectors of tokens merged into vectors of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inlaid.encode.tokenizers import Tokenizer


@dataclass(frozen=True)
class TextWords:
    """The words of one text, and a contextual vector for each: (word, dim), or (word, layer, dim)."""

    words: list[str]
    table: np.ndarray


def merged_words(
    text: str, spans: Sequence[tuple[int, int]], rows: np.ndarray, tokenizer: Tokenizer
) -> TextWords:
    """The words of `text` that tokens overlap, each with the mean of their rows."""
    words = list[str]()
    table = list[np.ndarray]()
    for word in tokenizer.tokenize(text):
        inside = [place for place, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        if inside:
            words.append(word.text)
            table.append(rows[inside].mean(0))
    return TextWords(words, np.stack(table) if table else np.zeros((0, *rows.shape[1:]), np.float32))
