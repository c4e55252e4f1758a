"""Cells in tiles, so that workers share no row and a tile's rows stay in the cache.

Words are distributed over parts round-robin, and so are contexts; a tile holds the cells of one part of words
with one part of contexts. With three parts an epoch has three strata (Gemulla et al. 2011). The tiles of a
stratum have neither a word nor a context in common:

    stratum 0   a . .    stratum 1   . a .    stratum 2   . . a
                . b .                . . b                b . .
                . . c                c . .                . c .

So workers on the same stratum never touch the same row, and the result does not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from inlaid.feed.cooccurrence import Cells
from inlaid.files import scratch
from inlaid.kernels.glove import cpu


@dataclass(frozen=True)
class Tile:
    """One tile in one epoch: cells start..stop, visited from `first` on in strides."""

    start: int
    stop: int
    first: int
    stride: int


@dataclass(frozen=True, eq=False)
class Tiles:
    """Cells as rows of (row, column, log count, weight), tile after tile, shuffled inside each."""

    places: np.ndarray
    """(cell, 4) int32: row and column are the first two."""
    starts: np.ndarray
    """Where tile (part of words, part of contexts) begins, flat; one more than tiles."""
    seed: int

    def __len__(self) -> int:
        return len(self.places)

    @property
    def values(self) -> np.ndarray:
        """The same array as float32: log count and weight are the last two."""
        return self.places.view(np.float32)

    @property
    def parts(self) -> int:
        return math.isqrt(len(self.starts) - 1)

    def epoch(self, epoch: int) -> list[list[Tile]]:
        """The strata of an epoch, in an order that is a function of seed and epoch alone, and so is that of
        the cells in a tile."""
        return _epoch(self.starts.tobytes(), self.seed, epoch)


def tiles(
    cells: Cells, *, parts: int, x_max: float, alpha: float, seed: int, workers: int = 1, memory: int
) -> Tiles:
    """Sort cells into parts x parts tiles, the weight of a count being min(1, (count / x_max) ** alpha).

    Where they take more than `memory` MB they are kept in an unnamed temporary file.
    """
    lengths = np.empty((parts, parts), np.int64)
    shape = (len(cells), 4)
    too_large = len(cells) * 16 > memory * 1_000_000
    places = scratch(shape, np.int32) if too_large else np.empty(shape, np.int32)
    filled = cpu.Cells(places, places.view(np.float32))
    weighting = cpu.Weighting(x_max, alpha)
    pairs = places.view(np.int64)
    shared(
        workers,
        range(parts),
        lambda part: cpu.count_tiles(cells.starts, cells.columns, parts, part, lengths[part]),
    )
    starts = np.concatenate([[0], np.cumsum(lengths)])
    seeds = np.random.Generator(np.random.Philox(seed)).integers(0, 1 << 62, parts * parts).tolist()

    def fill(part: int) -> None:
        next_cell = starts[part * parts : (part + 1) * parts].copy()
        cpu.fill_tiles(cells.starts, cells.columns, cells.counts, part, weighting, next_cell, filled)
        for tile in range(part * parts, (part + 1) * parts):
            cpu.shuffle(pairs[starts[tile] : starts[tile + 1]], seeds[tile])

    shared(workers, range(parts), fill)
    return Tiles(places, starts, seed)


def shared(workers: int, items: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
    """The results of `work` for each item, in order; the items are shared among threads."""
    if workers == 1:
        return [work(each) for each in items]
    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        return list(pool.map(work, items))


@lru_cache(maxsize=2)
def _epoch(starts: bytes, seed: int, epoch: int) -> list[list[Tile]]:
    bounds = np.frombuffer(starts, np.int64).tolist()
    parts = math.isqrt(len(bounds) - 1)
    random = np.random.Generator(np.random.Philox(key=np.array([seed, epoch + 1], np.uint64)))
    draws = iter(random.integers(0, 1 << 62, (parts * parts, 2)).tolist())
    return [list(_stratum(bounds, parts, shift, draws)) for shift in random.permutation(parts).tolist()]


def _stratum(bounds: list[int], parts: int, shift: int, draws: Iterator[list[int]]) -> Iterator[Tile]:
    for part in range(parts):
        tile = part * parts + (part + shift) % parts
        size = bounds[tile + 1] - bounds[tile]
        first, stride = next(draws)
        stride = stride % max(size, 1) + 1
        while math.gcd(stride, size) > 1:  # without a common factor every cell is visited once
            stride += 1
        yield Tile(bounds[tile], bounds[tile + 1], first % max(size, 1), stride % max(size, 1))
