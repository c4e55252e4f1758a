"""Work: what a method hands over to be carried through, how safely, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Protocol, runtime_checkable

import numpy as np

from inlaid.config import Positive, Range, check
from inlaid.jobs.guard import Mark

Reason = Literal["finished", "stopped early", "interrupted", "out of time"]


@dataclass(frozen=True)
class Step:
    """What one step did: where it ended, the loss summed over its pairs, and figures to show (the rate)."""

    done: int
    loss: float
    pairs: float
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


@runtime_checkable
class Work(Protocol):
    """Long work that advances in steps and may be put aside between any two."""

    arrays: dict[str, np.ndarray]
    """All that changes and that the next step depends on (tables, sums), updated in place."""
    total: int
    """Units of the whole run: words of the corpus times epochs, cells times epochs."""
    unit: str
    """What they are: "words"."""

    def step(self, done: int) -> Step:
        """Advance from `done` units, for a fraction of a second: a pure function of arrays, settings, corpus
        and `done`."""
        ...

    def held_out(self, done: int) -> float | None:
        """The average loss per pair on text never trained on; None when none was set apart. Changes
        nothing."""
        ...


@dataclass(frozen=True, kw_only=True)
class Safety:
    """What a long run is kept safe by."""

    checkpoint: Path | None = None
    """File that the run is saved to now and then, so that it can be resumed after a crash."""
    checkpoint_minutes: Annotated[float, Range(0)] = 5.0
    """Minutes between checkpoints."""
    resume: bool = False
    """Go on from the checkpoint, exactly; where there is none yet, start."""
    patience: Positive | None = None
    """Stop when the held-out loss was no better for so many checks, one every 5 % of the run; the best tables
    are kept."""
    minutes: Annotated[float, Range(0)] | None = None
    """Stop after so many minutes; epochs are chosen to fit."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and which tables the work now holds."""

    reason: Reason
    done: int
    tables: int
    """Units after which the tables stood as they are now: `done`, or less where earlier ones were better."""
    seconds: float
    """Time it took, over all its parts when it was resumed."""
    marks: tuple[Mark, ...]
    note: str
    """A sentence for the card of what was made; empty when there is nothing to say."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to resume."""
        return self.reason in ("finished", "stopped early")
