"""The version is known before a training starts, with or without the metadata of an installed package."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

import inlaid
from inlaid import cli
from inlaid.version import UNKNOWN, VERSION, installed_version


def not_installed(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_without_metadata_the_version_is_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metadata, "version", not_installed)
    assert installed_version() == UNKNOWN
    monkeypatch.setattr(metadata, "version", lambda _: None)
    assert installed_version() == UNKNOWN


def test_a_training_is_not_lost_where_the_package_is_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(metadata, "version", not_installed)
    (tmp_path / "text.txt").write_text("the cat eats fish\n猫吃鱼\n" * 10, "utf-8")
    output = tmp_path / "v.inlaid"
    assert cli.main(["train", "ppmi", str(tmp_path / "text.txt"), "-o", str(output), "--dim", "2"]) == 0
    assert inlaid.load(output).card.version == VERSION


def test_the_command_line_says_the_version(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--version"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"inlaid {VERSION}"
    assert any(line.split()[0].lower() == "numpy" for line in shown[1:])
    assert inlaid.__version__ == VERSION
