"""Guard: memory before a run; NaN and infinity, a loss that diverges, early stopping, Ctrl-C during it."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from inlaid.errors import SettingError
from inlaid.jobs.safety import Safety
from inlaid.jobs.state import State
from inlaid.memory import available_memory
from inlaid.messages import Message
from inlaid.report import bytes_in_words
from inlaid.vectors import Mark

FIRST_ROWS = 64
"""Rows checked after every step: the most frequent words come first, and they diverge first."""
DIVERGED = 10.0
"""A loss above its first value, this many times its lowest, and still rising has diverged."""
SMOOTHING = 1 / 200
"""Part of the run that the moving average of the loss looks back on."""
INTERVAL = 5.0
"""Seconds between two checks of a whole state, at least."""


@dataclass
class Losses:
    """The moving average of the loss per pair: a pure function of the steps, whenever they were taken."""

    average: float | None = None
    first: float | None = None
    lowest: float | None = None

    def add(self, loss: float, pairs: float, part: float) -> Message | None:
        """Add the loss of a step that was `part` of the run; the problem with it, if there is one."""
        if not math.isfinite(loss):
            return Message("the loss became {loss}", loss=loss)
        if pairs <= 0:  # subsampling left no pair in this step
            return None
        before = self.average
        new = loss / pairs
        if before is None:
            self.average = new
        else:
            weight = 1 - math.exp(-part / SMOOTHING)
            self.average = before + weight * (new - before)
        self.first = self.average if self.first is None else self.first
        self.lowest = self.average if self.lowest is None else min(self.lowest, self.average)
        if before is None or self.lowest <= 0:
            return None
        if self.average > max(before, self.first, DIVERGED * self.lowest):
            return Message(
                "the loss rose to {average:.4g}, from {lowest:.4g} at its lowest",
                average=self.average,
                lowest=self.lowest,
            )
        return None


def checks_since_best(marks: Sequence[Mark]) -> int:
    """How many marks have come since the one with the lowest held-out loss.

    >>> losses = (5.0, 4.0, 4.5)
    >>> checks_since_best([Mark(done=n, held_out=loss) for n, loss in enumerate(losses)])
    1
    """
    if not marks:
        return 0
    held_out = [math.inf if mark.held_out is None else mark.held_out for mark in marks]
    return len(marks) - 1 - held_out.index(min(held_out))


class FiniteCheck:
    """Checks all rows every few seconds, or less often if that is slow, and the first rows of tables in NumPy
    after every step.

    The weights of a network are not checked after every step: all of them enter its next loss, which is. On a
    device each look costs a synchronisation, so there only the marks of the run are checked.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self.interval = interval
        self.next = time.monotonic() + interval

    def look(self, state: State, *, everything: bool = False) -> Message | None:
        """The problem, if there is one; with `everything`, the whole state is checked now."""
        now = time.monotonic()
        if not everything and state.on_device:
            return None
        if not everything and now < self.next:
            return state.problem(FIRST_ROWS) if state.in_numpy else None
        found = state.problem()
        taken = time.monotonic() - now
        self.next = time.monotonic() + max(self.interval, 100 * taken)
        return found


SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, `kill`, and the end of a terminal."""


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """A list that stays empty until one of SIGNALS arrives; the second one acts as it always did."""
    caught: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only the main thread receives signals
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        before = {number: each for number, each in handlers.items() if each not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def catch(number: int, frame: object) -> None:
        caught.append(number)
        restore()

    for number in before:
        signal.signal(number, catch)
    try:
        yield caught
    finally:
        restore()


def check_memory(
    tables: int, safety: Safety, *, dim: int | None, words: int, other: int = 0, available: int | None = None
) -> None:
    """Raise SettingError, before anything is allocated, if the run needs more memory than there is.

    `tables` are the bytes of the state, `other` those of all else. Early stopping keeps a second copy of
    the state. `dim` is None for a method that has no such setting.
    """
    available = available_memory() if available is None else available
    copies = 2 if safety.patience else 1
    needed = copies * tables + other
    if needed <= available:
        return
    share = max(available - other, 0) / max(copies * tables, 1)
    fits = Message("")
    lower = Message("Have")
    if dim is not None:
        lower = Message("Lower dim (now {dim}), or have", dim=dim)
    if dim is not None and int(dim * share):
        fits = Message(
            " dim {dim:,} or {words:,} words would fit.", dim=int(dim * share), words=int(words * share)
        )
    copied = Message("")
    if safety.patience:
        copied = Message(" (two copies of the tables, as patience needs)")
    raise SettingError(
        "This run needs about {needed} of memory{copied}, and {available} are free.{fits} {lower} fewer "
        "words (now {words:,}) with a larger min_count or with max_size.",
        needed=bytes_in_words(needed),
        copied=copied,
        available=bytes_in_words(available),
        fits=fits,
        lower=lower,
        words=words,
    )
