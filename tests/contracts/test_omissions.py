"""Nothing vanishes: tests that did not run are counted and printed with a reason, and fail the run in CI."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
CONFTEST = TESTS / "conftest.py"
FILES = {
    "test_body.py": (
        "import pytest\n\ndef test_skips():\n    pytest.skip('no browser')\n\ndef test_runs():\n    pass\n"
    ),
    "test_mark.py": (
        "import pytest\n\n@pytest.mark.skipif(True, reason='no browser')\ndef test_skips():\n    pass\n"
    ),
    "test_data.py": "def test_real_text(data):\n    pass\n",
    "test_module.py": (
        "import pytest\npytest.importorskip('no_such_peer', reason='a peer is missing')\n\n"
        "def test_one():\n    pass\n\nclass TestIt:\n    def test_two(self):\n        pass\n"
    ),
    "gpu/test_gpu.py": (
        "import pytest\npytest.skip('needs a GPU', allow_module_level=True)\n\ndef test_one():\n    pass\n"
    ),
    "ignored/conftest.py": "collect_ignore = ['test_ignored.py']\n",
    "ignored/test_ignored.py": "def test_one():\n    pass\n\ndef test_two():\n    pass\n",
    "test_never.py": (
        "import pytest\n\n@pytest.mark.xfail(run=False, reason='crashes')\ndef test_it():\n    pass\n"
    ),
    "test_xfail.py": "import pytest\n\n@pytest.mark.xfail\ndef test_it():\n    assert False\n",
}
EXPECTED = {
    "no browser": 2,
    "INLAID_DATA is not set: it names a folder of real data that is not in the repository": 1,
    "a peer is missing": 2,
    "needs a GPU": 1,
    "left out by collect_ignore in a conftest.py": 2,
    "[NOTRUN] crashes": 1,
}


def run(folder: Path, *arguments: str, ci: bool) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own, on a few files under this project's conftest."""
    (folder / "conftest.py").write_text(CONFTEST.read_text("utf-8"), "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider --import-mode=importlib\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment.pop("INLAID_DATA", None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a second per process
    environment["CI"] = "true" if ci else "false"
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(FILES[name], "utf-8")


def reasons(shown: str) -> dict[str, int]:
    """The counted reasons of the summary: `    2 no browser (test_body.py, test_mark.py)`."""
    lines = [line.strip() for line in shown.splitlines() if line.endswith(".py)")]
    return {line.partition(" ")[2].rpartition(" (")[0]: int(line.split()[0]) for line in lines}


@pytest.mark.parametrize("arguments", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "xdist"])
def test_every_omission_is_counted_and_fails_in_ci(arguments: tuple[str, ...], tmp_path: Path):
    write(tmp_path, *FILES)
    ended = run(tmp_path, *arguments, ci=True)
    assert reasons(ended.stdout) == EXPECTED, ended.stdout + ended.stderr
    assert f"{sum(EXPECTED.values())} tests did not run" in ended.stdout
    assert f"CI=true: {sum(EXPECTED.values()) - 1} of these fail the run" in ended.stdout
    assert ended.returncode == 1


def test_outside_ci_they_are_counted_and_pass(tmp_path: Path):
    write(tmp_path, *FILES)
    ended = run(tmp_path, ci=False)
    assert reasons(ended.stdout) == EXPECTED
    assert "CI=true" not in ended.stdout
    assert ended.returncode == 0


@pytest.mark.parametrize(
    "name", ["test_body.py", "test_data.py", "test_module.py", "ignored/test_ignored.py"]
)
def test_one_omission_alone_fails_in_ci(name: str, tmp_path: Path):
    write(tmp_path, "test_xfail.py", name, *(["ignored/conftest.py"] if "ignored" in name else []))
    assert run(tmp_path, ci=True).returncode == 1


def test_a_missing_gpu_passes_in_ci(tmp_path: Path):
    write(tmp_path, "gpu/test_gpu.py", "test_xfail.py")
    ended = run(tmp_path, ci=True)
    assert reasons(ended.stdout) == {"needs a GPU": 1}
    assert ended.returncode == 0, ended.stdout


def distributions(requirements: list[str]) -> set[str]:
    """The distributions that these requirements install, with all that these need."""
    found = set[str]()
    left = [requirement for requirement in requirements if "extra ==" not in requirement]
    while left:
        name = re.split(r"[^\w.-]", left.pop(), maxsplit=1)[0].lower()
        if name not in found:
            found.add(name)
            try:
                needed = metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # for another system
                continue
            left += [requirement for requirement in needed if "extra ==" not in requirement]
    return found


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """The modules, and names in them, that a file imports before it skips itself."""
    found = set[str]()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) and "importorskip" in ast.unparse(node):
            break
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update((node.module, *(f"{node.module}.{each.name}" for each in node.names)))
    return frozenset(found)


def packages_of(path: Path) -> set[str]:
    """The packages that a file imports, itself or by the modules of ours that it imports."""
    files = [path]
    for each in files:  # it grows
        modules = [ROOT.joinpath(*name.split(".")) for name in imports(each) if name.startswith("inlaid.")]
        reached = [
            place for module in modules for place in (module.with_suffix(".py"), module / "__init__.py")
        ]
        files += sorted({place for place in reached if place.exists()} - set(files))
    return {name.partition(".")[0] for each in files for name in imports(each)}


def test_files_are_collected_where_only_the_extra_dev_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    there = distributions(project["dependencies"] + project["optional-dependencies"]["dev"])
    homes = metadata.packages_distributions()
    tests = [path for path in TESTS.rglob("test_*.py") if path.parent.name != "neural"]  # its conftest skips
    missing = {
        f"{path.relative_to(TESTS)}: {package}"
        for path in tests
        for package in packages_of(path)
        if package in homes and not {each.lower() for each in homes[package]} & (there | {"inlaid"})
    }
    assert not missing
