"""What the library reports while it works: progress events and log."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from inlaid.messages import Message

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """`done` of `total` units of one stage; `total` is None while it is not known.

    Figures are shown by their names. Two are shown as what they are: `speed` (units a second) and `left`
    (seconds).
    """

    stage: str
    done: int
    total: int | None
    unit: str
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Epoch:
    """One pass over the data is done, the `number`-th of `total`."""

    number: int
    total: int
    loss: float | None
    """The mean loss per example, weighted towards the last steps; None where there is none."""
    held_out: float | None
    """The loss on held-out sentences when it was last measured; None where none are held out."""
    seconds: float
    """Since the beginning of the run, also over interruptions."""


class Note(Message):
    """A sentence the user should read: a choice that was made, something left out."""

    @property
    def text(self) -> str:
        return str(self)


COMPILING = Note("Compiling kernels for their first use. This takes some seconds, once.")
COMPILING_EACH_TIME = Note(
    "Compiling kernels. This takes some seconds in every run, because there is no folder to keep them in. "
    "Set NUMBA_CACHE_DIR to a folder that can be written."
)
Event = Progress | Epoch | Note
Report = Callable[[Event], None]
"""A listener. The library sends events; `progress.py` draws them."""


def silent(event: Event) -> None:
    """Listen to nothing."""


def log(event: Event) -> None:
    """Listen as a program does, in English: notes become warnings of the logger `inlaid`, progress its debug
    lines."""
    logger = logging.getLogger("inlaid")
    if isinstance(event, Note):
        logger.warning(event.in_language("en"))
    elif isinstance(event, Epoch):
        logger.info("epoch %s of %s: loss %s", event.number, event.total, event.loss)
    else:
        logger.debug("%s: %s of %s %s", event.stage, event.done, event.total, event.unit)


def automatic(event: Event) -> None:
    """Listen as suits the place: a bar in a terminal or notebook, the log where nobody watches.

    A default to be recognized: functions that take it open a bar (see `progress.shows_progress`).
    """
    log(event)


_compilation_listeners: list[Callable[[str], None]] = []
_announced = False
_kept = True
_compiling_since: float | None = None
_compiling_seconds = 0.0


def compilations_are_not_kept() -> None:
    """Compiled kernels cannot be written anywhere."""
    global _kept
    _kept = False


def compiling_note() -> Note:
    """What the user is told, once, when a kernel is compiled."""
    return COMPILING if _kept else COMPILING_EACH_TIME


@contextlib.contextmanager
def hearing_compilations(listener: Callable[[str], None]) -> Iterator[None]:
    """`listener` is called with the name of each kernel that is compiled meanwhile, before that begins."""
    _compilation_listeners.append(listener)
    try:
        yield
    finally:
        _compilation_listeners.remove(listener)


def announce_compilation(kernel: str) -> None:
    """A kernel is about to be compiled. Listeners are called; without any, the log reports it once."""
    global _announced
    for listener in _compilation_listeners:
        listener(kernel)
    in_child = multiprocessing.parent_process() is not None  # the parent says it
    if not _compilation_listeners and not _announced and not in_child:
        _announced = True
        log(compiling_note())


def compilation_began() -> None:
    """The clock of the work stands still from now on; compilations inside this one change nothing."""
    global _compiling_since
    if _compiling_since is None:
        _compiling_since = time.monotonic()


def compilation_ended() -> None:
    global _compiling_since, _compiling_seconds
    if _compiling_since is not None:
        _compiling_seconds += time.monotonic() - _compiling_since
        _compiling_since = None


def working_time() -> float:
    """Seconds, without those that kernels took to compile: what speeds and times left are made of."""
    since = _compiling_since
    now = time.monotonic() if since is None else since
    return now - _compiling_seconds


def counted(items: Iterable[T], stage: str, *, unit: str, report: Report, every: int = 1000) -> Iterator[T]:
    """Pass `items` on, reporting how many have gone by."""
    total = len(items) if hasattr(items, "__len__") else None  # pyright: ignore[reportArgumentType]
    done = 0
    for item in items:
        yield item
        done += 1
        if done % every == 0:
            report(Progress(stage, done, total, unit))
    report(Progress(stage, done, done, unit))


def time_in_words(seconds: float | int) -> str | Message:
    """
    >>> time_in_words(40), time_in_words(750), time_in_words(12_345)
    ('40 s', '12 min 30 s', '3 h 25 min')
    """
    if 0 < seconds < 0.5:
        return Message("under 1 s")
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02} min"


def bytes_in_words(size: float | int) -> str:
    """
    >>> bytes_in_words(300), bytes_in_words(1_234_567), bytes_in_words(7.2e9)
    ('300 bytes', '1.2 MB', '7.2 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:.0f} bytes"
