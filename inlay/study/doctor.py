"""What is wrong with a space, how much of it, and what to do: one look at its rows, its shape and its words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xxhash

from inlay.config import Count, Positive, check
from inlay.encode.corpus import Corpus
from inlay.encode.vocabulary import Words
from inlay.errors import SettingError
from inlay.report import Report, counted, silent
from inlay.study import ranking
from inlay.study.corrections import index_of
from inlay.study.hubs import SpaceFigures, space_figures
from inlay.study.statistics import spearman, value_of
from inlay.study.word_checks import CHECKS, Finding, missing_in_corpus, some_of
from inlay.vectors import Vectors

BLOCK = 1 << 14
NEAR = 0.999
"""Rows with a higher cosine are one row for all purposes."""
MANY, OFTEN = 0.05, 0.2
"""Shares of words with an exact and with a near double beyond which a space cannot tell its words apart."""
SCORES = 2_000_000_000
"""Cosines looked at for near doubles: all pairs of some 40,000 words, or 2,000 of a million with all others."""
STARTS = (0.5, 1.0)
"""Rows begin evenly between -s / dim and s / dim: word2vec with 0.5, fastText with 1."""
FEWEST = 4
"""Words that have a shape: fewer are not asked about hubs and frequency."""
QUERIES = 500
"""Words whose cosines with all sampled words are explained by frequency."""


@dataclass(frozen=True, kw_only=True)
class Examining:
    """How much of a large space is looked at."""

    sample: Positive = 20_000
    """Words looked at where all would take too long."""
    seed: Count = 1
    """Draws the sample."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Diagnosis:
    """What was found, the most serious first, and what it rests on."""

    words: int
    dim: int
    sampled: int
    seed: int
    findings: tuple[Finding, ...]

    @property
    def serious(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "serious")

    @property
    def verdict(self) -> str:
        found = {name: sum(each.severity == name for each in self.findings) for name in ("serious", "warning", "note")}
        said = ", ".join(f"{count} {PLURALS[name] if count > 1 else name}" for name, count in found.items() if count)
        return "Nothing found." if not said else f"Nothing serious: {said}." if not self.serious else f"Found {said}."


PLURALS = {"serious": "serious", "warning": "warnings", "note": "notes"}
RANKS = ("serious", "warning", "note")


def doctor(vectors: Vectors, *, corpus: Corpus | None = None, settings: Examining | None = None, report: Report = silent) -> Diagnosis:
    """Examine a space. With a corpus, words that are frequent there and missing here are named too.

    >>> doctor(vectors).verdict
    'Nothing found.'
    """
    settings = settings or Examining()
    patient = _Patient(vectors, settings, report)
    checks: list[Callable[[], list[Finding]]] = [
        lambda check=check: check(patient) for check in (_size, _zeros, _doubles, _untrained, _flat, _lengths)
    ]
    if len(vectors) >= FEWEST:
        checks += [lambda check=check: check(patient) for check in (_near_doubles, _one_way, _hubs, _frequency)]
    checks += [lambda check=check: check(vectors) for check in CHECKS]
    if corpus is not None:
        checks.append(lambda: missing_in_corpus(vectors, corpus))
    found = [each for check in counted(checks, "examining", unit="checks", report=report, every=1) for each in check()]
    found.sort(key=lambda each: RANKS.index(each.severity))
    return Diagnosis(len(vectors), vectors.dim, min(settings.sample, len(vectors)), settings.seed, tuple(found))


@dataclass(eq=False)
class _Patient:
    vectors: Vectors
    settings: Examining
    report: Report

    @functools.cached_property
    def figures(self) -> SpaceFigures | None:
        """Of the sampled words that point anywhere: a row of zeros has no neighbours, only ties. None where too few are left."""
        ids = self.sample(max(FEWEST, self.settings.sample))
        ids = ids[self.vectors.lengths[ids] > 0]
        if len(ids) < FEWEST:
            return None
        held = Vectors(Words.of([self.vectors.words[id] for id in ids.tolist()]), self.vectors.rows(ids))
        return space_figures(held, sample=len(ids), seed=self.settings.seed, report=self.report)

    def sample(self, most: int) -> np.ndarray:
        """Ids in rising order: all, or a sample."""
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        words = len(self.vectors)
        return np.arange(words) if words <= most else np.sort(random.choice(words, most, replace=False))


# --- rows ---------------------------------------------------------------------------------------------------------------


