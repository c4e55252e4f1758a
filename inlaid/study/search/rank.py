"""The rank of a word among the neighbors of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis
from inlaid.study.search.closer_than import scores_around
from inlaid.vectors import Vectors


class Rank(int):
    """The rank of a word among the neighbors of another: a number, which knows its words."""

    word: str
    other: str
    among: int
    """How many words there are beside `word`."""

    def __new__(cls, rank: int, word: str, other: str, among: int) -> Rank:
        made = super().__new__(cls, rank)
        made.word = word
        made.other = other
        made.among = among
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self), self.word, self.other, self.among

    def rows(self) -> Sequence[Row]:
        return [
            Message(
                "{other} is neighbor {rank:,} of {word}, among {among:,} words",
                other=self.other,
                rank=int(self),
                word=self.word,
                among=self.among,
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "other": self.other, "rank": int(self), "among": self.among}


@analysis
def rank(vectors: Vectors, word: str, other: str, *, report: Report = silent) -> Rank:
    """The rank of a word among the neighbors of another, by cosine: 1 for the nearest.

    >>> rank(vectors, "king", "queen")
    1

    Args:
        vectors: a file of vectors
        word: the word that is searched around
        other: the word whose rank is asked

    Examples:
        inlaid rank vectors.inlaid king queen
        inlaid rank vectors.inlaid king queen --json
    """
    scores, limit = scores_around(vectors, word, other, report)
    return Rank(1 + int((scores > limit).sum()), word, other, len(vectors) - 1)
