"""Bad input to the methods that train networks: one clear line, and the last good state is kept."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid  # noqa: E402
from inlaid import registry  # noqa: E402
from inlaid.collect import world  # noqa: E402
from inlaid.jobs.training import ReadsPairs  # noqa: E402
from inlaid.neural.checkpoint import load_model  # noqa: E402

METHODS = [entry.name for entry in registry.entries("method") if entry.load().abilities.model]
SIZES = ["--dim", "8", "--layers", "1", "--epochs", "3"]
CHARACTERS = ["--tokenizer", "char", "--min-count", "1"]
WORDS = ["--tokenizer", "word", "--min-count", "1"]


def reads_pairs(name: str) -> bool:
    return issubclass(registry.find("method", name), ReadsPairs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bad")
    pairs = list(world.pairs(words=1_500))
    long = "好坏" * 300
    texts = {
        "text": [side for pair in pairs for side in (pair.zh, pair.en)],
        "few": ["我喜欢苹果。", "I like apples."],
        "long": [long, long],
        "blank": ["", " ", ""],
    }
    for name, lines in texts.items():
        (path / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        joined = [f"{one}\t{two}" for one, two in zip(lines[::2], lines[1::2], strict=False)]
        (path / f"{name}.tsv").write_text("\n".join(joined) + "\n", "utf-8")
    return path


def text_of(folder: Path, name: str, what: str = "text") -> Path:
    return folder / f"{what}.{'tsv' if reads_pairs(name) else 'txt'}"


def weights(path: Path) -> dict[str, bytes]:
    return {name: array.numpy().tobytes() for name, array in load_model(path).network.state_dict().items()}


@pytest.mark.parametrize("name", METHODS)
def test_text_without_words_too_short_or_too_long(name: str, typed: Any, folder: Path, tmp_path: Path):
    """It is refused in one line, or trained on; nothing is left behind where it is refused."""
    words = ["train", name, *SIZES, *CHARACTERS, "--max-length", "16"]
    errors = {
        "blank": ("no pairs of texts" if reads_pairs(name) else "No words were found"),
        "few": {
            "causal": "a window of 16 needs 32",
            "contrastive": "Give two pairs or more",
        }.get(name),
        # a sentence of 600 characters is no name of a file, either
        "long": {"translation": "No pair has at most", "contrastive": "Give two pairs or more"}.get(name),
    }
    for what, error in errors.items():
        output = tmp_path / what
        shown = typed(*words, text_of(folder, name, what), "-o", output, code=2 if error else 0)
        if error:
            assert error in shown.err.splitlines()[-1]
            assert not list(tmp_path.glob(f"{what}*"))
        else:
            assert load_model(output).card.method == name


@pytest.mark.parametrize("name", METHODS)
def test_a_rate_that_diverges_leaves_the_last_good_model(name: str, typed: Any, folder: Path, tmp_path: Path):
    words = ["train", name, text_of(folder, name), "-o", tmp_path / "m", *SIZES, *CHARACTERS]
    shown = typed(*words, "--learning-rate", "1e20", "--checkpoint-minutes", "0", "--epochs", "20", code=2)
    last = shown.err.splitlines()[-1]
    assert "Training diverged at" in last
    assert "Halve `learning_rate` (it is 1e+20)" in last
    assert (tmp_path / "m.checkpoint").exists()
    good = load_model(tmp_path / "m.partial")
    assert all(bool(torch.isfinite(each).all()) for each in good.network.state_dict().values())


@pytest.mark.parametrize("name", ["causal", "contrastive"])
def test_a_full_disk_costs_no_training(
    name: str, typed: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = ["train", name, text_of(folder, name), *SIZES, *CHARACTERS, "--checkpoint-minutes", "0"]
    typed(*words, "-o", tmp_path / "whole")
    checkpoint = tmp_path / "m.checkpoint"
    replace = os.replace
    first: list[bytes] = []

    def replace_once(source: Any, target: Any) -> None:
        if Path(target) != checkpoint or not first:
            replace(source, target)
        elif checkpoint.read_bytes() == first[0]:  # it is still there when the next one fails
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if Path(target) == checkpoint:
            first.append(checkpoint.read_bytes())

    monkeypatch.setattr(os, "replace", replace_once)
    shown = typed(*words, "-o", tmp_path / "m")
    assert "failed, and training continues. Cannot write" in shown.err
    assert "No space left on device" in shown.err
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


@pytest.mark.parametrize("name", METHODS)
def test_a_model_of_words_goes_on_with_other_text(name: str, typed: Any, folder: Path, tmp_path: Path):
    """New words are unknown ones; known words keep their ids."""
    typed("train", name, text_of(folder, name), "-o", tmp_path / "a", *SIZES, *WORDS)
    new = "apples frobnicate the quux\tthe quux is apples\n" * 20
    other = tmp_path / f"other{text_of(folder, name).suffix}"
    other.write_text(new if reads_pairs(name) else new.replace("\t", "\n") * 8, "utf-8")
    words = ["train", name, other, "-o", tmp_path / "b", "--init-from", tmp_path / "a"]
    words += ["--epochs", "20", "--learning-rate", "0.05"]
    typed(*words)
    before, after = (load_model(tmp_path / each) for each in "ab")
    assert before.tokenizer.get_vocab() == after.tokenizer.get_vocab()
    if name == "causal":
        assert "frobnicate" not in before.tokenizer.get_vocab()
        found = [after_a_new_word(model) for model in (before, after)]
        assert found[1]["the"] > 2 * found[0]["the"]
        assert found[1]["我"] < found[0]["我"] / 2


def after_a_new_word(model: Any) -> dict[str, float]:
    """What comes next, and how likely, after a word that is not in the vocabulary."""
    found = inlaid.next(model, "apples frobnicate", n=100_000)
    return {each.token: each.probability for each in found.tokens}


def test_a_corpus_that_does_not_fit_the_model_is_refused(typed: Any, folder: Path, tmp_path: Path):
    typed("train", "masked", folder / "text.txt", "-o", tmp_path / "a", *SIZES, *WORDS)
    typed("corpus", folder / "text.txt", "-o", tmp_path / "c", *CHARACTERS)
    words = ["train", "masked", tmp_path / "c", "-o", tmp_path / "b", "--init-from", tmp_path / "a"]
    error = typed(*words, code=2).err.splitlines()[-1]
    assert "was not encoded with the tokenizer of" in error
