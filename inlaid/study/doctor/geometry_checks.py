"""Checks of the geometry: anisotropy, hubs, cosines explained by frequency, vector lengths."""

from __future__ import annotations

from typing import Literal

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Advice, Message
from inlaid.report import silent
from inlaid.study.doctor.findings import FEWEST, DoctorSettings, Finding, Space
from inlaid.study.evaluate.statistics import spearman, value_of
from inlaid.study.search.geometry import Geometry
from inlaid.study.search.index import index_of
from inlaid.vectors import Vectors

QUERIES = 500
"""Words whose cosines with all sampled words are regressed on frequency."""
ANISOTROPIC = (0.3, 0.5)
"""Mean cosines of random words above which a space is anisotropic: a warning, and serious."""
SKEWED = 4.0
"""Skewness of the k-occurrence above which hubs are a warning."""
LARGE_HUB = 0.2
"""Share of words with one hub among their nearest above which it is serious."""
MANY_ANTIHUBS = 0.5
"""Share of antihubs above which it is serious."""
EXPLAINED = (0.15, 0.5)
"""Shares of the variance of cosines explained by frequency: a warning, and serious."""
CORRELATED = 0.7
"""Correlation of length and frequency above which it is noted."""


def lengths(space: Space) -> list[Finding]:
    lengths = space.vectors.lengths
    nonzero = lengths[lengths > 0]
    if len(nonzero) < FEWEST:
        return []
    if np.abs(nonzero - 1).max() < 1e-3:
        message = Message("All rows have length 1: they were normalized, and the original lengths are lost.")
        advice = Message("Fine for cosines. Keep the original for dot products or to continue training.")
        return [Finding("lengths", "note", 1.0, message, advice)]
    log_frequencies = _log_frequencies(space.vectors)[lengths > 0]
    correlation = value_of(np.column_stack([log_frequencies, nonzero]), spearman)
    if np.isnan(correlation) or abs(correlation) < CORRELATED:
        return []
    if correlation > 0:
        message = Message(
            "Frequent words have the longer rows (correlation of length and log frequency "
            "{correlation:+.2f}).",
            correlation=correlation,
        )
    else:
        message = Message(
            "Rare words have the longer rows (correlation of length and log frequency {correlation:+.2f}).",
            correlation=correlation,
        )
    advice = Message("Compare by cosine, not by dot product or Euclidean distance.")
    return [Finding("lengths", "note", correlation, message, advice)]


def anisotropy(space: Space) -> list[Finding]:
    figures = _figures(space)
    if figures is None or figures.mean_cosine < ANISOTROPIC[0]:
        return []
    severity: Literal["serious", "warning"] = "serious" if figures.mean_cosine > ANISOTROPIC[1] else "warning"
    message = Message(
        "The space is anisotropic: two random words have a cosine of {cosine:.2f} on average.",
        cosine=figures.mean_cosine,
    )
    advice = Message(
        "Subtract the mean of all rows before comparing, or search by csls; "
        "compare cosines with each other, not with 0."
    )
    return [Finding("anisotropy", severity, figures.mean_cosine, message, advice)]


def hubs(space: Space) -> list[Finding]:
    figures = _figures(space)
    if figures is None or figures.skewness < SKEWED or figures.sampled < 5 * figures.k:
        return []
    largest = figures.hubs[0]
    share = largest.times / (figures.sampled - 1)
    serious = share > LARGE_HUB or figures.antihubs > MANY_ANTIHUBS
    message = Message(
        "Some words are hubs: '{hub}' is among the {k} nearest of {share:.1%} of all words, while "
        "{antihubs:.0%} of the "
        "words are among the nearest of none (skewness {skewness:.1f}).",
        hub=largest.word,
        k=figures.k,
        share=share,
        antihubs=figures.antihubs,
        skewness=figures.skewness,
    )
    advice = Message("Search by csls: `{how}`.", how=_searching("csls"))
    examples = tuple(each.word for each in figures.hubs[:5])
    severity = "serious" if serious else "warning"
    return [Finding("hubs", severity, figures.skewness, message, advice, examples)]


def frequency(space: Space) -> list[Finding]:
    """How much of the variance of cosines is explained by the frequency of the words."""
    vectors = space.vectors
    if len(vectors) < max(FEWEST, 5 * vectors.dim):  # with few words, any regression explains a lot
        return []
    share = frequency_share(vectors, sample=space.settings.sample, seed=space.settings.seed)
    if share < EXPLAINED[0]:
        return []
    if vectors.counts is not None:
        message = Message(
            "Word frequency (by counts) explains {share:.0%} of the variance of cosines: "
            "rare words have rare neighbors.",
            share=share,
        )
    else:
        message = Message(
            "Word frequency (by rank in the file) explains {share:.0%} of the variance of cosines: "
            "rare words have rare neighbors.",
            share=share,
        )
    advice = Message("Search by frequency: `{how}`.", how=_searching("frequency"))
    severity = "serious" if share > EXPLAINED[1] else "warning"
    return [Finding("frequency", severity, share, message, advice)]


def frequency_share(vectors: Vectors, *, sample: int = 20_000, seed: int = 1) -> float:
    """The share of the variance of cosines that a regression on frequency explains; 0 where cosines do not
    vary."""
    if len(vectors) < FEWEST:
        raise SettingError(
            "{words} words are too few for a regression; expected at least {expected}.",
            words=len(vectors),
            expected=FEWEST,
        )
    space = Space(vectors, DoctorSettings(sample=sample, seed=seed), silent)
    ids = space.sample(sample)
    terms, directions = index_of(vectors).frequency
    rows = vectors.rows(ids).astype(np.float64)
    sizes = np.where(vectors.lengths[ids] == 0, 1, vectors.lengths[ids]).astype(np.float64)
    unit = rows / sizes[:, None]
    every = -(-len(ids) // QUERIES)
    queries = unit[::every]
    cosines = queries @ unit.T
    residuals = cosines - queries @ directions.T @ terms[ids].T
    total = cosines.var(axis=1).sum()
    if total <= 1e-9:
        return 0.0
    return float(max(0.0, 1 - residuals.var(axis=1).sum() / total))


def _log_frequencies(vectors: Vectors) -> np.ndarray:
    """(word,): by counts; by rank in the file where counts are not known."""
    if vectors.counts is not None and (vectors.counts > 0).all():
        return np.log(vectors.counts)
    return -np.log(np.arange(1, len(vectors) + 1))


def _figures(space: Space) -> Geometry | None:
    """None where there are too few words: with no more of them than dimensions, cosines mean nothing yet."""
    words = len(space.vectors)
    if words < FEWEST or words <= space.vectors.dim:
        return None
    return space.figures


CHECKS = (lengths, anisotropy, hubs, frequency)


def _searching(by: str) -> Advice:
    return Advice(
        typed=Message("inlaid neighbors ... --by {by}", by=by),
        called=Message("vectors.neighbors(word, by={by!r})", by=by),
    )
