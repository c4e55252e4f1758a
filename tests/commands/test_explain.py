"""explain, fill, axis, dimensions and doctor from the command line: text, JSON, one-line errors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from inlaid import pipeline, storage
from inlaid.cli import main
from inlaid.encode.corpus import Encoding, encode
from inlaid.report import silent
from inlaid.vectors import Vectors

TEXT = [
    "the cat sits on the mat",
    "the dog sits on the mat",
    "the cat eats fish",
    "the dog eats meat",
    "the cow eats grass",
    "猫 吃 鱼",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    corpus = encode(TEXT, Encoding(min_count=1), workers=1)
    corpus.save(Path("corpus"))
    vectors = pipeline.train(corpus, "ppmi", dim=6, report=silent)
    storage.save(vectors, Path("one.inlaid"))
    storage.save(dataclasses.replace(vectors, contexts=vectors.table), Path("two.inlaid"))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]):
    out = said(capsys, "explain", "one.inlaid", "cat", "dog", "--corpus", "corpus", "-n", "3")
    assert out.startswith("cat ~ dog: cosine ")
    for part in ("sits", "the cat sits on the mat", "sentences of dog", "dimensions"):
        assert part in out
    found = json.loads(said(capsys, "explain", "one.inlaid", "cat", "dog", "--corpus", "corpus", "--json"))
    assert sum(each["share"] for each in found["dimensions"]) == pytest.approx(found["cosine"])
    assert found["text"]["contexts"][0]["weight"] > 0
    assert json.loads(said(capsys, "explain", "one.inlaid", "cat", "dog", "--json"))["text"] is None


def test_fill(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert "sits" in said(capsys, "fill", "two.inlaid", "the zebra ___ on the mat", "-n", "20")
    assert "without a vector: zebra" in said(capsys, "fill", "two.inlaid", "the zebra ___ on the mat")
    found = json.loads(said(capsys, "fill", "two.inlaid", "the ___ eats", "--json", "--prior", "0"))
    assert found["context"] == ["the", "eats"]
    assert found["prior"] == 0


def test_axis(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ("axis", "one.inlaid", "--from", "cat", "dog", "--to", "fish", "meat", "--words", "cow", "猫")
    out = said(capsys, *words)
    assert out.splitlines()[0].split() == ["projection", "95", "%", "word"]
    assert "(from)" in out
    assert "p = " in out
    found = json.loads(said(capsys, *words, "--json", "--paired"))
    assert {each["word"] for each in found["words"]} == {"cat", "dog", "fish", "meat", "cow", "猫"}
    assert len(found["direction"]) == 6
    assert "not tested" in said(capsys, "axis", "one.inlaid", "--from", "cat", "--to", "fish")
    assert (
        json.loads(said(capsys, "axis", "one.inlaid", "--from", "cat", "--to", "fish", "--json"))["p"] is None
    )


def test_dimensions(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("pairs.txt").write_text("cat\tdog\t9\ncat\tmat\t3\nfish\tmeat\t7\ndog\tgrass\t1\n", "utf-8")
    out = said(capsys, "dimensions", "one.inlaid", "pairs.txt", "--steps", "2", "--runs", "2", "-n", "2")
    assert "removed first" in out
    assert "correlates with" in out
    found = json.loads(
        said(
            capsys,
            "dimensions",
            "one.inlaid",
            "pairs.txt",
            "--steps",
            "2",
            "--runs",
            "2",
            "-n",
            "2",
            "--json",
        )
    )
    assert {each["order"] for each in found["ablation"]} == {"most", "least", "random"}
    assert len(found["traits"]) == 2


def test_doctor(folder: Path, capsys: pytest.CaptureFixture[str]):
    rows = np.random.default_rng(1).standard_normal((200, 5))
    rows[:50] = 0
    storage.save(Vectors.of([f"w{id}" for id in range(200)], rows), Path("ill.inlaid"))
    out = said(capsys, "doctor", "ill.inlaid", "--corpus", "corpus")
    assert "serious: Rows of zeros" in out
    assert "50 of 200 words (25.00%)" in out
    assert "most frequent words of the corpus" in out
    found = json.loads(said(capsys, "doctor", "ill.inlaid", "--json", "--show", "serious"))
    assert {each["check"] for each in found["findings"]} == {"zeros"}
    assert found["verdict"].startswith("Found 1 serious")


MISTAKES = {
    "an unknown word": (["explain", "one.inlaid", "catt", "dog"], "Did you mean 'cat'"),
    "no corpus": (
        ["explain", "one.inlaid", "cat", "dog", "--corpus", "nowhere"],
        "There is no corpus nowhere",
    ),
    "one table": (["fill", "one.inlaid", "the ___ sits"], "takes two tables"),
    "no blank": (["fill", "two.inlaid", "the cat sits"], "holds 0 blanks"),
    "an empty list": (["axis", "one.inlaid", "--from", "--to", "cat"], "'from' is empty"),
    "a word on both sides": (
        ["axis", "one.inlaid", "--from", "cat", "--to", "cat", "dog"],
        "is in both lists",
    ),
    "no task": (["dimensions", "one.inlaid", "world-field"], "Did you mean 'world-fields'"),
    "no sample": (["doctor", "one.inlaid", "--sample", "1"], "expected at least 2"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line(name: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    words, message = MISTAKES[name]
    assert main(words) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
