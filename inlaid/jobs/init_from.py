"""Init from: training that continues from earlier vectors, with new text and new words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from inlaid.encode.corpus import Corpus
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import SettingError
from inlaid.report import Note, Report
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class InitFrom:
    """Earlier vectors; frozen, none of their values changes while new words learn around them."""

    vectors: Vectors
    freeze: bool = False

    def corpus(self, new: Corpus) -> Corpus:
        """The new text over the earlier words, which keep their ids; new words follow, and counts add up."""
        old = self.vectors
        counts = np.zeros(len(old), np.int64) if old.counts is None else old.counts
        seen = dict(zip(new.vocabulary.words, new.vocabulary.counts.tolist(), strict=True))
        grown = Vocabulary(old.words, counts).grown(seen)
        new_ids = {word: id for id, word in enumerate(grown.words)}
        mapping = np.array([new_ids[word] for word in new.vocabulary.words], np.int32)
        return dataclasses.replace(new, ids=mapping[new.ids], vocabulary=grown)

    def check_dim(self, dim: int) -> None:
        if self.vectors.dim != dim:
            raise SettingError(
                "The vectors of init_from have dim {found}, and dim is {dim} here. Set dim to {found}.",
                found=self.vectors.dim,
                dim=dim,
            )

    def identity(self) -> dict[str, Any]:
        """What a checkpoint records of them."""
        table = np.ascontiguousarray(self.vectors.table)
        return {"init_from": xxhash.xxh3_128_hexdigest(table), "freeze": self.freeze}

    def note(self) -> str:
        """A line for the card."""
        card = self.vectors.card
        how = "frozen" if self.freeze else "not frozen"
        origin = f" by {card.method} from corpus {card.corpus}" if card.method else ""
        table = self.identity()["init_from"]
        return f"Continued from {len(self.vectors):,} words{origin} (table {table}), {how}."


def context_table(vectors: Vectors, *, freeze: bool, report: Report) -> np.ndarray | None:
    """The initial context vectors of the words; None, with a note, where the earlier vectors have none."""
    if vectors.contexts is not None:
        return vectors.contexts if isinstance(vectors.contexts, np.ndarray) else vectors.contexts.whole()
    if freeze:
        raise SettingError(
            "The vectors of init_from have no context vectors, so new words have nothing to learn from while "
            "they are frozen. Leave out freeze, or continue from a .inlaid file that sgns wrote, which has "
            "both tables."
        )
    report(Note("The vectors of init_from have no context vectors: those start from zero."))
    return None
