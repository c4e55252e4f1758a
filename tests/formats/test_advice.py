"""Advice in errors can be typed: the command that an error shows runs, whichever command failed."""

from __future__ import annotations

import re
import shlex
import struct
from pathlib import Path

import pytest

import inlaid
from inlaid.cli import main
from inlaid.errors import SettingError
from inlaid.vectors import Vectors

FILES = {
    "invalid": ("v.txt", b"a 1 2\nb 3 4\n\xff 5 6\n"),
    "a number too many": ("v.txt", b"a 1 2\nb 3 4\nnew 0.5 5 6\n"),
    "no header after all": ("v.vec", b"5 3\n7 2\n"),
    "header promises more": ("v.vec", b"5 2\na 1 2\nb 3 4\n"),
    "binary cut short": ("v.bin", b"9 1\na " + struct.pack("<f", 1.5) + b"b " + struct.pack("<f", 2.5)),
    "binary with more words": ("v.bin", b"1 1\na " + struct.pack("<f", 1.5) + b"b " + struct.pack("<f", 2.5)),
    "one number for each word": ("v.txt", b"a 1\nb 2\n"),
    "spaces in the name": ("my file.txt", b"a 1 2\n\xff 3 4\n"),
}


def advised(error: str) -> list[str]:
    """The words of the command that an error shows."""
    found = re.search(r"`inlaid (convert .*?)`", error)
    assert found, error
    return shlex.split(found[1].replace("FORMAT", "glove"))


def errors_of(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(command) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", ["neighbors", "convert", "info"])
@pytest.mark.parametrize("file", FILES)
def test_the_advised_command_reads_the_file(
    file: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    name, content = FILES[file]
    path = tmp_path / name
    path.write_bytes(content)
    arguments = {"neighbors": [str(path), "a"], "convert": [str(path), str(tmp_path / "out.inlaid")]}
    words = advised(errors_of([command, *arguments.get(command, [str(path)])], capsys))
    assert main(words) == 0, capsys.readouterr().err
    assert len(inlaid.load(words[2])) > 0
    assert path.read_bytes() == content


def test_the_advised_command_never_overwrites_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "v.txt").write_bytes(b"a 1 2\n\xff 3 4\n")
    for name in ("v.inlaid", "v-2.inlaid"):
        inlaid.save(Vectors.of(["mine"], [[1.0]]), tmp_path / name)
    words = advised(errors_of(["info", str(tmp_path / "v.txt")], capsys))
    assert words[2] == str(tmp_path / "v-3.inlaid")
    assert main(words) == 0
    assert list(inlaid.load(tmp_path / "v.inlaid").words) == ["mine"]


def test_the_format_of_the_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1\nb 2\n")
    target = str(tmp_path / "v.inlaid")
    assert main(["convert", str(path), target, "--source-format", "glove"]) == 0
    assert inlaid.load(target)["b"].tolist() == [2]
    assert "No format is called 'glov'. Did you mean 'glove'?" in errors_of(
        ["convert", str(path), target, "--source-format", "glov"], capsys
    )
    assert inlaid.convert(path, tmp_path / "w.inlaid", source_format="glove")["a"].tolist() == [1]


def flag_in(error: str) -> list[str]:
    """The flag that an error advises, ready to be added to the command."""
    advised = re.search("--format ([a-z0-9-]+) ", error)
    return ["--format", advised[1] if advised else "glove"]  # a suffix that no format has may be any of them


@pytest.mark.parametrize("name", ["w.txt", "w.bin", "w.unknown", "w"])
@pytest.mark.parametrize("command", ["convert {source} {target}", "train ppmi {text} --dim 2 -o {target}"])
def test_an_ambiguous_output_is_explained_by_a_flag_that_every_command_has(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "v.inlaid"
    inlaid.save(Vectors.of(["a", "b"], [[1.0, 2.0], [3.0, 4.0]]), source)
    text = tmp_path / "text"
    text.write_text("a b c a b c\n" * 50)
    target = tmp_path / name
    words = command.format(source=source, target=target, text=text).split()
    error = errors_of(words, capsys)
    assert "--format" in error
    assert main([*words, *flag_in(error)]) == 0, capsys.readouterr().err
    assert len(inlaid.load(target)) >= 2


def test_an_ambiguous_output_of_save_names_the_argument(tmp_path: Path):
    vectors = Vectors.of(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(SettingError, match=r"Name one of them: format='glove'\."):
        inlaid.save(vectors, tmp_path / "v.txt")
