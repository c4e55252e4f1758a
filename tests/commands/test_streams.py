"""Pipes, and what a shell and a terminal of 80 columns make of commands."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.vectors import Vectors

Typed = Callable[..., str]
WORDS = ["king", "queen", "man", "woman", "苹果"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    table = [[3, 0, 1], [3, 1, 1], [1, 0, 3], [1, 1, 3], [0, 5, 0]]
    inlaid.save(Vectors.of(WORDS, table), tmp_path / "v.inlaid")
    return "v.inlaid"


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], None]:
    """Put text on standard input."""

    def put(text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))

    return put


def test_words_of_standard_input_give_a_line_of_json_each(file: str, pipe: Any, typed: Typed):
    pipe("king\n\n苹果\n")
    lines = [json.loads(line) for line in typed("neighbors", file, "-", "-n", "1", "--json").splitlines()]
    assert [line["query"] for line in lines] == ["king", "苹果"]
    assert lines[0]["neighbors"][0]["word"] == "queen"


def test_words_typed_and_words_piped_are_one_list(file: str, pipe: Any, typed: Typed):
    pipe("queen\n")
    shown = typed("neighbors", file, "king", "-", "-n", "1")
    assert shown.split()[:2] == ["king", "queen"]


def test_texts_keep_their_numbers_where_a_line_is_empty(file: str, pipe: Any, typed: Typed, tmp_path: Path):
    text = "king\n\n苹果\n"
    pipe(text)
    piped = [json.loads(line) for line in typed("embed", file, "-", "--json").splitlines()]
    (tmp_path / "texts.txt").write_text(text, "utf-8")
    of_file = json.loads(typed("embed", file, "--file", "texts.txt", "--json"))
    assert [line["number"] for line in piped if line["vector"]] == of_file["numbers"] == [0, 2]


def test_each_line_is_a_formula(file: str, pipe: Any, typed: Typed):
    pipe("king - man + woman\nqueen\n")
    lines = [json.loads(line) for line in typed("analogy", file, "-", "-n", "1", "--json").splitlines()]
    assert [line["formula"] for line in lines] == ["king - man + woman", "queen"]
    assert lines[0]["neighbors"][0]["word"] == "queen"
    pipe("king - man + woman\nqueen\n")
    assert typed("analogy", file, "-", "-n", "1").count("queen") >= 1


def test_words_out_of_vocabulary_can_be_skipped(
    file: str, pipe: Any, typed: Typed, capsys: pytest.CaptureFixture[str]
):
    assert "'zzz' is not among" in typed("neighbors", file, "king", "zzz", code=2)
    assert "zzz" not in typed("neighbors", file, "king", "zzz", "--skip-oov", "-n", "1")
    pipe("zzz\nking\n")
    lines = typed("analogy", file, "-", "--skip-oov", "--json").splitlines()
    assert [json.loads(line)["formula"] for line in lines] == ["king"]
    assert "None of the 2 words" in typed("neighbors", file, "zzz", "yyy", "--skip-oov", code=2)


def test_input_that_is_not_text_is_one_line(file: str, pipe: Any, typed: Typed):
    pipe(b"king\n\xff\xfe\n")
    assert typed("neighbors", file, "-", code=2) == "error: Line 2 of standard input is not UTF-8.\n"
    assert "can be read once" in typed("neighbors", file, "-", "-", code=2)


def test_a_formula_without_quotes_says_quote_it(file: str, typed: Typed):
    advice = 'Quote it: `inlaid analogy v.inlaid "king - man + woman"`.'
    for command in ("analogy", "neighbors"):
        assert advice in typed(command, file, "king", "-", "man", "+", "woman", code=2)


def test_a_formula_whose_signs_touch_its_words_says_quote_it(file: str, typed: Typed):
    assert 'Quote it: `inlaid analogy v.inlaid "king -man +woman"`.' in typed(
        "analogy", file, "king", "-man", "+woman", code=2
    )
    assert 'Quote it: `inlaid analogy v.inlaid "king － man ＋ woman"`.' in typed(
        "analogy", file, "king", "－", "man", "＋", "woman", code=2
    )
    assert "-top is called --top here" in typed("analogy", file, "king", "-top", "3", code=2)


def test_embedded_lines_are_a_line_of_json_each(file: str, pipe: Any, typed: Typed):
    pipe("king man\nzzz\nqueen\n")
    lines = [json.loads(line) for line in typed("embed", file, "-", "--json").splitlines()]
    assert [(line["number"], line["text"]) for line in lines] == [(0, "king man"), (1, "zzz"), (2, "queen")]
    assert lines[1]["vector"] is None
    assert len(lines[0]["vector"]) == 3


def test_standard_output_takes_no_output_that_is_replaced_as_a_whole(file: str, typed: Typed):
    Path("text.txt").write_text("a b c\n" * 100, "utf-8")
    for words in (
        ["train", "ppmi", "text.txt", "-o", "-", "--format", "glove"],
        ["corpus", "text.txt", "-o", "-"],
    ):
        assert "- is standard output, and this needs a file." in typed(*words, code=2)
    assert not Path("-").exists()


def program(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "inlaid", *words], input=given, capture_output=True)


def test_vectors_and_text_go_through_pipes(file: str):
    shown = program("convert", file, "-")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.decode().splitlines()
    assert lines[0] == "5 3"
    assert [line.split()[0] for line in lines[1:]] == WORDS
    assert not Path("-").exists()
    text = program("world", "-o", "-", "--language", "en", "--words", "3000")
    assert b"sentences" not in text.stderr
    trained = program("train", "ppmi", "-", "-o", "piped.inlaid", "--dim", "5", given=text.stdout)
    assert trained.returncode == 0, trained.stderr
    assert len(inlaid.load("piped.inlaid")) > 50
    folder = program("convert", file, "-", "--format", "model2vec")
    assert folder.returncode == 2
    assert b"A folder cannot go to standard output" in folder.stderr


def test_tables_fit_80_columns_and_keep_every_name(in_terminal: Any, tmp_path: Path):
    words = [f"{'long' * 5}{number}" for number in range(12)]
    inlaid.save(Vectors.of(words, [[number, 1.0] for number in range(12)]), tmp_path / "v.inlaid")
    typed = ["neighbors", "v.inlaid", *words, "-n", "2"]
    ended = in_terminal(f"from inlaid.cli import main\nmain({typed!r})", tmp_path)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", ended.shown).replace("\r", "")
    assert max(map(len, plain.splitlines())) <= 80, plain
    assert "…" not in plain
    for word in words:
        assert word in plain


def test_versions_of_what_matters_without_importing_it():
    code = "import sys; from inlaid.cli import main; main(['--version']); "
    code += "print({'torch', 'numba'} & {*sys.modules})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"inlaid {inlaid.__version__}\n")
    assert re.search(rf"^numpy +{re.escape(metadata.version('numpy'))}$", shown, re.MULTILINE)
    assert re.search(r"^Python +3\.", shown, re.MULTILINE)
    assert shown.endswith("set()\n")


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _inlaid; "
    ended = subprocess.run(
        ["bash", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    return ended.stdout.split()


def test_bash_completes_commands_methods_options_and_files(file: str, typed: Typed, tmp_path: Path):
    script = tmp_path / "inlaid.bash"
    script.write_text(typed("completion", "bash"), "utf-8")
    assert completed(script, "inlaid", "neigh") == ["neighbors"]
    assert completed(script, "inlaid", "train", "glo") == ["glove"]
    assert completed(script, "inlaid", "train", "sgns", "--learning") == ["--learning-rate"]
    assert completed(script, "inlaid", "train", "ppmi", "--learning") == []
    assert completed(script, "inlaid", "neighbors", "v.") == ["v.inlaid"]
    assert "--skip-oov" in completed(script, "inlaid", "neighbors", "v.inlaid", "--")
    assert completed(script, "inlaid", "neighbors", "v.inlaid", "--by", "c") == ["cosine", "csls"]
    assert completed(script, "inlaid", "map", "v.inlaid", "--method", "") == ["pca", "tsne", "umap"]
    assert completed(script, "inlaid", "train", "sgns", "t", "--invalid", "") == ["error", "replace", "skip"]
    assert completed(script, "inlaid", "classify", "pre") == ["predict"]
    assert completed(script, "inlaid", "draw", "rot") == ["rotary"]
    assert completed(script, "inlaid", "completion", "f") == ["fish"]


def test_bash_completes_words_by_pinyin(typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inlaid.save(Vectors.of(["苹果", "香蕉", "apple"], np.eye(3, dtype=np.float32)), tmp_path / "v.inlaid")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inlaid").write_text(f'#!/bin/sh\nexec {sys.executable} -m inlaid "$@"\n', "utf-8")
    (tmp_path / "inlaid").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    script = tmp_path / "inlaid.bash"
    script.write_text(typed("completion", "bash"), "utf-8")
    assert completed(script, "inlaid", "neighbors", "v.inlaid", "pingg") == ["苹果"]
    assert completed(script, "inlaid", "similarity", "v.inlaid", "苹果", "ap") == ["apple"]
    assert completed(script, "inlaid", "similarity", "v.inlaid", "v.") == ["v.inlaid"]


def test_zsh_reads_its_script(typed: Typed, tmp_path: Path):
    script = tmp_path / "inlaid.zsh"
    script.write_text(typed("completion", "zsh"), "utf-8")
    assert script.read_text("utf-8").startswith("autoload -U +X bashcompinit")
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    code = f"autoload -Uz compinit && compinit -u -D; source {script}; print -r -- $_comps[inlaid]"
    ended = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert "_inlaid inlaid" in ended.stdout or "_bash_complete" in ended.stdout
    assert not ended.stderr


def test_fish_completes_commands_methods_and_choices(typed: Typed, tmp_path: Path):
    script = tmp_path / "inlaid.fish"
    script.write_text(typed("completion", "fish"), "utf-8")
    assert "complete -c inlaid -n '__fish_seen_subcommand_from neighbors' -l 'skip-oov'" in script.read_text(
        "utf-8"
    )
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    offered = {
        "inlaid neigh": ["neighbors"],
        "inlaid train s": ["sgns"],
        "inlaid neighbors v --by ": ["cosine", "csls", "frequency"],
        "inlaid map v --method ": ["pca", "tsne", "umap"],
    }
    for line, expected in offered.items():
        code = f"source {script}; complete -C '{line}'"
        ended = subprocess.run(
            ["fish", "--no-config", "-c", code], capture_output=True, text=True, check=True
        )
        assert [each.split("\t")[0] for each in ended.stdout.splitlines()] == expected


def test_what_is_no_shell_is_refused(typed: Typed):
    assert "expected one of" in typed("completion", "tcsh", code=2)


def test_required_options_are_in_the_usage_line(capsys: pytest.CaptureFixture[str]):
    from inlaid.cli import main

    for words, expected in {
        ("train", "sgns"): "usage: inlaid train sgns [-h] -o OUTPUT [OPTIONS] TEXT...",
        ("corpus",): "usage: inlaid corpus [-h] -o OUTPUT [OPTIONS] TEXT...",
    }.items():
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        assert capsys.readouterr().out.startswith(expected)
