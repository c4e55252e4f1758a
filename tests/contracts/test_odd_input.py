"""Odd input typed at every command: never a traceback, always one helpful line, exit codes 0 and 2."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import cli, registry
from inlaid.errors import SourceError

VECTORS = "a.inlaid"
WORD = "king"
TYPED: dict[str, list[str]] = {
    "ablate": ["decoder.model", "--layer", "0"],
    "align": [VECTORS, "b.inlaid", "same.txt"],
    "analogy": [VECTORS, WORD],
    "attend": ["decoder.model", "I saw her"],
    "attend-step": ["decoder.model", "I saw the king", WORD],
    "attribute": ["decoder.model", "I saw her"],
    "axis": [VECTORS, "--from", "man", "--to", "woman", "--words", WORD],
    "changes": [VECTORS, "b.inlaid", WORD],
    "classify": ["train", "labelled.txt", "-o", "out"],
    "closer-than": [VECTORS, WORD, "man"],
    "complete": [VECTORS, WORD],
    "compare": [VECTORS, "b.inlaid", "--words", WORD],
    "convert": [VECTORS, "out.vec"],
    "cooccurrence": ["corpus", WORD],
    "corpus": ["text.txt", "-o", "out"],
    "demo": [],
    "dimensions": [VECTORS, "world-fields", "--steps", "1", "--runs", "1"],
    "doctor": [VECTORS],
    "draw": ["matrix"],
    "drift": [VECTORS, WORD, "the king eats"],
    "distill": ["masked.model"],
    "text-similarity": [VECTORS, "the king", "the queen"],
    "embed": [VECTORS, "the king"],
    "evaluate": [VECTORS, "pairs.txt"],
    "explain": [VECTORS, WORD, "man"],
    "explore": [VECTORS, "--export", "out.html"],
    "fill": ["two-tables.inlaid", "the ___ eats an apple"],
    "generate": ["decoder.model", "I"],
    "geometry": [VECTORS],
    "heads": ["decoder.model"],
    "completion": ["bash"],
    "info": [VECTORS],
    "inspect": ["config.json"],
    "lens": ["decoder.model", "I"],
    "map": [VECTORS, WORD, "man", "woman", "-o", "out.html", "--method", "pca"],
    "map-texts": [VECTORS, "the king", "the woman", "-o", "out.html", "--method", "pca"],
    "neighbors": [VECTORS, WORD],
    "next": ["decoder.model", "I"],
    "odd-one-out": [VECTORS, WORD, "man", "apple"],
    "phrases": ["corpus", "-o", "out"],
    "rank": [VECTORS, WORD, "man"],
    "probe": [VECTORS, "--task", "field", "--examples", "600", "--probes", "linear"],
    "referents": ["masked.model"],
    "senses": ["bytes.model", WORD, "--corpus", "text.txt"],
    "serve": [VECTORS],
    "similarity": [VECTORS, WORD, "man"],
    "stability": [WORD, VECTORS, "b.inlaid"],
    "tokenize": [WORD],
    "tour": ["--chapter", "onehot", "--size", "tiny"],
    "train": ["onehot", "text.txt", "-o", "out.inlaid"],
    "translate": ["seq2seq.model", "我 打 你"],
    "vector": [VECTORS, WORD],
    "verify": [VECTORS],
    "world": ["-o", "out.txt"],
}
"""What a user types after each command; the first file or the word is then replaced by something odd."""
READING = {name: words for name, words in TYPED.items() if any(Path(word).suffix for word in words)}
ASKING = {
    name: words for name, words in TYPED.items() if WORD in words and name not in ("complete", "tokenize")
}
START_WITHOUT = {"classify", "demo", "draw", "explore", "serve", "tour", "train"}
"""Commands that have something to show or to serve without arguments."""
COUNTING = ("analogy", "changes", "explain", "fill", "neighbors", "next", "stability")


@pytest.fixture(autouse=True)
def here(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with links to the files of the workshop, some odd ones, and nothing written by others."""
    for path in workshop.iterdir():
        (tmp_path / path.name).symlink_to(path)
    for name in ("empty", "empty.inlaid", "empty.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.inlaid").mkdir()
    (tmp_path / "garbage").write_bytes(b"garbage \xff\xfe\x00\x01")
    monkeypatch.chdir(tmp_path)


