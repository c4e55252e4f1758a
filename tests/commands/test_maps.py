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


def test_colors(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ["map", "v.inlaid", "cat", "dog", "king", "猫", "--method", "pca", "--json"]
    assert main([*words, "--labels", "animal", "animal", "person", "动物"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["color"] for each in found["words"]] == ["animal", "animal", "person", "动物"]
    assert main([*words, "--color", "cluster", "--clusters", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["color"] for each in found["words"]} == {1, 2}
    assert main([*words, "--axis-from", "cat", "dog", "--axis-to", "king", "queen"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["coloring"] == {"by": "axis", "groups": [], "ends": ["cat dog", "king queen"]}
    assert found["file"] is None


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg", ".pdf"])
def test_texts_of_a_table(suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    if suffix != ".html":
        pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `explore`")
    Path("t.csv").write_text("review,stars\ncat dog,5\nqueen,1\nking queen,1\n", "utf-8")
    words = ["map-texts", "v.inlaid", "--file", "t.csv", "--column", "review", "--label-field", "stars"]
    assert main([*words, "--method", "pca", "-o", f"map{suffix}"]) == 0
    assert capsys.readouterr().out.startswith(f"map{suffix}: 3 texts, PCA\n")
    assert Path(f"map{suffix}").stat().st_size > 5000
    assert main([*words, "--method", "pca", "-o", f"map{suffix}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["text"], each["color"]) for each in found["texts"]] == [
        ("cat dog", "5"),
        ("queen", "1"),
        ("king queen", "1"),
    ]


MISTAKES = {
    "no such color": (["v.inlaid", "-o", "map.html", "--color", "red"], "red"),
    "no labels": (["v.inlaid", "-o", "map.html", "--color", "label"], "Name words and --labels"),
    "no counts": (["v.inlaid", "-o", "map.html", "--color", "count"], "These vectors have no counts"),
    "half an axis": (["v.inlaid", "-o", "map.html", "--axis-from", "cat"], "axis_from and axis_to"),
    "no such form": (
        ["v.inlaid", "-o", "map.gif"],
        "A map is written as .png, .svg, .pdf or .html; found 'map.gif'.",
    ),
    "unknown word": (["v.inlaid", "-o", "map.html", "cat", "quene"], "Did you mean 'queen'?"),
    "one word": (["v.inlaid", "-o", "map.html", "cat", "--method", "pca"], "at least 2 points"),
    "three words": (
        ["v.inlaid", "-o", "map.html", "cat", "dog", "king", "--method", "tsne"],
        "use the method pca",
    ),
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
    complaint = capsys.readouterr().err.splitlines()
    assert said in complaint[-1]
    assert all(line.startswith("note: The map is by PCA, because t-SNE") for line in complaint[:-1])
    assert not Path("map.html").exists()
