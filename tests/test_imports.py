"""`import inlay` is light: the heavy parts come when they are used."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import inlay
from inlay.errors import MissingExtra

HEAVY = ("numba", "torch", "sklearn", "fastapi", "numpy", "rjieba", "opencc", "matplotlib")


@pytest.mark.parametrize(
    "statement", ["import inlay", "from inlay import cli; cli.main(['--help'])", "from inlay import cli; cli.main(['train', '--help'])"]
)
def test_nothing_heavy_is_loaded(statement: str):
    code = f"{statement}\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_reading_and_searching_vectors_loads_no_compiler():
    code = "import inlay, inlay.study.search, inlay.study.evaluate, inlay.pipeline, sys; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_every_public_name_is_there():
    has_torch = importlib.util.find_spec("torch") is not None
    for name in inlay.__all__:
        if name in ("load_model", "save_model") and not has_torch:
            with pytest.raises(MissingExtra, match=r"torch is not installed: run `pip install 'inlay\[neural\]'`"):
                getattr(inlay, name)
        else:
            assert getattr(inlay, name) is not None
    assert inlay.__version__
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        _ = inlay.tarin
