"""A method is one file and one line: Swivel, added here, is trained, resumed and searched by `main`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import inlaid
from inlaid import registry
from inlaid.cli import main
from inlaid.collect import world
from inlaid.collect.truth import truth
from inlaid.registry import Entry


@pytest.fixture(autouse=True)
def swivel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, as if it were in fit/, and its line in the registry."""
    spec = importlib.util.spec_from_file_location("inlaid.fit.swivel", Path(__file__).with_name("swivel.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "inlaid.fit.swivel", module)
    spec.loader.exec_module(module)
    line = Entry("method", "swivel", "fit.swivel:Swivel", "PMI factorised, unseen pairs included")
    monkeypatch.setattr(registry, "ENTRIES", (*registry.ENTRIES, line))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(world.sentences("en", words=100_000)), "utf-8")
    return path


def test_it_is_listed_and_has_help(capsys: pytest.CaptureFixture[str]):
    assert main(["train"]) == 0
    assert "swivel" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["train", "swivel", "--help"])
    shown = capsys.readouterr().out
    for flag in ("--confidence", "--learning-rate", "--min-count", "--checkpoint", "--plan"):
        assert flag in shown
    assert "--patience" not in shown  # it holds nothing out
    assert "--init-from" not in shown


def test_trained_from_the_command_line_it_finds_planted_fields(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "v.inlaid"
    assert main(["train", "swivel", str(text), "-o", str(output), "--epochs", "40"]) == 0
    assert main(["neighbors", str(output), "banana", "-n", "5"]) == 0
    vectors = inlaid.load(output)
    fruit = next(set(each.words) for each in truth("en").groups if "banana" in each.words)
    assert len(fruit & {each.word for each in inlaid.neighbors(vectors, "banana", n=5)}) >= 3
    assert vectors.card.method == "swivel"
    assert vectors.card.outcome is not None
    assert vectors.card.outcome.reason == "finished"
    assert "banana" not in capsys.readouterr().err


def test_a_config_file_works_and_a_wrong_key_is_named(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = tmp_path / "swivel.toml"
    config.write_text("dim = 7\nepochs = 2\nmin_count = 2\n")
    words = ["train", "swivel", str(text), "-o", str(tmp_path / "v.inlaid"), "--config", str(config)]
    assert main(words) == 0
    assert inlaid.load(tmp_path / "v.inlaid").dim == 7
    config.write_text("confidense = 0.7\n")
    assert main(words) == 2
    assert "Did you mean 'confidence'" in capsys.readouterr().err
