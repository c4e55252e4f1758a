"""Scores of many words for a few queries, read once from memory: float rows and rows of int8 codes."""

from __future__ import annotations

import numpy as np

from inlaid.kernels.compile import kernel, part


@part
def _four(row, queries, first, factor, out, here):
    # Four queries share each number of the row while it is in a register.
    a = b = c = d = np.float32(0)
    for n in range(row.shape[0]):
        value = row[n]
        a += value * queries[first, n]
        b += value * queries[first + 1, n]
        c += value * queries[first + 2, n]
        d += value * queries[first + 3, n]
    out[first, here] = a * factor
    out[first + 1, here] = b * factor
    out[first + 2, here] = c * factor
    out[first + 3, here] = d * factor


@kernel
def dots(table, factors, queries, out):
    # table (W, D) f4; factors (W,) f4; queries (Q, D) f4; out (Q, W) f4, filled with factors[w] * table[w] @
    # queries[q]
    fours = queries.shape[0] // 4 * 4
    for word in range(table.shape[0]):
        row = table[word]
        for first in range(0, fours, 4):
            _four(row, queries, first, factors[word], out, word)
        for query in range(fours, queries.shape[0]):
            total = np.float32(0)
            for n in range(row.shape[0]):
                total += row[n] * queries[query, n]
            out[query, word] = total * factors[word]


@kernel
def code_dots(codes, factors, query, out):
    # codes (W, D) i1; factors (W,) f4; query (D,) i1; out (W,) f4, filled with factors[w] * codes[w] @ query
    # 32 bits hold the sum of 127 x 127 over 133,000 dimensions; written so, the compiler multiplies 16 bits
    # and adds pairs.
    for word in range(codes.shape[0]):
        total = np.int32(0)
        for n in range(codes.shape[1]):
            total = np.int32(total + np.int32(codes[word, n]) * np.int32(query[n]))
        out[word] = np.float32(total) * factors[word]
