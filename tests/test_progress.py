"""What is shown of progress: bars where someone sees them, the log where nobody does, silence on request."""

from __future__ import annotations

import logging
import math
import os
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import progress, report
from inlaid.messages import speaking
from inlaid.progress import Drawing, Lines, NotebookBars, TerminalBars, drawn, listening
from inlaid.report import Epoch, Event, Note, Progress, automatic, silent
from inlaid.vectors import Vectors


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """The line that the last of these events makes, where there is no terminal."""

    def last_line(*events: Event) -> str:
        lines = Lines()
        drawing = Drawing(lines)
        for event in events:
            lines.printed = -math.inf  # as if the last line had been long ago
            drawing(event)
        return capsys.readouterr().err.splitlines()[-1]

    return last_line


def test_figures_speed_and_time_left(said: Any):
    figures = {"speed": 1234.5, "left": 750.0, "loss": 2.34567, "learning_rate": 0.025}
    line = said(Progress("training", 1000, 5000, "words", figures))
    assert (
        line
        == "training: 1,000 of 5,000 words  1,234 words/s  12 min 30 s left  loss 2.346  learning_rate 0.025"
    )


def test_progress_in_chinese(said: Any):
    figures = {"speed": 1234.5, "left": 750.0, "loss": 2.34567, "learning_rate": 0.025}
    with speaking("zh"):
        line = said(Progress("training", 1000, 5000, "words", figures))
        note = said(Note("{path} is read as {charset}.", path="a.txt", charset="gb18030"))
    assert line == "训练：1,000 / 5,000 词  1,234 词/秒  剩余 12 min 30 s  损失 2.346  学习率 0.025"
    assert note.startswith("提示：a.txt")


def test_a_slow_stage_is_not_shown_as_standing_still(said: Any):
    line = said(Progress("layout", 1, 50, "iterations", {"speed": 0.3, "left": 0.0}))
    assert line == "layout: 1 of 50 iterations  0.3 iterations/s"


def test_a_stage_that_gives_neither_speed_nor_time_left(said: Any):
    assert said(Progress("reading", 100, None, "lines")) == "reading: 100 lines"
    half = Progress("reading", 4_000_000, 8_000_000, "lines")
    line = said(half, Progress("reading", 4_000_001, 8_000_000, "lines"))
    speed = float(line.split("lines/s")[0].split()[-1].replace(",", ""))
    assert speed <= 1000  # of what was done since the first event: it may have gone on from where it was
    assert line.endswith(" left")
    unknown = [Progress("reading", 1, None, "lines"), Progress("reading", 2, None, "lines")]
    assert said(*unknown).endswith("lines/s")


def test_a_note_is_shown_as_it_is(said: Any):
    """Brackets are not markup: special tokens are written so."""
    assert said(Note("{word} was added.", word="[PAD]")) == "note: [PAD] was added."


def test_compiling_does_not_count_as_work(monkeypatch: pytest.MonkeyPatch, said: Any):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    before = report.working_time()
    clock[0] += 2
    report.compilation_began()
    clock[0] += 50
    assert report.working_time() - before == 2
    report.compilation_ended()
    clock[0] += 3
    assert report.working_time() - before == 5

    lines = Lines()
    drawing = Drawing(lines)
    drawing(Progress("reading", 0, 1000, "lines"))
    report.compilation_began()
    clock[0] += 90
    report.compilation_ended()
    clock[0] += 10
    assert drawing._figures(Progress("reading", 100, 1000, "lines"), report.working_time()) == [
        "10 lines/s",
        "1 min 30 s left",
    ]


CODE = """
import inlaid, sys
from inlaid import world
assert "rich" not in sys.modules
text = list(world.sentences("en", words=40_000))
vectors = inlaid.train(text, "sgns", dim=16, epochs=60{more})
print("rich is", "loaded" if "rich" in sys.modules else "absent")
"""


def test_python_draws_a_bar_in_a_terminal_and_takes_it_away(in_terminal: Any, tmp_path: Path):
    ended = in_terminal(CODE.format(more=""), tmp_path)
    assert ended.code == 0, ended.shown
    assert "training" in ended.shown
    assert "━" in ended.shown
    assert "words/s" in ended.shown
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", ended.shown)
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 80
    assert "…" not in plain
    assert "\x1b[2Krich is loaded\r\n" in ended.shown, "the bar is gone"


