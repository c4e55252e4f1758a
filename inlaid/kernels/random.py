"""Counter-based random numbers, the same on every device.

A draw is a pure function of (seed, epoch, position, number): there is no state to pass on, so any worker, and
any device, makes the same draws in any order. All arithmetic is on 32 bits, which every device has. Functions
for kernels have a twin for arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inlaid.kernels.compile import kernel, part

FIRST = 0x7FEB352D
SECOND = 0x846CA68B
STEP = 0x9E3779B9
"""Two odd factors under which a flipped bit of the input flips each bit of the output half the time (Wellons
2018), and the golden ratio, which keeps the draws of one position apart."""
MASK = 0xFFFFFFFF

KEEP = 0
WINDOW = 1
NEGATIVES = 2
"""The numbers of the draws of a position: whether subsampling keeps its word, its window, and from 2 on its
negatives."""

SHARE = 0
ALIAS = 1
"""Columns of an alias table."""


def key_of(seed: int, epoch: int) -> np.uint64:
    """Two 32-bit words that depend on seed and epoch: the key of all draws of an epoch."""
    low = _mixed(seed & MASK)
    high = seed >> 32 & MASK
    low = _mixed(low ^ high ^ 0x5851F42D)
    low = _mixed(low + epoch * STEP & MASK)
    return np.uint64(_mixed(low ^ 0x14057B7E) << 32 | low)


def _mixed(x: int) -> int:
    x = (x ^ x >> 16) * FIRST & MASK
    x = (x ^ x >> 15) * SECOND & MASK
    return x ^ x >> 16


@part
def mix(x):
    # x u4; returns u4, a bijection: every bit of x in every bit of the result
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32((x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x ^ (x >> np.uint32(16)))


@part
def counter(key, position):
    # key u8; position i8, not negative; returns u4: what the draws of this position are numbered from
    low = np.uint32(position)
    high = np.uint32(position >> 32)
    return np.uint32(
        mix(np.uint32(mix(np.uint32(low ^ np.uint32(key))) ^ high)) ^ np.uint32(key >> np.uint64(32))
    )


@part
def draw(counter, number):
    # counter u4, from `counter`; returns u4, uniform
    return mix(np.uint32(counter + np.uint32(number) * np.uint32(0x9E3779B9)))


@part
def below(random, size):
    # random u4; returns i8 in 0..size-1
    return np.int64((np.uint64(random) * np.uint64(size)) >> np.uint64(32))


@part
def noise_word(counter, number, count, noise):
    # noise (V, 2) u4 from `alias_table`; returns negative `number` of `count`
    # Stratified: each negative is drawn from its own part of the distribution, so that together they are
    # nearer to it than independent draws.
    stratum = (1 << 32) // count
    random = np.uint64(number * stratum + below(draw(counter, 2 + number), stratum)) * np.uint64(
        noise.shape[0]
    )
    slot = np.int64(random >> np.uint64(32))
    share = noise[slot, SHARE]
    alias = np.int64(noise[slot, ALIAS])
    return slot if np.uint32(random) < share else alias


def draws(key: np.uint64, position: Any, number: Any) -> np.ndarray:
    """`draw(counter(key, position), number)` for whole arrays."""
    position = np.atleast_1d(np.asarray(position, np.int64))
    number = np.atleast_1d(np.asarray(number, np.int64))
    low = (position & MASK).astype(np.uint32)
    high = (position >> 32).astype(np.uint32)
    counters = _mix(_mix(low ^ np.uint32(int(key) & MASK)) ^ high) ^ np.uint32(int(key) >> 32)
    return _mix(counters + (number & MASK).astype(np.uint32) * np.array([STEP], np.uint32))


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ x >> np.uint32(16)) * np.uint32(FIRST)
    x = (x ^ x >> np.uint32(15)) * np.uint32(SECOND)
    return x ^ x >> np.uint32(16)


def below_each(random: np.ndarray, size: int) -> np.ndarray:
    """`below` for whole arrays."""
    return (random.astype(np.uint64) * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def noise_words(key: np.uint64, position: int, count: int, noise: np.ndarray) -> np.ndarray:
    """`noise_word` for all numbers below `count`."""
    number = np.arange(count)
    stratum = (1 << 32) // count
    within = below_each(draws(key, position, NEGATIVES + number), stratum)
    random = (number * stratum + within).astype(np.uint64) * np.uint64(len(noise))
    slot = (random >> np.uint64(32)).astype(np.int64)
    return np.where((random & np.uint64(MASK)) < noise[slot, SHARE], slot, noise[slot, ALIAS])


def alias_table(weights: np.ndarray) -> np.ndarray:
    """The alias table (V, 2) u4 of a distribution (Walker 1977).

    A word is drawn by choosing one of V slots uniformly. Slot w holds the share of it, of 2^32, that belongs
    to word w, and the alias, the word that the rest belongs to. So one access to memory finds a word,
    whatever the size of the vocabulary.
    """
    shares = weights / weights.sum() * len(weights)
    aliases = np.arange(len(weights), dtype=np.int64)
    _assign_aliases(shares, aliases)
    scaled = np.minimum(shares * 2**32, MASK)
    return np.stack([scaled.astype(np.uint32), aliases.astype(np.uint32)], axis=1)


@kernel
def _assign_aliases(shares, aliases):
    # shares (V,) f8, 1 on average, in place: what is above 1 fills slots that are below; aliases (V,) i8,
    # each itself, become the words that filled them Both sides go in order: neighboring slots have the same
    # alias, so the strata of negatives have words of similar frequency.
    size = len(shares)
    large = 0
    for first in range(size):
        small = first
        while shares[small] < 1 and aliases[small] == small:
            while large < size and (shares[large] < 1 or aliases[large] != large):
                large += 1
            if large == size:
                break  # what is missing now was lost by rounding
            aliases[small] = large
            shares[large] -= 1 - shares[small]
            small = large  # it may have given too much


def uniform(key: np.uint64, out: np.ndarray, limit: float) -> None:
    """Fill a table with draws from -limit to limit, some rows at a time."""
    step = max(1, 1_000_000 // out.shape[1])
    for first in range(0, len(out), step):
        rows = np.arange(first, min(first + step, len(out)))
        random = draws(key, rows[:, None], np.arange(out.shape[1])[None])
        out[rows] = (random / 2**31 - 1) * limit
