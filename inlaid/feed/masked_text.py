"""Masked text: sentences in which some words are hidden, and the words to find there (Devlin et al. 2019).

Of the words that are chosen, 80 % become the mask, 10 % another token, and 10 % stay as they are: so a model
cannot know which tokens are right. Which words are chosen is drawn anew in every epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError
from inlaid.feed.length_buckets import LengthBuckets, padded, split_long
from inlaid.feed.whole_words import WholeWords

IGNORED = -100
"""The target of a token that is not predicted."""
MASKED = 0.8
REPLACED = 0.1
"""Shares of the chosen tokens that become the mask, and another token."""
AROUND = 2
"""Tokens around a sentence: one before it and one after it."""
HELD_OUT_EPOCH = (1 << 32) - 1
"""The words that are hidden in held-out text are drawn as in an epoch that is never trained."""
MOST_HELD_OUT = 64
"""Batches that the held-out loss is measured on, at most."""


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
class MaskedText:
    """Batches of the sentences of a corpus; longer ones than `max_length` are cut into parts."""

    corpus: Corpus
    special: SpecialIds
    max_length: int
    tokens: int
    """Tokens of a batch, padding included."""
    mask_share: float = 0.15
    """Share of the words that are chosen."""
    whole_words: WholeWords | None = None
    """Finds the words; None: each token is one."""
    held_out_every: int = 0
    """Every n-th sentence is not trained on; 0: all are."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not len(self.training):
            raise SourceError("The text has no sentences to train on. Add more text, or lower held_out.")

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the sentences, or their parts, start and stop in the corpus."""
        return split_long(np.asarray(self.corpus.offsets), self.max_length - AROUND)

    @cached_property
    def _is_held_out(self) -> np.ndarray:
        numbers = np.arange(len(self.parts[0]))
        if not self.held_out_every:
            return np.zeros(len(numbers), np.bool_)
        return numbers % self.held_out_every == self.held_out_every - 1

    @cached_property
    def training(self) -> np.ndarray:
        """The sentences that are trained on, by their numbers."""
        return np.flatnonzero(~self._is_held_out)

    @cached_property
    def buckets(self) -> LengthBuckets:
        return self._buckets(self.training)

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch up to the end of each batch."""
        return self.buckets.ends(epoch)

    def batch(self, epoch: int, number: int) -> MaskedBatch:
        return self._masked(self.training[self.buckets.texts(epoch, number)], epoch, number)

    def held_out(self) -> list[MaskedBatch]:
        """Batches of the sentences that are held out, with the same words hidden each time."""
        numbers = np.flatnonzero(self._is_held_out)
        if not len(numbers):
            return []
        buckets = self._buckets(numbers)
        count = len(buckets.bounds) - 1
        chosen = range(0, count, -(-count // MOST_HELD_OUT))
        return [self._masked(numbers[buckets.texts(0, each)], HELD_OUT_EPOCH, each) for each in chosen]

    def _buckets(self, numbers: np.ndarray) -> LengthBuckets:
        starts, stops = self.parts
        return LengthBuckets((stops - starts)[numbers] + AROUND, self.tokens, self.seed)

    def _masked(self, numbers: np.ndarray, epoch: int, number: int) -> MaskedBatch:
        self.corpus.refuse_changed()
        starts, stops = self.parts
        rows = [np.asarray(self.corpus.ids[starts[each] : stops[each]]) for each in numbers.tolist()]
        special = self.special
        ids = padded([np.concatenate(([special.start], row, [special.end])) for row in rows], special.padding)
        lengths = np.array([len(row) + AROUND for row in rows])
        real = np.arange(ids.shape[1]) < lengths[:, None]
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
