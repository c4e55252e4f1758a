"""What the library says while it works: progress events and log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """`done` of `total` units of one stage; `total` is None while it is not known."""

    stage: str
    done: int
    total: int | None
    unit: str
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Note:
    """A sentence the user should read: a choice that was made, something left out."""

    text: str


Event = Progress | Note
Report = Callable[[Event], None]
"""Whoever listens. The library sends events; only the command line draws them."""


def silent(event: Event) -> None:
    """Listen to nothing."""


def log(event: Event) -> None:
    """Listen as a program does: notes become warnings of the logger `inlay`, progress its debug lines."""
    logger = logging.getLogger("inlay")
    if isinstance(event, Note):
        logger.warning(event.text)
    else:
        logger.debug("%s: %s of %s %s", event.stage, event.done, event.total, event.unit)


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
