"""How progress is shown: a bar in terminals and notebooks, otherwise lines or the log.

    inlaid.train("text.txt", "sgns")                  # a bar, if someone is there to see it
    inlaid.train("text.txt", "sgns", report=None)     # silence
    inlaid.train("text.txt", "sgns", report=print)    # every event goes to a function

Nothing is imported for it until there is something to draw.
"""

from __future__ import annotations

import contextlib
import functools
import html
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

from inlaid.messages import Language, Message, shown_language, speaking, translated
from inlaid.report import (
    Epoch,
    Event,
    Note,
    Progress,
    Report,
    automatic,
    compiling_note,
    hearing_compilations,
    log,
    silent,
    time_in_words,
    working_time,
)

P = ParamSpec("P")
R = TypeVar("R")
LINE_EVERY = 10.0
"""Seconds between lines of progress where no bar can be drawn."""
REDRAWN_EVERY = 0.1
"""Seconds between two pictures of a bar in a notebook."""
NARROW = 100
"""Columns of a terminal below which the bar is short, so that the figures beside it have room."""
_listening: ContextVar[bool] = ContextVar("listening", default=False)


def shows_progress(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that Python users call: it reports to a bar unless told otherwise (`listening`)."""

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        with listening(named.get("report", automatic)) as report:  # pyright: ignore[reportArgumentType]
            named["report"] = report
            return function(*given, **named)

    return called


@contextlib.contextmanager
def listening(report: Report | None) -> Iterator[Report]:
    """The listener that was asked for: None is silence, `automatic` is a bar where someone can see it and the
    log elsewhere. What is called inside another such call is part of it, and draws nothing of its own."""
    outermost = not _listening.get()
    token = _listening.set(True)
    try:
        if report is None:
            yield silent
        elif report is not automatic:
            yield report
        elif not outermost:
            yield silent
        else:
            with _automatic() as listener:
                yield listener
    finally:
        _listening.reset(token)


@contextlib.contextmanager
def drawn(*, bars_shown: bool = True) -> Iterator[Report]:
    """Where a command reports to: a bar for each stage; without a terminal, or where bars would come between
    text that is shown, a line now and then."""
    canvas = TerminalBars() if bars_shown and sys.stderr.isatty() else Lines()
    token = _listening.set(True)
    try:
        with _drawing_on(canvas) as drawing:
            yield drawing
    finally:
        _listening.reset(token)


@contextlib.contextmanager
def _automatic() -> Iterator[Report]:
    if "PYTEST_CURRENT_TEST" in os.environ:
        yield log
    elif in_notebook():
        with _drawing_on(NotebookBars()) as drawing:
            yield drawing
    elif sys.stderr is not None and sys.stderr.isatty():
        with _drawing_on(TerminalBars()) as drawing:
            yield drawing
    else:
        yield log


def in_notebook() -> bool:
    """Whether the output goes to a notebook: Jupyter, Colab, an editor that shows notebooks."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return hasattr(shell, "kernel")


@contextlib.contextmanager
def _drawing_on(canvas: Canvas) -> Iterator[Report]:
    drawing = Drawing(canvas)
    try:
        with hearing_compilations(drawing.compiling):
            yield drawing
    finally:
        canvas.close()


@runtime_checkable
class Canvas(Protocol):
    """What bars are drawn on."""

    def bar(self, event: Progress, figures: list[str]) -> None:
        """Draw the bar of a stage as it is now."""
        ...

    def busy(self, stage: str, text: str) -> None:
        """Show that something of unknown length is under way; an empty text ends it."""
        ...

    def note(self, text: str) -> None: ...

    def close(self) -> None:
        """Take the bars away; notes stay."""
        ...


class Drawing:
    """A listener that draws."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.began: dict[str, tuple[float, int]] = {}
        """When the first event of a stage came, and how much was done by then: resumed work does not start at
        0."""
        self.compiled = 0
        """Kernels compiled so far."""
        self.language: Language = shown_language()
        """Events also come from threads of workers, which know of no language."""

    def compiling(self, kernel: str) -> None:
        """Say once that kernels are compiled, and show which one; how many will follow is not known."""
        if not self.compiled:
            self(compiling_note())
        self.compiled += 1
        with speaking(self.language):
            self.canvas.busy(translated("compiling"), f"{kernel} ({self.compiled})")

    def __call__(self, event: Event) -> None:
        with speaking(self.language):
            self._draw(event)

    def _draw(self, event: Event) -> None:
        if isinstance(event, Note):
            self.canvas.note(str(Message("note: {note}", note=event)))
            return
        if isinstance(event, Epoch):
            return  # the bar has shown it
        if self.compiled:
            self.canvas.busy(translated("compiling"), "")
        now = working_time()
        if event.stage not in self.began:
            if event.total is not None and event.done >= event.total:
                return  # done before there was anything to show
            self.began[event.stage] = (now, event.done)
        self.canvas.bar(event, self._figures(event, now))

    def _figures(self, event: Progress, now: float) -> list[str]:
        """Speed, time left and the figures of the stage. Where it gives no speed or time left, they are
        estimated, without the time that kernels took to compile."""
        when, done = self.began[event.stage]
        speed = event.figures.get("speed", max(event.done - done, 0) / max(now - when, 1e-3))
        remaining = ((event.total or 0) - event.done) / speed if speed else 0
        left = event.figures.get("left", remaining)
        unit = translated(event.unit)
        shown = [Message("{speed} {unit}/s", speed=short(speed), unit=unit)] if speed else []
        if left > 0:
            shown.append(Message("{time} left", time=time_in_words(left)))
        return [str(figure) for figure in shown] + [
            f"{translated(name)} {value:.4g}"
            for name, value in event.figures.items()
            if name not in ("speed", "left")
        ]


def _done(event: Progress) -> Message:
    """How much of a stage is done."""
    stage = translated(event.stage)
    unit = translated(event.unit)
    if not event.total:
        return Message("{stage}: {done:,} {unit}", stage=stage, done=event.done, unit=unit)
    return Message(
        "{stage}: {done:,} of {total:,} {unit}", stage=stage, done=event.done, total=event.total, unit=unit
    )


def short(speed: float) -> str:
    """Two digits, or all before the point: what is slow is not shown as 0.

    >>> short(0.31415), short(31_415.9)
    ('0.31', '31,416')
    """
    return f"{speed:.2g}" if speed < 10 else f"{speed:,.0f}"


class Lines:
    """A line on standard error now and then."""

    def __init__(self) -> None:
        self.printed = time.monotonic()

    def bar(self, event: Progress, figures: list[str]) -> None:
        now = time.monotonic()
        if now - self.printed <= LINE_EVERY:
            return
        self.printed = now
        line = f"{_done(event)}  {'  '.join(figures)}"
        sys.stderr.write(f"{line.rstrip()}\n")
        sys.stderr.flush()

    def busy(self, stage: str, text: str) -> None:
        pass

    def note(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        pass


class TerminalBars:
    """Bars in a terminal, which vanish when the work is done."""

    def __init__(self) -> None:
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        self.width = 0

    def bar(self, event: Progress, figures: list[str]) -> None:
        stage = translated(event.stage)
        task = self._task(stage, event.total)
        fitted = self._fitted(stage, figures)
        self.bars.update(task, completed=event.done, total=event.total, figures=fitted)

    def busy(self, stage: str, text: str) -> None:
        if text:
            self.bars_started().update(self._task(stage, None), figures=text, visible=True)
        elif stage in self.tasks:
            self.bars.update(self.tasks[stage], visible=False)

    def note(self, text: str) -> None:
        if self.bars is None:
            sys.stderr.write(f"{text}\n")
            return
        self.bars.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        if self.bars is not None:
            self.bars.stop()

    def bars_started(self) -> Any:
        """The bars; they are imported with the first of them."""
        if self.bars is None:
            from rich import progress
            from rich.console import Console

            console = Console(stderr=True)
            self.width = console.width
            columns = (
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(bar_width=self._bar_width()),
                progress.TaskProgressColumn(),
                progress.TextColumn("{task.fields[figures]}", markup=False),
            )
            self.bars = progress.Progress(*columns, console=console, transient=True)
            self.bars.start()
        return self.bars

    def _task(self, stage: str, total: int | None) -> Any:
        bars = self.bars_started()
        if stage not in self.tasks:
            self.tasks[stage] = bars.add_task(stage, total=total, figures="")
        return self.tasks[stage]

    def _bar_width(self) -> int:
        return 40 if self.width >= NARROW else 15

    def _fitted(self, stage: str, figures: list[str]) -> str:
        """As many figures as there is room for; the first are the most important."""
        from rich.cells import cell_len

        room = self.width - max(map(cell_len, [stage, *self.tasks])) - self._bar_width() - len(" 100%  ")
        shown = list[str]()
        for figure in figures:
            if cell_len("  ".join([*shown, figure])) > room:
                break
            shown.append(figure)
        return "  ".join(shown)


class NotebookBars:
    """Bars in the output of a cell, as text; only the notes stay when the work is done."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.lines: dict[str, str] = {}
        self.handle: Any = None
        self.drawn = 0.0

    def bar(self, event: Progress, figures: list[str]) -> None:
        width = 30
        share = event.done / event.total if event.total else 0.0
        full = round(width * min(share, 1.0))
        percent = f"{share:4.0%}" if event.total else f"{event.done:,} {translated(event.unit)}"
        stage = translated(event.stage)
        self.lines[stage] = f"{stage} {'━' * full}{'╌' * (width - full)} {percent}  {'  '.join(figures)}"
        if time.monotonic() - self.drawn >= REDRAWN_EVERY:
            self._show()

    def busy(self, stage: str, text: str) -> None:
        if text:
            self.lines[stage] = f"{stage} {text}"
            self._show()
        else:
            self.lines.pop(stage, None)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self._show()

    def close(self) -> None:
        self.lines.clear()
        if self.handle is not None:
            self._show()

    def _show(self) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports]

        self.drawn = time.monotonic()
        text = "\n".join([*self.notes, *self.lines.values()])
        shown = {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>" if text else ""}
        if self.handle is None:
            self.handle = display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)
