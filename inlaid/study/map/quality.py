"""How far a 2-D map can be trusted: false and missing neighbors, trustworthiness and continuity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.report import Progress, Report, silent
from inlaid.shapes import Places, Rows

NEIGHBORS = 10
"""Nearest words that are compared; fewer on a small map."""
PAIRS = 400_000_000
"""Pairs of words that are compared at most: all those of 20,000 words. Of larger maps a sample of words is
compared."""
NUMBERS_HELD = 1 << 22
"""Distances in memory at a time: 32 MB."""


@dataclass(frozen=True)
class MapQuality:
    """How far a map can be trusted, over the `k` nearest words of each word on the map and in the space."""

    k: int
    closest: int
    """How many of the nearest words in the space `missing` counts."""
    false: float
    """Share of the k nearest on the map that are not among the k nearest in the space."""
    missing: float
    """Share of the `closest` nearest in the space that are not among the k nearest on the map.

    For the k nearest this would equal `false`, since both sides have k places; for the closest it says what
    the map separated.
    """
    trustworthiness: float
    """1 when no neighbor is false; lower the further away in the space the false ones are (Venna and Kaski
    2001)."""
    continuity: float
    """1 when no neighbor is missing; lower the further away on the map the missing ones are."""
    sampled: int
    """Words these figures were measured on."""


@dataclass(frozen=True, eq=False)
class MeasuredMap:
    """The quality of a map and, for each of its words, the share of true neighbors and the nearest in the
    space."""

    quality: MapQuality | None
    """None where there are fewer than three words."""
    true: np.ndarray
    """(word,) f8: share of the k nearest on the map that are among the k nearest in the space; NaN where not
    sampled."""
    nearest: np.ndarray
    """(word, k) i4: the nearest in the space, nearest first; -1 where not sampled."""


def measure_map(
    unit: Rows,
    places: Places,
    *,
    k: int = NEIGHBORS,
    pairs: int = PAIRS,
    seed: int = 1,
    report: Report = silent,
) -> MeasuredMap:
    """Compare neighbors in the space, by cosine of these unit vectors, with neighbors on the map.

    Ties count in the order of the words. Where there are more pairs of words than `pairs`, a random sample of
    words is compared with all.
    """
    size = len(unit)
    k = min(k, (size - 1) // 2)  # beyond half of the words the two metrics have no worst case to normalize by
    true = np.full(size, np.nan)
    nearest = np.full((size, max(k, 0)), -1, np.int32)
    if k < 1:
        return MeasuredMap(None, true, nearest)
    closest = max(1, k // 3)
    space = unit.astype(np.float64)
    plane = places.astype(np.float64)
    ids = _sample(size, max(1, pairs // size), seed)
    false_ranks = 0
    missing_ranks = 0
    missing_closest = 0
    block_size = max(1, NUMBERS_HELD // size)
    for start in range(0, len(ids), block_size):
        block = ids[start : start + block_size]
        in_space = -(space[block] @ space.T)
        on_map = (plane[block, :1] - plane[:, 0]) ** 2 + (plane[block, 1:] - plane[:, 1]) ** 2
        for id, space_distances, map_distances in zip(block.tolist(), in_space, on_map, strict=True):
            space_distances[id] = np.inf
            map_distances[id] = np.inf
            near_in_space = _nearest(space_distances, k)
            near_on_map = _nearest(map_distances, k)
            false = set(near_on_map) - set(near_in_space)
            missing = set(near_in_space) - set(near_on_map)
            false_ranks += sum(_rank(space_distances, other) - k for other in false)
            missing_ranks += sum(_rank(map_distances, other) - k for other in missing)
            missing_closest += len(missing.intersection(near_in_space[:closest]))
            true[id] = 1 - len(false) / k
            nearest[id] = near_in_space
        report(Progress("comparing neighbors", start + len(block), len(ids), "words"))
    worst = len(ids) * k * (2 * size - 3 * k - 1) / 2
    quality = MapQuality(
        k=k,
        closest=closest,
        false=float(1 - true[ids].mean()),
        missing=missing_closest / (closest * len(ids)),
        trustworthiness=1 - false_ranks / worst,
        continuity=1 - missing_ranks / worst,
        sampled=len(ids),
    )
    return MeasuredMap(quality, true, nearest)


def _sample(size: int, most: int, seed: int) -> np.ndarray:
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.Generator(np.random.Philox(seed)).choice(size, most, replace=False))


def _nearest(distances: np.ndarray, k: int) -> list[int]:
    """The k smallest, smallest first, ties in the order of their ids; without sorting them all."""
    few = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])
    return few[np.argsort(distances[few], kind="stable")[:k]].tolist()


def _rank(distances: np.ndarray, id: int) -> int:
    """1 for the nearest."""
    nearer = np.count_nonzero(distances < distances[id])
    ties_before = np.count_nonzero(distances[:id] == distances[id])
    return int(nearer + ties_before + 1)
