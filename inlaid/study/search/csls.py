"""Scores that correct for hubs (CSLS) and for frequency.

csls       2 cos(q, w) - r(q) - r(w), where r is the mean cosine with the k nearest words (Conneau 2018,
           section 2.3): a hub, which is near to everything, must be nearer still to count.
frequency  cos(q, w) minus the cosine that a word of that frequency has with q on average: over all words, the
           cosine with q is regressed on log rank and its square (on log count, where counts are known). A
           regression is linear in what it explains, so one regression of the vectors holds for every query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from inlaid.config import Positive, check
from inlaid.shapes import Doubles
from inlaid.study.search import ranking
from inlaid.vectors import Vectors

By = Literal["cosine", "csls", "frequency"]
ROWS = 1 << 14
"""Rows handled at a time."""


@dataclass(frozen=True, kw_only=True)
class CSLSSettings:
    """Which neighbors make up r, the mean similarity of a word."""

    k: Positive = 10
    """Nearest words that count."""
    among: Positive = 20_000
    """They are searched among the first n words; all against all would take hours for a million."""

    def __post_init__(self) -> None:
        check(self)


class FrequencyFit(NamedTuple):
    """The regression of unit rows on frequency."""

    terms: Doubles
    """(word, 3): 1, f, f squared."""
    directions: Doubles
    """(3, dim)"""


def mean_similarity(vectors: Vectors, settings: CSLSSettings | None = None) -> np.ndarray:
    """CSLS's r: for each word the mean cosine with its k nearest other words; in blocks, never all pairs at
    once."""
    settings = settings or CSLSSettings()
    candidates = vectors.table[: settings.among]
    sizes = vectors.lengths[: settings.among]
    found = np.zeros(len(vectors))
    for start in range(0, len(vectors), ranking.QUERIES):
        ids = range(start, min(start + ranking.QUERIES, len(vectors)))
        itself = [[id] if id < len(candidates) else [] for id in ids]
        rows = vectors.table[start : start + ranking.QUERIES]
        best = ranking.best(candidates, sizes, rows, n=settings.k, without=itself)
        found[start : start + len(best)] = [each.scores.mean() if len(each.scores) else 0 for each in best]
    return found


def frequency(vectors: Vectors) -> FrequencyFit:
    """Least squares of the unit rows on 1, f and f squared, f being the standardized log count or log
    rank."""
    counts = vectors.counts
    if counts is not None and (counts > 0).all():
        scale = np.log(counts)
    else:
        scale = -np.log(np.arange(1, len(vectors) + 1))
    spread = scale.std()
    scale = (scale - scale.mean()) / (spread if spread > 0 else 1)
    terms = np.stack([np.ones(len(scale)), scale, scale**2], axis=1)
    sums = np.zeros((3, vectors.dim))
    for start in range(0, len(vectors), ROWS):
        block = slice(start, start + ROWS)
        size = np.where(vectors.lengths[block] == 0, 1, vectors.lengths[block]).astype(np.float64)
        sums += (terms[block] / size[:, None]).T @ vectors.table[block]
    return FrequencyFit(terms, np.linalg.lstsq(terms.T @ terms, sums, rcond=None)[0])
