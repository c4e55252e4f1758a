"""Searches: neighbors of words, with one pass over a large table for all clients that ask together."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
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
        self.inside = 0
        """Searches that have begun."""

    async def answer(self, arguments: dict[str, Any]) -> Answer | None:
        """The answer; None where the analysis itself must be asked, which has notes for the user."""
        vectors: Vectors = arguments["vectors"]
        settings: NeighborsSettings = arguments["settings"]
        words: Sequence[str] = arguments["words"]
        plain = vectors.tokenizer_json is None and not vectors.mark and not settings.approximate
        if not plain or len(words) > TOGETHER or any(vectors.find(word) is None for word in words):
            return None
        found = await self._search((vectors, settings), words)
        return Answer(NeighborLists(tuple(found)).to_dict(), ())

    async def _search(
        self, key: tuple[Vectors, NeighborsSettings], words: Sequence[str]
    ) -> Sequence[Neighbors]:
        """A small search that is alone is done at once; others together with those that came meanwhile."""
        self.inside += 1
        try:
            await asyncio.sleep(0)  # requests that have arrived begin
            if self.inside == 1 and key[0].table.size * len(words) <= SMALL:
                return _found(key, words)
            return await self.batcher.ask(key, words)
        finally:
            self.inside -= 1


def _found(key: tuple[Vectors, NeighborsSettings], words: Sequence[str]) -> list[Neighbors]:
    vectors, settings = key
    if len(words) <= CODES and vectors.table.size > LITTLE:
        settings = _with_codes(settings)
    return [*neighbors(vectors, list(words), settings).lists]


@functools.lru_cache(maxsize=1000)
def _with_codes(settings: NeighborsSettings) -> NeighborsSettings:
    """The same, reading int8 codes first; settings are checked when they are made, which takes a while."""
    return dataclasses.replace(settings, int8=True)
