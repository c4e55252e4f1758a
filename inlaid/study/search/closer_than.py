"""The words that are nearer to a word than another one is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.config import Positive, check
from inlaid.report import Report, silent
from inlaid.study.analysis import analysis
from inlaid.study.search import ranking
from inlaid.study.search.found import Neighbor, Neighbors
from inlaid.study.search.queries import asked_for
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class CloserThanSettings:
    """How many words are listed."""

    n: Positive | None = None
    """How many words to return, nearest first; all by default."""

    def __post_init__(self) -> None:
        check(self)


@analysis
def closer_than(
    vectors: Vectors,
    word: str,
    other: str,
    settings: CloserThanSettings | None = None,
    *,
    report: Report = silent,
) -> Neighbors:
    """The words that are nearer to a word, by cosine, than another word is; nearest first.

    >>> [word for word, score in closer_than(vectors, "king", "queen")]

    Args:
        vectors: a file of vectors
        word: the word that is searched around
        other: the word that sets the limit

    Examples:
        inlaid closer-than vectors.inlaid king prince
        inlaid closer-than vectors.inlaid king prince -n 20
    """
    scores, limit = scores_around(vectors, word, other, report)
    nearer = np.flatnonzero(scores > limit)
    order = nearer[np.argsort(-scores[nearer], kind="stable")]
    listed = order[: settings.n if settings else None]
    return Neighbors(word, tuple(Neighbor(vectors.words[id], float(scores[id])) for id in listed.tolist()))


def scores_around(vectors: Vectors, word: str, other: str, report: Report) -> tuple[np.ndarray, float]:
    """The cosine of each word with `word`, which itself has -infinity, and that of `other`."""
    asked = asked_for(vectors, word, report)
    limiting = asked_for(vectors, other, report)
    scores = ranking.all_scores(vectors.table, vectors.lengths, asked.row)
    id = vectors.find(other)
    limit = np.dot(asked.row.astype(np.float64), limiting.row) if id is None else scores[id]
    scores[list(asked.ids)] = -np.inf
    return scores, float(limit)
