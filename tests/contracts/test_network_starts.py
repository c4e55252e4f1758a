"""Training that starts from a model: what the model has is kept, and a setting that would change it is
refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from inlaid.collect import world  # noqa: E402

TINY = ["--dim", "8", "--layers", "1", "--epochs", "1", "--max-length", "32"]
SUBWORDS = ["--subwords", "400"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(world.sentences("en", words=1500)) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def gpt(text: Path) -> Path:
    from inlaid import cli

    folder = text.with_name("gpt")
    assert cli.main(["train", "causal", str(text), "-o", str(folder), *TINY, *SUBWORDS]) == 0
    return folder


def settings_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "card.json").read_text("utf-8"))["settings"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--positions", "rotary"], "positions is rotary, and"),
        (["--norm", "post"], "norm is post, and"),
        (["--activation", "relu"], "activation is relu, and"),
        (["--no-tied"], "tied is False, and"),
        (["--dropout", "0.5"], "dropout is 0.5, and"),
        (["--tokenizer", "word"], "tokenizer is given, but the text is encoded as"),
        (["--tokenizer", "char"], "tokenizer is given, but the text is encoded as"),
        (["--subwords", "300"], "subwords is given, but the text is encoded as"),
        (["--normalize", "lower"], "normalize is given, but the text is encoded as"),
    ],
)
def test_a_setting_that_the_model_decides_is_refused(
    flags: list[str], said: str, typed: Any, text: Path, gpt: Path, tmp_path: Path
):
    words = ["train", "causal", text, "-o", tmp_path / "model", "--init-from", gpt, "--epochs", "1"]
    error = typed(*words, *flags, code=2).err
    assert said in error
    assert "Leave out" in error
    assert not (tmp_path / "model").exists()


def test_the_method_for_a_model_of_another_kind_is_named(typed: Any, text: Path, gpt: Path, tmp_path: Path):
    words = ["train", "masked", text, "-o", tmp_path / "model", "--init-from", gpt]
    assert "Use the method causal." in typed(*words, code=2).err


def test_the_learning_rate_is_lower_from_a_model(typed: Any, text: Path, gpt: Path, tmp_path: Path):
    assert settings_of(gpt)["learning_rate"] == 1e-3
    typed("train", "causal", text, "-o", tmp_path / "again", "--init-from", gpt, "--epochs", "1")
    assert settings_of(tmp_path / "again")["learning_rate"] == 5e-5
    words = ["train", "causal", text, "-o", tmp_path / "fast", "--init-from", gpt, "--epochs", "1"]
    typed(*words, "--learning-rate", "0.01")
    assert settings_of(tmp_path / "fast")["learning_rate"] == 0.01


def test_weights_in_bfloat16_are_trained_in_float32(typed: Any, text: Path, gpt: Path, tmp_path: Path):
    """An update of 1e-6 of a weight is lost in bfloat16, which has three digits."""
    half = tmp_path / "half"
    half.mkdir()
    for file in gpt.iterdir():
        (half / file.name).write_bytes(file.read_bytes())
    weights = {name: each.to(torch.bfloat16) for name, each in load_file(gpt / "model.safetensors").items()}
    save_file(weights, half / "model.safetensors", metadata={"format": "pt"})
    words = ["train", "causal", text, "-o", tmp_path / "model", "--init-from", half, "--epochs", "1"]
    typed(*words, "--learning-rate", "1e-7")
    with safe_open(tmp_path / "model" / "model.safetensors", "pt") as found:
        after = {name: found.get_tensor(name) for name in found.keys()}  # noqa: SIM118
    assert {each.dtype for each in after.values()} == {torch.float32}
    moved = [not torch.equal(after[name], before.float()) for name, before in weights.items()]
    assert all(moved)


def test_a_bilm_without_characters_goes_on_as_it_is(typed: Any, text: Path, tmp_path: Path):
    sizes = ["--dim", "8", "--cell-dim", "8", "--layers", "1", "--epochs", "1"]
    typed("train", "bilm", text, "-o", tmp_path / "elmo", "--no-characters", *sizes)
    typed("train", "bilm", text, "-o", tmp_path / "again", "--init-from", tmp_path / "elmo", "--epochs", "1")
    assert settings_of(tmp_path / "again")["characters"] is False


def test_the_tokenizer_of_a_model_of_words_may_be_named_again(typed: Any, text: Path, tmp_path: Path):
    typed("train", "masked", text, "-o", tmp_path / "bert", "--tokenizer", "word", *TINY)
    words = ["train", "masked", text, "-o", tmp_path / "again", "--init-from", tmp_path / "bert"]
    assert "tokenizer is given" in typed(*words, "--tokenizer", "char", "--epochs", "1", code=2).err
    typed(*words, "--tokenizer", "word", "--epochs", "1")


@pytest.mark.parametrize(
    ("method", "flags"),
    [
        ("causal", ["--subwords", "300"]),
        ("masked", ["--subwords", "700"]),
        ("masked", ["--tokenizer", "word", "--min-count", "1"]),
        ("bilm", ["--min-count", "1"]),
    ],
)
def test_traditional_text_is_read_as_the_mixed_text_that_was_learned_from(
    method: str, flags: list[str], typed: Any, tmp_path: Path
):
    """Text in both scripts is converted to simplified; so is what the model then reads."""
    from inlaid.collect.normalize import traditional

    sentences = list(world.sentences("zh", words=1500))
    half = len(sentences) // 2
    mixed = [*sentences[:half], *map(traditional, sentences[half:])]
    (tmp_path / "mixed.txt").write_text("\n".join(mixed) + "\n", "utf-8")
    said = typed("train", method, tmp_path / "mixed.txt", "-o", tmp_path / "model", *TINY, *flags).err
    assert "all of it is converted to simplified" in said
    assert "no normalization step" not in said
    found = json.loads(
        typed("embed", tmp_path / "model", "我们喜欢这个苹果", "我們喜歡這個蘋果", "--json").out
    )
    assert found["vectors"][0] == pytest.approx(found["vectors"][1], abs=1e-5)


@pytest.mark.parametrize("flags", [["--subwords", "700"], ["--tokenizer", "word", "--min-count", "1"]])
def test_a_text_of_which_the_model_knows_nothing_has_no_vector(
    flags: list[str], typed: Any, text: Path, tmp_path: Path
):
    typed("train", "masked", text, "-o", tmp_path / "bert", *TINY, *flags)
    known = text.read_text("utf-8").splitlines()[0]
    (tmp_path / "lines.txt").write_text(f"☃☃\n{known}\n……\n{known} 猫\n\n", "utf-8")
    shown = typed("embed", tmp_path / "bert", "--file", tmp_path / "lines.txt", "--json")
    found = json.loads(shown.out)
    assert found["numbers"] == [1, 3]
    assert [each["number"] for each in found["without"]] == [0, 2, 4]
    assert "3 of 5 texts have no known word" in shown.err
    assert "1 of 5 texts have something that the tokenizer of this model does not know" in shown.err
    assert "has no vector: it is empty" in typed("embed", tmp_path / "bert", "☃☃", code=2).err


def test_the_next_steps_are_in_the_language_of_the_text(
    typed: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    words = ["--tokenizer", "char", "--min-count", "1", *TINY]
    assert 'generate english "Once upon a"' in typed("train", "causal", text, "-o", "english", *words).out
    chinese = tmp_path / "chinese.txt"
    chinese.write_text("\n".join(world.sentences("zh", words=1500)) + "\n", "utf-8")
    assert 'generate chinese "从前"' in typed("train", "causal", chinese, "-o", "chinese", *words).out
    for_subwords = ["--subwords", "400", *TINY]
    assert (
        '"我喜欢吃[MASK]"' in typed("train", "masked", chinese, "-o", "bert", *TINY, "--subwords", "700").out
    )
    assert '"从前"' in typed("train", "causal", chinese, "-o", "gpt", *for_subwords).out
    assert '"Once upon a"' in typed("train", "causal", text, "-o", "other", *for_subwords).out


def test_nothing_is_generated_before_an_error(typed: Any, gpt: Path):
    shown = typed("generate", gpt, "the", "--max-new-tokens", "500", code=2)
    assert shown.out == ""
    assert "exceed this model's maximum length of 32" in shown.err


def test_sentence_embeddings_start_from_a_tied_encoder(typed: Any, text: Path, tmp_path: Path):
    typed("train", "masked", text, "-o", tmp_path / "bert", *TINY, "--subwords", "400")
    lines = text.read_text("utf-8").splitlines()
    pairs = [f"{one}\t{other}\n" for one, other in itertools.pairwise(lines)]
    (tmp_path / "pairs.tsv").write_text("".join(pairs), "utf-8")
    words = ["train", "contrastive", tmp_path / "pairs.tsv", "-o", tmp_path / "sentences", "--epochs", "1"]
    typed(*words, "--init-from", tmp_path / "bert")
    assert settings_of(tmp_path / "sentences")["learning_rate"] == 5e-5
