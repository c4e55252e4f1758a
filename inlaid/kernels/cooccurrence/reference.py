"""Co-occurrence counts and PPMI in plain NumPy: the specification."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def cooccurrence(
    ids: np.ndarray, offsets: np.ndarray, size: int, window: int, weights: np.ndarray
) -> np.ndarray:
    """How often words occur together: weights[d] is added for every two tokens d apart in one sentence, d at
    most `window`."""
    table = np.zeros((size, size))
    for start, stop in pairwise(offsets):
        sentence = ids[start:stop]
        for here in range(len(sentence)):
            for there in range(max(0, here - window), min(len(sentence), here + window + 1)):
                if there != here:
                    table[sentence[here], sentence[there]] += weights[abs(there - here)]
    return table


def ppmi(counts: np.ndarray, smoothing: float, shift: float) -> np.ndarray:
    """Positive pointwise mutual information of a table of counts: max(0, log p(w,c) / (p(w) p'(c)) - log
    shift).

    p'(c) is the probability of a context raised to `smoothing`: it makes rare contexts less surprising
    (Levy, Goldberg and Dagan 2015, section 3.2).
    """
    total = counts.sum()
    word = counts.sum(axis=1, keepdims=True) / total
    context = counts.sum(axis=0, keepdims=True) ** smoothing
    context = context / context.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(counts / total / (word * context)) - np.log(shift)
    return np.where(counts > 0, np.maximum(pmi, 0), 0)


def sparse_times_dense(
    starts: np.ndarray, columns: np.ndarray, values: np.ndarray, dense: np.ndarray
) -> np.ndarray:
    """A sparse matrix in rows (row r has columns[starts[r]:starts[r+1]]) times a dense one."""
    rows = [values[a:b] @ dense[columns[a:b]] for a, b in pairwise(starts)]
    return np.array(rows, dtype=dense.dtype).reshape(-1, dense.shape[1])
