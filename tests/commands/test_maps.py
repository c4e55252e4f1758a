"""`inlaid map` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.vectors import Vectors


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(1).standard_normal((40, 6))
    inlaid.save(
        Vectors.of(["cat", "dog", "king", "queen", "猫", *(f"w{id}" for id in range(35))], rows), "v.inlaid"
    )
    return tmp_path


def test_a_page_and_what_to_think_of_it(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["map", "v.inlaid", "-o", "map.html", "--method", "pca", "--top", "30"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "map.html: The first 30 of 40 words, PCA"
    assert said[1].startswith("  False neighbors: ")
    assert said[2].startswith("  Missing neighbors: ")
    assert said[3].startswith("  Trustworthiness ")
    assert "w24" in Path("map.html").read_text("utf-8")


def test_named_words_as_a_picture(folder: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    pytest.importorskip("openTSNE", reason="openTSNE comes with the extra `explore`")
    assert (
        main(
            [
                "map",
                "v.inlaid",
                "-o",
                "map.png",
                "cat",
                "dog",
                "king",
                "queen",
                "w1",
                "w2",
                "w3",
                "--perplexity",
                "2",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.startswith("map.png: 7 words, t-SNE\n")
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["map", "v.inlaid", "cat", "猫", "-o", "map.html", "--method", "pca", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["quality"] is None
    assert [each["word"] for each in found["words"]] == ["cat", "猫"]
    assert found["words"][0]["true"] is None
    assert (
        main(
            [
                "map",
                "v.inlaid",
                "-o",
                "map.html",
                "--method",
                "pca",
                "--sample",
                "--top",
                "20",
                "--seed",
                "3",
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["chosen"], found["total"], found["settings"]["seed"], len(found["words"])) == (
        "sample",
        40,
        3,
        20,
    )
    assert set(found["quality"]) >= {"k", "false", "missing", "trustworthiness", "continuity"}


MISTAKES = {
    "no such form": (["v.inlaid", "-o", "map.svg"], "A map is written as .png or .html; found 'map.svg'."),
    "unknown word": (["v.inlaid", "-o", "map.html", "cat", "quene"], "Did you mean 'queen'?"),
    "one word": (["v.inlaid", "-o", "map.html", "cat", "--method", "pca"], "at least 2 words"),
    "three words": (["v.inlaid", "-o", "map.html", "cat", "dog", "king"], "use the method pca"),
    "nowhere": (["v.inlaid", "-o", "no/map.html"], "there is no folder"),
    "too many": (
        ["v.inlaid", "-o", "map.html", "--top", "1000000"],
        "top is 1000000; expected from 1 to 100000.",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    given, said = MISTAKES[case]
    assert main(["map", *given]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert not Path("map.html").exists()
