"""Figures of a space: hubs that are everybody's neighbour, words that are nobody's, and how much all vectors
point one way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.errors import SettingError
from inlaid.report import Report, counted, silent
from inlaid.study.search import ranking
from inlaid.vectors import Vectors, lengths

HUBS = 10
"""The biggest, named."""
WIDE = 4096
"""Above so many dimensions as many rows give the principal directions; a larger matrix would not fit."""


@dataclass(frozen=True)
class Hub:
    """A word, and of how many others it is among the nearest."""

    word: str
    times: int


@dataclass(frozen=True, kw_only=True)
class SpaceFigures:
    """What a space looks like, over `sampled` of its words drawn with `seed`."""

    words: int
    dim: int
    sampled: int
    seed: int
    k: int
    skewness: float
    """Of how often words are among the k nearest of others: 0 when all equally often, above 1 with marked
    hubs (Radovanović 2010)."""
    hubs: tuple[Hub, ...]
    """The words found most often; each would be found k times if there were none."""
    antihubs: float
    """The share of words among the nearest of none."""
    mean_cosine: float
    """Of random pairs; 0 when vectors point in all directions alike."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    pairs: int
    mean_length: float
    """Length of the mean of the unit vectors: 0 when they balance, 1 when all are the same."""
    variance: tuple[float, ...]
    """Shares of the variance of unit vectors along the first principal directions."""
    zeros: int
    """Words in the sample whose vectors are zeros."""


def space_figures(
    vectors: Vectors,
    *,
    k: int = 10,
    sample: int = 20_000,
    pairs: int = 100_000,
    seed: int = 1,
    report: Report = silent,
) -> SpaceFigures:
    """Hubness and anisotropy of a space; larger ones by a sample of words, which are then each other's only
    neighbours."""
    if min(k, sample - 1, pairs) < 1:
        raise SettingError(f"k is {k}, sample {sample}, pairs {pairs}; expected at least 1, 2 and 1.")
    if len(vectors) < 2:
        raise SettingError(f"{len(vectors)} word makes no space: its figures need at least 2.")
    random = np.random.Generator(np.random.Philox(seed))
    ids = np.arange(len(vectors))
    if len(vectors) > sample:
        ids = np.sort(random.choice(len(vectors), sample, replace=False))
    table = vectors.table[ids]
    unit = table / np.where(lengths(table) == 0, 1, lengths(table))[:, None]
    times = occurrences(unit, k=min(k, len(ids) - 1), report=report)
    most = np.lexsort((np.arange(len(ids)), -times))[:HUBS]
    mean, half = _cosine_of_pairs(unit, pairs, random)
    return SpaceFigures(
        words=len(vectors),
        dim=vectors.dim,
        sampled=len(ids),
        seed=seed,
        k=min(k, len(ids) - 1),
        skewness=_skewness(times),
        hubs=tuple(Hub(vectors.words[int(ids[place])], int(times[place])) for place in most),
        antihubs=float((times == 0).mean()),
        mean_cosine=mean,
        low=mean - half,
        high=mean + half,
        pairs=pairs,
        mean_length=float(np.linalg.norm(unit.mean(axis=0, dtype=np.float64))),
        variance=tuple(_variance(unit)[:10].tolist()),
        zeros=int((~table.any(axis=1)).sum()),
    )


def occurrences(table: np.ndarray, *, k: int, report: Report = silent) -> np.ndarray:
    """How many other rows have each row among their k nearest."""
    times = np.zeros(len(table), np.int64)
    sizes = lengths(table)
    starts = list(range(0, len(table), ranking.QUERIES))
    for start in counted(starts, "finding hubs", unit="blocks", report=report, every=1):
        stop = min(start + ranking.QUERIES, len(table))
        found = ranking.best(
            table, sizes, table[start:stop], n=k, without=[[id] for id in range(start, stop)]
        )
        times += np.bincount(np.concatenate([each.ids for each in found]), minlength=len(table))
    return times


def _skewness(times: np.ndarray) -> float:
    """The third moment of the standardised counts; 0 where all are equal."""
    centred = times - times.mean()
    spread = centred.std()
    return float((centred**3).mean() / spread**3) if spread > 0 else 0.0


def _cosine_of_pairs(unit: np.ndarray, pairs: int, random: np.random.Generator) -> tuple[float, float]:
    """The mean cosine of random pairs of different words, and half the width of its 95 % interval."""
    first = random.integers(0, len(unit), pairs)
    second = (first + random.integers(1, len(unit), pairs)) % len(unit)
    cosines = np.concatenate(
        [
            np.einsum("pd,pd->p", unit[first[at : at + 4096]], unit[second[at : at + 4096]])
            for at in range(0, pairs, 4096)
        ]
    ).astype(np.float64)
    return float(cosines.mean()), float(1.96 * cosines.std() / np.sqrt(pairs))


def _variance(unit: np.ndarray) -> np.ndarray:
    """Shares of the variance along the principal directions, largest first."""
    rows = unit[:: -(-len(unit) // WIDE)] if unit.shape[1] > WIDE else unit
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    square = centred.T @ centred if len(centred) >= centred.shape[1] else centred @ centred.T
    values = np.maximum(np.linalg.eigvalsh(square)[::-1], 0)
    return values / values.sum() if values.sum() > 0 else values
