"""Trial: the first steps of a training, timed and thrown away; what they take is known for the whole run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from inlaid.config import MAX_EPOCHS
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import HasData, Method, Training
from inlaid.report import time_in_words, working_time

MARGIN = 0.9
"""Part of the given minutes that is planned; the rest is for checks, checkpoints and trial errors."""
TRIAL = 0.5
"""Seconds that the steps of a training are timed for."""


@dataclass(frozen=True)
class Trial:
    """What a method did with one sample."""

    starting: float
    units: float
    seconds_per_unit: float
    memory: float
    counts: float
    words: float


def extrapolated(small: float, large: float, scale: float) -> float:
    """Extrapolate to a text `scale` times as long as the sample: `large` on it, `small` on half of it.

    >>> round(extrapolated(50.0, 100.0, 10.0)), round(extrapolated(50.0, 50 * 2**0.5, 4.0))
    (1000, 141)
    """
    if scale <= 1 or small <= 0 or large <= 0:
        return large
    exponent = min(max(math.log2(large / small), 0.0), 1.5)
    return large * scale**exponent


def tried(method: Method, corpus: Corpus) -> Trial:
    began = working_time()
    training = method.start(corpus)
    starting = working_time() - began
    if not method.abilities.steps:
        began = working_time()
        training.step(0)
        per_unit = working_time() - began
    else:
        per_unit = seconds_per_unit(lambda: method.start(corpus), training, TRIAL)
    counts = training.data_bytes if isinstance(training, HasData) else 0
    return Trial(
        starting=starting,
        units=float(training.total),
        seconds_per_unit=per_unit,
        memory=float(method.memory_for(corpus)),
        counts=float(counts),
        words=float(len(corpus.vocabulary)),
    )


def epochs_that_fit(start: Callable[[int], Training], safety: Safety, *, trial: float = 1.0) -> int:
    """How many epochs fit into the minutes of `safety`. A resumed run takes its epochs from its checkpoint.

    `start(epochs)` makes a training to throw away: for `trial` seconds its steps are taken and timed. The run
    itself starts afresh, so that the trial leaves no trace in it.
    """
    path = safety.checkpoint
    if path and safety.resume and path.exists():
        planned = checkpoint.open_saved(path).identity["settings"].get("epochs")
        if planned is not None:
            return int(planned)
    training = start(1)
    epoch = training.total * seconds_per_unit(lambda: start(1), training, trial)
    minutes = safety.minutes or 0.0
    epochs = int(min(60 * minutes * MARGIN / epoch, MAX_EPOCHS))
    if not epochs:
        raise SettingError(
            "minutes is {minutes:g}, but one epoch takes {time}. Give more time, more workers, less "
            "text, or a smaller dim.",
            minutes=minutes,
            time=time_in_words(epoch),
        )
    return epochs


class Speed:
    """Units per second over the last hundred calls; the first step, which may compile, is not counted."""

    def __init__(self) -> None:
        self.samples = deque[tuple[float, int]](maxlen=100)

    @property
    def span(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0

    def after(self, now: float, done: int) -> float:
        self.samples.append((now, done))
        return (done - self.samples[0][1]) / self.span if self.span else 0.0


def seconds_per_unit(start: Callable[[], Training], training: Training, trial: float) -> float:
    """Seconds per unit, measured over `trial` seconds of steps without the first, which may compile."""
    done = training.step(0).read().done
    taken = 0.0
    units = 0
    while taken < trial or not units:
        if done >= training.total:
            training = start()
            done = 0
        began = working_time()
        step = training.step(done).read()
        taken += working_time() - began
        units += step.done - done
        done = step.done
    return taken / units
