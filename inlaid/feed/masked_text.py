"""Masked text: sentences in which some words are hidden, and the words to find there (Devlin et al. 2019).

Of the words that are chosen, 80 % become the mask, 10 % another token, and 10 % stay as they are: so a model
cannot know which tokens are right. Which words are chosen is drawn anew in every epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inlaid.feed.sentence_batches import SentenceBatches, bounded
from inlaid.feed.whole_words import WholeWords

IGNORED = -100
"""The target of a token that is not predicted."""
MASKED = 0.8
REPLACED = 0.1
"""Shares of the chosen tokens that become the mask, and another token."""


class MaskedBatch(NamedTuple):
    """ids (text, token) with hidden words, which tokens are real, and the hidden words; IGNORED elsewhere."""

    ids: np.ndarray
    real: np.ndarray
    targets: np.ndarray


class SpecialIds(NamedTuple):
    """Ids of the special tokens."""

    padding: int
    start: int
    end: int
    mask: int


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedText(SentenceBatches):
    """Batches of sentences with hidden words."""

    special: SpecialIds
    mask_share: float = 0.15
    """Share of the words that are chosen."""
    whole_words: WholeWords | None = None
    """Finds the words; None: each token is one."""

    def make(self, rows: list[np.ndarray], epoch: int, number: int) -> MaskedBatch:
        special = self.special
        ids, real = bounded(rows, special.start, special.end, special.padding)
        random = np.random.Generator(np.random.Philox(key=[self.seed, (epoch << 32) + number]))
        chosen = np.zeros(ids.shape, np.bool_)
        for row, tokens in zip(chosen, rows, strict=True):
            row[1 : 1 + len(tokens)] = self._chosen(tokens, random)
        targets = np.where(chosen, ids, IGNORED)
        return MaskedBatch(self._hidden(ids, chosen, random), real, targets)

    def _chosen(self, tokens: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Which tokens of a sentence are to be predicted: all tokens of some words, at least of one."""
        if self.whole_words is None:
            words = np.arange(len(tokens))
        else:
            words = np.cumsum(self.whole_words.starts(tokens)) - 1
        draws = random.random(int(words[-1]) + 1)
        return (draws < max(self.mask_share, draws.min() + 1e-12))[words]

    def _hidden(self, ids: np.ndarray, chosen: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The ids, with the mask or another token in the place of most that are chosen."""
        fate = random.random(ids.shape)
        others = random.integers(len(self.corpus.vocabulary), size=ids.shape)
        hidden = np.where(chosen & (fate < MASKED), self.special.mask, ids)
        replaced = chosen & (fate >= MASKED) & (fate < MASKED + REPLACED)
        return np.where(replaced, others, hidden)
