"""A short run of the fault campaign: a few failing calls of writers of each kind lose nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITERS = ["native.inlaid", "npz.npz", "static-embedding", "corpus", "scratch"]
"""Files, a folder of files, a folder with a temporary file, a temporary file alone."""
WRITERS += ["model folder of causal"] if importlib.util.find_spec("torch") else []
EACH = 12


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("cc"), reason="needs Linux and a C compiler (cc)"
)
def test_failing_calls_lose_nothing(tmp_path: Path):
    program = Path(__file__).parent / "fault_test.py"
    state = tmp_path / "faults.json"
    typed = [sys.executable, program, "--limit", str(EACH), "--state", state, "--only", *WRITERS]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(program.parents[2]), *sys.path])}
    said = subprocess.run(typed, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    rows = json.loads(state.read_text())["faults"]
    assert {name: sum(outcomes.values()) for name, outcomes in rows.items()} == dict.fromkeys(WRITERS, EACH)
    assert not any("BAD" in outcomes for outcomes in rows.values()), said.stdout
    assert sum(outcomes.get("error, old file", 0) for outcomes in rows.values()) > EACH
