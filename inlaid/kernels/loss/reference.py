"""Cross entropy and its gradient in plain NumPy: the specification."""

from __future__ import annotations

import numpy as np

NOT_COUNTED = -100
"""The target of a position that has no loss."""


def cross_entropy_(logits: np.ndarray, targets: np.ndarray, share: float, words: int) -> np.ndarray:
    """The loss at each position (position,); `logits` (position, column) become the gradient of the sum of
    all losses times `share`. Columns after the first `words` are padding and have no gradient."""
    losses = np.zeros(len(targets))
    for position, target in enumerate(targets.tolist()):
        row = logits[position, :words].astype(np.float64)
        logits[position] = 0
        if target == NOT_COUNTED:
            continue
        log_probabilities = row - row.max()
        log_probabilities -= np.log(np.exp(log_probabilities).sum())
        losses[position] = -log_probabilities[target]
        gradient = np.exp(log_probabilities)
        gradient[target] -= 1
        logits[position, :words] = share * gradient
    return losses
