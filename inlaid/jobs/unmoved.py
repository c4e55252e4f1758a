"""Unmoved rows: vectors that are as random after training as before it, although they had examples.

A word that subsampling dropped, or that was always alone in its sentence, has no example, and its row stays
where it started. A row that stays although its word had examples shows a setting that does not work, such as
a learning rate so low that every step is rounded away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from inlaid.jobs.training import HasRows, Training
from inlaid.report import Note
from inlaid.vectors import Outcome

ENOUGH = 5
"""Examples from which a row must have moved. The first ones may meet rows that are still zero and move
nothing."""
PIECE = 256
"""Rows hashed together; they stay in the cache."""


class Unmoved:
    """Hashes of the rows as they were before training, 4 bytes a row."""

    def __init__(self, training: Training) -> None:
        self.before = {name: row_hashes(rows) for name, rows in _rows(training).items()}

    def count(self, training: Training, done: int, frozen: int = 0) -> int:
        """Words that had enough examples in the first `done` units, and have a row that is as it was; the
        first `frozen` words are not to move."""
        same = [
            np.flatnonzero(row_hashes(rows) == self.before[name]) for name, rows in _rows(training).items()
        ]
        if not any(map(len, same)):
            return 0
        assert isinstance(training, HasRows)
        words = np.unique(np.concatenate(same))
        words = words[words >= frozen]
        return int((training.examples_of(words, done, ENOUGH) >= ENOUGH).sum())


def unmoved_note(outcome: Outcome | None, words: int) -> Note | None:
    """A sentence for the user; None where every vector moved that had examples."""
    if outcome is None or not outcome.unmoved:
        return None
    return Note(
        "{unmoved:,} of {words:,} vectors are as they were before training, although their words had "
        "examples. Check the settings: a higher learning_rate or more epochs, for ppmi a lower shift.",
        unmoved=outcome.unmoved,
        words=words,
    )


def row_hashes(rows: np.ndarray) -> np.ndarray:
    """(N,) u4 of (N, D) f4: a sum over the bits of each row with odd weights, modulo 2^32."""
    width = rows[:0].view(np.uint32).shape[1]
    weights = np.random.default_rng(width).integers(0, 1 << 31, width).astype(np.uint32)
    weights = 2 * weights + 1
    hashes = np.empty(len(rows), np.uint32)
    for start in range(0, len(rows), PIECE):
        bits = rows[start : start + PIECE].view(np.uint32)
        hashes[start : start + PIECE] = np.einsum("nd,d->n", bits, weights)
    return hashes


def _rows(training: Any) -> Mapping[str, np.ndarray]:
    return training.rows() if isinstance(training, HasRows) else {}
