"""Safety: how a long run is kept safe, and which of many processes it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from inlaid.config import Positive, Range, check
from inlaid.jobs.training import Needs


@dataclass(frozen=True, kw_only=True)
class Safety:
    """Checkpoints, early stopping and a limit of time."""

    checkpoint: Annotated[Path | None, Needs("steps")] = None
    """File that the run is saved to at intervals, so that it can be resumed after a crash."""
    checkpoint_minutes: Annotated[float, Range(0), Needs("steps")] = 5.0
    """Minutes between checkpoints."""
    resume: Annotated[bool, Needs("steps")] = False
    """Continue from the checkpoint, to the bit; where there is none yet, start from the beginning."""
    patience: Annotated[Positive | None, Needs("held_out")] = None
    """Stop early after this many checks without a lower held-out loss, one check every 5 % of the run; the
    best state is kept."""
    minutes: Annotated[float | None, Range(0), Needs("steps")] = None
    """Train for this many minutes: the number of epochs is chosen to fit, whatever `epochs` says, and the
    learning rate is at its end when the time is."""

    def __post_init__(self) -> None:
        check(self)


class Process(NamedTuple):
    """Which process of a run this is. Only rank 0 writes checkpoints and reports."""

    rank: int = 0
    world_size: int = 1
