"""How well each word of a vocabulary fits a blank, by the two tables of a method such as word2vec.

The weights of contexts and the default of the prior were chosen on held-out sentences of the English and the
Chinese Wikipedia (`benchmarks/fill_quality.py`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from inlaid.vectors import LazyTable, Vectors

WINDOW = 5
"""Used where the card of the vectors gives no window."""
SIF = 1e-2
"""A context word of relative frequency p has the weight SIF / (SIF + p): "the" says little about a blank
(smooth inverse frequency; Arora et al. 2017)."""
ROW_BLOCK = 1 << 16

Objective = Literal["cbow", "skipgram"]


def context_weights(vectors: Vectors, ids: np.ndarray, left: int, sif: float = SIF) -> np.ndarray:
    """How much each word around a blank counts; the first `left` of them are before it."""
    distances = np.array([*range(left, 0, -1), *range(1, len(ids) - left + 1)])
    if vectors.counts is None:
        return 1 / distances
    frequencies = vectors.counts[ids] / max(int(vectors.counts.sum()), 1)
    return sif / (sif + frequencies) / distances


def word_scores(
    vectors: Vectors, ids: np.ndarray, weights: np.ndarray, objective: Objective, prior: float
) -> np.ndarray:
    """(word,): how well each word of the vocabulary fits between the words `ids`."""
    centers, contexts = _sums(vectors, ids, weights, objective)
    scores = _times(_context_table(vectors), centers)
    if contexts is not None:
        scores += _times(vectors.table, contexts)
    if prior and vectors.counts is not None:
        scores += prior * np.log(np.maximum(vectors.counts, 1))
    return scores


def _sums(
    vectors: Vectors, ids: np.ndarray, weights: np.ndarray, objective: Objective
) -> tuple[np.ndarray, np.ndarray | None]:
    """What context vectors of candidates are multiplied with, and what their vectors are."""
    centers = weights @ vectors.rows(ids).astype(np.float64)
    if objective == "cbow":
        settings = vectors.card.settings
        # In training, a window drawn from 1 to `window` has `window` + 1 words on average.
        words = int(settings.get("window") or WINDOW) + 1 if settings.get("cbow_combine") == "sum" else 1
        return centers * words / weights.sum(), None
    return centers / 2, weights @ _rows(_context_table(vectors), ids) / 2


def strongest_contexts(
    vectors: Vectors, ids: np.ndarray, weights: np.ndarray, objective: Objective, words: np.ndarray
) -> list[int | None]:
    """For each of some words, the place of the context that adds most to its score."""
    added = weights[:, None] * (vectors.rows(ids) @ _rows(_context_table(vectors), words).T)
    if objective == "skipgram":
        added += weights[:, None] * (_rows(_context_table(vectors), ids) @ vectors.rows(words).T)
    most = added.argmax(axis=0)
    return [place if added[place, column] > 0 else None for column, place in enumerate(most.tolist())]


def _context_table(vectors: Vectors) -> np.ndarray | LazyTable:
    return vectors.contexts if vectors.contexts is not None else vectors.stored


def _rows(table: np.ndarray | LazyTable, ids: np.ndarray) -> np.ndarray:
    rows = table[ids] if isinstance(table, np.ndarray) else table.rows(ids)
    return rows.astype(np.float64)


def _times(table: np.ndarray | LazyTable, row: np.ndarray) -> np.ndarray:
    """Each row of the table times one row, block by block."""
    size = table.shape[0]
    out = np.empty(size)
    for start in range(0, size, ROW_BLOCK):
        stop = min(start + ROW_BLOCK, size)
        rows = table[start:stop] if isinstance(table, np.ndarray) else table.rows(np.arange(start, stop))
        out[start:stop] = rows @ row.astype(np.float32)
    return out
