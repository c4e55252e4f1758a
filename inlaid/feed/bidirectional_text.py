"""Bidirectional text: sentences between boundaries, whose words are predicted from either side (ELMo).

    start  the  cat  sat  end        forward: each but the first, backward: each but the last

A word that a network reads by its characters comes once in a batch, however often it is in its sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inlaid.feed.sentence_batches import SentenceBatches, bounded


class BidirectionalBatch(NamedTuple):
    """Sentences with their boundaries, as ids (text, token), and which tokens are real."""

    ids: np.ndarray
    real: np.ndarray
    characters: np.ndarray | None = None
    """Of the distinct words of the batch: (word, character); None where words are read from a table."""
    words: np.ndarray | None = None
    """Which of these words each token is: (text, token)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BidirectionalText(SentenceBatches):
    """Batches of sentences that are read in both directions."""

    start: int
    end: int
    """The ids around a sentence."""
    characters: np.ndarray | None = None
    """Of every word of the vocabulary: (word, character); None: they are not read."""

    def make(self, rows: list[np.ndarray], epoch: int, number: int) -> BidirectionalBatch:
        ids, real = bounded(rows, self.start, self.end, padding=self.end)
        if self.characters is None:
            return BidirectionalBatch(ids, real)
        distinct, words = np.unique(ids, return_inverse=True)
        return BidirectionalBatch(ids, real, self.characters[distinct], words.reshape(ids.shape))
