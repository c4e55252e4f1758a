"""Counts of campaigns add up over runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tally() -> ModuleType:
    path = Path(__file__).parent / "tally.py"
    spec = importlib.util.spec_from_file_location("tally", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tally"] = module
    spec.loader.exec_module(module)
    return module


def test_runs_add_up_and_seeds_continue(tmp_path: Path, tally: ModuleType):
    path = tmp_path / "new" / "kill.json"
    for run in range(2):
        found = tally.Tally.open(path)
        assert found.seed("kill", ("train sgns", "training")) == 3 * run
        found.add("kill", ("train sgns", "training"), "same", 2)
        found.add("kill", ("train sgns", "training"), "lost")
        found.add("kill", ("convert", "npz"), "same")
        found.save()
    found = tally.Tally.open(path)
    assert found.count("kill") == 8
    assert found.count("kill", "lost") == 2
    assert [each.name for each in path.parent.iterdir()] == ["kill.json"]


def test_the_table(tmp_path: Path, tally: ModuleType):
    found = tally.Tally.open(tmp_path / "t")
    found.add("fuzz", "text", "refused", 1234)
    found.add("fuzz", "npz", "read")
    assert found.table("fuzz", heads=("format",), outcomes=("refused", "crash")).splitlines() == [
        "| format | trials | refused | crash | read |",
        "| ------ | -----: | ------: | ----: | ---: |",
        "| npz    |      1 |       0 |     0 |    1 |",
        "| text   |  1,234 |   1,234 |     0 |    0 |",
        "| in all |  1,235 |   1,234 |     0 |    1 |",
    ]