def refused(typed: Any, *words: str) -> str:
    shown = typed(*words, code=2)
    lines = [line for line in shown.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, shown.err
    assert lines[0].startswith("error: ")
    assert lines[0].endswith((".", "?", ")", "`"))
    assert not shown.out
    return lines[0]


def test_every_command_is_typed_here():
    names = {*cli.COMMANDS, *(entry.name.replace("_", "-") for entry in registry.entries("analysis"))}
    assert TYPED.keys() == names


@pytest.mark.parametrize("name", sorted(TYPED.keys() - START_WITHOUT))
def test_without_arguments_a_command_names_what_is_missing(name: str, typed: Any):
    error = refused(typed, name)
    assert f"Missing from inlaid {name}: " in error
    assert f"(`inlaid {name} --help` lists all options)" in error
    assert "(required)" not in error


@pytest.mark.parametrize("name", sorted(READING.keys() - {"inspect", "world"}))
@pytest.mark.parametrize(
    "odd", ["missing", "empty", "empty.inlaid", "folder", "folder.inlaid", "garbage", "."]
)
def test_a_file_that_is_not_what_it_should_be(name: str, odd: str, typed: Any):
    Path("config.json").unlink()  # a folder that has one may be a model
    words = READING[name]
    place = next(number for number, word in enumerate(words) if Path(word).suffix)
    error = refused(typed, name, *words[:place], odd, *words[place + 1 :])
    assert "os error" not in error
    assert "codec" not in error


@pytest.mark.parametrize("odd", ["missing", "empty", "folder", "garbage", "text.txt", VECTORS])
def test_a_checkpoint_that_is_none(odd: str, typed: Any):
    refused(typed, "inspect", odd)


@pytest.mark.parametrize("odd", ["missing", "empty", "folder", "garbage", "text.txt", VECTORS, "."])
def test_a_corpus_that_is_none(odd: str, typed: Any):
    refused(typed, "cooccurrence", odd)
    refused(typed, "phrases", odd, "-o", "out")
    refused(typed, "doctor", VECTORS, "--corpus", odd)


def test_what_was_given_instead_is_named(typed: Any):
    assert "corpus is a corpus; expected vectors." in refused(typed, "neighbors", "corpus", WORD)
    assert "empty is empty; expected vectors." in refused(typed, "neighbors", "empty", WORD)
    assert "use `inlaid info`" in refused(typed, "inspect", VECTORS)
    assert "has no checksums" in refused(typed, "verify", _converted(typed))


def _converted(typed: Any) -> str:
    typed("convert", VECTORS, "v.npz")
    return "v.npz"


@pytest.mark.parametrize("name", sorted(ASKING))
@pytest.mark.parametrize(
    "odd", ["kingg", "不存在", "", "  ", "king\nqueen", "{x}", "[red]", "%s", "'", "\udcff", "长" * 5000]
)
def test_a_word_that_is_not_there(name: str, odd: str, typed: Any):
    words = [odd if word == WORD else word for word in ASKING[name]]
    assert len(refused(typed, name, *words)) < 1200


@pytest.mark.parametrize("name", COUNTING)
def test_numbers_at_the_edge(name: str, typed: Any):
    for number in ("0", "-1"):
        assert f"n is {number}; expected at least 1." in refused(typed, name, *TYPED[name], "-n", number)
    for number in ("x", "1.5", ""):
        error = refused(typed, name, *TYPED[name], "-n", number)
        assert f"-n is '{number}'; expected a whole number." in error
    assert "-n needs a value." in refused(typed, name, *TYPED[name], "-n")
    assert typed(name, *TYPED[name], "-n", "1000000").out == typed(name, *TYPED[name], "-n", "9" * 20).out


def test_values_of_options(typed: Any):
    error = refused(typed, "neighbors", VECTORS, WORD, "--by", "x")
    assert "--by is 'x'; expected one of cosine, csls, frequency." in error
    error = refused(typed, "train", "sgns", "text.txt", "-o", "v.inlaid", "--learning-rate", "fast")
    assert "--learning-rate is 'fast'; expected a number." in error
    assert "--top is 'x'; expected a whole number." in refused(typed, "evaluate", VECTORS, "--top", "x")


def test_a_suffix_without_a_format_is_refused_before_the_training(typed: Any):
    assert "no format has this suffix" in refused(typed, "train", "ppmi", "text.txt", "-o", "v.unknown")
    assert "end in .bin" in refused(typed, "train", "ppmi", "text.txt", "-o", "v.bin")


def test_chinese_is_shown_where_the_stream_has_no_chinese(monkeypatch: pytest.MonkeyPatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["tokenize", "苹果"]) == 0
    assert rb"\u82f9\u679c" in stream.buffer.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("output", ["v.inlaid", "my vectors (1).inlaid", "我的 向量.inlaid", "it's.inlaid"])
def test_next_steps_can_be_typed_as_shown(output: str, typed: Any):
    shown = typed("train", "ppmi", "corpus", "-o", output, "--dim", "8").out
    steps = [shlex.split(step) for step in shown.partition("Next:\n")[2].splitlines()]
    assert [step[:2] for step in steps] == [["inlaid", name] for name in ("neighbors", "evaluate", "doctor")]
    for _, *words in steps:
        typed(*words)


def test_next_steps_leave_out_tasks_of_another_text(typed: Any):
    Path("fox.txt").write_text("quick brown foxes jump over lazy dogs\n" * 9)
    shown = typed("train", "onehot", "fox.txt", "-o", "fox.inlaid").out
    assert re.search(r"Next:\n  inlaid neighbors fox\.inlaid \w+\n  inlaid doctor fox\.inlaid\n$", shown)


def test_next_steps_quote_only_what_needs_it(typed: Any):
    shown = typed("train", "ppmi", "corpus", "-o", "向量.inlaid", "--dim", "8").out
    assert "  inlaid doctor 向量.inlaid\n" in shown


def test_a_shell_runs_the_next_steps(typed: Any):
    """Not only Python's idea of a shell."""
    shown = typed("train", "ppmi", "corpus", "-o", "a $b & c.inlaid", "--dim", "8").out
    step = (
        shown.partition("Next:\n")[2].splitlines()[0].replace("inlaid", f"{sys.executable} -m inlaid.cli", 1)
    )
    ended = subprocess.run(["sh", "-c", step], capture_output=True, text=True, env={**os.environ})
    assert ended.returncode == 0, ended.stderr


def test_json_of_info_and_verify(typed: Any):
    """Both have a form for people and one for programs."""
    found = json.loads(typed("info", VECTORS, "--json").out)
    shown = dict(line.split(maxsplit=1) for line in typed("info", VECTORS).out.splitlines() if line[0] != " ")
    assert shown["words"] == f"{found['words']:,}"
    assert shown["dim"] == str(found["dim"])
    assert shown["method"] == found["card"]["method"]
    found = json.loads(typed("verify", VECTORS, "--json").out)
    assert found["path"] == VECTORS
    assert f"{found['bytes']:,} bytes" in typed("verify", VECTORS).out


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("native", "v.inlaid"),
        ("native", "v.dat"),
        ("glove", "v.txt"),
        ("word2vec-text", "v.vec.gz"),
        ("word2vec", "v.bin"),
        ("npz", "v.npz"),
        ("static-embedding", "model"),
        ("model2vec", "model"),
        ("projector", "model"),
    ],
)
def test_vectors_are_no_text(format: str, name: str, typed: Any):
    """Numbers can be trained on, too: the result would be words of digits."""
    typed("convert", VECTORS, name, "--format", format)
    for words in (["train", "ppmi", name, "-o", "o.inlaid"], ["corpus", name, "-o", "out"]):
        for more in ([], ["--invalid", "skip"], ["--encoding", "latin-1"]):
            error = refused(typed, *words, *more)
            assert f"{name} holds vectors in the format {format}; expected text" in error
    assert "expected text" in refused(typed, "train", "sgns", name, "--plan")
    assert "expected text" in refused(typed, "train", "ppmi", "text.txt", name, "-o", "o.inlaid")
    with pytest.raises(SourceError, match="init_from="):
        inlaid.train(name, "ppmi")


