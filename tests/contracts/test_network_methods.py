"""What every method that trains a network promises, through the command line and from Python."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid  # noqa: E402
from inlaid import pipeline, registry  # noqa: E402
from inlaid.collect import world  # noqa: E402
from inlaid.errors import SettingError, SourceError  # noqa: E402
from inlaid.fit.networks.training import NetworkTraining  # noqa: E402
from inlaid.jobs.training import HoldsOut, ReadsPairs  # noqa: E402
from inlaid.neural.checkpoint import load_model, save_model  # noqa: E402
from inlaid.report import silent  # noqa: E402

METHODS = [entry.name for entry in registry.entries("method") if entry.load().abilities.model]
TINY = {"dim": "8", "layers": "1", "heads": "2", "epochs": "2", "max_length": "32", "batch_tokens": "512"}
ENCODING = ["--subwords", "600", "--min-count", "1"]
WORDS = 3_000
COMPILED = Path(__file__).with_name("compiled.py")


def kind(name: str) -> Any:
    return registry.find("method", name)


def settings(name: str) -> dict[str, str]:
    known = {field.name for field in dataclasses.fields(kind(name))}
    return {setting: value for setting, value in TINY.items() if setting in known}


def flags(name: str, **more: str) -> list[str]:
    given = settings(name) | more
    return [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", value)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Text, and pairs of sentences."""
    folder = tmp_path_factory.mktemp("texts")
    lines = list(world.sentences("en", words=WORDS))
    pairs = [f"{pair.zh}\t{pair.en}" for pair in world.pairs(words=WORDS)]
    for name, content in (("text.txt", lines), ("pairs.tsv", pairs)):
        (folder / name).write_text("\n".join(content) + "\n", "utf-8")
    return {False: folder / "text.txt", True: folder / "pairs.tsv"}


def text_for(name: str, texts: dict[bool, Path]) -> Path:
    return texts[issubclass(kind(name), ReadsPairs)]


def encoding_for(name: str) -> list[str]:
    """wordpiece has a word for each Chinese character; bpe is enough for the rest."""
    return [*ENCODING, "--tokenizer", "bpe"]


def weights(folder: Path) -> dict[str, bytes]:
    return {name: array.numpy().tobytes() for name, array in load_model(folder).network.state_dict().items()}


