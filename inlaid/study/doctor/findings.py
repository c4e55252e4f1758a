"""What a finding is, and what the checks share: a space, a sample of it and its geometry."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from inlaid.config import Range, Seed, check
from inlaid.encode.vocabulary import Words
from inlaid.messages import Message
from inlaid.report import Report
from inlaid.study.search.geometry import Geometry, geometry
from inlaid.vectors import Vectors

Severity = Literal["serious", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("serious", "warning", "note")
"""The most serious first."""
SHOWN = 5
"""Examples of a finding."""
FEWEST = 4
"""Words from which on hubs and frequency can be measured."""
SMALLEST_SHARE = 0.0001
"""Shares below this would be shown as 0.00 %."""


@dataclass(frozen=True)
class Finding:
    """Something about a space that its user should know."""

    check: str
    severity: Severity
    figure: float | int
    message: Message
    advice: Message
    examples: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "severity": self.severity,
            "figure": self.figure,
            "message": self.message.in_language("en"),
            "advice": self.advice.in_language("en"),
            "examples": list(self.examples),
        }


def severity_of(share: float, *, warning: float = 0.001, serious: float = 0.01) -> Severity:
    """By the share of words; of one word in a hundred, neighbor lists are full."""
    if share > serious:
        return "serious"
    if share > warning:
        return "warning"
    return "note"


@dataclass(frozen=True, kw_only=True)
class DoctorSettings:
    """How much of a large space is examined, and what is shown."""

    sample: Annotated[int, Range(2)] = 20_000
    """Words examined where all would take too long."""
    show: Literal["all", "warnings", "serious"] = "all"
    """Which findings to show."""
    seed: Seed = 1
    """Seed of the sample."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(eq=False)
class Space:
    """A space, and what several checks need of it."""

    vectors: Vectors
    settings: DoctorSettings
    report: Report

    @functools.cached_property
    def figures(self) -> Geometry | None:
        """Geometry of the sampled words without zero rows, which have no neighbors, only ties. None where
        too few are left."""
        ids = self.sample(max(FEWEST, self.settings.sample))
        ids = ids[self.vectors.lengths[ids] > 0]
        if len(ids) < FEWEST:
            return None
        words = Words.of([self.vectors.words[id] for id in ids.tolist()])
        sampled = Vectors(words, self.vectors.rows(ids))
        return geometry(sampled, sample=len(ids), seed=self.settings.seed, report=self.report)

    def sample(self, most: int) -> np.ndarray:
        """Ids in ascending order: all, or a random sample."""
        words = len(self.vectors)
        if words <= most:
            return np.arange(words)
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        return np.sort(random.choice(words, most, replace=False))


def example_words(vectors: Vectors, ids: np.ndarray) -> tuple[str, ...]:
    return tuple(vectors.words[id] for id in ids[:SHOWN].tolist())


def words_of(count: int, vectors: Vectors) -> Message:
    """How many words, and their share.

    >>> str(words_of(6, Vectors.of([f"w{n}" for n in range(2000)], np.ones((2000, 1)))))
    '6 of 2,000 words (0.30%)'
    """
    total = len(vectors)
    share = count / total
    if share < SMALLEST_SHARE:
        return Message("{count:,} of {total:,} words", count=count, total=total)
    return Message("{count:,} of {total:,} words ({share:.2%})", count=count, total=total, share=share)
