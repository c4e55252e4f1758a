"""`inlaid evaluate` as a user sees it: a table, JSON, two models, several runs, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inlaid.cli import main

TEXT = """the cat sits on the mat
the dog sits on the mat
the cat eats fish
the dog eats meat
the cow eats grass
"""
PAIRS = "cat\tdog\t9\ncat\tmat\t3\nfish\tmeat\t7\ndog\tgrass\t1\nwhale\tfish\t8\n"


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, "utf-8")
    Path("tasks").mkdir()
    Path("tasks/pairs.txt").write_text(PAIRS, "utf-8")
    Path("tasks/one.txt").write_text("cat\tdog\t9\n", "utf-8")
    Path("tasks/readme").write_text("about these\n", "utf-8")
    for name, dim in (("a", "6"), ("b", "5"), ("c", "4")):
        assert (
            main(["train", "ppmi", "text.txt", "-o", f"{name}.inlaid", "--min-count", "1", "--dim", dim]) == 0
        )
    capsys.readouterr()
    return tmp_path


def test_a_table(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "a.inlaid", "tasks"]) == 0
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[0][:4] == ["task", "language", "metric", "score"]
    assert [row[:4] for row in rows[1:]] == [
        ["one", "en", "spearman", "undefined"],
        ["one", "en", "pearson", "undefined"],
        ["pairs", "en", "spearman", rows[3][3]],
        ["pairs", "en", "pearson", rows[4][3]],
    ]
    assert rows[3][-3:] == ["4", "of", "5"]
    assert "skipped" in said.err
    assert "readme" in said.err


def test_json_has_no_nan(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "a.inlaid", "tasks", "--json", "--oov", "wrong"]) == 0
    one, pairs = json.loads(capsys.readouterr().out)["scores"]
    assert one["value"] is None
    assert (pairs["used"], pairs["denominator"], pairs["total"], pairs["others"][0]["metric"]) == (
        4,
        5,
        5,
        "pearson",
    )


def test_two_models_and_several_runs(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["evaluate", "a.inlaid", "tasks/pairs.txt", "--against", "b.inlaid", "--json"]) == 0
    assert {"first", "second", "difference", "p"} <= set(
        json.loads(capsys.readouterr().out)["differences"][0]
    )
    assert main(["evaluate", "a.inlaid", "tasks/pairs.txt", "--also", "b.inlaid", "c.inlaid"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "3"
    assert main(["evaluate", "a.inlaid", "tasks/pairs.txt", "--against", "b.inlaid"]) == 0
    assert "4 of 5" in capsys.readouterr().out


MISTAKES = {
    "both": (["tasks", "--against", "b.inlaid", "--also", "c.inlaid"], "give one of them"),
    "no such task": (["world-field"], "Did you mean 'world-fields'?"),
    "no such file": (["tasks/none.txt"], "There is no file or folder"),
    "no task in it": (["text.txt"], "no task is recognized"),
    "top": (["tasks", "--top", "0"], "top is 0; expected at least 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    flags, said = MISTAKES[mistake]
    assert main(["evaluate", "a.inlaid", *flags]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ")
    assert said in last