@pytest.mark.parametrize("name", METHODS)
class TestTrain:
    def test_help_lists_every_setting(self, name: str, typed: Any):
        shown = typed("train", name, "--help").out
        for field in dataclasses.fields(kind(name)):
            assert f"-{field.name.replace('_', '-')}" in shown, field.name
        assert "--tokenizer" in shown

    def test_a_tiny_training_makes_a_folder(
        self, name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path]
    ):
        output = tmp_path / "model"
        text = text_for(name, texts)
        shown = typed("train", name, text, "-o", output, *flags(name), *encoding_for(name))
        model = load_model(output)
        assert "parameters" in shown.out
        assert f"by {name}" in shown.out
        assert all(str(output) in line for line in shown.out.split("Next:\n")[1].splitlines())
        assert model.card.method == name
        assert model.card.outcome is not None
        assert model.card.outcome.finished
        assert {key: str(model.card.settings[key]) for key in settings(name)} == settings(name)
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        assert all(bool(torch.isfinite(each).all()) for each in model.network.state_dict().values())

    def test_a_config_file_gives_what_flags_give(
        self, name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path]
    ):
        lines = [f"{key} = {value}" for key, value in settings(name).items()]
        (tmp_path / "run.toml").write_text("\n".join([*lines, 'tokenizer = "bpe"', "subwords = 600"]))
        text = text_for(name, texts)
        typed("train", name, text, "-o", tmp_path / "file", "--config", tmp_path / "run.toml")
        typed("train", name, text, "-o", tmp_path / "flags", *flags(name), *encoding_for(name))
        assert weights(tmp_path / "file") == weights(tmp_path / "flags")

    def test_a_saved_folder_is_the_same_model(self, name: str, tmp_path: Path, texts: dict[bool, Path]):
        given = {key: int(value) for key, value in settings(name).items()}
        model = inlaid.train(text_for(name, texts), name, tokenizer="bpe", subwords=600, **given)
        save_model(model, tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert again.card.settings.items() >= model.card.settings.items()  # and how it embeds texts
        assert again.card.outcome == model.card.outcome
        assert again.config.resolved() == model.config.resolved()
        for key, tensor in model.network.state_dict().items():
            assert torch.equal(tensor, again.network.state_dict()[key]), key
        known = model.tokenizer.get_vocab(with_added_tokens=True)
        assert again.tokenizer.get_vocab(with_added_tokens=True) == known

    def test_its_abilities_are_what_it_can_do(self, name: str, texts: dict[bool, Path]):
        method = kind(name)(**{key: int(value) for key, value in settings(name).items()})
        text = text_for(name, texts)
        encoding = method.prepared(pipeline.Encoding(tokenizer="bpe", subwords=600))
        sentences = pipeline.as_sentences(text, method, encoding, silent)
        training = method.start(pipeline.corpus(sentences, encoding=encoding))
        assert method.abilities.held_out == isinstance(training, HoldsOut)
        assert training.held_out_loss() is not None
        first = training.step(0)
        if name != "contrastive":  # it predicts no words
            words = training.network.config.vocab_size
            assert first.loss / first.pairs == pytest.approx(math.log(words), rel=0.1)

    def test_a_plan_says_how_long_it_takes(
        self, name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path]
    ):
        words = [
            "train",
            name,
            text_for(name, texts),
            "-o",
            tmp_path / "m",
            *flags(name),
            *encoding_for(name),
        ]
        shown = typed(*words, "--plan").out
        assert re.search(r"training +(about|under) .*\(epochs: 2\)", shown)
        assert re.search(r"memory +(about )?\d.* for the tables", shown)
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_text_is_one_line(self, name: str, typed: Any, tmp_path: Path):
        (tmp_path / "empty.txt").write_text("")
        shown = typed("train", name, tmp_path / "empty.txt", "-o", tmp_path / "model", code=2)
        assert shown.err.splitlines()[-1].startswith("error: ")
        assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", [name for name in METHODS if name != "contrastive"])
def test_it_learns(name: str, texts: dict[bool, Path]):
    """The loss of contrastive depends on the other pairs of a batch: tests/fit/test_contrastive.py."""
    given = {key: int(value) for key, value in settings(name).items()} | {"epochs": 8, "dim": 16}
    method = kind(name)(learning_rate=0.01, held_out=0.1, **given)
    model = inlaid.train(text_for(name, texts), method, tokenizer="bpe", subwords=600)
    marks = [mark.held_out for mark in model.card.outcome.marks]
    assert marks[0] is not None
    assert marks[-1] < marks[0] - 0.2


def interrupt_after_checkpoint(patch: pytest.MonkeyPatch, number: int) -> None:
    """Press Ctrl-C after this many checkpoints."""
    replace = os.replace
    saves = 0

    def replace_and_press_ctrl_c(source: Any, target: Any) -> None:
        nonlocal saves
        replace(source, target)
        if Path(target).suffix == ".checkpoint":
            saves += 1
            if saves == number:
                signal.raise_signal(signal.SIGINT)

    patch.setattr(os, "replace", replace_and_press_ctrl_c)


@pytest.mark.parametrize("name", METHODS)
def test_an_interrupted_run_is_resumed_to_the_bit(
    name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path], monkeypatch: pytest.MonkeyPatch
):
    words = ["train", name, text_for(name, texts), *flags(name, epochs="3"), *encoding_for(name)]
    words += ["--checkpoint-minutes", "0"]
    typed(*words, "-o", tmp_path / "whole")
    output = tmp_path / "model"
    checkpoint = tmp_path / "model.checkpoint"
    with monkeypatch.context() as patch:
        interrupt_after_checkpoint(patch, 3)
        typed(*words, "-o", output, code=130)
    assert checkpoint.exists()
    partial = tmp_path / "model.partial"
    assert weights(partial) != weights(tmp_path / "whole")
    assert not output.exists()
    typed(*words, "-o", output, "--resume")
    assert weights(output) == weights(tmp_path / "whole")
    assert not checkpoint.exists()
    assert not partial.exists()


