"""Prompt text: pairs as one line each, for a decoder that continues a sentence with its translation.

ids of the source, separator, ids of the target, end
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from inlaid.feed.length_buckets import padded
from inlaid.feed.masked_text import IGNORED
from inlaid.feed.pair_text import PairText
from inlaid.messages import Message


class PromptBatch(NamedTuple):
    """Lines (line, token) and the token after each one (line, token); IGNORED where it is not predicted."""

    ids: np.ndarray
    targets: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class PromptText(PairText):
    """Batches of prompted lines. Pairs of more than `max_length` tokens in all are left out."""

    where: ClassVar[Message] = Message(" in all")

    separator: int
    """The id between source and target."""
    predicts_source: bool = False
    """The tokens of the source are predicted, too."""

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each line (line, 1), with separator and end."""
        return np.diff(np.asarray(self.corpus.offsets)).reshape(-1, 2).sum(1, keepdims=True) + 2

    def _batch(self, pairs: np.ndarray) -> PromptBatch:
        self.corpus.refuse_changed()
        lines: list[np.ndarray] = []
        targets: list[np.ndarray] = []
        for pair in pairs.tolist():
            source = self._side(pair, 0)
            line = np.concatenate((source, [self.separator], self._side(pair, 1), [self.end]))
            after = line[1:].copy()
            if not self.predicts_source:
                after[: len(source)] = IGNORED
            lines.append(line[:-1])
            targets.append(after)
        return PromptBatch(padded(lines, self.padding), padded(targets, IGNORED))
