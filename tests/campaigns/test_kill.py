"""A short run of the kill campaign: a few kills of a command of each kind lose nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = ["train sgns", "train glove", "corpus", "convert to npz", "convert to native, its own process"]
"""Runs that resume, one of which counts first; a folder, a file, a process of its own."""
CASES += ["train causal"] if importlib.util.find_spec("torch") else []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the campaign forks")
def test_kills_lose_nothing(tmp_path: Path):
    program = Path(__file__).parent / "kill_test.py"
    state = tmp_path / "kill.json"
    typed = [sys.executable, program, "--kills", "40", "--jobs", "2", "--state", state, "--only", *CASES]
    said = subprocess.run(typed, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    rows = json.loads(state.read_text())["kill"]
    assert sum(sum(outcomes.values()) for outcomes in rows.values()) >= 40
    assert not any(outcomes.get("lost") or outcomes.get("wrong") for outcomes in rows.values()), said.stdout
