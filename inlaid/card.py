"""Card: how vectors were made, how their training ended, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inlaid.encode.joining import JOINED
from inlaid.messages import Message
from inlaid.notebook import html_of

Reason = Literal["finished", "stopped early", "interrupted", "out of time", "diverged"]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What was known at one point of a training."""

    done: int
    loss: float | None = None
    """The moving average of the training loss per pair."""
    held_out: float | None = None
    """The loss per pair on held-out sentences."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a training ended."""

    reason: Reason
    done: int
    """Units done."""
    total: int
    """Units of the whole run."""
    kept: int
    """Units after which the vectors are taken: `done`, or fewer where an earlier state was better."""
    unit: str = "words"
    seconds: float = 0.0
    """Time it took, over all its parts if it was resumed."""
    marks: tuple[Mark, ...] = ()
    """The course of the losses, one mark every 5 % of the run."""
    unmoved: int = 0
    """Words whose vectors are as they were before training, although there were examples for them."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to resume."""
        return self.reason in ("finished", "stopped early")


@dataclass(frozen=True, kw_only=True)
class Card:
    """How vectors were made, and what is known about them. Files keep it as JSON (`formats.cards`)."""

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    corpus: str = ""
    """Hash of the corpus they were trained on."""
    encoding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How text became words; a query goes through the same normalization. `spelling` is the mark of subwords:
    Ġ or ▁ before a word, ## before a piece that continues one."""
    version: str = ""
    """The version of Inlaid that made them."""
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: Outcome | None = None
    """How the training ended; None for vectors that were not trained here."""
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str | Message, ...]]:
        """What is known, one field a row."""
        outcome = self.outcome
        known: dict[str, str] = {
            "method": self.method,
            "settings": _listed(self.settings),
            "corpus": self.corpus,
            "encoding": _listed(brief(self.encoding)),
            "version": self.version,
            "scores": _listed(self.scores),
            "outcome": "" if outcome is None else f"{outcome.reason}, {outcome.seconds:,.0f} s",
            "notes": " ".join(self.notes),
        }
        shown = [(name, value) for name, value in known.items() if value]
        return [(Message("card"), Message("")), *shown]

    def _repr_html_(self) -> str:
        return html_of(self.rows())


def brief(encoding: Mapping[str, Any]) -> dict[str, Any]:
    """An encoding to show: phrases, of which there may be a million, by their number."""
    return {
        name: [[len(each["first"]) for each in join["passes"]] for join in value] if name == JOINED else value
        for name, value in encoding.items()
    }


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
