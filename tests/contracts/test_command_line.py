"""What every name of the registry promises to a user who types it: it trains, converts, tokenizes, scores or
answers through the command line, not only through Python."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import cli, registry

METHODS = [entry.name for entry in registry.entries("method") if not entry.load().abilities.model]
"""Those that make vectors; test_network_methods.py has those that make models."""
LONG = [
    name
    for name in METHODS
    if "epochs" in {field.name for field in dataclasses.fields(registry.find("method", name))}
]
"""Methods that learn in epochs: they save checkpoints and can be resumed."""
TINY = {"dim": "8", "epochs": "2", "window": "2", "buckets": "1000", "seed": "3"}
"""Settings of a tiny training, for the methods that have them."""
ALIASES = [
    (typed, alias)
    for alias in registry.ALIASES
    if alias.settings is not None and alias.kind == "method"
    for typed in alias.typed.split()
]
"""Names that are accepted for a method with some settings; test_classify.py has those of classifiers."""


@pytest.fixture(autouse=True)
def here(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workshop)


def settings(name: str) -> dict[str, str]:
    known = {field.name for field in dataclasses.fields(registry.find("method", name))}
    return {setting: value for setting, value in TINY.items() if setting in known}


def flags(name: str) -> list[str]:
    given = settings(name) | {"min-count": "1"}
    return [word for setting, value in given.items() for word in (f"--{setting}", value)]


def table(path: Path) -> np.ndarray[Any, Any]:
    return np.asarray(inlaid.load(path).table)


@pytest.mark.parametrize("name", METHODS)
class TestTrain:
    def test_help_lists_every_setting(self, name: str, typed: Any):
        shown = typed("train", name, "--help").out
        for field in dataclasses.fields(registry.find("method", name)):
            assert f"--{field.name.replace('_', '-')}" in shown
        assert "--output" in shown
        assert "--min-count" in shown

    def test_a_tiny_training(self, name: str, typed: Any, tmp_path: Path):
        output = tmp_path / "v.inlaid"
        shown = typed("train", name, "text.txt", "-o", output, *flags(name))
        vectors = inlaid.load(output)
        assert f"{len(vectors):,} words x {vectors.dim}" in shown.out
        assert np.isfinite(np.asarray(vectors.table)).all()
        assert vectors.card.method == name
        assert [path.name for path in tmp_path.iterdir()] == ["v.inlaid"]

    def test_a_config_file_gives_what_flags_give(self, name: str, typed: Any, tmp_path: Path):
        lines = [f"{setting} = {value}" for setting, value in settings(name).items()]
        (tmp_path / "run.toml").write_text("\n".join([*lines, "min_count = 1"]), "utf-8")
        typed("train", name, "text.txt", "-o", tmp_path / "file.inlaid", "--config", tmp_path / "run.toml")
        typed("train", name, "text.txt", "-o", tmp_path / "flags.inlaid", *flags(name))
        info = json.loads(typed("info", tmp_path / "file.inlaid", "--json").out)
        assert {key: str(info["card"]["settings"][key]) for key in settings(name)} == settings(name)
        assert table(tmp_path / "file.inlaid").tobytes() == table(tmp_path / "flags.inlaid").tobytes()

    def test_a_misspelt_setting_is_refused_in_one_line(self, name: str, typed: Any, tmp_path: Path):
        shown = typed("train", name, "text.txt", "-o", tmp_path / "v.inlaid", "--min-cuont", "1", code=2)
        assert "--min-cuont" in shown.err
        assert shown.err.count("\n") == 1
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", LONG)
def test_an_interrupted_run_is_resumed_to_the_bit(
    name: str, typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = tmp_path / "whole.inlaid"
    output = tmp_path / "v.inlaid"
    checkpoint = tmp_path / "v.inlaid.checkpoint"
    words = [
        "train",
        name,
        "corpus",
        *(word for key, value in settings(name).items() for word in (f"--{key}", value)),
    ]
    words += ["--epochs", "40", "--checkpoint-minutes", "0"]
    typed(*words, "-o", whole)
    replace = os.replace

    def replace_and_press_ctrl_c(source: Any, target: Any) -> None:
        replace(source, target)
        if Path(target) == checkpoint:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_press_ctrl_c)
        typed(*words, "-o", output, code=130)
    assert checkpoint.exists()
    partial = output.with_name("v.partial.inlaid")
    assert table(partial).tobytes() != table(whole).tobytes()
    assert not output.exists()
    typed(*words, "-o", output, "--resume")
    assert not partial.exists()
    assert table(output).tobytes() == table(whole).tobytes()
    assert not checkpoint.exists()


@pytest.mark.parametrize(("typed_name", "alias"), ALIASES, ids=[typed for typed, _ in ALIASES])
def test_an_alias_trains_what_it_names(typed_name: str, alias: registry.Alias, typed: Any, tmp_path: Path):
    more = [word for name, value in (alias.settings or {}).items() for word in (f"--{name}", str(value))]
    typed("train", typed_name, "text.txt", "-o", tmp_path / "alias.inlaid", *flags(alias.name))
    typed("train", alias.name, "text.txt", "-o", tmp_path / "name.inlaid", *flags(alias.name), *more)
    assert table(tmp_path / "alias.inlaid").tobytes() == table(tmp_path / "name.inlaid").tobytes()


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("format")])
def test_a_format_is_converted_to_and_back(name: str, typed: Any, tmp_path: Path):
    suffixes = getattr(registry.find("format", name), "SUFFIXES", ()) or ("",)
    there = tmp_path / f"there{suffixes[0]}"
    typed("convert", "two-tables.inlaid", there, "--format", name)
    shown = typed("convert", there, tmp_path / "back.inlaid")
    before = inlaid.load("two-tables.inlaid")
    after = inlaid.load(tmp_path / "back.inlaid")
    assert f"{len(after):,} words x {after.dim}" in shown.out
    assert list(after.words)[: len(before)] == list(before.words)
    assert np.asarray(after.table)[: len(before)].tobytes() == np.asarray(before.table).tobytes()


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("tokenizer")])
def test_a_tokenizer_shows_its_tokens_and_makes_a_corpus(name: str, typed: Any, tmp_path: Path):
    shown = typed("tokenize", "the cat 吃 苹果", "--tokenizers", name)
    assert f"{name}: t" in shown.out
    shown = typed("corpus", "text.txt", "-o", tmp_path / "corpus", "--tokenizer", name)
    assert "outside the vocabulary" in shown.out
    typed("verify", tmp_path / "corpus")


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("subwords")])
def test_subwords_are_learned_and_used(name: str, typed: Any, tmp_path: Path):
    typed("corpus", "text.txt", "-o", tmp_path / "corpus", "--tokenizer", name, "--subwords", "2000")
    shown = typed(
        "tokenize", "the cat eats apples", "--tokenizer-file", tmp_path / "corpus" / "tokenizer.json"
    )
    assert "eat" in shown.out
    info = json.loads(typed("info", tmp_path / "corpus", "--json").out)
    assert info["words"]["used"] <= 2000


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("subwords")])
def test_a_small_text_gives_the_subwords_it_has(name: str, typed: Any, tmp_path: Path):
    (tmp_path / "small.txt").write_text("the cat eats the apple\n猫吃苹果\n" * 5, "utf-8")
    words = ("corpus", tmp_path / "small.txt", "--tokenizer", name, "-o")
    shown = typed(*words, tmp_path / "corpus")
    assert "subwords, as the text gives no more; the default is up to 8,000." in shown.err
    refused = typed(*words, tmp_path / "other", "--subwords", "8000", code=2)
    assert "and the setting subwords asks for 8,000" in refused.err


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nfc", "cafe\u0301", "café"),
        ("nfkc", "ﬁne", "fine"),
        ("width", "ＡＢＣ", "ABC"),
        ("lower", "ABC", "abc"),
        ("simplified", "漢語", "汉语"),
    ],
)
def test_a_normalizer_changes_what_is_tokenized(name: str, text: str, expected: str, typed: Any):
    shown = typed("tokenize", text, "--tokenizers", "whitespace", "--normalize", name)
    assert f"whitespace: {expected}" in shown.out


def test_every_normalizer_is_in_the_test_above():
    marks = getattr(test_a_normalizer_changes_what_is_tokenized, "pytestmark", [])
    assert {row[0] for row in marks[0].args[1]} == {entry.name for entry in registry.entries("normalizer")}


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("task")])
def test_a_task_scores_vectors(name: str, typed: Any):
    assert name in typed("evaluate", "a.inlaid", name).out
    scores = json.loads(typed("evaluate", "a.inlaid", name, "--json").out)
    assert {score["task"] for score in scores["scores"]} == {name}


EXAMPLES: dict[str, list[str]] = {
    "ablate": ["decoder.model", "I", "--layer", "0", "--sentences", "4"],
    "align": ["a.inlaid", "b.inlaid", "same.txt", "--words", "king"],
    "analogy": ["a.inlaid", "king - man + woman", "-n", "3"],
    "attend": ["decoder.model", "I saw her"],
    "attend-step": ["decoder.model", "I saw her", "saw"],
    "attribute": ["decoder.model", "I saw her", "--steps", "4"],
    "axis": [
        "a.inlaid",
        "--from",
        "man",
        "boy",
        "king",
        "--to",
        "woman",
        "girl",
        "queen",
        "--words",
        "apple",
    ],
    "changes": ["a.inlaid", "b.inlaid", "king"],
    "classify": ["train", "labelled.txt", "-o", "OUT", "--epochs", "1"],
    "closer-than": ["a.inlaid", "king", "apple"],
    "compare": ["a.inlaid", "b.inlaid", "--words", "king"],
    "complete": ["a.inlaid", "ki"],
    "completion": ["bash"],
    "convert": ["a.inlaid", "OUT.vec"],
    "cooccurrence": ["corpus", "king", "queen"],
    "corpus": ["text.txt", "-o", "OUT"],
    "demo": ["--words", "20000"],
    "dimensions": ["a.inlaid", "world-fields", "--steps", "2", "--runs", "2"],
    "doctor": ["a.inlaid", "--corpus", "corpus"],
    "draw": ["matrix", "-o", "OUT.png"],
    "drift": ["masked.model", "苹果", "我喜欢吃苹果", "苹果手机"],
    "distill": ["masked.model"],
    "text-similarity": ["a.inlaid", "the king eats an apple", "国王 吃 苹果", "--measure", "rwmd"],
    "embed": ["a.inlaid", "the king eats an apple", "国王 吃 苹果"],
    "evaluate": ["a.inlaid", "pairs.txt"],
    "explain": ["a.inlaid", "king", "queen", "--corpus", "corpus", "-n", "2"],
    "explore": ["a.inlaid", "--export", "OUT.html"],
    "fill": ["two-tables.inlaid", "the ___ eats an apple", "-n", "3"],
    "generate": ["decoder.model", "I"],
    "geometry": ["a.inlaid"],
    "heads": ["bytes.model", "--sentences", "10"],
    "info": ["corpus"],
    "inspect": ["config.json"],
    "lens": ["decoder.model", "I saw"],
    "map": ["a.inlaid", "-o", "OUT.html", "--method", "pca", "--top", "50"],
    "map-texts": ["a.inlaid", "the king eats", "国王 吃 苹果", "-o", "OUT.html", "--method", "pca"],
    "neighbors": ["a.inlaid", "king", "苹果", "-n", "3"],
    "next": ["decoder.model", "I", "--layers"],
    "odd-one-out": ["a.inlaid", "apple", "bananas", "king"],
    "phrases": ["corpus", "-o", "OUT"],
    "rank": ["a.inlaid", "king", "apple"],
    "probe": ["a.inlaid", "--task", "field", "--probes", "linear", "--examples", "600"],
    "referents": ["masked.model"],
    "senses": ["bytes.model", "the", "--corpus", "text.txt", "--others", "300"],
    "similarity": ["a.inlaid", "king", "queen"],
    "stability": ["king", "a.inlaid", "b.inlaid"],
    "tokenize": ["我喜欢 apples"],
    "tour": ["--chapter", "onehot", "--size", "tiny"],
    "train": ["ppmi", "text.txt", "-o", "OUT.inlaid", "--dim", "4"],
    "translate": ["seq2seq.model", "我 打 你"],
    "vector": ["a.inlaid", "king"],
    "verify": ["a.inlaid"],
    "world": ["-o", "OUT.txt", "--words", "100"],
}
"""What a user would type after the name of each command. A new command or analysis needs a line here."""
ANALYSES = [entry.name.replace("_", "-") for entry in registry.entries("analysis")]
COMMANDS = sorted({*cli.COMMANDS, *ANALYSES} - {"serve"})
"""`inlaid serve` does not end by itself: the tests of view/ type it."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers(name: str, typed: Any, tmp_path: Path):
    """In words; and for programs in JSON, where it offers that, as every analysis does."""
    if name not in EXAMPLES:
        pytest.fail(f"`inlaid {name}` has no example: add what a user would type to EXAMPLES")
    if importlib.util.find_spec("torch") is None and any(word.endswith(".model") for word in EXAMPLES[name]):
        pytest.skip("torch is not installed: pip install 'inlaid[neural]'")
    words = [word.replace("OUT", str(tmp_path / "out")) for word in EXAMPLES[name]]
    shown = typed(name, *words)
    assert shown.out.strip()
    assert "nan" not in shown.out.split()
    offers_json = "--json" in typed(name, "--help").out
    assert offers_json or name not in ANALYSES, f"the analysis {name} has no --json"
    if offers_json:
        assert json.loads(typed(name, *words, "--json").out)


