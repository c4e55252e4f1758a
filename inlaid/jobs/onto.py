"""Onto: training that goes on from vectors made before, with new text and new words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import xxhash

from inlaid.encode.corpus import Corpus
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import SettingError
from inlaid.report import Note, Report
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class Onto:
    """Vectors to go on from; anchored, none of their numbers changes, and new words find their places among
    them."""

    vectors: Vectors
    anchor: bool = False

    def corpus(self, new: Corpus) -> Corpus:
        """The new text over the old words, which keep their ids, and behind them the new ones; counts add
        up."""
        old = self.vectors
        counts = np.zeros(len(old), np.int64) if old.counts is None else old.counts
        seen = dict(zip(new.vocabulary.words, new.vocabulary.counts.tolist(), strict=True))
        grown = Vocabulary(old.words, counts).grown(seen)
        places = {word: id for id, word in enumerate(grown.words)}
        moved = np.array([places[word] for word in new.vocabulary.words], np.int32)
        return dataclasses.replace(new, ids=moved[new.ids], vocabulary=grown)

    def check(self, dim: int, report: Report) -> None:
        """Refuse vectors that training cannot start from."""
        old = self.vectors
        if old.dim != dim:
            raise SettingError(
                "The vectors to go on from have dim {old}, and dim is {dim} here. Set dim to {old}.",
                old=old.dim,
                dim=dim,
            )
        if old.contexts is None and self.anchor:
            raise SettingError(
                "The vectors to go on from have no contexts, so that new words have nothing to learn from while they are anchored. "
                "Let them move (anchor false), or go on from vectors of sgns in a .inlaid file, which keeps both tables."
            )
        if old.contexts is None:
            report(Note("The vectors to go on from have no contexts: those start from zero."))

    def identity(self) -> dict[str, Any]:
        """What a checkpoint must know of them."""
        return {
            "onto": xxhash.xxh3_128_hexdigest(np.ascontiguousarray(self.vectors.table)),
            "anchor": self.anchor,
        }

    def note(self) -> str:
        card = self.vectors.card
        how = "anchored" if self.anchor else "free to move"
        origin = f" by {card.method} from corpus {card.corpus}" if card.method else ""
        return f"Went on from {len(self.vectors):,} words{origin} (table {self.identity()['onto']}), {how}."


@runtime_checkable
class Continues(Protocol):
    """Training that can start from tables made before."""

    def init_from(self, earlier: Vectors, *, freeze: bool) -> None:
        """Start the first words from the rows of `earlier`; frozen, those rows never change."""
        ...
