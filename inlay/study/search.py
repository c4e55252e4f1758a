"""Neighbors and formulas ("king - man + woman"); exact, approximate when large."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from inlay.errors import SettingError
from inlay.shapes import Vector
from inlay.vectors import Vectors


@dataclass(frozen=True)
class Neighbor:
    """A word and its cosine with the query."""

    word: str
    score: float


def neighbors(vectors: Vectors, word: str, *, n: int = 10) -> list[Neighbor]:
    """The `n` words closest to `word` by cosine, nearest first, without `word` itself."""
    id = vectors.id(word)
    return nearest(vectors, vectors.table[id], n=n, without=[id])


def analogy(vectors: Vectors, formula: str, *, n: int = 10) -> list[Neighbor]:
    """The `n` words closest to a sum of words, without the words of the formula.

    >>> analogy(vectors, "king - man + woman", n=1)[0].word
    'queen'
    """
    terms = [(sign, vectors.id(word)) for sign, word in _terms(formula)]
    # Unit vectors, as Mikolov et al. 2013 do it: otherwise the longest word decides.
    signs, ids = np.array([sign for sign, _ in terms], np.float32), [id for _, id in terms]
    query = signs @ vectors.unit[ids]
    return nearest(vectors, query, n=n, without=ids)


def nearest(vectors: Vectors, query: Vector, *, n: int = 10, without: Iterable[int] = ()) -> list[Neighbor]:
    """The `n` words whose vectors point most nearly where `query` points."""
    if n < 1:
        raise SettingError(f"n is {n}; expected at least 1.")
    length = float(np.linalg.norm(query))
    scores = vectors.unit @ (query / length if length else query)
    left_out = list(without)
    scores[left_out] = -np.inf
    n = min(n, len(scores) - len(left_out))
    best = np.argpartition(-scores, range(n))[:n] if n else []
    return [Neighbor(vectors.words[int(id)], float(scores[id])) for id in best]


def _terms(formula: str) -> list[tuple[int, str]]:
    """Words with their signs; a sign stands alone, so that `e-mail` is a word.

    >>> _terms("king - man + woman")
    [(1, 'king'), (-1, 'man'), (1, 'woman')]
    """
    signed = formula.strip() if re.match(r"\s*[+-]\s", formula) else f"+ {formula.strip()}"
    pieces = re.split(r"(?:^|\s+)([+-])\s+", signed)[1:]
    terms = [(-1 if sign == "-" else 1, word) for sign, word in zip(pieces[::2], pieces[1::2], strict=True)]
    if not all(word and not re.search(r"\s", word) for _, word in terms):
        raise SettingError(f"Cannot read '{formula}'. Write words joined by + and -, with blanks around the signs: king - man + woman.")
    return terms


@dataclass(frozen=True)
class PackingLoss:
    """What a table in fewer bits has lost: cosines of each word with itself, and neighbours that are no longer there."""

    mean: float
    worst: float
    kept: float
    """Share of the 10 nearest neighbours that are still among the 10 nearest."""
    looked_at: int

    def __str__(self) -> str:
        return (
            f"of {self.looked_at:,} words each lies at a cosine of {self.mean:.5f} to what it was (worst {self.worst:.5f}); "
            f"{100 * self.kept:.1f} % of their 10 nearest neighbours are the same"
        )


def loss_of_packing(before: Vectors, after: Vectors, *, words: int = 500) -> PackingLoss:
    """Compare two tables of the same words on the most frequent of them."""
    looked_at = np.arange(min(words, len(before)))
    cosines = np.einsum("wd,wd->w", before.unit[looked_at], after.unit[looked_at])
    n = min(10, len(before) - 1)
    kept = [
        len({each.word for each in nearest(before, before.table[id], n=n, without=[id])}
            & {each.word for each in nearest(after, after.table[id], n=n, without=[id])})
        for id in looked_at.tolist()
    ] if n else [0]  # fmt: skip
    return PackingLoss(float(cosines.mean()), float(cosines.min()), sum(kept) / max(1, n * len(kept)), len(looked_at))