def test_numbers_that_are_no_vectors_are_text(typed: Any):
    """Sessions of items by their numbers, and a text with figures in it, whatever it is called."""
    Path("items.inlaid").write_text("u 12 553 9\nv 3 553 12\nw 9 3 553\n" * 20)
    Path("prices.txt").write_text("bread 1.50 milk 0.99 today\nmilk 0.98 bread 1.51 again\n" * 20)
    for name in ("items.inlaid", "prices.txt"):
        typed("train", "ppmi", name, "-o", "o.inlaid", "--dim", "2", "--tokenizer", "whitespace")


WRITING = [
    ["convert", VECTORS, "--format", "native"],
    ["convert", VECTORS, "--format", "model2vec"],
    ["map", VECTORS, WORD, "man", "--method", "pca", "-o"],
    ["corpus", "text.txt", "-o"],
    ["phrases", "corpus", "-o"],
    ["align", VECTORS, "b.inlaid", "same.txt", "--format", "glove", "-o"],
    ["world", "-o"],
    ["world", "-o", "new.txt", "--dictionary"],
    ["train", "ppmi", "corpus", "--format", "glove", "-o"],
    ["train", "sgns", "corpus", "--format", "model2vec", "-o"],
    ["train", "sgns", "corpus", "-o", "new.inlaid", "--checkpoint"],
]


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
@pytest.mark.parametrize("output", ["", ".", "..", "/", "folder/."])
def test_a_folder_is_no_file_to_write(words: list[str], output: str, typed: Any):
    error = refused(typed, *words, output)
    assert "it is a folder. Name a file inside it." in error or "it already exists. Remove it" in error


