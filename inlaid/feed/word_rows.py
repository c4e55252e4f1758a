"""Texts to the rows of their words, in bulk; each word that is not in the vocabulary is looked up once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from inlaid.feed.bags import BagIds, Numbering, with_rows

NONE = -1
"""The row of a word without a vector."""
NOT_ASKED = -2


class WordRows:
    """Texts to rows of a table. Words have the rows that `first` says; `rows_of` is asked about every
    other word once, about many at a time, and answers NONE for a word without a row."""

    def __init__(
        self, numbering: Numbering, first: np.ndarray, rows_of: Callable[[list[str]], np.ndarray]
    ) -> None:
        self.numbering = numbering
        self.first = first.astype(np.int32)
        self.rows_of = rows_of
        self.forget()

    def forget(self) -> None:
        """Ask again about all words outside the vocabulary."""
        self._of = self.numbering.fast
        self._rows = self.first.copy()

    def of(self, texts: Sequence[str]) -> BagIds:
        """The rows of the words of each text; those without one are left out."""
        return self.counted(texts)[0]

    def counted(self, texts: Sequence[str]) -> tuple[BagIds, np.ndarray]:
        """The rows of the words of each text, and how many words it has, those without a row too."""
        with self.numbering.lock:
            tokens = self.numbering.tokens(texts)
            rows = self._asked(tokens.ids)
        return with_rows(BagIds(tokens.ids, tokens.offsets), 0, rows), np.diff(tokens.offsets)

    def without_row(self, text: str) -> list[str]:
        """The words of a text that have no row, in their order."""
        with self.numbering.lock:
            ids = self.numbering.tokens([text]).ids
            missing = ids[self._asked(ids)[ids] == NONE]
            return [word.decode("utf-8", "replace") for word in self.numbering.fast.words(missing)]

    def _asked(self, ids: np.ndarray) -> np.ndarray:
        """The row of each word of the numbering, among which these were asked about."""
        if self._of is not self.numbering.fast:  # it forgot its words, to save memory
            self.forget()
        more = self.numbering.fast.known - len(self._rows)
        if more > 0:
            # twice as many: growing by a few words for every batch would copy all of them every time
            room = np.full(max(more, len(self._rows)), NOT_ASKED, np.int32)
            self._rows = np.concatenate([self._rows, room])
        new = np.unique(ids[self._rows[ids] == NOT_ASKED])
        if len(new):
            words = self.numbering.fast.words(new)
            self._rows[new] = self.rows_of([word.decode("utf-8", "replace") for word in words])
        return self._rows
