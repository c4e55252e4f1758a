"""Counter-based random numbers, the same on every device.

A draw is a pure function of (seed, epoch, position, number): no state, so that any worker, and any device, makes the same
draws in any order. All arithmetic is on 32 bits, which every device has. Each function for kernels has a twin for arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inlay.kernels.compile import part

FIRST, SECOND, STEP = 0x7FEB352D, 0x846CA68B, 0x9E3779B9
"""Two odd factors under which a flipped bit of the input flips each bit of the output half the time (Wellons 2018), and the
golden ratio, which keeps the numbers of one position far apart."""
WORD = 0xFFFFFFFF

KEEP, WINDOW, NOISE = 0, 1, 2
"""What the draws of a position are for, by number: whether its word stays, its window, and from 2 on its negatives."""


def key_of(seed: int, epoch: int) -> np.uint64:
    """Two 32-bit words, chosen by seed and epoch; every stream of draws begins with such a key."""
    low, high = _mixed(seed & WORD), seed >> 32 & WORD
    low = _mixed(low ^ high ^ 0x5851F42D)
    low = _mixed(low + epoch * STEP & WORD)
    return np.uint64(_mixed(low ^ 0x14057B7E) << 32 | low)


def _mixed(x: int) -> int:
    x = (x ^ x >> 16) * FIRST & WORD
    x = (x ^ x >> 15) * SECOND & WORD
    return x ^ x >> 16


@part
def mix(x):
    # x u4; returns u4: every bit of x in every bit of the result, no two x alike
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32((x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@part
def at(key, position):
    # key u8; position i8, not negative; returns u4: where the draws of this position begin
    low, high = np.uint32(position), np.uint32(position >> 32)
    return np.uint32(mix(np.uint32(mix(np.uint32(low ^ np.uint32(key))) ^ high)) ^ np.uint32(key >> np.uint64(32)))


@part
def draw(place, number):
    # place u4, from `at`; returns u4, uniform
    return mix(np.uint32(place + np.uint32(number) * np.uint32(0x9E3779B9)))


@part
def below(random, size):
    # random u4; returns i8 in 0..size-1
    return np.int64((np.uint64(random) * np.uint64(size)) >> np.uint64(32))


@part
def noise_word(place, number, shared, bounds, guide):
    # bounds (V,) u4 and guide (G,) i4 from `noise_table`; returns the word of negative `number` of `shared`
    # Negatives share out the noise: each falls into a part of its own, so that together they are nearer to the whole than chance.
    part = (1 << 32) // shared
    random, last = np.uint32(number * part + below(draw(place, 2 + number), part)), bounds.shape[0] - 1
    word = np.int64(guide[below(random, guide.shape[0])])
    for _ in range(2):  # mostly far enough; a loop that ends now here, now there would be guessed wrong
        word = min(word + (bounds[word] <= random), last)
    while bounds[word] <= random and word < last:
        word += 1
    return word


def draws(key: np.uint64, position: Any, number: Any) -> np.ndarray:
    """`draw(at(key, position), number)` for whole arrays."""
    position, number = np.atleast_1d(np.asarray(position, np.int64)), np.atleast_1d(np.asarray(number, np.int64))
    low, high = (position & WORD).astype(np.uint32), (position >> 32).astype(np.uint32)
    place = _mix(_mix(low ^ np.uint32(int(key) & WORD)) ^ high) ^ np.uint32(int(key) >> 32)
    return _mix(place + (number & WORD).astype(np.uint32) * np.array([STEP], np.uint32))


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ x >> np.uint32(16)) * np.uint32(FIRST)
    x = (x ^ x >> np.uint32(15)) * np.uint32(SECOND)
    return x ^ x >> np.uint32(16)


def below_of(random: np.ndarray, size: int) -> np.ndarray:
    """`below` for whole arrays."""
    return (random.astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def noise_words(key: np.uint64, position: int, shared: int, bounds: np.ndarray) -> np.ndarray:
    """`noise_word` for all numbers."""
    number = np.arange(shared)
    part = (1 << 32) // shared
    random = number * part + below_of(draws(key, position, NOISE + number), part)
    return np.minimum(np.searchsorted(bounds, random.astype(np.uint32), "right"), len(bounds) - 1)


def noise_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where in 0..2^32 the part of each word ends, as large as its share of the weights; and a guide to find the word quickly.

    A number of 32 bits belongs to the first word whose bound is above it; guide[n of G] is that word for n / G of the way.
    """
    bounds = np.minimum(np.cumsum(weights) / weights.sum() * 2**32, WORD).astype(np.uint32)
    size = 1 << max(10, len(weights).bit_length())
    starts = (np.arange(size, dtype=np.uint64) << np.uint64(32)) // np.uint64(size)
    return bounds, np.minimum(np.searchsorted(bounds, starts.astype(np.uint32), "right"), len(weights) - 1).astype(np.int32)


def uniform(key: np.uint64, out: np.ndarray, spread: float, column: int = 0) -> None:
    """Fill a table, or its part that begins with a column, with draws from -spread to spread, a few rows at a time."""
    some = max(1, 1_000_000 // out.shape[1])
    for first in range(0, len(out), some):
        rows = np.arange(first, min(first + some, len(out)))
        random = draws(key, rows[:, None], column + np.arange(out.shape[1])[None])
        out[rows] = (random / 2**31 - 1) * spread
