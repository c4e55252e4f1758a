"""What is drawn of progress, where no bar can be."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

import inlaid
from inlaid.commands.terminal import _Drawing  # pyright: ignore[reportPrivateUsage]
from inlaid.report import Note, Progress
from inlaid.vectors import Vectors


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


def test_a_slow_stage_is_not_shown_as_standing_still():
    line = said(Progress("layout", 1, 50, "iterations", {"speed": 0.3, "left": 0.0}))
    assert line == "layout: 1 of 50 iterations  0.3 iterations/s"


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


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SETTINGS = [{"LC_ALL": "C"}, ASCII, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}]


def typed(*words: str, **settings: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "inlaid.cli", *words]
    return subprocess.run(command, capture_output=True, env={**os.environ, **settings})


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_chinese_is_shown_or_refused_whatever_the_terminal_takes(settings: dict[str, str]):
    ran = typed("tokenize", "北京大学", **settings)
    shown = ran.stdout.decode()
    if ran.returncode:
        assert ran.returncode == 2
        assert b"not a character. In a terminal, use UTF-8" in ran.stderr
        assert b"Traceback" not in ran.stderr
    else:
        assert "北京大学" in shown or "北京大学".encode("ascii", "backslashreplace").decode() in shown


def test_chinese_that_ascii_cannot_show_is_written_as_codes(tmp_path: Path):
    inlaid.save(Vectors.of(["cat", "猫"], [[1, 0], [1, 0.1]]), tmp_path / "v.inlaid")
    ran = typed("neighbors", str(tmp_path / "v.inlaid"), "cat", **ASCII)
    assert ran.returncode == 0, ran.stderr
    assert b"\\u732b" in ran.stdout


@pytest.mark.parametrize("encoding", ["gbk", "cp936", "ascii", "latin-1", "big5", "utf-8"])
def test_characters_that_the_output_lacks_are_codes_with_one_note(encoding: str, tmp_path: Path):
    path = tmp_path / "v.txt"
    path.write_text("猫 1 2\n狗 2 1\n🙂 1 3\nécole 2 3\n", "utf-8")
    ran = typed("neighbors", str(path), "猫", PYTHONIOENCODING=encoding)
    assert ran.returncode == 0
    shown = ran.stdout.decode(encoding)
    for word in ("狗", "🙂", "école"):
        spelled = word.encode(encoding, "backslashreplace").decode(encoding)
        assert spelled in shown
    assert "?" not in shown
    notes = [line for line in ran.stderr.decode(encoding).splitlines() if "are shown as codes" in line]
    assert len(notes) == (0 if encoding == "utf-8" else 1)
    ran = typed("neighbors", str(path), "猫", "--json", PYTHONIOENCODING=encoding)
    assert {"狗", "🙂", "école"} <= set(words_in(json.loads(ran.stdout.decode(encoding))))
    assert b"are shown as codes" not in ran.stderr


def words_in(value: object) -> Iterator[str]:
    """All texts in what JSON holds."""
    if isinstance(value, str):
        yield value
    held = list(value.values()) if isinstance(value, dict) else value
    for each in held if isinstance(held, list) else []:
        yield from words_in(each)
