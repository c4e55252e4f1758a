"""Init from: training that continues from earlier vectors, with new text and new words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xxhash

from inlaid.encode.corpus import Corpus
from inlaid.encode.vocabulary import Vocabulary
from inlaid.errors import SettingError
from inlaid.jobs.training import Continues, HasDim, Method, Needs, Training
from inlaid.report import Note, Report
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class Continuing:
    """Continuing from earlier vectors, with new text; by default from none."""

    init_from: Annotated[Vectors | None, Needs("init_from")] = None
    """Earlier vectors to continue from; their words keep their ids, new words follow."""
    freeze: Annotated[bool, Needs("freeze")] = False
    """Keep the vectors of init_from fixed, to the bit, while new words learn."""

    def __post_init__(self) -> None:
        if self.freeze and self.init_from is None:
            raise SettingError(
                "freeze is set, but there are no earlier vectors to keep fixed. Name them with init_from."
            )

    @property
    def frozen(self) -> int:
        """How many words, the first ones, have vectors that are not to move."""
        return len(self.init_from) if self.init_from is not None and self.freeze else 0

    def corpus(self, new: Corpus) -> Corpus:
        """The new text over the earlier words, which keep their ids; new words follow, and counts add up."""
        old = self.init_from
        if old is None:
            return new
        counts = np.zeros(len(old), np.int64) if old.counts is None else old.counts
        seen = dict(zip(new.vocabulary.words, new.vocabulary.counts.tolist(), strict=True))
        grown = Vocabulary(old.words, counts).grown(seen)
        new_ids = {word: id for id, word in enumerate(grown.words)}
        mapping = np.array([new_ids[word] for word in new.vocabulary.words], np.int32)
        return dataclasses.replace(new, ids=mapping[new.ids], vocabulary=grown)

    def start(self, training: Training, report: Report) -> None:
        """Let a training begin with the earlier vectors."""
        if self.init_from is None:
            return
        assert isinstance(training, Continues)
        training.init_from(self.init_from, freeze=self.freeze, report=report)

    def check_dim(self, method: Method) -> None:
        """Raise SettingError where the earlier vectors have another dimension than the method's."""
        if self.init_from is None or not isinstance(method, HasDim) or method.dim == self.init_from.dim:
            return
        raise SettingError(
            "The vectors of init_from have dim {found}, and dim is {dim} here. Set dim to {found}.",
            found=self.init_from.dim,
            dim=method.dim,
        )

    def identity(self) -> dict[str, Any]:
        """What a checkpoint records of them."""
        if self.init_from is None:
            return {}
        table = np.ascontiguousarray(self.init_from.table)
        return {"init_from": xxhash.xxh3_128_hexdigest(table), "freeze": self.freeze}

    def notes(self) -> tuple[str, ...]:
        """What the card says of them."""
        if self.init_from is None:
            return ()
        card = self.init_from.card
        how = "frozen" if self.freeze else "not frozen"
        origin = f" by {card.method} from corpus {card.corpus}" if card.method else ""
        table = self.identity()["init_from"]
        return (f"Continued from {len(self.init_from):,} words{origin} (table {table}), {how}.",)


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
