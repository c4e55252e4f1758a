"""What a doctor looks at: a space, a sample of it and its figures; and what a finding is."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.config import Count, Positive, check
from inlaid.encode.vocabulary import Words
from inlaid.report import Report
from inlaid.study.search.geometry import Geometry, geometry
from inlaid.vectors import Vectors

Severity = Literal["serious", "warning", "note"]
SHOWN = 5
FEWEST = 4
"""Words that have a shape: fewer are not asked about hubs and frequency."""


@dataclass(frozen=True)
class Finding:
    """Something about a space that its user should know."""

    check: str
    severity: Severity
    figure: float | int
    sentence: str
    advice: str
    examples: tuple[str, ...] = ()


def by_share(share: float) -> Severity:
    """More than one word in a hundred is serious, more than one in a thousand a warning: answers meet such
    words all the time."""
    return "serious" if share > 0.01 else "warning" if share > 0.001 else "note"


@dataclass(frozen=True, kw_only=True)
class Examining:
    """How much of a large space is looked at."""

    sample: Positive = 20_000
    """Words looked at where all would take too long."""
    seed: Count = 1
    """Draws the sample."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(eq=False)
class Patient:
    """A space, and what several checks ask of it."""

    vectors: Vectors
    settings: Examining
    report: Report

    @functools.cached_property
    def figures(self) -> Geometry | None:
        """Of the sampled words that point anywhere: a row of zeros has no neighbours, only ties. None where
        too few are left."""
        ids = self.sample(max(FEWEST, self.settings.sample))
        ids = ids[self.vectors.lengths[ids] > 0]
        if len(ids) < FEWEST:
            return None
        held = Vectors(Words.of([self.vectors.words[id] for id in ids.tolist()]), self.vectors.rows(ids))
        return geometry(held, sample=len(ids), seed=self.settings.seed, report=self.report)

    def sample(self, most: int) -> np.ndarray:
        """Ids in rising order: all, or a sample."""
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        words = len(self.vectors)
        return np.arange(words) if words <= most else np.sort(random.choice(words, most, replace=False))


def some_of(vectors: Vectors, ids: np.ndarray) -> tuple[str, ...]:
    return tuple(vectors.words[id] for id in ids[:SHOWN].tolist())


def some_words(count: int, vectors: Vectors) -> str:
    """
    >>> some_words(6, Vectors.of([f"w{n}" for n in range(2000)], np.ones((2000, 1))))
    '6 of 2,000 words (0.30%)'
    """
    share = count / len(vectors)
    return f"{count:,} of {len(vectors):,} words" + (f" ({share:.2%})" if share >= 0.0001 else "")
