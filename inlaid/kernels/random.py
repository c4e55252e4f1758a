"""Counter-based random numbers, the same on every device.

A draw is a pure function of (seed, epoch, position, number): no state, so that any worker, and any device,
makes the same draws in any order. All arithmetic is on 32 bits, which every device has. Each function for
kernels has a twin for arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inlaid.kernels.compile import kernel, part

FIRST = 0x7FEB352D
SECOND = 0x846CA68B
STEP = 0x9E3779B9
"""Two odd factors under which a flipped bit of the input flips each bit of the output half the time (Wellons
2018), and the golden ratio, which keeps the numbers of one position far apart."""
WORD = 0xFFFFFFFF

KEEP = 0
WINDOW = 1
NOISE = 2
"""What the draws of a position are for, by number: whether its word stays, its window, and from 2 on its
negatives."""


def key_of(seed: int, epoch: int) -> np.uint64:
    """Two 32-bit words, chosen by seed and epoch; every stream of draws begins with such a key."""
    low = _mixed(seed & WORD)
    high = seed >> 32 & WORD
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
    low = np.uint32(position)
    high = np.uint32(position >> 32)
    return np.uint32(
        mix(np.uint32(mix(np.uint32(low ^ np.uint32(key))) ^ high)) ^ np.uint32(key >> np.uint64(32))
    )


@part
def draw(place, number):
    # place u4, from `at`; returns u4, uniform
    return mix(np.uint32(place + np.uint32(number) * np.uint32(0x9E3779B9)))


@part
def below(random, size):
    # random u4; returns i8 in 0..size-1
    return np.int64((np.uint64(random) * np.uint64(size)) >> np.uint64(32))


@part
def noise_word(place, number, shared, noise):
    # noise (V, 2) u4 from `noise_table`; returns the word of negative `number` of `shared`
    # Negatives share out the noise: each falls into a part of its own, so that together they are nearer to
    # the whole than chance.
    part = (1 << 32) // shared
    random = np.uint64(number * part + below(draw(place, 2 + number), part)) * np.uint64(noise.shape[0])
    slot = np.int64(random >> np.uint64(32))
    own = noise[slot, 0]
    other = np.int64(noise[slot, 1])
    return slot if np.uint32(random) < own else other


def draws(key: np.uint64, position: Any, number: Any) -> np.ndarray:
    """`draw(at(key, position), number)` for whole arrays."""
    position = np.atleast_1d(np.asarray(position, np.int64))
    number = np.atleast_1d(np.asarray(number, np.int64))
    low = (position & WORD).astype(np.uint32)
    high = (position >> 32).astype(np.uint32)
    place = _mix(_mix(low ^ np.uint32(int(key) & WORD)) ^ high) ^ np.uint32(int(key) >> 32)
    return _mix(place + (number & WORD).astype(np.uint32) * np.array([STEP], np.uint32))


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ x >> np.uint32(16)) * np.uint32(FIRST)
    x = (x ^ x >> np.uint32(15)) * np.uint32(SECOND)
    return x ^ x >> np.uint32(16)


def below_of(random: np.ndarray, size: int) -> np.ndarray:
    """`below` for whole arrays."""
    return (random.astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def noise_words(key: np.uint64, position: int, shared: int, noise: np.ndarray) -> np.ndarray:
    """`noise_word` for all numbers."""
    number = np.arange(shared)
    part = (1 << 32) // shared
    random = (number * part + below_of(draws(key, position, NOISE + number), part)).astype(
        np.uint64
    ) * np.uint64(len(noise))
    slot = (random >> np.uint64(32)).astype(np.int64)
    return np.where((random & np.uint64(WORD)) < noise[slot, 0], slot, noise[slot, 1])


def noise_table(weights: np.ndarray) -> np.ndarray:
    """For each word a slot (V, 2) u4, all drawn alike: what share of it, of 2^32, is its own, and whose the
    rest is (Walker 1977).

    One look at one place finds a word, however many there are.
    """
    shares = weights / weights.sum() * len(weights)
    others = np.arange(len(weights), dtype=np.int64)
    _fill_up(shares, others)
    return np.stack([np.minimum(shares * 2**32, WORD).astype(np.uint32), others.astype(np.uint32)], axis=1)


@kernel
def _fill_up(shares, others):
    # shares (V,) f8, 1 on average, in place: what is above 1 fills up what is below; others (V,) i8, each
    # itself, becomes who filled it up
    # In order on both sides: neighbours have the same words in their slots, so that parts of the noise are
    # alike in how frequent they are.
    size = len(shares)
    rich = 0
    for first in range(size):
        poor = first
        while shares[poor] < 1 and others[poor] == poor:
            while rich < size and (shares[rich] < 1 or others[rich] != rich):
                rich += 1
            if rich == size:
                break  # what is missing now, rounding has lost
            others[poor] = rich
            shares[rich] -= 1 - shares[poor]
            poor = rich  # who gave too much is next


def uniform(key: np.uint64, out: np.ndarray, spread: float, column: int = 0) -> None:
    """Fill a table, or its part that begins with a column, with draws from -spread to spread, a few rows at a
    time."""
    some = max(1, 1_000_000 // out.shape[1])
    for first in range(0, len(out), some):
        rows = np.arange(first, min(first + some, len(out)))
        random = draws(key, rows[:, None], column + np.arange(out.shape[1])[None])
        out[rows] = (random / 2**31 - 1) * spread
