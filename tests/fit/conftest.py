"""What trainings are tested on, and whether one that is given several workers really uses them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.feed import subsampled

PATIENCE = 20.0
"""Seconds that a worker waits for the others to come; far longer than they need on a busy machine."""


class Crew:
    """Counts how many workers of each kind of work are busy at the same time.

    The first ones are held back until all are there: a quick worker would otherwise do the work of the others
    before they have started.
    """

    def __init__(self) -> None:
        self.expected = 1
        self.together: dict[str, int] = {}
        """The most workers that were busy at once, by the function they work on."""
        self._busy: dict[str, int] = {}
        self._changed = threading.Condition()

    def expect(self, workers: int) -> None:
        self.expected = workers
        self.together.clear()

    def work(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        kind = getattr(function, "__qualname__", type(function).__name__)
        with self._changed:
            self._busy[kind] = self._busy.get(kind, 0) + 1
            self.together[kind] = max(self.together.get(kind, 0), self._busy[kind])
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.together[kind] >= self.expected, PATIENCE)
        try:
            return function(*arguments, **named)
        finally:
            with self._changed:
                self._busy[kind] -= 1


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Crew:
    """Watches every thread pool of the package."""
    made = Crew()
    submit = ThreadPoolExecutor.submit

    def watched(pool: ThreadPoolExecutor, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        return submit(pool, made.work, function, *arguments, **named)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", watched)
    return made


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return encode(world.sentences("en", words=40_000), Encoding())


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of sentences of the world and their translations, Chinese first."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("".join(f"{pair.zh}\t{pair.en}\n" for pair in world.pairs(words=3_000)), "utf-8")
    return path


@pytest.fixture
def small_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsampled, "SPAN", 3000)
