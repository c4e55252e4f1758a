"""Plan: time and memory before it starts."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inlaid.errors import SettingError
from inlaid.jobs import checkpoint
from inlaid.jobs.work import Safety, Work
from inlaid.report import bytes_in_words, time_in_words

MARGIN = 0.9
"""Part of the minutes given that is planned for; the rest is for checks, checkpoints and a trial that was too
hopeful."""


@dataclass(frozen=True)
class Plan:
    """What a run will take."""

    epochs: int
    seconds: float
    memory: int
    """Bytes of its tables."""

    def __str__(self) -> str:
        return f"{self.epochs} epochs, about {time_in_words(self.seconds)}; tables take {bytes_in_words(self.memory)}"


def plan(make_work: Callable[[int], Work], safety: Safety, *, epochs: int, trial: float = 1.0) -> Plan:
    """What `epochs` would take or, where `safety` gives minutes, how many epochs fit into them.

    `make_work(epochs)` makes work to throw away: for `trial` seconds its steps are taken and timed. The run
    itself starts afresh, so the plan leaves no trace in it. A run to be resumed has its epochs from its
    checkpoint.
    """
    path = safety.checkpoint
    planned = (
        checkpoint.open_saved(path).identity["settings"].get("epochs")
        if path and safety.resume and path.exists()
        else None
    )
    work = make_work(1)
    epoch = work.total * _seconds_per_unit(make_work, work, trial)
    memory = tables_size(work)
    if planned is not None:
        epochs = int(planned)
    elif safety.minutes is not None:
        epochs = int(60 * safety.minutes * MARGIN / epoch)
        if not epochs:
            raise SettingError(
                f"minutes is {safety.minutes:g}, but one epoch takes about {time_in_words(epoch)}. Give more time, "
                "more workers, less text, or a smaller dim."
            )
    return Plan(epochs, epochs * epoch, memory)


def tables_size(work: Work) -> int:
    return sum(array.nbytes for array in work.arrays.values())


def check_memory(
    tables: int, safety: Safety, *, dim: int, words: int, other: int = 0, available: int | None = None
) -> None:
    """Raise SettingError, before anything is allocated, if the run needs more memory than there is.

    `tables` are the bytes of the work's arrays, `other` those of all else. Early stopping keeps a second copy
    of the tables.
    """
    available = available_memory() if available is None else available
    copies = 2 if safety.patience else 1
    needed = copies * tables + other
    if available is None or needed <= available:
        return
    share = max(available - other, 0) / max(copies * tables, 1)
    fits = f"dim {int(dim * share):,} or {int(words * share):,} words would fit: " if int(dim * share) else ""
    second = " (two copies of the tables, as patience needs)" if safety.patience else ""
    raise SettingError(
        f"This run needs about {bytes_in_words(needed)} of memory{second}, and {bytes_in_words(available)} are free. "
        f"{fits}lower dim (now {dim}), or have fewer words (now {words:,}) with a larger min_count or with max_size."
    )


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that may still be taken, by this machine and by the container we run in; None where nobody
    says."""
    known = [size for size in (_machine(root), *_containers(root)) if size is not None]
    return max(min(known), 0) if known else None


class Pace:
    """Units a second, over the last hundred times it was asked; the first step, which may compile, is not
    counted."""

    def __init__(self) -> None:
        self.samples = deque[tuple[float, int]](maxlen=100)

    @property
    def span(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0

    def speed(self, now: float, done: int) -> float:
        self.samples.append((now, done))
        return (done - self.samples[0][1]) / self.span if self.span else 0.0


def _seconds_per_unit(make_work: Callable[[int], Work], work: Work, trial: float) -> float:
    # the first step may compile
    done = work.step(0).done
    taken = 0.0
    units = 0
    while taken < trial or not units:
        if done >= work.total:
            work = make_work(1)
            done = 0
        began = time.perf_counter()
        step = work.step(done)
        taken += time.perf_counter() - began
        units = units + step.done - done
        done = step.done
    return taken / units


def _machine(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:  # no Linux: what is built in is the most there can be
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if root == Path("/") else None
    except (AttributeError, OSError, ValueError):
        return None


def _containers(root: Path) -> Iterator[int | None]:
    """What each control group that we are in leaves free, the outer ones too; files in its cache could be
    dropped."""
    try:
        groups = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    for _, kinds, place in groups:
        if kinds == "":
            yield from _groups(root / "sys/fs/cgroup", place, "memory.max", "memory.current")
        elif "memory" in kinds.split(","):
            yield from _groups(
                root / "sys/fs/cgroup/memory", place, "memory.limit_in_bytes", "memory.usage_in_bytes"
            )


def _groups(mount: Path, place: str, limit: str, usage: str) -> Iterator[int | None]:
    inner = Path(place.lstrip("/"))
    for folder in {mount / inner, *(mount / outer for outer in inner.parents), mount}:
        try:
            stats = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cached = sum(
                int(stats.get(f"total_{name}", stats.get(name, 0)))
                for name in ("inactive_file", "active_file")
            )
            yield (
                int((folder / limit).read_text()) - int((folder / usage).read_text()) + cached
            )  # "max" is no number: no limit
        except (OSError, ValueError):
            yield None
