"""What looks wrong with the shape of a space: all lean one way, hubs, frequency that explains too much,
lengths."""

from __future__ import annotations

from typing import Literal

import numpy as np

from inlaid.errors import SettingError
from inlaid.report import silent
from inlaid.study.doctor.findings import FEWEST, Examining, Finding, Patient
from inlaid.study.evaluate.statistics import spearman, value_of
from inlaid.study.search.csls import index_of
from inlaid.study.search.geometry import Geometry
from inlaid.vectors import Vectors

QUERIES = 500
"""Words whose cosines with all sampled words are explained by frequency."""
LEANING = (0.3, 0.5)
"""Mean cosines of random words from which on a space leans one way: a warning, and serious."""
SKEWED = 4.0
"""Skewness from which on hubs are worth a warning."""
EXPLAINED = (0.15, 0.5)
"""Shares of the differences between cosines that frequency may explain before it is a warning, and
serious."""


def lengths(patient: Patient) -> list[Finding]:
    lengths = patient.vectors.lengths
    held = lengths[lengths > 0]
    if len(held) < 4:
        return []
    if np.abs(held - 1).max() < 1e-3:
        sentence = "All rows have length 1: they were normalised, and what their lengths said is lost."
        return [
            Finding(
                "lengths",
                "note",
                1.0,
                sentence,
                "Fine for cosines. Keep the original if you need dot products or to train on.",
            )
        ]
    found = value_of(np.column_stack([_scale(patient.vectors)[lengths > 0], held]), spearman)
    if np.isnan(found) or abs(found) < 0.7:
        return []
    longer = "Frequent" if found > 0 else "Rare"
    sentence = f"{longer} words have the longer rows (correlation of length and log frequency {found:+.2f})."
    return [Finding("lengths", "note", found, sentence, "Compare by cosine, not by dot product or distance.")]


def one_way(patient: Patient) -> list[Finding]:
    figures = _figures(patient)
    if figures is None or figures.mean_cosine < LEANING[0]:
        return []
    severity: Literal["serious", "warning"] = "serious" if figures.mean_cosine > LEANING[1] else "warning"
    sentence = (
        f"All vectors lean one way: two random words have a cosine of {figures.mean_cosine:.2f} on average."
    )
    advice = "Subtract the mean of all rows before comparing, or search by csls; differences between cosines mean more than cosines."
    return [Finding("one way", severity, figures.mean_cosine, sentence, advice)]


def hubs(patient: Patient) -> list[Finding]:
    figures = _figures(patient)
    if figures is None or figures.skewness < SKEWED or figures.sampled < 5 * figures.k:
        return []
    biggest = figures.hubs[0]
    share = biggest.times / (figures.sampled - 1)
    severity: Literal["serious", "warning"] = (
        "serious" if share > 0.2 or figures.antihubs > 0.5 else "warning"
    )
    sentence = (
        f"Some words are everybody's neighbours: '{biggest.word}' is among the {figures.k} nearest of {share:.1%} of all words, "
        f"while {figures.antihubs:.0%} are among nobody's (skewness {figures.skewness:.1f})."
    )
    examples = tuple(each.word for each in figures.hubs[:5])
    return [
        Finding(
            "hubs",
            severity,
            figures.skewness,
            sentence,
            "Search by csls: `inlaid neighbors ... --by csls`.",
            examples,
        )
    ]


def frequency(patient: Patient) -> list[Finding]:
    """How much of the differences between cosines is explained by how frequent the words are."""
    vectors = patient.vectors
    if len(vectors) < max(FEWEST, 5 * vectors.dim):  # of few words any three terms explain a lot
        return []
    share = frequency_share(vectors, sample=patient.settings.sample, seed=patient.settings.seed)
    if share < EXPLAINED[0]:
        return []
    severity: Literal["serious", "warning"] = "serious" if share > EXPLAINED[1] else "warning"
    by = "counts" if vectors.counts is not None else "rank in the file"
    sentence = f"How frequent words are (by {by}) explains {share:.0%} of the differences between cosines: rare words find rare words."
    return [
        Finding(
            "frequency",
            severity,
            share,
            sentence,
            "Search by frequency: `inlaid neighbors ... --by frequency`.",
        )
    ]


def frequency_share(vectors: Vectors, *, sample: int = 20_000, seed: int = 1) -> float:
    """The share of the variance of cosines that the regression on frequency explains; 0 where cosines do not
    vary."""
    if len(vectors) < FEWEST:
        raise SettingError(f"{len(vectors)} words are too few for a regression; expected at least {FEWEST}.")
    patient = Patient(vectors, Examining(sample=sample, seed=seed), silent)
    ids = patient.sample(sample)
    terms_and_directions = index_of(vectors).frequency
    terms = terms_and_directions[0][ids]
    directions = terms_and_directions[1]
    rows = vectors.rows(ids).astype(np.float64)
    unit = rows / np.where(vectors.lengths[ids] == 0, 1, vectors.lengths[ids]).astype(np.float64)[:, None]
    queries = unit[:: -(-len(ids) // QUERIES)]
    cosines = queries @ unit.T
    left = cosines - queries @ directions.T @ terms.T
    total = cosines.var(axis=1).sum()
    return float(max(0.0, 1 - left.var(axis=1).sum() / total)) if total > 1e-9 else 0.0


def _scale(vectors: Vectors) -> np.ndarray:
    seen = vectors.counts if vectors.counts is not None and (vectors.counts > 0).all() else None
    return -np.log(np.arange(1, len(vectors) + 1)) if seen is None else np.log(seen)


def _figures(patient: Patient) -> Geometry | None:
    """None where there are too few words: with no more of them than dimensions, their cosines mean nothing
    yet."""
    return (
        patient.figures
        if len(patient.vectors) >= FEWEST and len(patient.vectors) > patient.vectors.dim
        else None
    )


CHECKS = (lengths, one_way, hubs, frequency)
