"""What a system may do to a command ends in one line that names the file and says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import cli

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(inlaid.__file__).parents[1])}


@pytest.fixture
def here(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with the files of the workshop."""
    shutil.copytree(workshop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("INLAID", f"{sys.executable} -m inlaid")
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=120
    )


def test_python_runs_the_package(here: Path):
    assert in_shell("INLAID --version").stdout.startswith("inlaid ")


def test_standard_input_may_be_closed(here: Path):
    ended = in_shell("INLAID info a.inlaid <&-")
    assert ended.returncode == 0, ended.stderr
    ended = in_shell("INLAID train ppmi - -o v.inlaid <&-")
    assert ended.returncode == 2
    assert ended.stderr == "error: Standard input is closed. Name a file, or pass text through a pipe.\n"


def test_a_full_disk_behind_standard_output(here: Path):
    ended = in_shell("INLAID info a.inlaid > /dev/full")
    assert ended.returncode == 2
    assert "error: Cannot write to standard output: No space left on device. Free some" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_name_that_is_too_long(here: Path, typed: Any):
    name = f"{'a' * 249}.inlaid"
    for words in (["convert", "a.inlaid", name], ["train", "ppmi", "corpus", "-o", name]):
        error = typed(*words, code=2).err
        assert name in error
        assert "File name too long" in error
        assert "Use a shorter name" in error
        assert "Errno" not in error
    assert "Errno" not in typed("info", "a" * 300, code=2).err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize(
    "words",
    [
        ["info", "pipe"],
        ["verify", "pipe"],
        ["neighbors", "pipe", "woman"],
        ["convert", "pipe", "v.inlaid"],
        ["train", "ppmi", "text.txt", "-o", "v.inlaid", "--config", "pipe"],
        ["train", "ppmi", "text.txt", "-o", "v.inlaid", "--dictionary", "pipe"],
    ],
    ids=" ".join,
)
def test_a_pipe_where_a_file_is_needed_does_not_wait(words: list[str], here: Path, typed: Any):
    os.mkfifo("pipe")
    error = typed(*words, code=2).err
    assert "pipe is a pipe or a device, and" in error
    assert "are read from a file. Save them to a file first." in error


def test_text_from_a_pipe_says_what_it_waits_for(here: Path):
    os.mkfifo("pipe")
    ended = in_shell("cat text.txt > pipe & INLAID train ppmi pipe -o v.inlaid --dim 4")
    assert ended.returncode == 0, ended.stderr
    assert "pipe is a pipe: waiting for a program that writes into it" in ended.stderr


def test_half_an_archive_is_said_to_be_cut_short(here: Path, typed: Any):
    typed("convert", "a.inlaid", "v.npz")
    data = Path("v.npz").read_bytes()
    Path("v.npz").write_bytes(data[: len(data) // 2])
    assert "cut short" in typed("info", "v.npz", code=2).err


def test_an_error_in_text_names_the_file_as_it_was_typed(here: Path, typed: Any):
    Path("folder").mkdir()
    Path("folder/bad.txt").write_bytes(b"fine\nbad \xff\xfe byte\n")
    assert "folder/bad.txt:2" in typed("corpus", "folder", "-o", "new", code=2).err


def test_what_to_type_next_after_an_output_that_looks_like_a_flag(here: Path, typed: Any):
    shown = typed("train", "ppmi", "corpus", "--output=-v.inlaid", "--dim", "4").out
    assert "  inlaid neighbors ./-v.inlaid " in shown
    assert "  inlaid doctor ./-v.inlaid" in shown


def test_an_empty_dictionary(here: Path, typed: Any):
    for content in ("", " \n\n"):
        Path("empty.txt").write_text(content)
        words = ("train", "ppmi", "text.txt", "-o", "v.inlaid", "--dictionary", "empty.txt")
        assert "The dictionary empty.txt has no words" in typed(*words, code=2).err


def test_a_setting_beyond_any_use(here: Path, typed: Any):
    error = typed("train", "glove", "corpus", "-o", "v.inlaid", "--x-max", "1e300", code=2).err
    assert "1e+300" in error


@pytest.mark.parametrize("reason", [(), ("Unable to allocate 517. MiB for an array with shape (5,)",)])
def test_no_memory(
    reason: tuple[str, ...], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def none(*_: Any) -> None:
        raise MemoryError(*reason)

    monkeypatch.setattr(cli, "_run", none)
    assert cli.main(["info", "a.inlaid"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: Not enough memory: ")
    assert "are left. End other programs" in error
