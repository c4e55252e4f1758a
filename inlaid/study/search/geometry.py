"""Geometry of a space: hubness (hubs and anti-hubs) and anisotropy (how far vectors share a direction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from inlaid.config import Positive, Range, Seed, check
from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Report, counted, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.study.search import ranking
from inlaid.vectors import Vectors, lengths

HUBS = 10
"""How many of the biggest hubs are named."""
DIRECTIONS = 10
"""How many principal directions are reported."""
WIDE = 4096
"""With more dimensions than this, the principal directions come from as many rows: a larger matrix would not
fit."""


@dataclass(frozen=True, kw_only=True)
class GeometrySettings:
    """How many words and pairs the figures are measured on."""

    k: Positive = 10
    """Nearest neighbors counted for hubness."""
    sample: Annotated[int, Range(2)] = 20_000
    """Words drawn from a larger space; they are then each other's only neighbors."""
    pairs: Positive = 100_000
    """Random pairs for the mean cosine."""
    seed: Seed = 1
    """Seed of the sample and the pairs."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Hub:
    """A word, and of how many others it is among the nearest."""

    word: str
    times: int


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Hubness and anisotropy of a space, over `sampled` of its words drawn with `seed`."""

    words: int
    dim: int
    sampled: int
    seed: int
    k: int
    skewness: float
    """Of the k-occurrence, how often words are among the k nearest of others: 0 when all equally often, above
    1 with marked hubs (Radovanović 2010)."""
    hubs: tuple[Hub, ...]
    """The words with the highest k-occurrence; without hubs each would have k."""
    antihubs: float
    """The share of words that are among the nearest of none."""
    mean_cosine: float
    """Of random pairs; 0 when the vectors are isotropic."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    pairs: int
    mean_length: float
    """Length of the mean unit vector: 0 when the vectors balance, 1 when all are the same."""
    variance: tuple[float, ...]
    """Shares of the variance of unit vectors along the first principal directions."""
    zeros: int
    """Words in the sample whose vectors are zeros."""

    def rows(self) -> Sequence[Row]:
        directions = ", ".join(f"{share:.1%}" for share in self.variance[:3])
        summary = Message(
            "{words:,} words x {dim}, measured on {sampled:,} words",
            words=self.words,
            dim=self.dim,
            sampled=self.sampled,
        )
        hubness = Message("skewness of the {k}-occurrence; above 1: marked hubs", k=self.k)
        antihubs = Message("of words are among the {k} nearest of none", k=self.k)
        pairs = Message("of random pairs ({low:+.3f} to {high:+.3f})", low=self.low, high=self.high)
        length = Message("length of the mean unit vector; 0: isotropic")
        return [
            summary,
            "",
            (Message("hubness"), f"{self.skewness:.2f}", hubness),
            (Message("anti-hubs"), f"{self.antihubs:.1%}", antihubs),
            (Message("mean cosine"), f"{self.mean_cosine:+.3f}", pairs),
            (Message("mean vector"), f"{self.mean_length:.3f}", length),
            (Message("variance"), directions, Message("along the first principal directions")),
            (Message("zero vectors"), f"{self.zeros:,}", ""),
            "",
            (Message("among the {k} nearest of", k=self.k), Message("hub")),
            *((Message("{times:,} words", times=hub.times), hub.word) for hub in self.hubs),
        ]

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def geometry(
    vectors: Vectors, settings: GeometrySettings | None = None, *, report: Report = silent
) -> Geometry:
    """Hubness and anisotropy of a space; of a large space, by a sample of its words.

    Args:
        vectors: a file of vectors

    Examples:
        inlaid geometry vectors.inlaid
        inlaid geometry vectors.inlaid --k 20 --sample 50000
    """
    settings = settings or GeometrySettings()
    if len(vectors) < 2:
        raise SettingError("{count} word has no geometry: expected at least 2.", count=len(vectors))
    random = np.random.Generator(np.random.Philox(settings.seed))
    ids = np.arange(len(vectors))
    if len(vectors) > settings.sample:
        ids = np.sort(random.choice(len(vectors), settings.sample, replace=False))
    table = vectors.table[ids]
    unit = table / np.where(lengths(table) == 0, 1, lengths(table))[:, None]
    k = min(settings.k, len(ids) - 1)
    times = occurrences(unit, k=k, report=report)
    most = np.lexsort((np.arange(len(ids)), -times))[:HUBS]
    mean, half = _cosine_of_pairs(unit, settings.pairs, random)
    return Geometry(
        words=len(vectors),
        dim=vectors.dim,
        sampled=len(ids),
        seed=settings.seed,
        k=k,
        skewness=_skewness(times),
        hubs=tuple(Hub(vectors.words[int(ids[place])], int(times[place])) for place in most),
        antihubs=float((times == 0).mean()),
        mean_cosine=mean,
        low=mean - half,
        high=mean + half,
        pairs=settings.pairs,
        mean_length=float(np.linalg.norm(unit.mean(axis=0, dtype=np.float64))),
        variance=tuple(_variance(unit)[:DIRECTIONS].tolist()),
        zeros=int((~table.any(axis=1)).sum()),
    )


def occurrences(table: np.ndarray, *, k: int, report: Report = silent) -> np.ndarray:
    """The k-occurrence: how many other rows have each row among their k nearest."""
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
