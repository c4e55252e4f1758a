"""Searches: neighbors of words, with one pass over a large table for all clients that ask together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from inlaid.study.search.found import NeighborLists, Neighbors
from inlaid.study.search.neighbors import NeighborsSettings, neighbors
from inlaid.study.search.ranking import SMALL
from inlaid.vectors import Vectors
from inlaid.view.batching import Batcher
from inlaid.view.endpoints import Answer
from inlaid.view.threads import Threads

NAME = "neighbors"
TOGETHER = 64
"""Words that are searched for with one pass over the table."""
LITTLE = 1 << 18
"""Numbers of a table below which reading it is no work."""
CODES = 2
"""Up to this number of words, int8 codes of the table are read first: the result is the same, and sooner."""


class Searches:
    """Answers `neighbors`; its answers are those of the analysis."""

    def __init__(self, threads: Threads) -> None:
        self.batcher = Batcher(_found, threads, size=TOGETHER)

    async def answer(self, arguments: dict[str, Any]) -> Answer | None:
        """The answer; None where the analysis itself must be asked, which has notes for the user."""
        vectors: Vectors = arguments["vectors"]
        settings: NeighborsSettings = arguments["settings"]
        words: Sequence[str] = arguments["words"]
        plain = vectors.tokenizer_json is None and not vectors.mark and not settings.approximate
        if not plain or len(words) > TOGETHER or any(vectors.find(word) is None for word in words):
            return None
        key = (vectors, settings)
        if vectors.table.size * len(words) <= SMALL:
            found = _found(key, words)
        else:
            found = await self.batcher.ask(key, words)
        return Answer(NeighborLists(tuple(found)).to_dict(), ())


def _found(key: tuple[Vectors, NeighborsSettings], words: Sequence[str]) -> list[Neighbors]:
    vectors, settings = key
    if len(words) <= CODES and vectors.table.size > LITTLE:
        settings = dataclasses.replace(settings, int8=True)
    return [*neighbors(vectors, list(words), settings).lists]
