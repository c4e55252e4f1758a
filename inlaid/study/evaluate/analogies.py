"""Thousands of analogies solved at once, by 3CosAdd and 3CosMul in one pass over the words.

The questions have few distinct words (905 in the 19,544 questions of Google's set), so the cosines of these
with all words are computed once. A question is then a sum of three rows instead of a matrix product;
questions that share a and b share half of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.report import Progress, Report, silent
from inlaid.shapes import Table
from inlaid.study.evaluate.oov import rows_of

HELD = 1 << 26
"""Cosines in memory at a time: 256 MB."""
WIDEST = 32_768
"""Words scored at a time: a few rows of this width fit into a core's cache."""
EPSILON = 1e-6
"""Keeps 3CosMul from dividing by zero; gensim's value."""


@dataclass(frozen=True)
class Solved:
    """For each question the word that 3CosAdd found, and the one 3CosMul found; of equal scores, the lower
    id."""

    add: np.ndarray
    multiply: np.ndarray


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; a row of zeros stays zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


def solve(
    table: Table,
    given: np.ndarray,
    left_out: np.ndarray,
    report: Report = silent,
    *,
    composed: np.ndarray | None = None,
) -> Solved:
    """Answer "a is to b as c is to ?" for ids `given` (question, 3), never with `left_out` (question, any).

    Ids from the length of the table on are rows of `composed`: words to ask about that cannot be answers.

    3CosAdd: the word d with the greatest cos(d, b) - cos(d, a) + cos(d, c).
    3CosMul: the greatest cos(d, b) cos(d, c) / (cos(d, a) + epsilon), with cosines shifted to be between 0
    and 1.
    """
    asked, places = np.unique(given, return_inverse=True)
    places = places.reshape(given.shape)
    order = np.lexsort(places.T[::-1])
    asked_units = unit(table[asked] if composed is None else rows_of(table, composed, asked))
    best = np.full((2, len(given)), -np.inf, np.float32)
    answers = np.full((2, len(given)), -1, np.int64)
    step = min(max(HELD // (2 * max(len(asked), 1)), 1), WIDEST)
    for start in range(0, len(table), step):
        cosines = asked_units @ unit(table[start : start + step]).T
        width = cosines.shape[1]
        # Scores have one column more than words: ids to leave out that are in other blocks are written there.
        hidden = np.where((left_out >= start) & (left_out < start + width), left_out - start, width)
        scores, found = _best(cosines, places[order], hidden[order])
        better = np.empty_like(best, bool)
        better[:, order] = scores > best[:, order]
        ids = np.empty_like(answers)
        ids[:, order] = found + start
        answers[better] = ids[better]
        best[:, order] = np.maximum(best[:, order], scores)
        report(Progress("solving analogies", min(start + step, len(table)), len(table), "words"))
    return Solved(*answers)


def _best(cosines: np.ndarray, places: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best score and its column for each question, sorted by a and b; rows: 3CosAdd, 3CosMul."""
    width = cosines.shape[1]
    shifted = (cosines + 1) / 2
    offset = np.empty(width, np.float32)
    ratio = np.empty(width, np.float32)
    sums = np.empty(width + 1, np.float32)
    products = np.empty(width + 1, np.float32)
    scores = np.empty((2, len(places)), np.float32)
    found = np.empty((2, len(places)), np.int64)
    pair = (-1, -1)
    for number, (a, b, c) in enumerate(places.tolist()):
        if (a, b) != pair:
            pair = (a, b)
            np.subtract(cosines[b], cosines[a], out=offset)
            np.add(shifted[a], np.float32(EPSILON), out=ratio)
            np.divide(shifted[b], ratio, out=ratio)
        np.add(offset, cosines[c], out=sums[:-1])
        np.multiply(ratio, shifted[c], out=products[:-1])
        for row, candidates in enumerate((sums, products)):
            candidates[hidden[number]] = -np.inf
            at = candidates[:-1].argmax()
            found[row, number] = at
            scores[row, number] = candidates[at]
    return scores, found
