"""Errors advise in the reader's terms: flags and commands in a terminal, arguments and calls in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import inlaid
from inlaid.cli import main
from inlaid.encode.corpus import Encoding
from inlaid.errors import FormatError, InlaidError, SettingError
from inlaid.jobs.safety import Safety

TEXT = "the cat sits on the mat\nthe dog eats the fish\n" * 10


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(TEXT, "utf-8")
    Path("zh.txt").write_text("北京 是 中国 的 首都 。\n" * 400, "utf-8")
    Path("numbers.dat").write_text("0.1 0.2 0.3\n0.1 0.2\n", "utf-8")
    Path("notes.md").write_text("not ours\n", "utf-8")
    inlaid.corpus("en.txt", "corpus", min_count=1)


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str]):
    def typed(*words: str) -> str:
        assert main(list(words)) == 2
        return capsys.readouterr().err

    return typed


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["train", "ppmi", "en.txt", "-o", "v.txt"], "Name one of them: --format glove."),
        (["train", "ppmi", "en.txt", "-o", "v.xyz"], "name a format with --format;"),
        (
            ["train", "ppmi", "nowhere.txt", "-o", "v.inlaid"],
            "There is no file 'nowhere.txt'. Check the path.",
        ),
        (
            ["train", "ppmi", "en.txt", "-o", "notes.md", "--format", "glove"],
            "Replace it with --overwrite, or",
        ),
        (["neighbors", "numbers.dat", "cat"], "`inlaid convert numbers.dat "),
        (["train", "sgns", "en.txt", "-o", "v.inlaid", "--patience", "0"], "expected at least 1.\n"),
        (["corpus", "en.txt", "-o", "c", "--workers", "0"], "Leave it out to use all cores."),
    ],
)
def test_a_terminal_reads_no_python(words: list[str], advice: str, error):
    said = error(*words)
    assert advice in said
    for python in ("Python", "True", "None", "[text]", "load(", "format="):
        assert python not in said


def test_python_reads_no_flags():
    vectors = inlaid.train("en.txt", "onehot", min_count=1)
    for path, advice in (("v.txt", "format='glove'"), ("v.xyz", "format="), ("notes.md", "overwrite=True")):
        with pytest.raises(InlaidError) as caught:
            inlaid.save(vectors, path, format="glove" if path == "notes.md" else None)
        assert advice in str(caught.value)
        assert "--" not in str(caught.value)
    with pytest.raises(InlaidError, match=r"pass it in a list: \[text\]"):
        inlaid.train("no such file", "ppmi")
    with pytest.raises(FormatError, match=r"name it: load\(path, format='FORMAT'\)"):
        inlaid.load("numbers.dat")
    with pytest.raises(SettingError, match=r"patience is 0; expected at least 1\.$"):
        Safety(patience=0)


def test_settings_are_named_as_the_reader_gives_them(error):
    Path("rows.csv").write_text("body\nthe cat sits\n")
    Path("rows.jsonl").write_text('{"body": "the cat sits"}\n')
    Path("twice.txt").write_text("cat 1 2\ncat 3 4\n")
    for path in ("rows.csv", "rows.jsonl"):
        assert "with --field." in error("train", "ppmi", path, "-o", "v.inlaid")
        with pytest.raises(InlaidError, match=r"with field=\."):
            inlaid.train(path, "ppmi")
    assert "Use --duplicates first or --duplicates last" in error(
        "info", "twice.txt", "--duplicates", "error"
    )
    with pytest.raises(InlaidError, match=r"Use duplicates='first' or duplicates='last'"):
        inlaid.load("twice.txt", duplicates="error")
    assert "Use --tokenizer-file t.json." in error("corpus", "en.txt", "-o", "c", "--tokenizer", "t.json")
    with pytest.raises(InlaidError, match=r"Use tokenizer_file='t\.json'\."):
        Encoding(tokenizer="t.json")


@pytest.mark.parametrize("path", ["en.txt", "zh.txt"])
def test_text_in_place_of_vectors_is_recognized(path: str, error):
    said = error("neighbors", path, "cat")
    assert (
        f"{path} looks like text; expected vectors. Train on it first: `inlaid train sgns {path} -o" in said
    )
    with pytest.raises(FormatError, match=rf"Train on it first: train\('{path}', 'sgns'\)\."):
        inlaid.load(path)


def test_numbers_are_not_taken_for_text(error):
    assert "not recognized as any of the formats" in error("neighbors", "numbers.dat", "cat")


@pytest.mark.parametrize("more", [[], ["--plan"]])
def test_settings_of_the_encoding_beside_a_corpus_are_named(more: list[str], error):
    flags = ["--min-count", "3", "--tokenizer", "char"]
    said = error("train", "sgns", "corpus", "-o", "v.inlaid", *flags, *more)
    assert "corpus is already a corpus, and its encoding cannot be changed: leave out " in said
    assert "min_count" in said
    assert "tokenizer" in said
    assert "already a corpus. Copy the folder" in error("corpus", "corpus", "-o", "other")
    assert "leave out min_count," in error("corpus", "corpus", "-o", "other", "--min-count", "3")


def test_settings_of_the_encoding_beside_a_corpus_are_named_in_python():
    opened = inlaid.corpus("corpus")
    for text in (opened, "corpus"):
        with pytest.raises(SettingError, match="leave out min_count, "):
            inlaid.train(text, "ppmi", min_count=5)  # also where it is the default
        with pytest.raises(SettingError, match="leave out min_count, "):
            inlaid.train(text, "ppmi", encoding=Encoding(min_count=3))
        with pytest.raises(SettingError, match="leave out encoding, "):
            inlaid.train(text, "ppmi", encoding=Encoding())


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("-cat + dog", "dog - cat"),
        ("-cat+dog", "dog - cat"),
        ("-1*cat + dog", "dog - cat"),
        ("-1 * cat + dog", "dog - cat"),
        ("-(cat + fish)*0.5 + dog", "dog - 0.5 * cat - 0.5 * fish"),
        ("(cat+fish)*0.5", "0.5 * cat + 0.5 * fish"),
    ],
)
def test_a_formula_may_start_with_a_dash(formula: str, same: str, capsys: pytest.CaptureFixture[str]):
    inlaid.save(inlaid.train("en.txt", "ppmi", dim=4, min_count=1), "v.inlaid")
    shown = list[str]()
    for words in (
        ["v.inlaid", formula, "-n", "3"],
        ["-n", "3", "v.inlaid", "--", formula],
        ["v.inlaid", same, "-n=3"],
    ):
        assert main(["analogy", *words]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2]


def test_a_flag_with_one_dash_is_no_formula(error):
    inlaid.save(inlaid.train("en.txt", "ppmi", dim=4, min_count=1), "v.inlaid")
    assert "-topn is called -n here." in error("analogy", "v.inlaid", "cat", "-topn", "3")
    assert "n is -5; expected at least 1" in error("neighbors", "v.inlaid", "cat", "-n", "-5")
    assert "'-cat' is not among the" in error("similarity", "v.inlaid", "-cat", "cat")
