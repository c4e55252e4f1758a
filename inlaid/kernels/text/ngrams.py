"""Hashed character n-grams of a whole vocabulary, and the mean of a word's own row and theirs."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part
from inlaid.kernels.simd.byte_vectors import prefetch_at

BASIS = np.uint32(2166136261)
PRIME = np.uint32(16777619)
PREFETCH_AHEAD = 6
OPEN = np.uint8(ord("<"))
CLOSE = np.uint8(ord(">"))


@kernel
def count_ngrams(blob, offsets, min_n, max_n, bounds):
    # blob (B,) u1: the words end to end; offsets (W+1,) i8: where each starts
    # bounds (W+1,) i8, filled: where the n-grams of each word start
    bounds[0] = 0
    for word in range(offsets.shape[0] - 1):
        characters = 2
        found = 0
        for here in range(offsets[word], offsets[word + 1]):
            characters += blob[here] & 0xC0 != 0x80
        for size in range(max(min_n, 1), min(max_n, characters) + 1):
            found += characters - size + 1 if size > 1 else characters - 2
        bounds[word + 1] = bounds[word] + (0 if _is_end(blob, offsets[word], offsets[word + 1]) else found)


@kernel
def fill_ngrams(blob, offsets, min_n, max_n, buckets, bounds, ids):
    # as above; buckets: how many there are, u4; ids (bounds[W],) i4, filled
    for word in range(offsets.shape[0] - 1):
        # positions start and stop are those of < and >
        start = offsets[word] - 1
        stop = offsets[word + 1]
        filled = bounds[word]
        if bounds[word + 1] == filled:
            continue
        for first in range(start, stop + 1):
            if _continues(blob, first, start, stop):
                continue
            value = BASIS
            last = first
            size = 0
            while last <= stop and size < max_n:
                value = _fnv(value, _byte(blob, last, start, stop))
                last += 1
                while last <= stop and _continues(blob, last, start, stop):
                    value = _fnv(value, blob[last])
                    last += 1
                size += 1
                if size >= min_n and not (size == 1 and (first == start or last > stop)):
                    ids[filled] = np.int32(value % buckets)
                    filled += 1


@kernel
def mean_with_ngrams(rows, buckets, ids, offsets):
    # rows (W, D) f4, in place: a word's own row becomes the mean of it and the rows of its n-grams
    # buckets (K, D) f4; ids (N,) i4; offsets (W+1,) i8
    last = offsets[rows.shape[0]] - 1
    for word in range(rows.shape[0]):
        row = rows[word]  # one view for each row, not two indexes for each number: four times as fast
        for n in range(offsets[word], offsets[word + 1]):
            prefetch_at(buckets, ids[min(n + PREFETCH_AHEAD, last)])
            bucket = buckets[ids[n]]
            for d in range(row.shape[0]):
                row[d] += bucket[d]
        share = np.float32(1 / (offsets[word + 1] - offsets[word] + 1))
        for d in range(row.shape[0]):
            row[d] *= share


@part
def _fnv(value, byte):
    return np.uint32((value ^ np.uint32(np.int8(byte))) * PRIME)  # int8: fastText's chars are signed


@part
def _byte(blob, here, start, stop):
    if here == start:
        return OPEN
    return CLOSE if here == stop else blob[here]


@part
def _continues(blob, here, start, stop):
    return here != start and here != stop and blob[here] & 0xC0 == 0x80


@part
def _is_end(blob, start, stop):
    return (
        stop - start == 4
        and blob[start] == 60
        and blob[start + 1] == 47
        and blob[start + 2] == 115
        and blob[start + 3] == 62
    )
