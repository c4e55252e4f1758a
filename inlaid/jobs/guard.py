"""Guard: numbers that are none, losses that blow up, training that gets no better, Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST = 64
"""Rows looked at after every step: the most frequent words stand there, and they go wrong first."""
CHUNK = 1 << 16
"""Numbers looked at in one go when all are; they stay in the cache."""
BLOWN_UP = 10.0
"""A loss that is worse than at the start, this many times its lowest, and still rising has blown up."""
SMOOTHED_OVER = 1 / 200
"""Part of the run that the running average of the loss looks back on."""


@dataclass
class Losses:
    """The running average of the loss per pair: a pure function of the steps, whenever they were taken."""

    average: float | None = None
    first: float | None = None
    lowest: float | None = None

    def add(self, loss: float, pairs: float, part: float) -> str:
        """Take in the loss of a step that was `part` of the run; what is wrong with it, or nothing."""
        if not math.isfinite(loss):
            return f"the loss became {loss}"
        if pairs <= 0:  # every word of this step was passed over
            return ""
        before = self.average
        weight = 1 - math.exp(-part / SMOOTHED_OVER)
        self.average = loss / pairs if before is None else before + weight * (loss / pairs - before)
        self.first = self.average if self.first is None else self.first
        self.lowest = self.average if self.lowest is None else min(self.lowest, self.average)
        if (
            before is not None
            and self.average > max(before, self.first, BLOWN_UP * self.lowest)
            and self.lowest > 0
        ):
            return f"the loss rose to {self.average:.4g}, from {self.lowest:.4g} at its lowest"
        return ""


@dataclass(frozen=True)
class Mark:
    """What was known at one point of a run: the running average of the loss, and the loss on text never
    trained on."""

    done: int
    loss: float | None
    held_out: float | None


def stale(marks: Sequence[Mark]) -> int:
    """How many marks have come since the one with the lowest held-out loss.

    >>> stale([Mark(1, 5.0, 5.0), Mark(2, 4.0, 4.0), Mark(3, 3.0, 4.5)])
    1
    """
    held_out = [math.inf if mark.held_out is None else mark.held_out for mark in marks]
    return len(marks) - 1 - held_out.index(min(held_out)) if marks else 0


def bad_number(arrays: Mapping[str, np.ndarray], rows: int | None = None) -> str:
    """The first NaN or infinity among the first `rows` rows of each array (or all), in words; or nothing."""
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            continue
        for start, chunk in _chunks(np.atleast_1d(array)[:rows]):
            if not np.isfinite(chunk).all():
                row = start + int(np.flatnonzero(~np.isfinite(chunk).reshape(len(chunk), -1).all(axis=1))[0])
                return f"'{name}' holds NaN or infinity in row {row:,}"
    return ""


class Watch:
    """Looks at the first rows after every step and at everything every few seconds, or less often if that is
    dear."""

    def __init__(self, every: float = 5.0) -> None:
        self.every = every
        self.next = time.monotonic() + every

    def look(self, arrays: Mapping[str, np.ndarray], *, all: bool = False) -> str:
        """What is wrong, or nothing; with `all`, everything is looked at now."""
        now = time.monotonic()
        if not all and now < self.next:
            return bad_number(arrays, FIRST)
        found = bad_number(arrays)
        self.next = time.monotonic() + max(self.every, 100 * (time.monotonic() - now))
        return found


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """A list that stays empty until Ctrl-C, or a polite request to end; the second one acts as it always
    did."""
    caught: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # signals reach no other
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        before = {
            number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)
        }

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def catch(number: int, frame: object) -> None:
        caught.append(number)
        put_back()

    for number in before:
        signal.signal(number, catch)
    try:
        yield caught
    finally:
        put_back()


def _chunks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    rows = max(1, CHUNK // max(1, array[:1].size))
    for start in range(0, len(array), rows):
        yield start, array[start : start + rows]
