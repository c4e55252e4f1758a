"""`import inlaid` is light: the heavy parts come when they are used."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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


def test_the_first_decision_explains_every_layer():
    """Layers are those that were planned, or have a row that says why they are there."""
    root = Path(__file__).parents[1]
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = {name for line in contracts[0]["layers"] for name in line.split(" | ")}
    page = next((root / "docs" / "decisions").glob("0001-*")).read_text("utf-8")
    plan = page.partition("from the top: `")[2].partition("`")[0]
    planned = set(re.findall(r"\w+", plan))
    explained = set[str]()
    for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE):
        explained |= set(re.findall(r"`(\w+)`", re.split(r", (?:above|below|beside|between) ", row)[0]))
    assert layers <= planned | explained
    assert explained <= layers


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
