"""Plan: the time and memory a run will take, before it starts.

Encoding, counting and training are tried on two samples of the text, one twice as large as the other. Each
figure is then extrapolated to the whole text by the power law through the two: words are linear in the text,
while the vocabulary and the number of co-occurring pairs grow more slowly (Heaps' law).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.safety import Safety
from inlaid.jobs.training import HasData, Method, Training
from inlaid.memory import available_memory
from inlaid.messages import Message
from inlaid.report import Note, bytes_in_words, time_in_words

MARGIN = 0.9
"""Part of the given minutes that is planned; the rest is for checks, checkpoints and trial errors."""
TRIAL = 0.5
"""Seconds that the steps of a training are timed for."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will take: seconds by stage, and bytes of memory."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """Stage (encoding, counting, training) -> seconds."""
    memory: int = 0
    """Bytes of the tables."""
    counts: int = 0
    """Bytes of the co-occurrence counts; beyond the setting `memory` they are on disk."""
    words: int = 0
    """Words in the vocabulary."""
    tokens: int = 0
    epochs: int | None = None
    estimated: bool = True
    """Whether the sizes are extrapolated from a sample of the text."""

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    def rows(self) -> list[str | tuple[str, ...]]:
        """The plan as a terminal shows it."""
        about = "about " if self.estimated else ""
        shown: list[str | tuple[str, ...]] = [
            ("text", f"{about}{self.tokens:,} tokens, {self.words:,} words in the vocabulary")
        ]
        for stage, seconds in self.seconds.items():
            epochs = f" ({self.epochs} epochs)" if stage == "training" and self.epochs else ""
            shown.append((stage, f"{_about(seconds)}{epochs}"))
        shown.append(("in all", _about(self.total_seconds)))
        counts = f", about {bytes_in_words(self.counts)} for co-occurrence counts" if self.counts else ""
        shown.append(("memory", f"{about}{bytes_in_words(self.memory)} for the tables{counts}"))
        return shown

    def to_dict(self) -> dict[str, Any]:
        return {
            "seconds": dict(self.seconds),
            "memory": self.memory,
            "counts": self.counts,
            "words": self.words,
            "tokens": self.tokens,
            "epochs": self.epochs,
            "estimated": self.estimated,
        }

    def note(self) -> Note:
        """The plan in one sentence."""
        stages = ", ".join(f"{stage} {time_in_words(each)}" for stage, each in self.seconds.items())
        return Note(
            "Planned: about {time} ({stages}); the tables take {size}.",
            time=time_in_words(self.total_seconds),
            stages=stages,
            size=bytes_in_words(self.memory),
        )


def _about(seconds: float) -> str:
    words = time_in_words(seconds)
    return words if words.startswith("under") else f"about {words}"


@dataclass(frozen=True)
class Sample:
    """One of the two samples: a part of the text, encoded, and the time that took."""

    corpus: Corpus
    seconds: float = 0.0
    """Time that encoding took; 0 where the text was already encoded."""


@dataclass(frozen=True)
class _Trial:
    """What a method did with one sample."""

    starting: float
    units: float
    seconds_per_unit: float
    memory: float
    counts: float
    words: float


def plan_of(method: Method, samples: tuple[Sample, Sample], scale: float) -> Plan:
    """The plan for a text `scale` times as long as the second sample, which is twice the first."""
    small, large = (_try(method, sample.corpus) for sample in samples)
    per_unit = large.seconds_per_unit
    seconds = dict[str, float]()
    if samples[1].seconds:
        seconds["encoding"] = samples[1].seconds * scale
    if method.abilities.counts:
        seconds["counting"] = extrapolated(small.starting, large.starting, scale)
    if method.abilities.steps:
        seconds["training"] = per_unit * extrapolated(small.units, large.units, scale)
    else:
        seconds["training"] = extrapolated(small.seconds_per_unit, large.seconds_per_unit, scale)
    return Plan(
        seconds=seconds,
        memory=round(extrapolated(small.memory, large.memory, scale)),
        counts=round(extrapolated(small.counts, large.counts, scale)),
        words=round(extrapolated(small.words, large.words, scale)),
        tokens=round(len(samples[1].corpus.ids) * scale),
        epochs=getattr(method, "epochs", None),
        estimated=scale > 1,
    )


def extrapolated(small: float, large: float, scale: float) -> float:
    """Extrapolate to a text `scale` times as long as the sample: `large` on it, `small` on half of it.

    >>> round(extrapolated(50.0, 100.0, 10.0)), round(extrapolated(50.0, 50 * 2**0.5, 4.0))
    (1000, 141)
    """
    if scale <= 1 or small <= 0 or large <= 0:
        return large
    exponent = min(max(math.log2(large / small), 0.0), 1.5)
    return large * scale**exponent


def _try(method: Method, corpus: Corpus) -> _Trial:
    began = time.perf_counter()
    training = method.start(corpus)
    starting = time.perf_counter() - began
    if not method.abilities.steps:
        began = time.perf_counter()
        training.step(0)
        per_unit = time.perf_counter() - began
    else:
        per_unit = seconds_per_unit(lambda: method.start(corpus), training, TRIAL)
    counts = training.data_bytes if isinstance(training, HasData) else 0
    return _Trial(
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
    epochs = int(60 * minutes * MARGIN / epoch)
    if not epochs:
        raise SettingError(
            "minutes is {minutes:g}, but one epoch takes about {time}. Give more time, more workers, less "
            "text, or a smaller dim.",
            minutes=minutes,
            time=time_in_words(epoch),
        )
    return epochs


def check_memory(
    tables: int, safety: Safety, *, dim: int, words: int, other: int = 0, available: int | None = None
) -> None:
    """Raise SettingError, before anything is allocated, if the run needs more memory than there is.

    `tables` are the bytes of the state, `other` those of all else. Early stopping keeps a second copy of
    the state.
    """
    available = available_memory() if available is None else available
    copies = 2 if safety.patience else 1
    needed = copies * tables + other
    if needed <= available:
        return
    share = max(available - other, 0) / max(copies * tables, 1)
    fits = Message("")
    if int(dim * share):
        fits = Message(
            " dim {dim:,} or {words:,} words would fit.", dim=int(dim * share), words=int(words * share)
        )
    copied = Message("")
    if safety.patience:
        copied = Message(" (two copies of the tables, as patience needs)")
    raise SettingError(
        "This run needs about {needed} of memory{copied}, and {available} are free.{fits} Lower dim (now "
        "{dim}), or have fewer words (now {words:,}) with a larger min_count or with max_size.",
        needed=bytes_in_words(needed),
        copied=copied,
        available=bytes_in_words(available),
        fits=fits,
        dim=dim,
        words=words,
    )


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
    done = training.step(0).done
    taken = 0.0
    units = 0
    while taken < trial or not units:
        if done >= training.total:
            training = start()
            done = 0
        began = time.perf_counter()
        step = training.step(done)
        taken += time.perf_counter() - began
        units += step.done - done
        done = step.done
    return taken / units
