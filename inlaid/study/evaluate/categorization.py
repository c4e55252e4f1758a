"""Deterministic k-means on unit vectors; categories from analogies; sets with an outlier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random

import numpy as np

from inlaid.shapes import Rows

RESTARTS = 10
MAX_ITERATIONS = 100
SEED = 1
MEMBERS = 8
"""Words of one category in a set with an outlier, and the fewest a category needs."""


def kmeans(points: Rows, clusters: int, *, seed: int = SEED, restarts: int = RESTARTS) -> np.ndarray:
    """The cluster of each point: Lloyd's algorithm from k-means++ starts, the tightest of several runs."""
    random = np.random.Generator(np.random.Philox(seed))
    runs = [_lloyd(points, _starts(points, clusters, random)) for _ in range(restarts)]
    return min(runs, key=lambda run: run[1])[0]


def right_of(clusters: np.ndarray, categories: Sequence[str]) -> np.ndarray:
    """For each word, whether its category is the commonest in its cluster; the mean of these is purity."""
    counts: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for cluster, category in zip(clusters.tolist(), categories, strict=True):
        counts[cluster][category] += 1
    common = {cluster: min(held, key=lambda each: (-held[each], each)) for cluster, held in counts.items()}
    return np.array(
        [
            common[cluster] == category
            for cluster, category in zip(clusters.tolist(), categories, strict=True)
        ],
        float,
    )


def grouped(questions: Iterable[Sequence[str]], sections: Iterable[str]) -> dict[str, list[str]]:
    """Categories implied by analogies: a and c of a question are of one kind, and so are b and d.

    So CA8's "geography" splits into operas, universities, currencies and so on. Left out are kinds that occur
    on both sides (one of their words is an a in one question and a b in another), kinds of fewer than eight
    words, and words of two kinds.
    """
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    sides: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def root(node: tuple[str, str]) -> tuple[str, str]:
        while parents.setdefault(node, node) != node:
            node = parents[node]
        return node

    for (a, b, c, d), section in zip(questions, sections, strict=True):
        for side, pair in enumerate(((a, c), (b, d))):
            one, two = ((section, word) for word in pair)
            sides[one].add(side)
            sides[two].add(side)
            parents[root(one)] = root(two)
    kinds: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for node in parents:
        kinds[root(node)].append(node)
    kept = [
        nodes
        for nodes in kinds.values()
        if len(nodes) >= MEMBERS and len(set[int]().union(*(sides[node] for node in nodes))) == 1
    ]
    seen = [word for nodes in kept for _, word in nodes]
    once = {word for word in seen if seen.count(word) == 1}
    named = {
        f"{nodes[0][0]}: {min(nodes)[1]}": sorted(word for _, word in nodes if word in once) for nodes in kept
    }
    return {name: words for name, words in sorted(named.items()) if len(words) >= MEMBERS}


def with_outliers(
    categories: dict[str, list[str]], *, each: int = 10, seed: int = SEED
) -> list[tuple[str, ...]]:
    """Sets of eight words of a category and, last, one of another; `each` sets for every category that has
    eight."""
    random = Random(seed)
    words = {name: sorted(set(held)) for name, held in sorted(categories.items())}
    sets: list[tuple[str, ...]] = []
    for name, members in words.items():
        others = sorted(
            {word for other, held in words.items() if other != name for word in held} - set(members)
        )
        if len(members) >= MEMBERS and others:
            sets += [(*random.sample(members, MEMBERS), random.choice(others)) for _ in range(each)]
    return sets


def _starts(points: Rows, clusters: int, random: np.random.Generator) -> np.ndarray:
    """k-means++: each next center is a point, drawn by its squared distance from the centers so far."""
    chosen = [int(random.integers(len(points)))]
    distances = np.full(len(points), np.inf)
    while len(chosen) < clusters:
        distances = np.minimum(distances, np.maximum(_distances(points, points[chosen[-1:]])[:, 0], 0))
        draw = random.random() * distances.sum()
        drawn = np.searchsorted(np.cumsum(distances), draw, side="right")
        chosen.append(int(drawn.clip(0, len(points) - 1)))
    return points[chosen]


def _lloyd(points: Rows, centers: np.ndarray) -> tuple[np.ndarray, float]:
    held = np.full(len(points), -1)
    for _ in range(MAX_ITERATIONS):
        distances = _distances(points, centers)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, held):
            break
        held = nearest
        member = np.zeros((len(centers), len(points)), points.dtype)
        member[held, np.arange(len(points))] = 1
        sizes = member.sum(axis=1, keepdims=True)
        means = member @ points / np.maximum(sizes, 1)
        centers = np.where(sizes > 0, means, centers)  # an empty cluster keeps its center
    return held, float(_distances(points, centers)[np.arange(len(points)), held].sum(dtype=np.float64))


def _distances(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Squared, (point, center)."""
    squares = np.einsum("pd,pd->p", points, points)[:, None] + np.einsum("cd,cd->c", centers, centers)
    return squares - 2 * (points @ centers.T)
