"""Clusters of one word's occurrences: profiles of near words, k-means, silhouettes, explained variance."""

from __future__ import annotations

import numpy as np

from inlaid.study.evaluate.categorization import kmeans

RESTARTS = 6
SHARPNESS = 2.0
"""Inverse temperature of the softmax over cosines, in units of their spread."""


def unit_rows(table: np.ndarray) -> np.ndarray:
    """Rows of length 1; zeros stay."""
    lengths = np.linalg.norm(table, axis=-1, keepdims=True)
    return table / np.where(lengths > 0, lengths, 1)


def profiles(rows: np.ndarray, types: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Which words each row is near: the softmax of its cosines with the mean vectors of words (word, dim).

    Hidden states also hold the position and the shape of the sentence. Described by the words that could
    stand in the same place, two occurrences are alike if they mean the same (compare the substitutes of
    Amrami and Goldberg 2019). Cosines are divided by their spread among the words, which differs by model.
    """
    units = unit_rows(types - center)
    spread = np.sqrt(np.mean((units @ units.T)[~np.eye(len(units), dtype=bool)] ** 2))
    cosines = unit_rows(rows - center) @ units.T / max(float(spread), 1e-6)
    weights = np.exp(SHARPNESS * (cosines - cosines.max(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)


def clusters_of(rows: np.ndarray, clusters: int, *, seed: int) -> np.ndarray:
    """The cluster of each row, the largest cluster first."""
    labels = kmeans(rows.astype(np.float32), clusters, seed=seed, restarts=RESTARTS)
    order = np.argsort(-np.bincount(labels, minlength=clusters), kind="stable")
    return np.argsort(order, kind="stable")[labels]


def silhouette(rows: np.ndarray, labels: np.ndarray) -> float:
    """The mean silhouette (Rousseeuw 1987) by Euclidean distance: 1 for clusters far apart, 0 for none."""
    names = np.unique(labels)
    if len(names) < 2:
        return 0.0
    squares = (rows**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    members = labels[:, None] == names
    counts = members.sum(axis=0)
    sums = distances @ members
    own = np.argmax(members, axis=1)
    place = np.arange(len(rows))
    inside = sums[place, own] / np.maximum(counts[own] - 1, 1)
    means = sums / counts
    means[place, own] = np.inf
    outside = means.min(axis=1)
    widths = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12)
    return float(np.where(counts[own] > 1, widths, 0).mean())


def explained(rows: np.ndarray, labels: np.ndarray) -> float:
    """The share of the variance between the clusters: 0 for one cluster, 1 if each is a point."""
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    if total <= 1e-12 * max(float((rows**2).sum()), 1e-12):
        return 0.0
    held = [rows[labels == name] for name in np.unique(labels)]
    inside = sum(float(((each - each.mean(axis=0)) ** 2).sum()) for each in held)
    return 1 - inside / total


def separation(rows: np.ndarray, *, seed: int) -> float:
    """How far profiles fall apart into two: the variance of their square roots between two clusters, from 0,
    all alike, to 0.5, two halves that are near different words."""
    roots = np.sqrt(rows)
    return explained(roots, clusters_of(roots, 2, seed=seed)) * float(roots.var(axis=0).sum())


def choose_clusters(rows: np.ndarray, *, most: int, seed: int) -> np.ndarray:
    """The clusters of the number, from 2 to `most`, that has the largest mean silhouette."""
    roots = np.sqrt(rows)
    numbers = range(2, min(most, len(rows) - 1) + 1)
    found = [clusters_of(roots, number, seed=seed) for number in numbers]
    return max(found, key=lambda labels: silhouette(roots, labels))