def test_a_pipe_behind_a_link_is_no_file_to_write(typed: Any):
    reading, writing = os.pipe()
    try:
        error = refused(typed, "convert", VECTORS, f"/proc/self/fd/{writing}", "--format", "native")
    finally:
        os.close(reading)
        os.close(writing)
    assert "it is a device or a pipe, not a file" in error


@pytest.mark.parametrize("flags", [["--special", ""], ["--special", "<s>", " "], ["--unknown", ""]])
def test_a_word_has_characters(flags: list[str], typed: Any):
    error = refused(typed, "train", "sgns", "text.txt", "-o", "o.inlaid", *flags)
    assert "special and unknown have an empty word" in error


def test_less_time_than_an_epoch_takes(typed: Any):
    words = ["train", "sgns", "text.txt", "--dim", "2", "--minutes", "0"]
    assert "but one epoch takes under 1 s." in refused(typed, *words, "-o", "o.inlaid")


def test_settings_are_named_as_they_are_typed(typed: Any):
    words = ["corpus", "text.txt", "-o", "out", "--tokenizer"]
    assert "subwords is 1, but bpe needs" in refused(typed, *words, "bpe", "--subwords", "1")
    assert "subwords is 2, but the characters" in refused(typed, *words, "wordpiece", "--subwords", "2")


def test_more_steps_than_dimensions_are_as_many_as_dimensions(typed: Any):
    words = ["dimensions", VECTORS, "world-fields", "--runs", "1", "--steps"]
    assert typed(*words, "99999999999").out == typed(*words, "8").out


@pytest.mark.parametrize("flag", ["--M", "--ef-search", "--ef-construction"])
def test_settings_of_faiss_beyond_any_use(flag: str, typed: Any):
    words = ["neighbors", VECTORS, WORD, "--approximate", "hnsw", flag, "99999999999"]
    assert "is 99999999999; expected from 1 to" in refused(typed, *words)
