"""Analyses as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import inlaid
from inlaid.cli import main

TEXT = """the cat sits on the mat
the dog sits on the mat
the cat eats fish
the dog eats meat
the cow eats grass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT * 5, "utf-8")
    inlaid.save(inlaid.train("text.txt", "ppmi", dim=6), "v.inlaid")
    return tmp_path


@pytest.fixture
def subwords(folder: Path) -> str:
    """Vectors that have one for words they have not seen."""
    vectors = inlaid.train("text.txt", "fasttext", dim=8, min_n=2, max_n=4, epochs=1, buckets=100)
    inlaid.save(vectors, "f.inlaid")
    return "f.inlaid"


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error


def test_an_out_of_vocabulary_word_in_a_formula(subwords: str, capsys: pytest.CaptureFixture[str]):
    """What `neighbors` answers through subwords, `analogy` answers too, and both say so."""
    for words in (["neighbors", subwords, "catt"], ["analogy", subwords, "catt - cat + dog"]):
        assert main([*words, "-n", "2"]) == 0
        told = capsys.readouterr()
        assert len(told.out.splitlines()) == 2
        assert "Out of vocabulary, vector made from subwords: catt." in told.err
    assert "'catt' is not among the" in refused(capsys, "analogy", "v.inlaid", "catt - cat")


def test_neighbors_of_a_formula_point_to_analogy(subwords: str, capsys: pytest.CaptureFixture[str]):
    told = "It reads as a formula: `inlaid analogy FILE 'cat - dog + mat'` finds"
    assert told in refused(capsys, "neighbors", "v.inlaid", "cat - dog + mat")
    assert main(["neighbors", subwords, "cat - dog + mat"]) == 0
    assert f"'cat - dog + mat' is taken as one word. {told}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "formula", ["0.5*(cat + dog)", "0.5 *(cat + dog)", "0.5＊（cat + dog）", "-0.5*(-1*(cat+dog))"]
)
def test_a_weight_needs_no_space(formula: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    expected = shown(capsys, "analogy", "v.inlaid", "0.5 * (cat + dog)", "-n", "3")
    assert shown(capsys, "analogy", "v.inlaid", formula, "-n", "3") == expected


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("most-similar", "neighbors"),
        ("most_similar", "neighbors"),
        ("negihbors", "neighbors"),
        ("trian", "train"),
    ],
)
def test_a_wrong_command_leads_to_the_right_one(typed: str, meant: str, capsys: pytest.CaptureFixture[str]):
    assert f"There is no command '{typed}'. Did you mean '{meant}'?" in refused(capsys, typed)


def test_settings_from_a_file(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("s.toml").write_text("n = 2\nby = 'csls'\n")
    found = json.loads(shown(capsys, "neighbors", "v.inlaid", "cat", "--config", "s.toml", "--json"))
    assert len(found["queries"][0]["neighbors"]) == 2
    found = json.loads(
        shown(capsys, "neighbors", "v.inlaid", "cat", "--config", "s.toml", "--json", "-n", "1")
    )
    assert len(found["queries"][0]["neighbors"]) == 1
    Path("s.toml").write_text("bye = 'csls'\n")
    error = refused(capsys, "neighbors", "v.inlaid", "cat", "--config", "s.toml")
    assert "No setting is called 'bye'. Did you mean 'by'?" in error


def test_a_format_that_is_not_recognized_is_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("odd.dat").write_text("cat 1 0\ndog 1 1\n")
    assert "dog" in shown(capsys, "neighbors", "odd.dat", "cat", "--source-format", "glove")
    assert "Did you mean 'glove'?" in refused(
        capsys, "neighbors", "odd.dat", "cat", "--source-format", "glov"
    )


def test_no_word(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert "words: expected at least one, found none." in refused(capsys, "neighbors", "v.inlaid")


EVERY = {
    "neighbors": ["v.inlaid", "cat", "dog"],
    "analogy": ["v.inlaid", "cat - dog + mat"],
    "vector": ["v.inlaid", "cat"],
    "similarity": ["v.inlaid", "cat", "dog"],
    "odd_one_out": ["v.inlaid", "cat", "dog", "mat"],
    "odd-one-out": ["v.inlaid", "cat", "dog", "mat"],
    "cooccurrence": ["c", "cat"],
    "geometry": ["v.inlaid", "--pairs", "100"],
    "evaluate": ["v.inlaid", "pairs.txt"],
}


@pytest.mark.parametrize("name", EVERY)
def test_text_and_json(name: str, folder: Path, capsys: pytest.CaptureFixture[str]):
    inlaid.corpus("text.txt", "c")
    Path("pairs.txt").write_text("cat\tdog\t9\ncat\tmat\t3\nfish\tmeat\t7\n", "utf-8")
    assert shown(capsys, name, *EVERY[name]).strip()
    assert isinstance(json.loads(shown(capsys, name, *EVERY[name], "--json")), dict)


def test_approximate_search(folder: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("faiss", reason="the extra `ann` is not installed")
    typed = ["neighbors", "v.inlaid", "cat", "-n", "2"]
    exact = shown(capsys, *typed)
    assert (
        main([*typed, "--approximate", "hnsw", "--M", "8", "--ef-construction", "20", "--ef-search", "20"])
        == 0
    )
    found = capsys.readouterr()
    assert found.out == exact
    assert re.search(r"hnsw finds \d+\.\d% of the 10 nearest words, measured on 11 words", found.err)
    assert shown(capsys, *typed, "--int8") == exact
