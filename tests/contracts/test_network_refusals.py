"""What cannot be learned from, and settings that cannot work: one line before any work, for every network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid  # noqa: E402
from inlaid import pipeline  # noqa: E402
from inlaid.collect import world  # noqa: E402

TINY = ["--dim", "8", "--layers", "1", "--epochs", "1", "--max-length", "32", "--min-count", "1"]
LONG_WORD = 1_000_000
"""Letters of a word that a trainer of subwords would need minutes for, as it takes the square of them."""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(world.sentences("en", words=2000)) + "\n", "utf-8")
    return path


@pytest.fixture
def refused(typed: Any, tmp_path: Path) -> Any:
    """Type a training that must end in one line and write nothing."""

    def run(*words: str | Path) -> str:
        before = sorted(tmp_path.iterdir())
        shown = typed("train", *words, "-o", tmp_path / "model", code=2)
        assert shown.err.count("\n") == 1, shown.err
        assert sorted(tmp_path.iterdir()) == before
        return shown.err

    return run


@pytest.mark.parametrize(
    ("method", "flags", "said"),
    [
        ("causal", ["--device", "meta"], "No network can be trained on the device meta"),
        ("causal", ["--device", "cuda:999"], "no GPU" if not torch.cuda.is_available() else "cuda:999"),
        ("causal", ["--beta2", "1"], "beta2 is 1.0"),
        ("causal", ["--dropout", "1"], "dropout is 1.0"),
        ("causal", ["--dim", "7", "--heads", "2"], "dim is 7, which 2 heads do not divide"),
        ("bilm", ["--max-characters", "3"], "max_length is 3, and the widest filter reads 4"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_text_is_read(
    method: str, flags: list[str], said: str, text: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
):
    def encode(*_: Any, **__: Any) -> Any:
        raise AssertionError("the text was encoded")

    monkeypatch.setattr(pipeline, "encode", encode)
    assert said in refused(method, text, *TINY, *flags)


def test_patience_without_held_out_text_says_why(text: Path, refused: Any):
    error = refused("causal", text, *TINY, "--subwords", "400", "--patience", "2", "--held-out", "0")
    assert "held_out is 0" in error


@pytest.mark.parametrize("method", ["masked", "bilm"])
def test_sentences_of_one_word_have_no_context(method: str, tmp_path: Path, refused: Any):
    (tmp_path / "t.txt").write_text("cat\ndog\n猫\nsun\n" * 100, "utf-8")
    error = refused(method, tmp_path / "t.txt", *TINY, "--tokenizer", "word")
    assert "Put each sentence, not each word, on a line" in error


@pytest.mark.parametrize("method", ["masked", "bilm", "causal"])
def test_a_text_of_one_word_is_nothing_to_learn_from(method: str, tmp_path: Path, refused: Any):
    (tmp_path / "t.txt").write_text("cat cat cat\n" * 100, "utf-8")
    error = refused(method, tmp_path / "t.txt", *TINY, "--tokenizer", "word")
    assert "has one word, 'cat'" in error


@pytest.mark.parametrize("tokenizer", ["bpe", "wordpiece"])
def test_a_word_of_a_million_letters_is_learned_from_in_seconds(tokenizer: str, text: Path, tmp_path: Path):
    with text.open("a") as file:
        file.write("ab" * (LONG_WORD // 2))
    words = ["corpus", text, "-o", tmp_path / "corpus", "--tokenizer", tokenizer, "--subwords", "400"]
    command = [sys.executable, "-m", "inlaid", *words]
    place = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    ended = subprocess.run(command, env={**os.environ, **place}, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr


def test_a_checkpoint_is_known_before_the_text_is_read(
    text: Path, tmp_path: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
):
    def encode(*_: Any, **__: Any) -> Any:
        raise AssertionError("the text was encoded")

    monkeypatch.setattr(pipeline, "encode", encode)
    (tmp_path / "notes").write_text("mine")
    error = refused("causal", text, *TINY, "--resume", "--checkpoint", tmp_path / "notes")
    assert "notes" in error


def test_an_odd_corpus_is_no_corpus_of_pairs(typed: Any, text: Path, tmp_path: Path, refused: Any):
    text.write_text("a b c\nd e f\ng h i\n" * 3, "utf-8")
    typed("corpus", text, "-o", tmp_path / "corpus", "--min-count", "1")
    error = refused("translation", tmp_path / "corpus", "--dim", "8", "--layers", "1")
    assert "9 sentences, an odd number" in error


class TestColumns:
    """A wrong column must never be another one."""

    def test_columns_are_counted_from_1(self, tmp_path: Path, refused: Any):
        (tmp_path / "pairs.tsv").write_text("a b\tc d\n" * 300)
        for flags in (["--source-column", "0"], ["--target-column", "0"]):
            assert "counted from 1" in refused("translation", tmp_path / "pairs.tsv", *TINY, *flags)

    def test_the_advice_names_the_flags_of_pairs(self, tmp_path: Path, refused: Any):
        (tmp_path / "pairs.jsonl").write_text('{"zh": "a", "en": "b"}\n' * 300)
        flags = ["--source-column", "zh", "--target-column", "fr"]
        error = refused("translation", tmp_path / "pairs.jsonl", *TINY, *flags)
        assert "'fr'" in error
        assert "--field" not in error


@pytest.mark.parametrize("end", [1 << 62, 10**6])
def test_a_special_token_outside_the_table_is_looked_for_by_its_name(
    end: int, typed: Any, text: Path, tmp_path: Path
):
    words = ["train", "causal", text, *TINY, "--subwords", "400"]
    typed(*words, "-o", tmp_path / "first")
    config = tmp_path / "first" / "config.json"
    content = json.loads(config.read_text())
    expected = content["eos_token_id"]
    config.write_text(json.dumps({**content, "eos_token_id": end, "bos_token_id": end}))
    typed(*words[:3], "-o", tmp_path / "again", "--init-from", tmp_path / "first", "--epochs", "1")
    model = inlaid.load_model(tmp_path / "again")
    assert model.tokenizer is not None
    config.write_text(json.dumps(content))
    typed(*words[:3], "-o", tmp_path / "right", "--init-from", tmp_path / "first", "--epochs", "1")
    right = inlaid.load_model(tmp_path / "right")
    assert right.config.special.end == (expected,)
    for name, tensor in right.network.state_dict().items():
        assert torch.equal(tensor, model.network.state_dict()[name]), name


def test_the_meta_device_computes_nothing(typed: Any, tiny_models: Path):
    shown = typed("embed", tiny_models / "sentence", "我", "--device", "meta", code=2)
    assert "No network can be put on the device 'meta'" in shown.err
