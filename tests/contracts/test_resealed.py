"""Native files with right checksums and wrong content: always one line that says what is wrong, never a
traceback, a dead process or a training on numbers outside an array."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SCRIPT = Path(__file__).with_name("resealed.py")
KINDS = ("corpus", "vectors", "int8", "ngrams", "checkpoint")
METADATA = ("manifest", "card", "ngrams", "checkpoint")
HARMLESS = {
    "corpus": {("offsets", "longer")},  # one more sentence, without words
    "vectors": {("counts", "missing"), ("contexts", "missing")},
}
"""Changes that leave a file as it may be."""


class Attempt(NamedTuple):
    """What a command said about a changed file."""

    name: str
    label: str
    command: str
    code: int | None
    said: str


@pytest.fixture(scope="module")
def folder(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("resealed") / "files"
    shutil.copytree(workshop, copy)
    script(copy, "prepare")
    return copy


def script(folder: Path, kind: str) -> str:
    ran = subprocess.run([sys.executable, str(SCRIPT), str(folder), kind], capture_output=True, text=True)
    last = ran.stdout.splitlines()[-1:]
    assert ran.returncode == 0, f"ended with {ran.returncode} at {last}: {ran.stderr[-2000:]}"
    return ran.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_file_is_refused_in_one_line(kind: str, folder: Path, tmp_path: Path):
    shutil.copytree(folder, tmp_path / "files")
    attempts = [read(line) for line in script(tmp_path / "files", kind).splitlines()]
    assert len(attempts) > 50
    for each in attempts:
        assert each.code in (0, 2), each
        errors = [line for line in each.said.splitlines() if not line.startswith("note: ")]
        assert len(errors) == 1 or each.code == 0, each
        assert "Traceback" not in each.said, each
    refused = {(each.name, each.label) for each in attempts if each.code == 2}
    planted = {
        (each.name, each.label) for each in attempts if each.name not in METADATA or each.label == "deep"
    }
    assert planted - refused <= HARMLESS.get(kind, set())


def read(line: str) -> Attempt:
    asked, end = json.JSONDecoder().raw_decode(line)
    answered: list[Any] = json.loads(line[end:])
    return Attempt(*asked, *answered)
