"""Token stream: a corpus as one long row of tokens, cut into windows, for models that predict the next token.

    ids of sentence 1, end, ids of sentence 2, end, ...

No token is padding: windows go across sentences. In each epoch they start elsewhere, in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SourceError

MOST_HELD_OUT = 64
"""Batches that the held-out loss is measured on, at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenStream:
    """Batches of windows of a corpus. A window has one token more than `length`: the target of the last."""

    one_shape: ClassVar[bool] = True

    corpus: Corpus
    end: int
    """The id that ends a sentence."""
    length: int
    """Tokens of a window that are predicted."""
    rows: int
    """Windows of a batch."""
    held_out_share: float = 0.0
    """The part of the text, at its end, that is not trained on."""
    whole_batches: bool = False
    """The last batch of an epoch is left out if it is smaller than the others: its windows come in other
    epochs."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise SourceError(
                "The text has {tokens:,} tokens to train on; a window of {length:,} needs {needed:,}. Add "
                "more text, or lower max_length.",
                tokens=self.training_tokens,
                length=self.length,
                needed=2 * self.length,
            )
        object.__setattr__(self, "_order", lru_cache(maxsize=2)(self._drawn))

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each sentence starts in the stream, and where the stream ends."""
        offsets = np.asarray(self.corpus.offsets)
        return offsets + np.arange(len(offsets))

    @property
    def tokens(self) -> int:
        """Tokens of the whole stream."""
        return int(self.starts[-1])

    @property
    def training_tokens(self) -> int:
        """Tokens before the part that is held out."""
        return self.tokens - int(self.tokens * self.held_out_share)

    @property
    def windows(self) -> int:
        """Windows of an epoch, wherever the first one starts."""
        return self.training_tokens // self.length - 1

    @property
    def used_windows(self) -> int:
        """Windows of an epoch that are in a batch."""
        if not self.whole_batches or self.windows < self.rows:
            return self.windows
        return self.windows - self.windows % self.rows

    def ends(self, epoch: int) -> np.ndarray:
        """Tokens of the epoch up to the end of each batch."""
        batches = -(-self.used_windows // self.rows)
        windows = np.minimum(np.arange(1, batches + 1) * self.rows, self.used_windows)
        return windows * self.length

    def batch(self, epoch: int, number: int) -> np.ndarray:
        """Windows (row, length + 1) of a batch."""
        order, shift = self._order(epoch)  # pyright: ignore[reportAttributeAccessIssue]
        chosen = order[number * self.rows : (number + 1) * self.rows]
        return self._windows_at(shift + chosen * self.length)

    def held_out(self) -> list[np.ndarray]:
        """Batches of the text that is held out, spread over it; none if it is shorter than a window."""
        first = self.training_tokens
        starts = np.arange(first, self.tokens - self.length, self.length)
        batches = [starts[at : at + self.rows] for at in range(0, len(starts), self.rows)]
        every = -(-len(batches) // MOST_HELD_OUT) or 1
        return [self._windows_at(each) for each in batches[::every]]

    def read(self, positions: np.ndarray) -> np.ndarray:
        """The tokens at these positions of the stream."""
        self.corpus.refuse_changed()
        sentences = np.searchsorted(self.starts, positions, side="right") - 1
        places = positions - sentences
        ends = np.asarray(self.corpus.offsets)[sentences + 1]
        inside = places < ends
        found = self.corpus.ids[np.where(inside, places, 0)]
        return np.where(inside, found, self.end).astype(np.int64)

    def _windows_at(self, starts: np.ndarray) -> np.ndarray:
        return self.read(starts[:, None] + np.arange(self.length + 1))

    def _drawn(self, epoch: int) -> tuple[np.ndarray, int]:
        """The order of the windows in an epoch, and the position of the first."""
        random = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
        shift = int(random.integers(self.length))
        return random.permutation(self.windows), shift
