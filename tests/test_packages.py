"""The packages that people install: built twice they are the same bytes, and they hold what they should."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGE = {f"inlaid/view/explorer/page/{name}" for name in ("index.html", "explorer.js", "explorer.css")}
"""The built page of the explorer, which is in both packages and is not tracked."""
STAMP = "inlaid/view/explorer/page/sources.sha256"
IN_SDIST = ("inlaid/", "web/", "tests/", "docs/", "benchmarks/", ".ci/")
"""Folders whose tracked files are in the sdist."""


class Packages(NamedTuple):
    """A wheel and an sdist."""

    wheel: Path
    sdist: Path


def build(source: Path, folder: Path, *, mask: int = 0o022) -> Packages:
    """Both packages, as `make wheel` builds them."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        capture_output=True,
        umask=mask,
    )
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return Packages(wheel, sdist)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install 'inlaid[dev]'")
    return build(ROOT, tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: what is tracked is not known")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def names(packages: Packages) -> tuple[set[str], set[str]]:
    """The files of the wheel, and those of the sdist without its folder."""
    with zipfile.ZipFile(packages.wheel) as wheel:
        in_wheel = set(wheel.namelist())
    with tarfile.open(packages.sdist) as sdist:
        in_sdist = {member.name.partition("/")[2] for member in sdist.getmembers()}
    return in_wheel, in_sdist


def test_another_machine_builds_the_same_bytes(packages: Packages, tmp_path: Path):
    """Elsewhere, from the sdist, at another time, with other permissions."""
    source = tmp_path / "source"
    with tarfile.open(packages.sdist) as sdist:
        sdist.extractall(source, filter="data")
    (unpacked,) = source.iterdir()
    for path in unpacked.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    again = build(unpacked, tmp_path / "again", mask=0o077)
    assert again.wheel.read_bytes() == packages.wheel.read_bytes()
    assert again.sdist.read_bytes() == packages.sdist.read_bytes()


def test_the_wheel_is_the_package_and_no_more(packages: Packages, tracked: set[str]):
    in_wheel, _ = names(packages)
    assert {"inlaid/py.typed", "inlaid/__init__.pyi", "inlaid/analysis_methods.pyi"} <= in_wheel
    package = {name for name in tracked if name.startswith("inlaid/")}
    metadata = {name for name in in_wheel if name.startswith("inlaid-") and ".dist-info/" in name}
    assert in_wheel - metadata == package | PAGE | {STAMP}
    assert {Path(name).name for name in metadata} == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "LICENSE",
    }


def test_the_sdist_has_docs_and_tests_and_no_more(packages: Packages, tracked: set[str]):
    _, in_sdist = names(packages)
    expected = {name for name in tracked if name.startswith(IN_SDIST) or "/" not in name}
    assert in_sdist == expected | PAGE | {STAMP, "PKG-INFO"}
