"""What is drawn of progress, where no bar can be."""

from __future__ import annotations

import io
import math

from rich.console import Console
from rich.progress import Progress as Bars

from inlaid.commands.terminal import _Drawing  # pyright: ignore[reportPrivateUsage]
from inlaid.report import Note, Progress


def said(*events: Progress) -> str:
    """The line that the last of these events makes."""
    console = Console(file=io.StringIO(), width=500)
    drawing = _Drawing(Bars(console=console, disable=True), console)
    for event in events:
        drawing.printed = -math.inf  # as if the last line had been long ago
        drawing(event)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()[-1]


def test_figures_speed_and_time_left():
    figures = {"speed": 1234.5, "left": 750.0, "loss": 2.34567, "learning_rate": 0.025}
    line = said(Progress("training", 1000, 5000, "words", figures))
    assert (
        line
        == "training: 1,000 of 5,000 words  1,234 words/s  loss 2.346  learning_rate 0.025  12 min 30 s left"
    )


def test_a_stage_that_gives_neither_speed_nor_time_left():
    assert said(Progress("reading", 100, None, "lines")) == "reading: 100 lines"
    line = said(
        Progress("reading", 4_000_000, 8_000_000, "lines"), Progress("reading", 4_000_001, 8_000_000, "lines")
    )
    speed = float(line.split("lines/s")[0].split()[-1].replace(",", ""))
    assert speed <= 1000  # of what was done since the first event: it may have gone on from where it was
    assert line.endswith(" left")
    assert said(Progress("reading", 1, None, "lines"), Progress("reading", 2, None, "lines")).endswith(
        "lines/s"
    )


def test_a_note_is_shown_as_it_is():
    """Brackets are not markup: special tokens are written so."""
    console = Console(file=io.StringIO(), width=500)
    _Drawing(Bars(console=console, disable=True), console)(Note("{word} was added.", word="[PAD]"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "note: [PAD] was added.\n"
