"""The definition of bags, in plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
"""The golden ratio times 2^64: an odd number whose multiples spread over all bits."""

END = -1
"""Follows the last word of a text in its n-grams."""


def extended(hashed: int, id: int) -> int:
    """The hash of an n-gram of words from that of the words before the last, and the id of the last."""
    mixed = (hashed ^ (id + 1)) * FACTOR & MASK
    return mixed ^ mixed >> 32


def features(
    ids: Sequence[int], *, size: int, word_ngrams: int, buckets: int, spelled: Sequence[Sequence[int]]
) -> list[int]:
    """The features of one text: ids below `size` are words, the others buckets of n-grams.

    A word outside the vocabulary, whose id is `size` or more, is no feature, and no n-gram contains it. The
    end of the text counts as a word of n-grams, so that what a text ends with is a feature.
    `spelled` has the buckets of the character n-grams of every word, in or out of the vocabulary.
    """
    found: list[int] = []
    for start, first in enumerate(ids):
        if first < size:
            found.append(first)
            hashed = extended(0, first)
            for id in [*ids, END][start + 1 : start + word_ngrams]:
                if id >= size:
                    break
                hashed = extended(hashed, id)
                found.append(size + hashed % buckets)
        found += [size + bucket for bucket in (spelled[first] if len(spelled) else ())]
    return found


def means(table: np.ndarray, ids: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The mean of the rows of each bag ids[bounds[t]:bounds[t + 1]]; zeros for an empty one."""
    found = np.zeros((len(bounds) - 1, table.shape[1]), np.float32)
    for text in range(len(found)):
        rows = ids[bounds[text] : bounds[text + 1]]
        if len(rows):
            found[text] = table[rows].mean(axis=0)
    return found


def weighted_means(
    table: np.ndarray, composed: np.ndarray, weights: np.ndarray, ids: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """The mean of the rows of each bag, each times its weight; rows after those of the table are `composed`,
    and weigh 1."""
    every = np.concatenate([table * weights[:, None], composed])
    return means(every, ids, bounds)