IMPOSSIBLE = [("seed", "-1"), ("seed", str(1 << 64)), ("window", "0"), ("window", "1000000000")]
"""Values that no command can work with."""


@pytest.mark.parametrize(("setting", "value"), IMPOSSIBLE)
@pytest.mark.parametrize("name", [*(f"train {method}" for method in METHODS), *COMMANDS])
def test_a_value_that_cannot_work_is_refused_in_one_line(
    name: str, setting: str, value: str, typed: Any, tmp_path: Path
):
    """Before any work: nothing is written."""
    words = name.split()
    if f"--{setting} " not in typed(*words, "--help").out:
        return
    example = [
        str(tmp_path / "out.inlaid") if word.startswith("OUT") else word for word in EXAMPLES[words[0]]
    ]
    if words[0] == "train":
        example = ["text.txt", "-o", str(tmp_path / "out.inlaid")]
    shown = typed(*words, *example, f"--{setting}={value}", code=2)
    assert f"{setting} is {value}; expected " in shown.err
    assert shown.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_largest_seed_works(typed: Any, tmp_path: Path):
    largest = str((1 << 64) - 1)
    for name in METHODS:
        if "seed" in settings(name):
            typed("train", name, "text.txt", "-o", tmp_path / "v.inlaid", *flags(name), "--seed", largest)
    for name in COMMANDS:
        if name not in ("train", "map", "map-texts") and "--seed " in typed(name, "--help").out:
            words = [word.replace("OUT", str(tmp_path / name)) for word in EXAMPLES[name]]
            typed(name, *words, "--seed", largest)
