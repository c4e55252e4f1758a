"""What every analysis of the registry promises, through Python and through the command line."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import registry
from inlaid.cli import COMMANDS, main
from inlaid.study.analysis import analysis_of

ANALYSES = registry.entries("analysis")
NAMES = [entry.name for entry in ANALYSES]
HEAVY = ("numba", "torch", "sklearn", "fastapi", "matplotlib", "faiss", "openTSNE", "umap")


@pytest.mark.parametrize("entry", ANALYSES, ids=NAMES)
def test_an_analysis_is_a_python_name_and_documents_itself(entry: registry.Entry):
    study = analysis_of(entry.load())
    assert study.name == entry.name
    assert getattr(inlaid, entry.name) is entry.load()
    assert entry.name in inlaid.__all__
    assert study.summary
    assert all(each.help for each in study.inputs if each.type in (str, Path))
    positional = [each for each in study.inputs if not each.flag]
    assert not any(each.many for each in positional[:-1]), "a sequence takes all that follows"
    if study.settings is not None:
        names = {field.name for field in dataclasses.fields(study.settings)}
        assert set(study.settings_help()) == names
        study.settings()


COMMAND_NAMES = [*COMMANDS, *(name.replace("_", "-") for name in NAMES)]


@pytest.mark.parametrize("command", COMMAND_NAMES)
def test_help_fits_80_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Without a terminal; `train` alone lists its methods and returns."""
    monkeypatch.setenv("COLUMNS", "80")
    try:
        ended = main([command, "--help"])
    except SystemExit as stop:
        ended = stop.code
    assert not ended
    shown = capsys.readouterr()
    assert f"usage: inlaid {command}" in shown.out
    assert not shown.err
    assert max(map(len, shown.out.splitlines())) <= 80


def test_the_overview_names_every_command_within_80_columns(capsys: pytest.CaptureFixture[str]):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert set(COMMAND_NAMES) <= {line.split()[0] for line in lines if line.startswith("  ")}


def test_help_in_a_terminal_of_80_columns(in_terminal: Callable[..., Any], tmp_path: Path):
    """A real pseudo-terminal, where colours and widths are asked for."""
    ended = in_terminal("from inlaid.cli import main; main(['neighbors', '--help'])", tmp_path)
    assert ended.code == 0
    assert "--ef-construction" in ended.shown


def test_help_of_an_analysis_imports_nothing_heavy():
    code = f"""
import sys
from inlaid.cli import main
for command in {[name.replace("_", "-") for name in NAMES]!r}:
    try:
        main([command, "--help"])
    except SystemExit:
        pass
    found = [name for name in {HEAVY!r} if name in sys.modules]
    assert not found, (command, found)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
