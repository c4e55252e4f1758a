"""What a terminal shows, whatever characters it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import inlaid
from inlaid.vectors import Vectors

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
