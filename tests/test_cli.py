"""The command line as a user sees it: every mistake is one line and exit code 2, and nothing is left
behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inlaid.cli import main

TEXT = """the cat sits on the mat
the dog sits on the mat
the cat eats fish
the dog eats meat
我 喜欢 吃 苹果
我 喜欢 吃 香蕉
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    return tmp_path / "text.txt"


@pytest.fixture
def vectors(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "v.inlaid"
    assert main(["train", "ppmi", str(text), "-o", str(path), "--min-count", "1", "--dim", "6"]) == 0
    capsys.readouterr()
    return path


def test_from_text_to_neighbors(vectors: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["neighbors", str(vectors), "Cat", "-n", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("  dog")


def test_a_formula(vectors: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["analogy", str(vectors), "苹果 - 吃 + 香蕉", "-n", "11"]) == 0
    assert not {"苹果", "吃", "香蕉"} & set(capsys.readouterr().out.split())


def test_a_formula_without_spaces_is_read_with_a_note(vectors: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["analogy", str(vectors), "苹果-吃+香蕉", "-n", "2"]) == 0
    said = capsys.readouterr()
    assert said.err == "note: Read as 苹果 - 吃 + 香蕉.\n"
    assert main(["analogy", str(vectors), "苹果 - 吃 + 香蕉", "-n", "2"]) == 0
    assert capsys.readouterr().out == said.out


def test_several_words_are_shown_side_by_side(vectors: Path, capsys: pytest.CaptureFixture[str]):
    """A Chinese character is two places wide, so columns line up in places, not in characters."""
    assert main(["neighbors", str(vectors), "苹果", "cat", "-n", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["苹果", "cat"]
    numbers = [[found.start() for found in re.finditer(r"\d\.\d{3}", line)] for line in lines[1:]]
    second = {len(line[: places[1]].encode("gbk")) for line, places in zip(lines[1:], numbers, strict=True)}
    assert second == {len(lines[0][: lines[0].index("cat")].encode("gbk")) + 1}


def test_neighbors_for_programs(vectors: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["neighbors", str(vectors), "cat", "苹果", "-n", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [each["query"] for each in said["queries"]] == ["cat", "苹果"]
    assert said["queries"][0]["neighbors"][0]["word"] == "dog"
    assert (
        main(
            [
                "analogy",
                str(vectors),
                "cat+dog",
                "--json",
                "--include",
                "-n",
                "1",
                "--by",
                "csls",
                "--top",
                "9",
            ]
        )
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert said["query"] == "cat + dog"
    assert len(said["neighbors"]) == 1


def test_info_and_verify(vectors: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["info", str(vectors), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], said["words"], said["dim"], said["card"]["settings"]["dim"]) == (
        "vectors",
        14,
        6,
        6,
    )
    assert main(["verify", str(vectors)]) == 0
    raw = bytearray(vectors.read_bytes())
    raw[-1] ^= 1
    vectors.write_bytes(raw)
    assert main(["verify", str(vectors)]) == 2
    assert "damaged" in capsys.readouterr().err


def test_a_corpus_serves_several_methods(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]):
    corpus = str(tmp_path / "c")
    flags = ["--min-count", "1"]
    assert main(["corpus", str(text), "-o", corpus, *flags]) == 0
    assert main(["train", "onehot", corpus, "-o", str(tmp_path / "a.inlaid")]) == 0
    assert main(["train", "ppmi", corpus, "-o", str(tmp_path / "b.inlaid"), "--dim", "5"]) == 0
    assert main(["verify", corpus]) == 0
    capsys.readouterr()
    assert main(["info", corpus, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], said["tokens"]["used"], said["sentences"]["used"], said["words"]["used"]) == (
        "corpus",
        28,
        6,
        14,
    )
    assert main(["train", "ppmi", corpus, "-o", str(tmp_path / "c.inlaid"), *flags]) == 2
    assert "is already a corpus" in capsys.readouterr().err


def test_settings_come_from_a_file_and_flags_override_it(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "s.toml").write_text("min_count = 1\ndim = 3\nwindow = 2\n")
    output = str(tmp_path / "v.inlaid")
    assert (
        main(["train", "ppmi", str(text), "-o", output, "--config", str(tmp_path / "s.toml"), "--dim", "4"])
        == 0
    )
    assert main(["info", output, "--json"]) == 0
    out = capsys.readouterr().out
    settings = json.loads(out[out.index("{") :])["card"]["settings"]
    assert (settings["dim"], settings["window"]) == (4, 2)


def test_the_world_is_written_as_text(tmp_path: Path):
    assert main(["world", "-o", str(tmp_path / "w.txt"), "--language", "zh", "--words", "500"]) == 0
    lines = (tmp_path / "w.txt").read_text("utf-8").splitlines()
    assert len(lines) > 20
    assert all(line.endswith(("。", "！", "？")) for line in lines)


def test_tokens_of_several_tokenizers(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["corpus", str(text), "-o", str(tmp_path / "c"), "--min-count", "1"]) == 0
    capsys.readouterr()
    assert (
        main(["tokenize", "The 苹果 ok", "--tokenizers", "word", "char", "--corpus", str(tmp_path / "c")])
        == 0
    )
    said = capsys.readouterr().out
    assert "word: the 苹果 ok" in said
    assert "char: t h e 苹 果 o k" in said
    row = next(line.split() for line in said.splitlines() if line.split()[:1] == ["the"])
    assert row[:4] == ["the", "0", "0", "3"]


def test_the_report_accounts_for_every_token(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["corpus", str(text), "-o", str(tmp_path / "c"), "--min-count", "2"]) == 0
    said = capsys.readouterr().out
    assert "read 28 tokens = 24 used + 4 rare (14.29% outside the vocabulary)" in said


def test_phrases_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "t.txt").write_text("new york is big\nnew york is far\nold town is far\n" * 10)
    assert main(["corpus", str(tmp_path / "t.txt"), "-o", str(tmp_path / "c")]) == 0
    assert (
        main(
            ["phrases", str(tmp_path / "c"), "-o", str(tmp_path / "p"), "--threshold", "0.1", "--passes", "1"]
        )
        == 0
    )
    assert main(["train", "ppmi", str(tmp_path / "p"), "-o", str(tmp_path / "v.inlaid"), "--dim", "3"]) == 0
    capsys.readouterr()
    assert main(["neighbors", str(tmp_path / "v.inlaid"), "new_york"]) == 0


MISTAKES = {
    "no such command": (["trian"], "There is no command 'trian'. Did you mean 'train'?"),
    "no such method": (
        ["train", "pmi", "TEXT", "-o", "OUT"],
        "No method is called 'pmi'. Did you mean 'ppmi'?",
    ),
    "no such flag": (
        ["train", "ppmi", "TEXT", "-o", "OUT", "--windw", "3"],
        "There is no option --windw. Did you mean --window?",
    ),
    "no output": (["train", "ppmi", "TEXT"], "Missing from inlaid train ppmi: -o PATH."),
    "no text": (["train", "ppmi", "-o", "OUT"], "No text was named"),
    "zero window": (
        ["train", "ppmi", "TEXT", "-o", "OUT", "--window", "0"],
        "window is 0; expected from 1",
    ),
    "negative dim": (["train", "ppmi", "TEXT", "-o", "OUT", "--dim", "-5"], "dim is -5; expected from 1"),
    "a word for a number": (
        ["train", "ppmi", "TEXT", "-o", "OUT", "--dim", "many"],
        "--dim is 'many'; expected a whole number.",
    ),
    "too many dimensions": (
        ["train", "ppmi", "TEXT", "-o", "OUT", "--min-count", "1"],
        "dim is 100, but 14 words have at most 14 dimensions",
    ),
    "missing file": (["train", "ppmi", "NONE", "-o", "OUT"], "There is no file"),
    "empty file": (["train", "ppmi", "EMPTY", "-o", "OUT"], "No words were found"),
    "only punctuation": (["train", "ppmi", "PUNCTUATION", "-o", "OUT"], "No words were found"),
    "one word": (
        ["train", "ppmi", "ONE", "-o", "OUT", "--min-count", "1"],
        "The vocabulary has one word, 'hello'",
    ),
    "a vocabulary of one": (
        ["train", "onehot", "REPEATED", "-o", "OUT"],
        "The vocabulary has one word, 'hello'",
    ),
    "rare words only": (["train", "ppmi", "ONE", "-o", "OUT"], "All 1 words occur less than 5 times"),
    "not UTF-8": (["train", "ppmi", "BINARY", "-o", "OUT"], "is not UTF-8"),
    "no such folder": (["train", "ppmi", "TEXT", "-o", "NONE/v.inlaid"], "there is no folder"),
    "a folder as output": (["train", "ppmi", "TEXT", "-o", "FOLDER"], "it is a folder"),
    "unknown setting in a file": (
        ["train", "ppmi", "TEXT", "-o", "OUT", "--config", "TOML"],
        "No setting is called 'widnow'. Did you mean 'window'?",
    ),
    "not vectors": (["neighbors", "TEXT", "cat"], "looks like text; expected vectors. Train on it"),
    "missing vectors": (["neighbors", "NONE", "cat"], "There is no file"),
    "no tasks fit": (["evaluate", "NONE"], "There is no file"),
    "negative words": (["world", "-o", "OUT", "--words", "-1"], "words"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(
    mistake: str, tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
):
    places = {
        "TEXT": text,
        "OUT": tmp_path / "out.inlaid",
        "NONE": tmp_path / "none",
        "FOLDER": tmp_path / "folder",
    }
    contents = {
        "EMPTY": b"",
        "PUNCTUATION": "...，。\n".encode(),
        "ONE": b"hello",
        "REPEATED": b"hello\n" * 9,
        "BINARY": b"\xff\xfe",
        "TOML": b"widnow = 1",
    }
    for name, content in contents.items():
        places[name] = tmp_path / name
        places[name].write_bytes(content)
    places["FOLDER"].mkdir()
    before = sorted(os.listdir(tmp_path))
    arguments, message = MISTAKES[mistake]
    words = [
        str(places[word]) if word in places else word.replace("NONE", str(places["NONE"]))
        for word in arguments
    ]
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not said.out
    assert sorted(os.listdir(tmp_path)) == before


def test_a_full_disk_leaves_nothing(tmp_path: Path, text: Path):
    """A limit on file size stands in for a full disk."""
    code = f"""
import resource, sys
from inlaid.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
sys.exit(main(["train", "onehot", {str(text)!r}, "-o", {str(tmp_path / "v.inlaid")!r}, "--min-count", "1"]))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: Cannot write")
    assert os.listdir(tmp_path) == ["text.txt"]


def test_debug_shows_where_it_came_from(text: Path):
    ended = subprocess.run(
        [sys.executable, "-m", "inlaid.cli", "neighbors", str(text), "x", "--debug"],
        capture_output=True,
        text=True,
    )
    assert "Traceback" in ended.stderr
    assert ended.returncode == 1


@pytest.mark.parametrize("words", [["--help"], [], ["train", "--help"], ["train"], ["--version"]])
def test_help_needs_no_method(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(words) == 0
    assert capsys.readouterr().out.strip()


def test_help_of_a_method_lists_its_settings(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["train", "ppmi", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "--smoothing" in shown
    assert "--min-count" in shown


def test_a_closed_pipe_is_no_error(tmp_path: Path, vectors: Path):
    command = f"{sys.executable} -m inlaid.cli neighbors {vectors} cat -n 12 | head -1"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("locale", "first", "second"), [("en_US.UTF-8", "English", "中文"), ("zh_CN.UTF-8", "中文", "English")]
)
def test_the_demo_shows_four_generations_in_both_languages(locale: str, first: str, second: str):
    ended = subprocess.run(
        [sys.executable, "-m", "inlaid.cli", "demo"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    shown = ended.stdout
    assert shown.index(first) < shown.index(second)
    for formula, answer in (("king - man + woman", "queen"), ("国王 - 男人 + 女人", "王后")):
        rows = shown.split(f"  {formula}\n")[1].splitlines()[:4]
        assert [row.split()[0] for row in rows] == ["one-hot", "PPMI", "Word2Vec", "fastText"]
        assert all(row.split()[1] == answer for row in rows[1:])
    for word in ("bananna", "香蕉汁"):  # only subwords give an out-of-vocabulary word a vector
        block = shown[shown.rindex(word) :].splitlines()[1:5]
        assert {"banana", "香蕉"} & set(block[3].split())
        assert all("0." not in row for row in block[:3])
    assert "inlaid train sgns" in shown
    assert shown.splitlines()[-1] == "  inlaid explore"
