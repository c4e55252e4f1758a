"""The documents say what is true: their code runs, and their tree is the package."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def with_code(language: str) -> list[object]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page, language)]


def _went_well(ended: subprocess.CompletedProcess[str]) -> None:
    """A page that needs an extra this installation does not have is not run."""
    if missing := re.findall(r"\S+ is not installed: run .*", ended.stderr):
        pytest.skip(missing[-1])
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("page", with_code("python"))
def test_python_runs(page: Path, tmp_path: Path):
    code = "\n".join(blocks(page, "python"))
    if "import torch" in code:
        pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    _went_well(ended)


@pytest.mark.parametrize("page", with_code("sh"))
def test_commands_run(page: Path, tmp_path: Path):
    """Every `inlaid` line, in order; what installs or tests the project itself is run elsewhere."""
    lines = [
        line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("inlaid ")
    ]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    _went_well(ended)


def _tree() -> Any:
    """docs/tree.py, which writes what follows from the code."""
    spec = importlib.util.spec_from_file_location("tree", ROOT / "docs" / "tree.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_tree_is_the_package(name: str):
    text = (ROOT / name).read_text("utf-8")
    assert text == _tree().written(text), "the package has changed: run `make docs`"


@pytest.mark.parametrize("name", ["docs/search.md", "docs/zh/search.md"])
def test_the_table_of_analyses_is_the_registry(name: str):
    text = (ROOT / name).read_text("utf-8")
    assert "<!-- analyses -->" in text
    assert text == _tree().with_analyses(text), "the registry has changed: run `make docs`"


def test_every_module_says_what_it_is():
    for path in (ROOT / "inlaid").rglob("*.py"):
        assert path.read_text("utf-8").startswith('"""'), path


def test_both_readmes_run_the_same_commands():
    """The two languages are twins: same commands, same calls, other words."""
    shapes = [
        [
            re.sub(r"\s.*", "", line.removeprefix("inlaid "))
            for block in blocks(ROOT / name, "sh")
            for line in block.splitlines()
            if line.startswith("inlaid ")
        ]
        for name in ("README.md", "README.zh.md")
    ]
    assert shapes[0] == shapes[1]


def test_every_page_has_a_twin_in_the_other_language():
    here, there = (
        {page.name: page for page in folder.glob("*.md")} for folder in (ROOT / "docs", ROOT / "docs" / "zh")
    )
    assert here.keys() == there.keys()
    for name in here:
        assert len(blocks(here[name], "python")) == len(blocks(there[name], "python")), name


def test_links_lead_somewhere_and_every_page_and_picture_is_linked():
    linked = dict[Path, set[Path]]()
    for page in PAGES:
        targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))
        linked[page] = {(page.parent / target).resolve() for target in targets}
        assert not [target for target in linked[page] if not target.exists()], page
    assert set((ROOT / "docs").glob("*.md")) <= linked[ROOT / "README.md"]
    assert set((ROOT / "docs" / "zh").glob("*.md")) <= linked[ROOT / "README.zh.md"]
    assert set((ROOT / "docs" / "pictures").iterdir()) <= set().union(*linked.values())
