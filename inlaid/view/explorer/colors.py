"""Colors of a map as columns: a value for each word, and the legend that says what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.study.map import colors
from inlaid.study.map.colors import Coloring, Group, Member
from inlaid.vectors import Vectors, lengths
from inlaid.view.explorer.columns import columns

CLUSTERED = 8_000
"""Words whose clusters are computed; every other word belongs to the nearest center."""
PALETTE = (
    *colors.PALETTE,
    "#8c564b",
    "#7b52ab",
    "#9c9a1d",
    "#b3195c",
    "#3f6b3f",
    "#6f7d8c",
)
"""A color of its own for each cluster: points have one shape."""
ROWS = 1 << 14
SCRIPTS = (("zh", "㐀", "鿿"), ("ja", "぀", "ヿ"), ("ko", "가", "힣"), ("ru", "Ѐ", "ӿ"), ("latin", "A", "ɏ"))
"""Scripts that words are colored by, each with its first and its last letter; the first one found counts."""


def cluster_column(vectors: Vectors, count: int, seed: int = 1) -> bytes:
    """Clusters by k-means of unit vectors, named by the words nearest to their centers."""
    first = _unit(vectors, 0, min(count, CLUSTERED))
    clusters = min(len(PALETTE), max(2, len(first) // 8))
    if len(first) < 4:
        raise SettingError("There are too few words to have clusters.")
    made = colors.by_cluster(first, list(vectors.words[: len(first)]), clusters, seed=seed)
    numbers = made.values.astype(int)
    centers = np.stack([first[numbers == group.number].mean(axis=0) for group in made.groups])
    centers /= np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-12)
    values = np.empty(count, np.float32)
    values[: len(first)] = numbers
    for start in range(len(first), count, ROWS):
        stop = min(start + ROWS, count)
        values[start:stop] = (_unit(vectors, start, stop) @ centers.T).argmax(axis=1)
    counts = np.bincount(values.astype(int), minlength=len(made.groups)).tolist()
    groups = tuple(replace(each, count=counts[each.number]) for each in made.groups)
    return columns({"values": values}, legend=_legend(replace(made, groups=groups)))


def count_column(vectors: Vectors, count: int) -> bytes:
    counts = None if vectors.counts is None else np.asarray(vectors.counts)[:count]
    if counts is None:  # the order of the words is all that is known
        ranks = np.arange(1, count + 1)
        values = 1 - np.log(ranks) / max(np.log(count), 1e-12)
        legend = {"by": "rank", "groups": [], "scale": list(colors.COUNTS), "ends": [f"#{count:,}", "#1"]}
        return columns({"values": values.astype(np.float32)}, legend=legend)
    made = colors.by_count(counts)
    return columns({"values": made.shares().astype(np.float32)}, legend=_legend(made))


def axis_column(vectors: Vectors, count: int, start: Sequence[str], end: Sequence[str]) -> bytes:
    """Where every word lies between two lists of words."""
    rows = [_of_words(vectors, words) for words in (start, end)]
    ends = (" ".join(start), " ".join(end))
    values = np.empty(count, np.float32)
    places = {
        vectors.find(word): (side, at)
        for side, words in (("from", start), ("to", end))
        for at, word in enumerate(words)
    }
    for first in range(0, count, ROWS):
        last = min(first + ROWS, count)
        members = [
            Member(id - first, side, at)  # pyright: ignore[reportArgumentType]
            for id, (side, at) in places.items()
            if id is not None and first <= id < last
        ]
        unit = _unit(vectors, first, last)
        values[first:last] = colors.by_axis(unit, rows[0], rows[1], ends, members).values
    made = Coloring(by="axis", values=values, ends=ends)
    return columns({"values": made.shares().astype(np.float32)}, legend=_legend(made))


def script_column(vectors: Vectors, count: int) -> bytes:
    """The script of each word, which tells its language where there are two."""
    names = [name for name, _, _ in SCRIPTS]
    values = np.array([_script(vectors.words[id]) for id in range(count)], np.float32)
    found = [number for number in range(len(names)) if (values == number).any()]
    renumbered = np.full(count, np.nan, np.float32)
    groups = list[Group]()
    for place, number in enumerate(found):
        renumbered[values == number] = place
        groups.append(Group(names[number], int((values == number).sum()), place))
    made = Coloring(by="label", values=renumbered, groups=tuple(groups))
    return columns({"values": renumbered}, legend={**_legend(made), "by": "script"})


def trust_column(trust: np.ndarray) -> bytes:
    made = colors.by_trust(trust)
    return columns({"values": made.shares().astype(np.float32)}, legend=_legend(made))


def _legend(made: Coloring) -> dict[str, Any]:
    ticks = [] if made.groups else made.ticks()
    ends = list(made.ends) if made.by == "axis" else [tick.text for tick in (ticks[:1] + ticks[-1:])]
    groups = [
        {"name": each.name, "count": each.count, "color": PALETTE[each.number % len(PALETTE)]}
        for each in made.groups
    ]
    return {"by": made.by, "groups": groups, "scale": [] if groups else list(made.colors), "ends": ends}


def _script(word: str) -> float:
    for number, (_, first, last) in enumerate(SCRIPTS):
        if any(first <= letter <= last for letter in word[:16]):
            return float(number)
    return np.nan


def _of_words(vectors: Vectors, words: Sequence[str]) -> np.ndarray:
    rows = np.stack([vectors[word] for word in words])
    zero = [word for word, size in zip(words, lengths(rows).tolist(), strict=True) if size == 0]
    if zero:
        raise SettingError(
            "'{word}' has a zero vector, which has no place on an axis. Leave it out.", word=zero[0]
        )
    return (rows / lengths(rows)[:, None]).astype(np.float32)


def _unit(vectors: Vectors, start: int, stop: int) -> np.ndarray:
    rows = np.asarray(vectors.rows(np.arange(start, stop)))
    sizes = lengths(rows)
    return (rows / np.where(sizes == 0, 1, sizes)[:, None]).astype(np.float32)
