"""How far a 2-D map can be trusted: its false neighbours and the ones it hides, word by word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.report import Progress, Report, silent
from inlaid.shapes import Places, Rows

NEIGHBORS = 10
"""Nearest words that are compared; fewer where the map has few."""
PAIRS = 400_000_000
"""Pairs of words that are compared at most: all those of 20,000 words. Of larger maps a sample of words is
looked at."""


@dataclass(frozen=True)
class Faithfulness:
    """How far a map can be trusted, over the `k` nearest words of each word on the map and in the space."""

    k: int
    closest: int
    """How many of the nearest words in the space `missing` speaks of."""
    false: float
    """Share of the k nearest on the map that are not among the k nearest in the space."""
    missing: float
    """Share of the `closest` nearest in the space that are not among the k nearest on the map.

    Of the k nearest this would be `false` again, as both sides have k places; of the closest it says what the
    map tore apart.
    """
    trustworthiness: float
    """1 when no neighbour is false; the less, the further away in the space the false ones are (Venna and
    Kaski 2001)."""
    continuity: float
    """1 when no neighbour is missing; the less, the further away on the map they were put."""
    looked_at: int
    """Words these figures were measured on."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The figures of a map and, for each of its words, the share of true neighbours and the nearest in the
    space."""

    figures: Faithfulness | None
    """None where there are fewer than three words."""
    true: np.ndarray
    """(word,) f8: of the k nearest on the map, the share that is among the k nearest in the space; NaN where
    not looked at."""
    nearest: np.ndarray
    """(word, k) i4: the nearest in the space, nearest first; -1 where not looked at."""


def faithfulness(
    unit: Rows,
    places: Places,
    *,
    k: int = NEIGHBORS,
    pairs: int = PAIRS,
    seed: int = 1,
    report: Report = silent,
) -> Measured:
    """Compare neighbours in the space, by cosine of these unit vectors, with neighbours on the map.

    Equally near words count in the order they are given. Where there are more pairs of words than `pairs`, a
    sample of words, drawn with the seed, is compared with all.
    """
    size = len(unit)
    k = min(
        k, (size - 1) // 2
    )  # beyond half of the words the two figures have no worst case to be measured against
    true = np.full(size, np.nan)
    nearest = np.full((size, max(k, 0)), -1, np.int32)
    if k < 1:
        return Measured(None, true, nearest)
    closest = max(1, k // 3)
    wide = unit.astype(np.float64)
    plane = places.astype(np.float64)
    ids = _sample(size, max(1, pairs // size), seed)
    too_far = torn = lost = 0
    rows = max(1, (1 << 22) // size)  # blocks of 32 MB
    for start in range(0, len(ids), rows):
        block = ids[start : start + rows]
        in_space = -(wide[block] @ wide.T)
        on_map = (plane[block, :1] - plane[:, 0]) ** 2 + (plane[block, 1:] - plane[:, 1]) ** 2
        for id, apart, shown_apart in zip(block.tolist(), in_space, on_map, strict=True):
            apart[id] = shown_apart[id] = np.inf
            near = _nearest(apart, k)
            shown = _nearest(shown_apart, k)
            false = set(shown) - set(near)
            gone = set(near) - set(shown)
            too_far += sum(_rank(apart, other) - k for other in false)
            torn += sum(_rank(shown_apart, other) - k for other in gone)
            lost += len(gone.intersection(near[:closest]))
            true[id] = 1 - len(false) / k
            nearest[id] = near
        report(Progress("comparing neighbours", start + len(block), len(ids), "words"))
    worst = len(ids) * k * (2 * size - 3 * k - 1) / 2
    figures = Faithfulness(
        k=k,
        closest=closest,
        false=float(1 - true[ids].mean()),
        missing=lost / (closest * len(ids)),
        trustworthiness=1 - too_far / worst,
        continuity=1 - torn / worst,
        looked_at=len(ids),
    )
    return Measured(figures, true, nearest)


def _sample(size: int, most: int, seed: int) -> np.ndarray:
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.Generator(np.random.Philox(seed)).choice(size, most, replace=False))


def _nearest(apart: np.ndarray, k: int) -> list[int]:
    """The k smallest, smallest first, equal ones in the order of their ids; without sorting them all."""
    few = np.flatnonzero(apart <= np.partition(apart, k - 1)[k - 1])
    return few[np.argsort(apart[few], kind="stable")[:k]].tolist()


def _rank(apart: np.ndarray, id: int) -> int:
    """1 for the nearest."""
    return int(np.count_nonzero(apart < apart[id]) + np.count_nonzero(apart[:id] == apart[id]) + 1)
