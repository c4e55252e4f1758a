"""What a search returns: the neighbors of one query, or of several side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from inlaid.messages import Message
from inlaid.study.analysis import Row


class Neighbor(NamedTuple):
    """A word and its score with the query: the cosine, unless `by` says otherwise. It unpacks:

    >>> for word, score in vectors.neighbors("king"): ...
    """

    word: str
    score: float


@dataclass(frozen=True)
class Neighbors(Sequence[Neighbor]):
    """The neighbors of one query, nearest first; a sequence of `Neighbor`."""

    query: str
    neighbors: tuple[Neighbor, ...]

    @overload
    def __getitem__(self, at: int) -> Neighbor: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Neighbor, ...]: ...
    def __getitem__(self, at: int | slice) -> Neighbor | tuple[Neighbor, ...]:
        return self.neighbors[at]

    def __len__(self) -> int:
        return len(self.neighbors)

    def rows(self) -> Sequence[Row]:
        if not self.neighbors:
            return [Message("no such word")]
        return [(f"{each.score:.3f}", each.word) for each in self.neighbors]

    def to_dict(self) -> dict[str, Any]:
        found = [{"word": each.word, "score": each.score} for each in self.neighbors]
        return {"query": self.query, "neighbors": found}


@dataclass(frozen=True)
class NeighborLists(Sequence[Neighbors]):
    """The neighbors of several queries, in their order; a sequence of `Neighbors`."""

    lists: tuple[Neighbors, ...]

    @overload
    def __getitem__(self, at: int) -> Neighbors: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Neighbors, ...]: ...
    def __getitem__(self, at: int | slice) -> Neighbors | tuple[Neighbors, ...]:
        return self.lists[at]

    def __len__(self) -> int:
        return len(self.lists)

    def rows(self) -> Sequence[Row]:
        """One query: a line for each word. Several: side by side, under their queries."""
        if len(self.lists) == 1:
            return self.lists[0].rows()
        columns = [
            [one.query, *(f"{each.score:6.3f}  {each.word}" for each in one.neighbors)] for one in self.lists
        ]
        return list(itertools.zip_longest(*columns, fillvalue=""))

    def to_dict(self) -> dict[str, Any]:
        return {"queries": [each.to_dict() for each in self.lists]}