def test_report_none_silences(in_terminal: Any, tmp_path: Path):
    ended = in_terminal(CODE.format(more=", report=None"), tmp_path)
    assert "━" not in ended.shown
    assert ended.shown.startswith("rich is absent\r\n")


def test_no_colour_where_none_is_wanted(in_terminal: Any, tmp_path: Path):
    ended = in_terminal(CODE.format(more=""), tmp_path, NO_COLOR="1")
    assert "━" in ended.shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", ended.shown)


def test_captured_output_stays_quiet(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    ended = subprocess.run(
        [sys.executable, "-c", CODE.format(more="")], capture_output=True, text=True, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "rich is absent\n"
    assert "training" not in ended.stderr


def test_analyses_and_verbs_show_progress_and_take_none():
    """Through the names that users call."""
    vectors = Vectors.of(["cat", "dog", "car"], [[1, 0], [1, 0.1], [0, 1]])
    assert inlaid.neighbors(vectors, "cat", n=1, report=None).rows()
    assert vectors.neighbors("cat", n=1, report=None).rows()
    heard = list[Event]()
    inlaid.train([["cat", "dog"]] * 50, "sgns", dim=4, epochs=3, min_count=1, report=heard.append)
    assert [event.number for event in heard if isinstance(event, Epoch)] == [1, 2, 3]
    losses = [event.loss for event in heard if isinstance(event, Epoch)]
    assert all(loss is not None and loss > 0 for loss in losses)


def test_what_is_called_inside_another_call_draws_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True))
    with listening(automatic) as outer:
        assert isinstance(outer, Drawing)
        assert isinstance(outer.canvas, TerminalBars)
        with listening(automatic) as inner:
            assert inner is silent
    with listening(automatic) as again:
        assert isinstance(again, Drawing)


def test_without_a_terminal_the_log_hears_it(caplog: pytest.LogCaptureFixture):
    with listening(automatic) as heard, caplog.at_level(logging.INFO, "inlaid"):
        heard(Note("Something was chosen."))
        heard(Epoch(1, 5, 2.5, None, 3.0))
    assert [record.getMessage() for record in caplog.records] == [
        "Something was chosen.",
        "epoch 1 of 5: loss 2.5",
    ]


def test_a_notebook_gets_one_output_that_is_updated(monkeypatch: pytest.MonkeyPatch):
    """By the documented interface of IPython: display(raw=True, display_id=True) and handle.update."""
    pictures = list[dict[str, str]]()

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            assert raw
            pictures.append(data)

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert not pictures, "one output for a call"
        pictures.append(data)
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "REDRAWN_EVERY", 0.0)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with listening(automatic) as heard:
        assert isinstance(heard, Drawing)
        assert isinstance(heard.canvas, NotebookBars)
        heard(Progress("training", 50, 200, "words", {"speed": 10.0, "left": 15.0}))
        assert pictures[-1]["text/plain"] == f"training {'━' * 8}{'╌' * 22}  25%  10 words/s  15 s left"
        heard(Note("{word} < 3", word="[PAD]"))
    assert pictures[-1] == {"text/plain": "note: [PAD] < 3", "text/html": "<pre>note: [PAD] &lt; 3</pre>"}


def test_a_stage_that_is_done_at_once_is_not_drawn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True))
    with drawn() as heard:
        heard(Progress("reading", 3, 3, "lines"))
        assert isinstance(heard, Drawing)
        assert isinstance(heard.canvas, TerminalBars)
        assert heard.canvas.bars is None


def test_workers_speak_the_language_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """A thread that compiles a kernel does not know which language was chosen."""
    monkeypatch.setattr(Lines, "busy", lambda lines, stage, text: lines.note(f"{stage} {text}"))
    with speaking("zh"):
        drawing = Drawing(Lines())
        worker = threading.Thread(target=drawing.compiling, args=("sgns.cpu.pull",))
        worker.start()
        worker.join()
    assert (
        capsys.readouterr().err
        == "提示：首次使用，正在编译计算内核，需要几秒，只此一次。\n编译 sgns.cpu.pull (1)\n"
    )
