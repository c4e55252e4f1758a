"""Bags of words and n-grams by Numba. `reference.py` is the definition."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part

FACTOR = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
END = np.int32(-1)
"""Follows the last word of a text in its n-grams."""


@part
def _extended(hashed, id):
    # hashed u8; id i4; returns u8
    mixed = np.uint64((hashed ^ np.uint64(id + 1)) * FACTOR)
    return np.uint64(mixed ^ (mixed >> HALF))


@part
def _reaches_end(start, here, stop, word_ngrams):
    # whether the words from start to here-1 are the last of their text, and an n-gram has room for its end
    return start < here and here == stop and here < start + word_ngrams


@kernel
def count_features(ids, offsets, size, word_ngrams, spelled, bounds):
    # ids (N,) i4: text t is ids[offsets[t]:offsets[t + 1]]; words below `size` are in the vocabulary
    # spelled (W + 1,) i8: the character n-grams of word w are those from spelled[w] to spelled[w + 1]
    # bounds (T + 1,) i8, filled: where the features of each text begin
    bounds[0] = 0
    for text in range(offsets.shape[0] - 1):
        stop = offsets[text + 1]
        count = 0
        for start in range(offsets[text], stop):
            count += spelled[ids[start] + 1] - spelled[ids[start]]
            here = start
            while here < stop and here < start + word_ngrams and ids[here] < size:
                count += 1
                here += 1
            count += _reaches_end(start, here, stop, word_ngrams)
        bounds[text + 1] = bounds[text] + count


@kernel
def fill_features(ids, offsets, size, word_ngrams, buckets, spelled, grams, features):
    # as `count_features`; grams (G,) i4: buckets of character n-grams; features (F,) i4, filled
    filled = 0
    for text in range(offsets.shape[0] - 1):
        stop = offsets[text + 1]
        for start in range(offsets[text], stop):
            hashed = np.uint64(0)
            here = start
            while here < stop and here < start + word_ngrams and ids[here] < size:
                hashed = _extended(hashed, ids[here])
                if here == start:
                    features[filled] = ids[here]
                else:
                    features[filled] = size + np.int64(hashed % np.uint64(buckets))
                filled += 1
                here += 1
            if _reaches_end(start, here, stop, word_ngrams):
                hashed = _extended(hashed, END)
                features[filled] = size + np.int64(hashed % np.uint64(buckets))
                filled += 1
            for n in range(spelled[ids[start]], spelled[ids[start] + 1]):
                features[filled] = size + grams[n]
                filled += 1


@kernel
def keep_rows(features, bounds, size, rows, kept, kept_bounds):
    # features (F,) i4, bounds (T + 1,) i8; rows (buckets,) i4: the row of each bucket, or -1
    # kept (F,) i4 and kept_bounds (T + 1,) i8, filled: the rows of the features that have one
    filled = 0
    kept_bounds[0] = 0
    for text in range(bounds.shape[0] - 1):
        for n in range(bounds[text], bounds[text + 1]):
            row = features[n]
            if row >= size:
                row = rows[row - size]
            if row >= 0:
                kept[filled] = row
                filled += 1
        kept_bounds[text + 1] = filled


@kernel
def means(table, ids, bounds, out):
    # table (R, D) f4; ids (F,) i4; bounds (T + 1,) i8; out (T, D) f4, filled: zeros for an empty bag
    for text in range(bounds.shape[0] - 1):
        count = bounds[text + 1] - bounds[text]
        for d in range(table.shape[1]):
            out[text, d] = 0
        for n in range(bounds[text], bounds[text + 1]):
            row = ids[n]
            for d in range(table.shape[1]):
                out[text, d] += table[row, d]
        if count > 0:
            share = np.float32(1) / np.float32(count)
            for d in range(table.shape[1]):
                out[text, d] *= share


@kernel
def weighted_means(table, composed, weights, ids, bounds, out):
    # as `means`; composed (C, D) f4: the rows from R on, which weigh 1; weights (R,) f4
    size = table.shape[0]
    for text in range(bounds.shape[0] - 1):
        count = bounds[text + 1] - bounds[text]
        for d in range(table.shape[1]):
            out[text, d] = 0
        for n in range(bounds[text], bounds[text + 1]):
            row = ids[n]
            if row < size:
                weight = weights[row]
                for d in range(table.shape[1]):
                    out[text, d] += weight * table[row, d]
            else:
                for d in range(table.shape[1]):
                    out[text, d] += composed[row - size, d]
        if count > 0:
            share = np.float32(1) / np.float32(count)
            for d in range(table.shape[1]):
                out[text, d] *= share