@pytest.mark.parametrize("name", METHODS)
def test_a_rate_that_diverges_names_the_step_and_keeps_the_last_good_state(
    name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path], monkeypatch: pytest.MonkeyPatch
):
    """The weights become NaN in step 5 of a run that saves a checkpoint after every step."""
    take = NetworkTraining.step

    def spoiled(training: NetworkTraining, done: int) -> Any:
        step = take(training, done)
        if step.read().number == 5:
            with torch.no_grad():
                next(training.network.parameters()).fill_(math.nan)
        return step

    monkeypatch.setattr(NetworkTraining, "step", spoiled)
    words = ["train", name, text_for(name, texts), *flags(name, epochs="9"), *encoding_for(name)]
    words += ["--warmup", "0", "--schedule", "constant", "--learning-rate", "0.002"]
    shown = typed(*words, "-o", tmp_path / "m", "--checkpoint-minutes", "0", code=2)
    assert "(step 5, learning rate 0.002): '" in shown.err
    assert "holds NaN or infinity in row 0" in shown.err
    assert "Halve `learning_rate` (it is 0.002) and start again." in shown.err
    assert not (tmp_path / "m").exists()
    kept = load_model(tmp_path / "m.partial")
    assert kept.card.outcome is not None
    assert kept.card.outcome.reason == "diverged"
    assert all(bool(torch.isfinite(each).all()) for each in kept.network.state_dict().values())
    monkeypatch.setattr(NetworkTraining, "step", take)
    typed(*words, "-o", tmp_path / "m", "--resume")  # the checkpoint is that of step 4
    typed(*words, "-o", tmp_path / "whole")
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


