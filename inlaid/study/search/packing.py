"""What a table loses when it is stored in fewer bits, measured on cosines and neighbors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.report import Note
from inlaid.study.search.neighbors import nearest
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class PackingLoss:
    """Cosines of each word with itself before packing, and the neighbors that are still found."""

    mean: float
    worst: float
    kept: float
    """Share of the 10 nearest neighbors that are still among the 10 nearest."""
    compared: int
    """The number of words compared."""

    def note(self) -> Note:
        return Note(
            "Of {count:,} words, the cosine with the original vector is {mean:.5f} on average and "
            "{worst:.5f} at worst; {kept:.1%} of their 10 nearest neighbors are the same.",
            count=self.compared,
            mean=self.mean,
            worst=self.worst,
            kept=self.kept,
        )


def loss_of_packing(before: Vectors, after: Vectors, *, words: int = 500) -> PackingLoss:
    """Compare two tables of the same words on the most frequent of them."""
    compared = np.arange(min(words, len(before)))
    cosines = np.einsum("wd,wd->w", before.unit[compared], after.unit[compared])
    n = min(10, len(before) - 1)
    kept = sum(_in_common(before, after, id, n) for id in compared.tolist()) if n else 0
    return PackingLoss(
        float(cosines.mean()), float(cosines.min()), kept / max(1, n * len(compared)), len(compared)
    )


def _in_common(before: Vectors, after: Vectors, id: int, n: int) -> int:
    """How many of the n nearest words of a word are the same in both tables."""
    one, two = (
        {each.word for each in nearest(vectors, vectors.table[id], n=n, without=[id])}
        for vectors in (before, after)
    )
    return len(one & two)
