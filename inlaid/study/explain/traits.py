"""What single dimensions correlate with: log frequency, word length, fields of the embedded world."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inlaid.collect import world
from inlaid.errors import SettingError
from inlaid.messages import Message, word
from inlaid.study.evaluate.false_discovery import benjamini_hochberg
from inlaid.study.evaluate.statistics import ranks
from inlaid.study.evaluate.world_tasks import world_groups
from inlaid.vectors import Vectors

FEWEST_WORDS = 4
LOOKED_AT = 5_000
SMALLEST_FIELD = 5
"""Fields with fewer words in the space are left out."""
NAMED = {"family": "relatives", "name": "first names", "number": "numerals"}
"""How tables show fields of the world whose names mean something else elsewhere."""


@dataclass(frozen=True)
class Trait:
    """What a dimension correlates with: Spearman's correlation over words."""

    dimension: int
    trait: str
    correlation: float
    p: float
    """p-value adjusted for all dimensions and traits (Benjamini and Hochberg 1995)."""


def traits(
    vectors: Vectors, known: Mapping[str, np.ndarray] | None = None, *, sample: int = 20_000, seed: int = 1
) -> list[Trait]:
    """What single dimensions correlate with, the strongest first.

    `known` adds traits of your own: a number for each word. Spaces of more than `sample` words are sampled.
    """
    if len(vectors) < FEWEST_WORDS:
        raise SettingError(
            "{words} words are too few for a correlation; expected at least {expected}.",
            words=len(vectors),
            expected=FEWEST_WORDS,
        )
    ids = np.arange(len(vectors))
    if len(vectors) > sample:
        random = np.random.Generator(np.random.Philox(seed))
        ids = np.sort(random.choice(len(vectors), sample, replace=False))
    values = {name: np.asarray(each, float)[ids] for name, each in (known or {}).items()}
    values |= _usual_traits(vectors, ids)
    names = [name for name, each in values.items() if np.ptp(each) > 0]
    columns = _standardized(np.stack([_ranked(values[name]) for name in names], axis=1))
    table = vectors.table[ids]
    products = [_standardized(_ranked(table[:, id])[:, None])[:, 0] @ columns for id in range(vectors.dim)]
    correlations = np.stack(products) / len(ids)
    # Under chance a correlation of n fixed values has variance 1 / (n - 1), whatever the values are.
    scale = math.sqrt((len(ids) - 1) / 2)
    p = np.array([math.erfc(abs(each) * scale) for each in correlations.ravel().tolist()])
    adjusted = benjamini_hochberg(p).reshape(correlations.shape)
    order = np.argsort(-np.abs(correlations), axis=None, kind="stable").tolist()
    cells = (divmod(cell, len(names)) for cell in order)
    return [
        Trait(row, names[column], float(correlations[row, column]), float(adjusted[row, column]))
        for row, column in cells
    ]


@dataclass(frozen=True)
class Held:
    """How much of a trait is in one dimension, and how much in all of them: correlations over words."""

    trait: str
    single: float
    """Of the best single dimension, without sign."""
    rotated: float
    """The same after a random rotation, which mixes the dimensions and changes no cosine."""
    together: float
    """Of a linear function of all dimensions, fitted to half of the words, on the other half."""


def held_traits(vectors: Vectors, seed: int = 1, known: Mapping[str, np.ndarray] | None = None) -> list[Held]:
    """Traits by how much of each a single dimension holds, the most first; of at most 5,000 words."""
    ids = np.arange(min(len(vectors), LOOKED_AT))
    values = {name: np.asarray(each, float)[ids] for name, each in (known or {}).items()}
    values |= _usual_traits(vectors, ids)
    names = [name for name, each in values.items() if np.ptp(each) > 0]
    columns = _standardized(np.stack([_ranked(values[name]) for name in names], axis=1))
    table = _standardized(vectors.table[ids].astype(np.float64))
    random = np.random.Generator(np.random.Philox(seed))
    rotation = np.linalg.qr(random.standard_normal((vectors.dim, vectors.dim)))[0]
    turned = _standardized((vectors.table[ids] - vectors.table[ids].mean(axis=0)) @ rotation)
    single, mixed = (np.abs(each.T @ columns).max(axis=0) / len(ids) for each in (table, turned))
    train = random.permutation(len(ids)) < len(ids) // 2
    penalty = len(ids) / 10 * np.eye(vectors.dim)
    weights = np.linalg.solve(table[train].T @ table[train] + penalty, table[train].T @ columns[train])
    guesses = _standardized(table[~train] @ weights)
    together = (guesses * _standardized(columns[~train])).mean(axis=0)
    found = [
        Held(*each) for each in zip(names, single.tolist(), mixed.tolist(), together.tolist(), strict=True)
    ]
    return sorted(found, key=lambda each: -each.single)


def _usual_traits(vectors: Vectors, ids: np.ndarray) -> dict[str, np.ndarray]:
    words = [vectors.words[id] for id in ids.tolist()]
    log_frequency = -np.log(ids + 1.0)  # by rank, where counts are not known
    if vectors.counts is not None and (vectors.counts > 0).all():
        log_frequency = np.log(vectors.counts[ids])
    found = {
        "log frequency": log_frequency,
        "length": np.array([len(word) for word in words], float),
    }
    languages: tuple[world.Language, ...] = ("zh", "en")
    for language in languages:
        for field, members in world_groups(language).items():
            inside = np.array([word in members for word in words], float)
            if inside.sum() >= SMALLEST_FIELD:
                found[f"{field} ({language})"] = inside
    return found


def trait_name(trait: str) -> Message:
    """A trait as tables show it; a field of the world, such as "animal (zh)", is named with its language."""
    field, _, language = trait.removesuffix(")").partition(" (")
    shown = word(NAMED.get(field, field))
    return Message("{field} ({language})", field=shown, language=language) if language else shown


def _ranked(values: np.ndarray) -> np.ndarray:
    return ranks(values, np.ones((1, len(values))))[0]


def _standardized(columns: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1; constant columns become 0."""
    centered = columns - columns.mean(axis=0)
    deviation = centered.std(axis=0)
    return centered / np.where(deviation > 0, deviation, 1)
