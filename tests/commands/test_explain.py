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
    for part in ("sits", "the **cat** sits on the mat", "sentences of dog", "dimensions"):
        assert part in out
    found = json.loads(said(capsys, "explain", "one.inlaid", "cat", "dog", "--corpus", "corpus", "--json"))
    assert sum(each["share"] for each in found["dimensions"]) == pytest.approx(found["cosine"])
    assert found["text"]["contexts"][0]["weight"] > 0
    assert json.loads(said(capsys, "explain", "one.inlaid", "cat", "dog", "--json"))["text"] is None


ORIGINAL = """Banana bread is easy to make at home. An apple, a pear (and a banana): 5 fruits! Nothing more.
我爱吃蘋果，也愛吃「香蕉」。
The rest… the end.
An apple or a pear.
He ate a banana, or a pear!
"""


@pytest.mark.parametrize("sentences", ["line", "split"])
def test_explain_shows_the_original_sentences(
    sentences: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(ORIGINAL, "utf-8")
    words = ("corpus", "text.txt", "-o", "corpus", "--min-count", "1", "--sentences", sentences)
    said(capsys, *words, "--normalize", "nfc", "width", "lower", "simplified")
    said(capsys, "train", "ppmi", "corpus", "-o", "v.inlaid", "--dim", "3")
    out = said(capsys, "explain", "v.inlaid", "apple", "banana", "--corpus", "corpus", "--text", "text.txt")
    assert "  An **apple**, a pear (and a **banana**): 5 fruits!\n" in out
    assert "the corpus stores" not in out
    assert "  He ate a **banana**, or a pear!\n" in out
    typed = ("explain", "v.inlaid", "苹果", "香蕉", "--corpus", "corpus", "--text", "text.txt", "--json")
    (found,) = json.loads(said(capsys, *typed))["text"]["of_both"]
    assert found["text"] == "我爱吃蘋果，也愛吃「香蕉」。"
    assert [found["text"][start:end] for start, end in found["marks"]] == ["蘋果", "香蕉"]
    assert found["original"] is True


def test_a_text_the_corpus_is_not_of(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("other.txt").write_text("The cat, the dog.\n", "utf-8")
    words = ["explain", "one.inlaid", "cat", "dog", "--corpus", "corpus", "--text", "other.txt"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "sentences were not found in the text" in shown.err
    assert "the **cat** sits on the mat" in shown.out
    assert "--text FILE shows the original" in shown.out
    assert main([*words[:4], "--text", "other.txt"]) == 2
    assert "text is given without a corpus" in capsys.readouterr().err


def test_fill(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert "sits" in said(capsys, "fill", "two.inlaid", "the zebra ___ on the mat", "-n", "20")
    assert "without a vector: zebra" in said(capsys, "fill", "two.inlaid", "the zebra ___ on the mat")
    found = json.loads(said(capsys, "fill", "two.inlaid", "the ___ eats", "--json", "--prior", "0"))
    assert found["context"] == ["the", "eats"]
    assert found["prior"] == 0


def test_axis(folder: Path, capsys: pytest.CaptureFixture[str]):
    words = ("axis", "one.inlaid", "--from", "cat", "dog", "--to", "fish", "meat", "--words", "cow", "猫")
    out = said(capsys, *words)
    assert out.splitlines()[0] == "negative: cat dog   positive: fish meat"
    assert out.splitlines()[2].split() == ["projection", "95", "%", "word", "nearer", "to"]
    assert "p = " in out
    found = json.loads(said(capsys, *words, "--json", "--paired", "yes"))
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
