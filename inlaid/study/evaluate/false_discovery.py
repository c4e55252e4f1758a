"""p-values adjusted for many tests at once: the false discovery rate of Benjamini and Hochberg (1995)."""

from __future__ import annotations

import numpy as np


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """(test,): for each p-value the smallest false discovery rate at which it would still be significant."""
    order = np.argsort(p, kind="stable")
    rates = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.minimum.accumulate(rates[::-1])[::-1])
    return adjusted
