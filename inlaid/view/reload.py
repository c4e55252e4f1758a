"""Reload: a file that has changed is loaded again beside the old one, which answers until the new one is
ready."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from inlaid.errors import InlaidError
from inlaid.view.embedding import Embedder
from inlaid.view.settings import ServeSettings
from inlaid.view.spaces import Space, Spaces, load_space
from inlaid.view.warming import warm_up

State = tuple[tuple[str, int, int, int], ...]


class Watcher:
    """Looks at the files of all spaces from time to time."""

    def __init__(self, spaces: Spaces, settings: ServeSettings, embedder: Embedder) -> None:
        self.spaces = spaces
        self.embedder = embedder
        self.settings = settings
        self.woken = asyncio.Event()
        self.seen = {each.name: state_of(each.path) for each in spaces if each.path is not None}

    def wake(self) -> None:
        """Look now."""
        self.woken.set()

    async def run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self.settings.reload or None):
                    await self.woken.wait()
            except TimeoutError:
                pass
            self.woken.clear()
            for space in [*self.spaces]:
                await self._look(space)

    async def _look(self, space: Space) -> None:
        """Load a space again if its files have changed, and no longer change."""
        if space.path is None:
            return
        now = await asyncio.to_thread(state_of, space.path)
        if not now or now == self.seen[space.name]:
            return
        await asyncio.sleep(0.2)
        if now != await asyncio.to_thread(state_of, space.path):
            return  # it is still being written
        self.seen[space.name] = now
        try:
            loaded = await asyncio.to_thread(self._loaded, space, space.path)
        except (InlaidError, OSError, ValueError) as error:
            logging.getLogger("inlaid").warning(
                "%s was not loaded again, and the old one answers on: %s", space.name, error
            )
            return
        if now != await asyncio.to_thread(state_of, space.path):
            self.seen[space.name] = ()  # it was written while it was read: look again
            return
        self.spaces.put(loaded)

    def _loaded(self, space: Space, path: Path) -> Space:
        """What is at the path now, ready to answer."""
        loaded = load_space(space.name, path, device=space.device)
        warm_up(loaded, self.embedder)
        return loaded


def state_of(path: Path) -> State:
    """What changes when a file, or a file of a folder, is written; nothing where there is none."""
    try:
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found = [(str(each), each.stat()) for each in files]
    except OSError:
        return ()
    return tuple((name, at.st_mtime_ns, at.st_size, at.st_ino) for name, at in found)