def _size(patient: _Patient) -> list[Finding]:
    words, dim = len(patient.vectors), patient.vectors.dim
    if words < 2:
        return [Finding("size", "serious", words, "One word makes no space: it has no neighbours.", "Train on more text.")]
    if words <= dim:
        sentence = f"{words:,} words in {dim:,} dimensions: each can have a direction of its own, so cosines need not mean anything."
        return [Finding("size", "serious", words / dim, sentence, "Lower dim well below the number of words, or bring more text.")]
    if words < 5 * dim:
        sentence = f"Only {words:,} words for {dim:,} dimensions."
        return [Finding("size", "warning", words / dim, sentence, "A lower dim would rest on more words each.")]
    return []


def _zeros(patient: _Patient) -> list[Finding]:
    ids = np.flatnonzero(patient.vectors.lengths == 0)
    if not len(ids):
        return []
    share = len(ids) / len(patient.vectors)
    return [
        Finding(
            "zeros", "serious" if share > 0.001 or len(ids) > 100 else "warning", len(ids),
            f"{len(ids):,} words have rows of zeros: they point nowhere and score 0 with everything.",
            "Leave these words out, or train them: they may be words that never met another, or padding.",
            some_of(patient.vectors, ids),
        )
    ]  # fmt: skip


def _doubles(patient: _Patient) -> list[Finding]:
    """Rows with the same bytes, found by their hashes."""
    vectors = patient.vectors
    hashes = np.empty(len(vectors), np.uint64)
    for start in range(0, len(vectors), BLOCK):
        rows = np.ascontiguousarray(vectors.table[start : start + BLOCK])
        hashes[start : start + BLOCK] = [xxhash.xxh3_64_intdigest(row.data) for row in rows]
    _, number, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    repeated = (counts[number] > 1) & (vectors.lengths > 0)
    ids = np.flatnonzero(repeated)
    if not len(ids):
        return []
    groups = len(np.unique(number[ids]))
    examples = tuple(
        " = ".join(vectors.words[id] for id in np.flatnonzero(number == group)[:3].tolist())
        for group in np.unique(number[ids])[:3].tolist()
    )
    return [
        Finding(
            "doubles", "serious" if len(ids) > MANY * len(vectors) else "warning", len(ids),
            f"{len(ids):,} words share their rows exactly with others, in {groups:,} groups.",
            "Words that only ever stood together may share a row; otherwise rows were copied. Look where these words came from.",
            examples,
        )
    ]  # fmt: skip


def _untrained(patient: _Patient) -> list[Finding]:
    """Rows that still look as they were first drawn: even between -s / dim and s / dim. Meaningless in few dimensions."""
    vectors, dim, ids = patient.vectors, patient.vectors.dim, np.empty(0, np.int64)
    if dim < 10:
        return []
    for scale in STARTS:
        bound = scale / dim
        # Of an even draw the mean square is bound^2 / 3, with a spread of sqrt(4 / 45 / dim) bound^2: five spreads on either side.
        expected, spread = bound**2 / 3, 5 * bound**2 * np.sqrt(4 / 45 / dim)
        for start in range(0, len(vectors), BLOCK):
            rows = vectors.table[start : start + BLOCK].astype(np.float64)
            largest = np.abs(rows).max(axis=1)
            even = (largest <= bound * 1.000001) & (largest > 0.7 * bound) & (np.abs((rows**2).mean(axis=1) - expected) < spread)
            ids = np.append(ids, start + np.flatnonzero(even))
    ids = np.unique(ids)
    if not len(ids):
        return []
    share = len(ids) / len(vectors)
    return [
        Finding(
            "untrained", "serious" if share > 0.01 or len(ids) > 100 else "warning", len(ids),
            f"{len(ids):,} rows look as they were first drawn, before any training.",
            "These words were hardly ever seen. Raise min_count, train for more epochs, or leave them out.",
            some_of(vectors, ids),
        )
    ]  # fmt: skip


def _flat(patient: _Patient) -> list[Finding]:
    low, high = patient.vectors.table.min(axis=0), patient.vectors.table.max(axis=0)
    dead = int((low == high).sum())
    if not dead or len(patient.vectors) < 2:
        return []
    sentence = f"{dead:,} of {patient.vectors.dim:,} dimensions are the same for every word: they say nothing."
    return [Finding("flat", "warning", dead, sentence, "Lower dim, or look for a mistake in how the file was made.")]


