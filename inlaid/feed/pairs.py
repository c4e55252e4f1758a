"""Pairs: a text in which no sentence has two words has nothing to learn from."""

from __future__ import annotations

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError

PIECE = 1 << 20
"""Sentences looked at together; nearly every text has a pair in the first piece."""


def need_pairs(corpus: Corpus) -> None:
    """Raise SourceError if no sentence has two words of the vocabulary."""
    offsets = corpus.offsets
    for start in range(0, len(offsets) - 1, PIECE):
        if (np.diff(offsets[start : start + PIECE + 1]) > 1).any():
            return
    raise SourceError(
        "No word has a context: no sentence has two words of the vocabulary. "
        "Put each sentence, not each word, on a line, or lower min_count."
    )
