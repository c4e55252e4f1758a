"""`import inlaid` is light: the heavy parts come when they are used."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import inlaid
from inlaid.errors import MissingExtra

HEAVY = ("numba", "torch", "sklearn", "fastapi", "numpy", "rjieba", "opencc", "matplotlib")


@pytest.mark.parametrize(
    "statement",
    [
        "import inlaid",
        "from inlaid import cli; cli.main(['--help'])",
        "from inlaid import cli; cli.main(['train', '--help'])",
    ],
)
def test_nothing_heavy_is_loaded(statement: str):
    loaded = f"[name for name in {HEAVY!r} if name in sys.modules]"
    code = f"{statement}\nimport sys\nprint({loaded}, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_reading_and_searching_vectors_loads_no_compiler():
    modules = "inlaid.study.search.neighbors, inlaid.study.evaluate.evaluate, inlaid.pipeline, inlaid.storage"
    code = f"import {modules}, sys; print('numba' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_every_public_name_is_there():
    has_torch = importlib.util.find_spec("torch") is not None
    for name in inlaid.__all__:
        if name in ("load_model", "save_model") and not has_torch:
            with pytest.raises(
                MissingExtra, match=r"torch is not installed: run `pip install 'inlaid\[neural\]'`"
            ):
                getattr(inlaid, name)
        else:
            assert getattr(inlaid, name) is not None
    assert inlaid.__version__
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        _ = inlaid.tarin
