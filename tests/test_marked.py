"""Marked parts are bold where letters can be, and between asterisks elsewhere."""

from __future__ import annotations

import pytest

from inlaid.commands import terminal
from inlaid.marked import Marked
from inlaid.notebook import html_of

LINE = Marked("5 < 6: 苹果 and <pear>", ((7, 9), (14, 20)))


def test_marks_are_asterisks_in_plain_text():
    assert str(LINE) == "5 < 6: **苹果** and **<pear>**"
    assert str(LINE.indented(2)) == "  5 < 6: **苹果** and **<pear>**"
    assert str(Marked("nothing")) == "nothing"


def test_notebooks_escape_the_text_and_not_the_marks():
    assert "5 &lt; 6: <b>苹果</b> and <b>&lt;pear&gt;</b>" in html_of([LINE])
    assert "<b>苹果</b>" in html_of([("1", LINE)])


@pytest.mark.parametrize(("tty", "no_color"), [(True, ""), (True, "1"), (False, "")])
def test_terminals_show_them_bold(
    tty: bool, no_color: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: tty)
    terminal.print_rows([LINE])
    out = capsys.readouterr().out
    if tty and not no_color:
        assert out == "5 < 6: \x1b[1m苹果\x1b[22m and \x1b[1m<pear>\x1b[22m\n"
    else:
        assert out == f"{LINE}\n"