def test_early_stopping_keeps_the_best_and_resumes_from_the_last(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In a text of words drawn at random there is nothing to learn but their frequencies."""
    random = np.random.default_rng(1)
    text = tmp_path / "random.txt"
    lines = [" ".join(f"w{word}" for word in random.integers(30, size=8)) for _ in range(250)]
    text.write_text("\n".join(lines), "utf-8")
    words = ["train", "causal", text, *flags("causal", epochs="20", dim="64"), "--tokenizer", "word"]
    words += ["--learning-rate", "0.02", "--dropout", "0", "--held-out", "0.1", "--patience", "2"]
    words += ["--checkpoint-minutes", "0"]
    typed(*words, "-o", tmp_path / "whole")
    outcome = load_model(tmp_path / "whole").card.outcome
    assert outcome is not None
    assert outcome.reason == "stopped early"
    losses = {mark.done: mark.held_out for mark in outcome.marks}
    assert losses[outcome.kept] == min(losses.values())
    assert outcome.kept == list(losses)[-3]
    assert held_out_loss(tmp_path / "whole", text) == pytest.approx(losses[outcome.kept], rel=1e-6)
    with monkeypatch.context() as patch:
        interrupt_after_checkpoint(patch, 12)
        typed(*words, "-o", tmp_path / "part", code=130)
    typed(*words, "-o", tmp_path / "part", "--resume")
    assert weights(tmp_path / "part") == weights(tmp_path / "whole")
    assert load_model(tmp_path / "part").card.outcome.marks == outcome.marks  # pyright: ignore


def held_out_loss(folder: Path, text: Path) -> Any:
    """The held-out loss of a causal model, measured anew."""
    method = kind("causal")(init_from=folder, max_length=32, batch_tokens=512, held_out=0.1)
    encoding = method.prepared(pipeline.Encoding(tokenizer="word"))
    return method.start(pipeline.corpus(text, encoding=encoding)).held_out_loss()


def test_training_goes_on_from_a_model(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    for name in METHODS:
        text = text_for(name, texts)
        first = tmp_path / name
        typed("train", name, text, "-o", first, *flags(name), *encoding_for(name))
        again = tmp_path / f"{name}-again"
        typed("train", name, text, "-o", again, "--init-from", first, "--epochs", "1", "--seed", "2")
        before = load_model(first)
        after = load_model(again)
        assert before.tokenizer.get_vocab() == after.tokenizer.get_vocab()
        assert before.config.resolved() == after.config.resolved()
        assert weights(first) != weights(again)
        card = json.loads((again / "card.json").read_text("utf-8"))
        assert card["settings"]["init_from"] == str(first)


def test_a_text_of_another_tokenizer_does_not_fit(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    typed("train", "causal", texts[False], "-o", tmp_path / "a", *flags("causal"), *encoding_for("causal"))
    typed("corpus", texts[False], "-o", tmp_path / "c", "--tokenizer", "wordpiece", "--subwords", "600")
    words = ["train", "causal", tmp_path / "c", "-o", tmp_path / "b", "--init-from", tmp_path / "a"]
    assert "was not encoded with the tokenizer of" in typed(*words, code=2).err


def test_another_kind_of_model_is_refused(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    typed("train", "causal", texts[False], "-o", tmp_path / "a", *flags("causal"), *encoding_for("causal"))
    words = ["train", "masked", texts[False], "-o", tmp_path / "b", "--init-from", tmp_path / "a"]
    assert "is a model of the kind decoder" in typed(*words, code=2).err


def test_word_vectors_start_the_token_table(texts: dict[bool, Path], tmp_path: Path):
    vectors = inlaid.train(texts[False], "ppmi", dim=8, min_count=1)
    inlaid.save(vectors, tmp_path / "v.inlaid")
    events: list[Any] = []
    given: dict[str, Any] = {
        "dim": 8,
        "layers": 1,
        "heads": 2,
        "epochs": 1,
        "tokenizer": "word",
        "min_count": 1,
    }
    model = inlaid.train(
        texts[False],
        "causal",
        init_from=tmp_path / "v.inlaid",
        freeze=True,
        max_length=16,
        report=events.append,
        **given,
    )
    assert any("token vectors start from" in str(event) for event in events)
    table = model.network.tokens.weight.detach().numpy()
    ids = model.tokenizer.get_vocab()
    for word in ("is", "the", "in"):
        expected = vectors[word]
        found = table[ids[word]]
        cosine = expected @ found / np.linalg.norm(expected) / np.linalg.norm(found)
        assert cosine == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(SettingError, match="Set dim to 8"):
        inlaid.train(texts[False], "causal", init_from=tmp_path / "v.inlaid", **given | {"dim": 16})


@pytest.mark.parametrize("tokenizer", ["word", "char", "whitespace", "bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_any_tokenizer_makes_a_model_that_reads_text(tokenizer: str, language: Any, tmp_path: Path):
    """The ids of a text are those the corpus had, whichever tokenizer cut it."""
    if tokenizer == "unigram":
        pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    sentences = list(world.sentences(language, words=2 * WORDS))
    size = 900
    if language == "zh" and tokenizer == "whitespace":  # without spaces, each sentence would be one word
        sentences = [" ".join(words) for words in world.segmented(words=2 * WORDS)]
    if language == "zh" and tokenizer in ("wordpiece", "unigram"):
        # every Chinese character is a word of these: English beside them leaves some room to learn
        sentences = list(world.sentences("both", words=4 * WORDS))
        size = 1800
    encoding: dict[str, Any] = {"tokenizer": tokenizer, "min_count": 1, "subwords": size}
    given = {"dim": 8, "layers": 1, "heads": 2, "epochs": 1, "max_length": 128}
    method = kind("masked")(**given)
    chosen = method.prepared(pipeline.Encoding(**encoding))
    corpus = pipeline.corpus(sentences, encoding=chosen)
    model = inlaid.train(corpus, method)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    for number in (0, 7, 40):
        ids = corpus.ids[corpus.offsets[number] : corpus.offsets[number + 1]].tolist()
        for each in (model, again):
            assert each.tokenizer.encode(sentences[number]).ids[1:-1] == ids
    assert again.embed(sentences[:3]).shape == (3, 8)
    assert np.array_equal(again.embed(sentences[:3]), model.embed(sentences[:3]))


def test_a_short_text_says_what_it_needs(tmp_path: Path):
    with pytest.raises(SourceError, match="a window of 128 needs 256"):
        inlaid.train(["a b c d e f g"] * 5, "causal", tokenizer="word", min_count=1)


def test_pairs_of_unequal_count_are_an_error(typed: Any, tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\nb\nc\n")
    (tmp_path / "b.txt").write_text("x\ny\n")
    words = ["train", "translation", tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "m"]
    assert "has 3 lines and" in typed(*words, code=2).err


@pytest.mark.parametrize("name", [name for name in METHODS if name != "bilm"])
def test_gradient_checkpointing_changes_no_bit(
    name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path], monkeypatch: pytest.MonkeyPatch
):
    """With dropout and accumulation; and a run may be resumed with it that began without it."""
    words = ["train", name, text_for(name, texts), *flags(name, accumulate="2"), *encoding_for(name)]
    typed(*words, "-o", tmp_path / "plain")
    typed(*words, "-o", tmp_path / "less", "--gradient-checkpointing")
    assert weights(tmp_path / "less") == weights(tmp_path / "plain")
    assert load_model(tmp_path / "less").card.settings["gradient_checkpointing"] is True
    words += ["-o", tmp_path / "part", "--checkpoint-minutes", "0"]
    with monkeypatch.context() as patch:
        interrupt_after_checkpoint(patch, 2)
        typed(*words, code=130)
    typed(*words, "--resume", "--gradient-checkpointing")
    assert weights(tmp_path / "part") == weights(tmp_path / "plain")


def test_word_vectors_have_no_blocks_to_compute_again(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    vectors = inlaid.train(texts[False], "ppmi", dim=8, min_count=1)
    inlaid.save(vectors, tmp_path / "v.inlaid")
    words = ["train", "contrastive", texts[True], "-o", tmp_path / "m", "--init-from", tmp_path / "v.inlaid"]
    shown = typed(*words, "--gradient-checkpointing", code=2)
    assert "Leave out gradient_checkpointing" in shown.err


@pytest.mark.parametrize("name", ["causal", "contrastive"])
def test_large_untied_tables_are_updated_row_by_row(
    name: str, typed: Any, tmp_path: Path, texts: dict[bool, Path], monkeypatch: pytest.MonkeyPatch
):
    untied = ["--no-tied"] if name == "causal" else []
    words = ["train", name, text_for(name, texts), *flags(name), *encoding_for(name), *untied]
    words += ["--rowwise-from", "500", "--checkpoint-minutes", "0"]
    typed(*words, "-o", tmp_path / "whole")
    assert "updated row by row" in load_model(tmp_path / "whole").card.notes[-1]
    with monkeypatch.context() as patch:
        interrupt_after_checkpoint(patch, 2)
        typed(*words, "-o", tmp_path / "part", code=130)
    typed(*words, "-o", tmp_path / "part", "--resume")
    assert weights(tmp_path / "part") == weights(tmp_path / "whole")


def test_word_vectors_outside_the_pairs_stay_as_they_are(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    vectors = inlaid.train(texts[False], "ppmi", dim=8, min_count=1)
    inlaid.save(vectors, tmp_path / "v.inlaid")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the dog\tthe cat\nis in\tthe house\n" * 20, "utf-8")
    words = ["train", "contrastive", pairs, "-o", tmp_path / "m", "--init-from", tmp_path / "v.inlaid"]
    typed(*words, "--rowwise-from", "10", "--epochs", "2")
    after = inlaid.load(tmp_path / "m")
    moved = {word for word in vectors.words if not np.array_equal(after[word], vectors[word])}
    assert moved
    assert moved <= {"the", "dog", "cat", "is", "in", "house"}
    assert any("updated row by row" in note for note in after.card.notes)


@pytest.fixture(scope="module")
def compiled(texts: dict[bool, Path]) -> str:
    """What the script prints; in a process of its own, as torch cannot look through the type checker."""
    command = [sys.executable, str(COMPILED), str(texts[False]), str(texts[True])]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", [name for name in METHODS if name != "bilm"])
def test_a_compiled_network_learns_the_same(name: str, compiled: str):
    assert f"{name}: one graph" in compiled
    assert f"{name}: as plain" in compiled
    assert f"{name}: resumed" in compiled


def test_an_lstm_is_not_compiled(typed: Any, tmp_path: Path, texts: dict[bool, Path]):
    shown = typed("train", "bilm", texts[False], "-o", tmp_path / "m", "--compile", code=2)
    assert "--compile" in shown.err
