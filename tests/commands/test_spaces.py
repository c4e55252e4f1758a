"""compare, changes, stability and align from the command line: tables, JSON, a joint space, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.vectors import Card, Vectors

WORDS = 120


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five runs of one space, another in which w7 has moved, and zh.inlaid: the first rotated, with words of
    its own."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    rows = random.standard_normal((WORDS, 8))
    words = [f"w{n}" for n in range(WORDS - 1)] + ["dna"]
    card = Card(encoding={"normalize": ["lower"]})
    for name in ("en", "a", "b", "c", "moved"):
        noisy = rows + 0.05 * random.standard_normal(rows.shape)
        noisy[7] *= -1 if name == "moved" else 1
        inlaid.save(Vectors.of(words, noisy, card), f"{name}.inlaid")
    rotation = np.linalg.qr(random.standard_normal((8, 8)))[0]
    inlaid.save(Vectors.of([f"词{n}" for n in range(WORDS - 1)] + ["dna"], rows @ rotation), "zh.inlaid")
    inlaid.save(Vectors.of(["w1", "w2"], np.eye(2)), "small.inlaid")
    Path("zh-en.txt").write_text("".join(f"词{n} W{n}\n" for n in range(WORDS)), "utf-8")
    Path("other.txt").write_text("chat cat\n", "utf-8")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str):
    assert main(list(words)) == 0
    return capsys.readouterr()


def test_compare_with_runs(capsys: pytest.CaptureFixture[str]):
    lines = told(
        capsys,
        "compare",
        "en.inlaid",
        "moved.inlaid",
        "--seeds",
        "a.inlaid",
        "b.inlaid",
        "c.inlaid",
        "--words",
        "w7",
    ).out.splitlines()
    assert lines[0] == "120 words in common, 0 only in the first, 0 only in the second"
    assert lines[1].startswith("of 10 neighbors both give a word 0.")
    assert lines[2].startswith("between runs of the first: 0.")
    assert re.fullmatch(
        r"[12] words moved further than chance moves them", lines[3]
    )  # one in ten comparisons adds a false alarm
    assert lines[4].split() == ["moved", "most", "distance", "p"]
    assert lines[5].split()[0] == "w7"
    at = next(n for n, line in enumerate(lines) if line.split()[:1] == ["w7"] and "first" in line)
    assert lines[at].split() == ["w7", "first", "second", "in", "runs"]
    assert {line.split()[1] for line in lines[at + 1 :]} == {"lost", "gained"}


def test_compare_as_json(capsys: pytest.CaptureFixture[str]):
    found = json.loads(
        told(capsys, "compare", "en.inlaid", "moved.inlaid", "--words", "w7", "--moved", "3", "--json").out
    )
    assert found["moved"][0]["word"] == "w7"
    assert len(found["moved"]) == 3
    assert found["moved"][0]["p"] is None
    assert found["significant"] is None
    assert found["chance"] is None
    assert found["words"][0]["word"] == "w7"


def test_changes_of_one_word(capsys: pytest.CaptureFixture[str]):
    words = ("changes", "en.inlaid", "moved.inlaid", "w7", "-n", "5", "--seeds", "a.inlaid", "b.inlaid")
    lines = told(capsys, *words).out.splitlines()
    assert lines[0].split() == ["w7", "first", "second", "in", "runs"]
    assert {line.split()[1] for line in lines[1:]} == {"lost", "gained"}
    found = json.loads(told(capsys, *words, "--json").out)
    assert (found["word"], found["kept"], len(found["lost"])) == ("w7", [], 5)
    assert 0 <= found["lost"][0]["stable"] <= 1


def test_stability_of_neighbors(capsys: pytest.CaptureFixture[str]):
    words = ("stability", "w3", "en.inlaid", "a.inlaid", "b.inlaid", "-n", "4")
    lines = told(capsys, *words).out.splitlines()
    assert lines[0].split() == ["w3", "in", "runs", "mean", "rank"]
    found = json.loads(told(capsys, *words, "--json").out)
    shares = [each["share"] for each in found["neighbors"]]
    assert found["runs"] == 3
    assert shares == sorted(shares, reverse=True)
    assert len(lines) == 1 + len(shares)


def test_settings_from_a_config_file(capsys: pytest.CaptureFixture[str]):
    Path("compare.toml").write_text("n = 3\nmoved = 2\n", "utf-8")
    words = ("compare", "en.inlaid", "moved.inlaid", "--config", "compare.toml", "--moved", "4", "--json")
    found = json.loads(told(capsys, *words).out)
    assert (found["settings"]["n"], len(found["moved"])) == (3, 4)


def test_align_prints_precision_and_saves_one_space(capsys: pytest.CaptureFixture[str]):
    said = told(
        capsys, "align", "zh.inlaid", "en.inlaid", "zh-en.txt", "-o", "joint.inlaid", "--words", "词5"
    )
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0][:4] == ["learned", "from", "95", "pairs;"]
    assert [line[:3] for line in lines[2:20]] == [
        [mapping, by, at]
        for mapping in ("procrustes", "refinement", "reweighting")
        for by in ("cosine", "csls")
        for at in ("1", "5", "10")
    ]
    assert lines[2][3] == "1.000"
    assert lines[20][1] == "w5"
    assert lines[-1] == ["joint.inlaid:", "240", "words", "x", "8"]
    assert told(capsys, "neighbors", "joint.inlaid", "词9", "-n", "1").out.split()[1] == "w9"
    assert told(capsys, "neighbors", "joint.inlaid", "W9", "-n", "1").out.split()[1] == "词9"
    assert told(capsys, "neighbors", "joint.inlaid", "dna", "-n", "1").out.split()[1] == "zh:dna"


def test_align_as_json(capsys: pytest.CaptureFixture[str]):
    said = told(
        capsys, "align", "en.inlaid", "zh.inlaid", "zh-en.txt", "--words", "w3", "--refine", "0", "--json"
    )
    found = json.loads(said.out)
    assert found["words"]["w3"][0]["word"] == "词3"
    assert found["refinement"] == []
    assert {each["mapping"] for each in found["precision"]} == {"procrustes", "reweighting"}
    assert "read from right to left" in " ".join(said.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["align", "zh.inlaid", "en.inlaid", "other.txt"], "None of the 1 pairs"),
        (["align", "zh.inlaid", "small.inlaid", "zh-en.txt"], "8 and 2 dimensions"),
        (["align", "zh.inlaid", "en.inlaid", "none.txt"], "There is no dictionary"),
        (
            ["align", "zh.inlaid", "en.inlaid", "zh-en.txt", "--held-out", "2"],
            "held_out is 2.0; expected from 0 to 1",
        ),
        (["compare", "en.inlaid", "small.inlaid"], "have 2 words in common"),
        (["compare", "en.inlaid", "moved.inlaid", "--seeds", "a.inlaid"], "One other run"),
        (["compare", "en.inlaid", "moved.inlaid", "--words", "x"], "'x' is not among the 120 words"),
        (["compare", "en.inlaid", "none.inlaid"], "There is no file"),
        (["stability", "w3", "en.inlaid"], "Expected two or more runs, found 1."),
        (["changes", "en.inlaid", "moved.inlaid", "x7"], "'x7' is not among the 120 words"),
        (["align", "zh.inlaid", "en.inlaid", "zh-en.txt", "-o", "no/joint.inlaid"], "there is no folder"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], words: list[str], said: str):
    assert main(words) == 2
    heard = capsys.readouterr().err
    assert heard.startswith("error: ")
    assert heard.count("\n") == 1
    assert said in heard
