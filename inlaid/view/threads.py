"""Threads: analyses run beside the event loop, a few at a time; what waits too long in line is refused."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from inlaid.view.bodies import too_busy

R = TypeVar("R")
WAITING = 64
"""Analyses that may wait for each thread."""


class Threads:
    """A few threads with a line in front of them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="inlaid")
        self.inside = 0

    async def run(self, function: Callable[..., R], *given: Any, **named: Any) -> R:
        """Call a function in a thread, in the context of this task; TooBusy where too many wait."""
        if self.inside >= self.count * (1 + WAITING):
            raise too_busy()
        self.inside += 1
        context = contextvars.copy_context()
        future = self.pool.submit(context.run, lambda: function(*given, **named))
        future.add_done_callback(lambda _: self._left())
        return await asyncio.wrap_future(future)

    def _left(self) -> None:
        self.inside -= 1

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