def _near_doubles(patient: _Patient) -> list[Finding]:
    """Different rows that point the same way; of a large space the words of a sample, each against all."""
    vectors = patient.vectors
    ids = patient.sample(max(1000, SCORES // len(vectors)))
    ids = ids[vectors.lengths[ids] > 0]
    found: list[tuple[int, int]] = []
    starts = range(0, len(ids), ranking.QUERIES)
    for start in counted(starts, "looking for doubles", unit="blocks", report=patient.report, every=1):
        asked = ids[start : start + ranking.QUERIES]
        rows = vectors.rows(asked)
        best = ranking.best(vectors.table, vectors.lengths, rows, n=1, without=[[id] for id in asked.tolist()])
        for id, each in zip(asked.tolist(), best, strict=True):
            if len(each.ids) and each.scores[0] >= NEAR and not np.array_equal(vectors.table[id], vectors.table[each.ids[0]]):
                found.append((id, int(each.ids[0])))
    if not found:
        return []
    share = len(found) / len(ids)
    pairs = dict.fromkeys(tuple(sorted(pair)) for pair in found)
    return [
        Finding(
            "near doubles", "serious" if share > OFTEN else "note", share,
            f"{share:.1%} of {len(ids):,} words looked at have another at a cosine above {NEAR}, though not the same row.",
            "Words that always stand in the same places are like that; many of them mean too little text, too few dimensions, or copies.",
            tuple(f"{vectors.words[one]} = {vectors.words[two]}" for one, two in list(pairs)[:3]),
        )
    ]  # fmt: skip


# --- shape --------------------------------------------------------------------------------------------------------------


def _lengths(patient: _Patient) -> list[Finding]:
    lengths = patient.vectors.lengths
    held = lengths[lengths > 0]
    if len(held) < 4:
        return []
    if np.abs(held - 1).max() < 1e-3:
        sentence = "All rows have length 1: they were normalised, and what their lengths said is lost."
        return [Finding("lengths", "note", 1.0, sentence, "Fine for cosines. Keep the original if you need dot products or to train on.")]
    found = value_of(np.column_stack([_scale(patient.vectors)[lengths > 0], held]), spearman)
    if np.isnan(found) or abs(found) < 0.7:
        return []
    longer = "Frequent" if found > 0 else "Rare"
    sentence = f"{longer} words have the longer rows (correlation of length and log frequency {found:+.2f})."
    return [Finding("lengths", "note", found, sentence, "Compare by cosine, not by dot product or distance.")]


def _one_way(patient: _Patient) -> list[Finding]:
    figures = patient.figures
    if figures is None or figures.mean_cosine < 0.2:
        return []
    severity: Literal["serious", "warning"] = "serious" if figures.mean_cosine > 0.5 else "warning"
    sentence = f"All vectors lean one way: two random words have a cosine of {figures.mean_cosine:.2f} on average."
    advice = "Subtract the mean of all rows before comparing, or search by csls; differences between cosines mean more than cosines."
    return [Finding("one way", severity, figures.mean_cosine, sentence, advice)]


def _hubs(patient: _Patient) -> list[Finding]:
    figures = patient.figures
    if figures is None or figures.skewness < 2 or figures.sampled < 5 * figures.k:
        return []
    biggest = figures.hubs[0]
    share = biggest.times / (figures.sampled - 1)
    severity: Literal["serious", "warning"] = "serious" if share > 0.2 or figures.antihubs > 0.5 else "warning"
    sentence = (
        f"Some words are everybody's neighbours: '{biggest.word}' is among the {figures.k} nearest of {share:.1%} of all words, "
        f"while {figures.antihubs:.0%} are among nobody's (skewness {figures.skewness:.1f})."
    )
    examples = tuple(each.word for each in figures.hubs[:5])
    return [Finding("hubs", severity, figures.skewness, sentence, "Search by csls: `inlay neighbors ... --by csls`.", examples)]


def _frequency(patient: _Patient) -> list[Finding]:
    """How much of the differences between cosines is explained by how frequent the words are."""
    vectors, share = patient.vectors, frequency_share(patient.vectors, sample=patient.settings.sample, seed=patient.settings.seed)
    if share < 0.1:
        return []
    severity: Literal["serious", "warning"] = "serious" if share > 0.3 else "warning"
    by = "counts" if vectors.counts is not None else "rank in the file"
    sentence = f"How frequent words are (by {by}) explains {share:.0%} of the differences between cosines: rare words find rare words."
    return [Finding("frequency", severity, share, sentence, "Search by frequency: `inlay neighbors ... --by frequency`.")]


def frequency_share(vectors: Vectors, *, sample: int = 20_000, seed: int = 1) -> float:
    """The share of the variance of cosines that the regression on frequency explains; 0 where cosines do not vary."""
    if len(vectors) < FEWEST:
        raise SettingError(f"{len(vectors)} words are too few for a regression; expected at least {FEWEST}.")
    patient = _Patient(vectors, Examining(sample=sample, seed=seed), silent)
    ids, terms_and_directions = patient.sample(sample), index_of(vectors).frequency
    terms, directions = terms_and_directions[0][ids], terms_and_directions[1]
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
