"""Batching: what several clients ask of one model at the same time is computed together.

The first request opens a window of a few milliseconds; all that arrive in it, or while another batch is
computed, are answered by one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from inlaid.view.bodies import too_busy
from inlaid.view.threads import Threads

LINE = 16
"""Batches that may wait."""


@dataclass
class _Asked:
    items: Sequence[Any]
    answer: asyncio.Future[Sequence[Any]]


@dataclass
class _Line:
    """What waits for the same computation."""

    waiting: list[_Asked] = field(default_factory=list[_Asked])
    count: int = 0


class Batcher:
    """Calls `compute(key, items)`, which answers each item, for several requests at once."""

    def __init__(
        self,
        compute: Callable[[Any, Sequence[Any]], Sequence[Any]],
        threads: Threads,
        *,
        size: int,
        window: float = 0.0,
    ) -> None:
        self.compute = compute
        self.threads = threads
        self.size = size
        self.window = window
        self.sizes = [0, 0]
        """Calls, and items of all calls: their quotient is the mean size of a batch."""
        self._lines: dict[Hashable, _Line] = {}

    async def ask(self, key: Hashable, items: Sequence[Any]) -> Sequence[Any]:
        """The answers of these items, in their order."""
        line = self._lines.get(key)
        if line is not None and line.count >= LINE * self.size:
            raise too_busy()
        asked = _Asked(items, asyncio.get_running_loop().create_future())
        if line is None:
            self._lines[key] = line = _Line()
            worker = asyncio.create_task(self._work(key, line))
            worker.add_done_callback(lambda done: done.exception())
        line.waiting.append(asked)
        line.count += len(items)
        return await asked.answer

    async def _work(self, key: Hashable, line: _Line) -> None:
        if self.window:
            await asyncio.sleep(self.window)
        while line.waiting:
            some = [line.waiting.pop(0)]
            while line.waiting and _items(some) + len(line.waiting[0].items) <= self.size:
                some.append(line.waiting.pop(0))
            line.count -= _items(some)
            await self._answer(key, [each for each in some if not each.answer.cancelled()])
        del self._lines[key]

    async def _answer(self, key: Hashable, some: list[_Asked]) -> None:
        """Answer some requests together; if that fails, each by itself, so that one spoils no other."""
        if not some:
            return
        self.sizes[0] += 1
        self.sizes[1] += _items(some)
        try:
            found = await self.threads.run(self.compute, key, [item for each in some for item in each.items])
        except Exception as error:
            if len(some) > 1:
                for each in some:
                    await self._answer(key, [each])
            elif not some[0].answer.done():
                some[0].answer.set_exception(error)
            return
        start = 0
        for each in some:
            if not each.answer.done():
                each.answer.set_result(found[start : start + len(each.items)])
            start += len(each.items)


def _items(some: Sequence[_Asked]) -> int:
    return sum(len(each.items) for each in some)
