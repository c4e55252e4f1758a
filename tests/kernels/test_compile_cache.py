"""Compiled kernels are kept where they can be written, and a compilation is announced once."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

from inlaid import report
from inlaid.kernels import compile as compiling
from inlaid.progress import drawn

USE = "import numpy as np; from inlaid.kernels.cooccurrence import cpu; s = np.empty(1); "
USE += "cpu.row_sums(np.array([0, 2]), np.ones(2), s); print(s[0])"


def test_beside_the_sources_where_that_is_possible(tmp_path: Path):
    assert compiling.cache_folder(tmp_path) == tmp_path


def test_a_read_only_installation_uses_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiling.os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert compiling.cache_folder(tmp_path) == tmp_path / "cache" / "inlaid"
    assert (tmp_path / "cache" / "inlaid").stat().st_mode & 0o077 == 0


def test_without_a_home_a_private_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compiling.os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = compiling.cache_folder(tmp_path)
    assert found == tmp_path / f"inlaid-{os.getuid()}"
    found.chmod(0o777)  # anyone could put code there: it is not used
    assert compiling.cache_folder(tmp_path) is None
    assert os.listdir(tmp_path) == [found.name]  # no folder for this process alone, which nobody would remove


def test_kernels_run_and_are_announced_once_without_any_home(tmp_path: Path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "HOME": "/proc/none"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", USE], capture_output=True, text=True, env=environment, check=True
        )
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["2.0\n", "2.0\n"]
    assert runs[0].stderr.count("Compiling kernels for their first use") == 1
    assert "Compiling" not in runs[1].stderr  # loaded from the disk


def test_code_compiled_from_other_sources_is_compiled_again_even_if_it_names_classes_that_are_gone(
    tmp_path: Path,
):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", USE]
    subprocess.run(command, capture_output=True, env=environment, check=True)
    (index,) = tmp_path.rglob("*row_sums*.nbi")
    unreadable = b"cinlaid.kernels.cooccurrence.cpu\nGone\n."  # a pickle of a class that is not there
    index.write_bytes(pickle.dumps(numba.__version__) + unreadable)
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert again.stdout == "2.0\n"
    assert "Compiling kernels" in again.stderr


def test_the_command_line_says_it_once(capsys: pytest.CaptureFixture[str]):
    with drawn():
        for name in ("sgns.train", "sgns.subsample"):
            report.announce_compilation(name)
    assert capsys.readouterr().err.count("Compiling kernels for their first use") == 1
