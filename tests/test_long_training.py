"""Training that goes wrong: every mistake is named, and what was killed, stopped or ran out of disk
continues or stays whole."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.array_writer import write as write_arrays
from inlaid.arrays import open_arrays
from inlaid.cli import main
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import Diverged, FormatError, SettingError, SourceError, UnknownName
from inlaid.fit.sgns import SGNS
from inlaid.jobs import guard
from inlaid.jobs.safety import Safety
from inlaid.report import Event, Note

EPOCHS = 300
"""Makes a run over the small text below take a few seconds."""


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return encode(world.sentences("en", words=5000), Encoding(min_count=1))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(world.sentences("en", words=5000)), "utf-8")
    return path


def test_one_word_is_nothing_to_learn_from():
    with pytest.raises(SourceError, match="The vocabulary has one word, 'a'"):
        inlaid.train(["a a a", "a a"], "sgns", min_count=1)


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_fewer_words_than_a_window_and_fewer_than_negatives_are_learned_from(objective: str):
    with pytest.raises(SettingError, match="negatives is 100, and the vocabulary has 3 words"):
        inlaid.train(["a b c", "c b"], "sgns", min_count=1, negatives=100, objective=objective)
    vectors = inlaid.train(
        ["a b c", "c b"], "sgns", min_count=1, window=50, negatives=20, objective=objective, dim=5
    )
    assert len(vectors) == 3
    assert np.isfinite(vectors.table).all()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("dim", 0),
        ("workers", 0),
        ("workers", -1),
        ("negatives", 0),
        ("learning_rate", float("nan")),
        ("window", 0),
    ],
)
def test_a_setting_out_of_range_is_named(corpus: Corpus, setting: str, value: Any):
    with pytest.raises(SettingError, match=setting):
        inlaid.train(corpus, "sgns", **{setting: value})


def test_the_command_line_names_it_too(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for flags in (["--dim", "0"], ["--workers", "-1"], ["--learning-rate", "0"]):
        assert main(["train", "sgns", str(text), "-o", str(tmp_path / "v.inlaid"), *flags]) == 2
        assert flags[0].lstrip("-").replace("-", "_") in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_diverges_leaves_no_vectors_that_are_not_numbers(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert (
        main(
            [
                "train",
                "sgns",
                str(text),
                "-o",
                str(tmp_path / "v.inlaid"),
                "--learning-rate",
                "1e30",
                "--dim",
                "10",
            ]
        )
        == 2
    )
    assert "Halve `learning_rate` (it is 1e+30)" in capsys.readouterr().err
    if (tmp_path / "v.inlaid").exists():
        assert np.isfinite(inlaid.load(tmp_path / "v.inlaid").table).all()


def _checkpoint(corpus: Corpus, path: Path) -> None:
    inlaid.train(corpus, "sgns", safety=Safety(checkpoint=path), dim=10, epochs=1)


def test_a_checkpoint_of_other_settings_or_another_text_is_refused(corpus: Corpus, tmp_path: Path):
    path = tmp_path / "c"
    _checkpoint(corpus, path)
    again = Safety(checkpoint=path, resume=True)
    with pytest.raises(SettingError, match=r"another run: .*window is 5 there and 3 here"):
        inlaid.train(corpus, "sgns", safety=again, dim=10, epochs=1, window=3)
    other = encode(world.sentences("en", words=6000), Encoding(min_count=1))
    with pytest.raises(SettingError, match="another run: corpus is"):
        inlaid.train(other, "sgns", safety=again, dim=10, epochs=1)


def test_a_checkpoint_with_nan_is_refused(corpus: Corpus, tmp_path: Path):
    path = tmp_path / "c"
    _checkpoint(corpus, path)
    opened = open_arrays(path)
    arrays = {name: np.array(opened.whole(name)) for name in opened.arrays}
    arrays["contexts"][3, 2] = np.nan
    write_arrays(path, arrays, opened.metadata)
    with pytest.raises(FormatError, match="It cannot be resumed"):
        inlaid.train(corpus, "sgns", safety=Safety(checkpoint=path, resume=True), dim=10, epochs=1)


def test_tables_that_do_not_fit_into_memory_are_refused_first(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(guard, "available_memory", lambda: 50_000)
    with pytest.raises(SettingError, match="needs about .* of memory, and .* are free"):
        inlaid.train(corpus, "sgns", dim=300)


def test_a_rate_that_is_too_high_stops_with_an_error(corpus: Corpus):
    with pytest.raises(Diverged, match="Halve `learning_rate`"):
        inlaid.train(corpus, "sgns", learning_rate=1e30, dim=10)


def _command(text: Path, output: Path, *flags: str, before: str = "", epochs: int = EPOCHS) -> list[str]:
    """The command line in a process of its own; `before` runs first."""
    words = [
        "train",
        "sgns",
        str(text),
        "-o",
        str(output),
        "--dim",
        "16",
        "--epochs",
        str(epochs),
        "--min-count",
        "1",
        *flags,
    ]
    return [
        sys.executable,
        "-c",
        f"{before}\nimport sys\nfrom inlaid.cli import main\nsys.exit(main({words!r}))",
    ]


def _once_saved(program: subprocess.Popen[bytes], kept: Path, earlier: int) -> bool:
    """Wait until the checkpoint is a newer one than `earlier`; False when the program ended before."""
    while program.poll() is None:
        if kept.exists() and kept.stat().st_mtime_ns > earlier:
            return True
        time.sleep(0.005)
    return False


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
def test_killed_three_times_and_resumed_it_comes_to_the_same_bits(text: Path, tmp_path: Path):
    whole = tmp_path / "whole.inlaid"
    broken = tmp_path / "broken.inlaid"
    kept = tmp_path / "broken.inlaid.checkpoint"
    often = ("--checkpoint-minutes", "0.0005")
    subprocess.run(_command(text, whole), check=True, capture_output=True)
    earlier = 0
    for _ in range(3):
        with subprocess.Popen(
            _command(text, broken, *often, "--resume"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as program:
            assert _once_saved(program, kept, earlier), "it ended before it could be killed"
            program.kill()
        assert program.returncode == -signal.SIGKILL
        assert not broken.exists()
        earlier = kept.stat().st_mtime_ns
    said = subprocess.run(
        _command(text, broken, *often, "--resume"), check=True, capture_output=True
    ).stderr.decode()
    assert "Continuing from" in said
    one = open_arrays(whole)
    other = open_arrays(broken)
    for name in ("table", "contexts"):
        assert one.whole(name).tobytes() == other.whole(name).tobytes()
    assert not list(tmp_path.glob("*checkpoint*"))


@pytest.mark.skipif(os.name != "posix", reason="SIGINT to a process is of POSIX")
def test_ctrl_c_leaves_valid_vectors_that_say_so_and_130(text: Path, tmp_path: Path):
    path = tmp_path / "v.inlaid"
    flags = ("--checkpoint-minutes", "0.0005")
    with subprocess.Popen(
        _command(text, path, *flags, epochs=100_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert _once_saved(program, tmp_path / "v.inlaid.checkpoint", 0)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
    assert program.returncode == 130
    assert not path.exists()
    vectors = inlaid.load(tmp_path / "v.partial.inlaid")
    assert np.isfinite(vectors.table[:]).all()
    assert vectors.card.outcome is not None
    assert vectors.card.outcome.reason == "interrupted"
    assert 0 < vectors.card.outcome.done < vectors.card.outcome.total
    assert (tmp_path / "v.inlaid.checkpoint").exists()


FULL = (
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"
)


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are of POSIX")
def test_a_full_disk_is_reported_and_leaves_nothing_half_written(text: Path, tmp_path: Path):
    ended = subprocess.run(
        _command(text, tmp_path / "v.inlaid", before=FULL, epochs=2), capture_output=True, check=False
    )
    said = " ".join(ended.stderr.decode().split())
    assert ended.returncode == 2
    assert "training continues" in said
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_fails_does_not_end_the_training(corpus: Corpus, tmp_path: Path):
    folder = tmp_path / "gone"
    events = list[Event]()
    folder.mkdir()

    def report(event: Event) -> None:
        events.append(event)
        if folder.exists():
            shutil.rmtree(folder)

    vectors = inlaid.train(
        corpus, "sgns", dim=10, epochs=2, report=report, safety=Safety(checkpoint=folder / "c")
    )
    assert np.isfinite(vectors.table).all()
    assert any(isinstance(event, Note) and "training continues" in event.text for event in events)


def test_a_run_that_stops_early_leaves_no_checkpoint_and_can_be_typed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(world.sentences("en", words=100_000)), "utf-8")
    losses = iter([1.0, *range(2, 100)])
    training = importlib.import_module("inlaid.fit.sgns")
    kind = next(each for each in vars(training).values() if hasattr(each, "held_out_loss"))
    monkeypatch.setattr(kind, "held_out_loss", lambda _: float(next(losses)))
    words = ["train", "sgns", str(text), "-o", str(tmp_path / "v.inlaid"), "--patience", "2", "--dim", "10"]
    for _ in range(2):
        losses = iter([1.0, *range(1, 100)])
        assert main(words) == 0
        outcome = inlaid.load(tmp_path / "v.inlaid").card.outcome
        assert outcome is not None
        assert outcome.reason == "stopped early"
        assert outcome.kept < outcome.done < outcome.total
        assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "v.inlaid"]


@pytest.mark.parametrize(
    ("alias", "objective"), [("word2vec", "skipgram"), ("skipgram", "skipgram"), ("cbow", "cbow")]
)
def test_names_that_people_of_the_field_type(tmp_path: Path, alias: str, objective: str):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(world.sentences("en", words=20_000)), "utf-8")
    for number, words in enumerate((["train", alias], ["train", "sgns", "--objective", objective])):
        output = tmp_path / f"{number}.inlaid"
        assert main([*words, str(text), "-o", str(output), "--dim", "10", "--epochs", "1"]) == 0
    first, second = (inlaid.load(tmp_path / f"{number}.inlaid") for number in range(2))
    assert first.table.tobytes() == second.table.tobytes()
    assert first.card.method == "sgns"
    assert first.card.settings["objective"] == objective


def test_an_alias_refuses_the_other_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = [
        "train",
        "cbow",
        str(tmp_path / "t.txt"),
        "-o",
        str(tmp_path / "v.inlaid"),
        "--objective",
        "skipgram",
    ]
    assert main(words) == 2
    assert "cbow means sgns with objective cbow, but objective is skipgram" in capsys.readouterr().err


def test_a_settings_object_is_as_good_as_a_name(corpus: Corpus):
    by_name = inlaid.train(corpus, "sgns", dim=12, epochs=1)
    by_object = inlaid.train(corpus, SGNS(dim=12, epochs=1))
    assert by_name.table.tobytes() == by_object.table.tobytes()
    assert by_object.card.method == "sgns"
    assert by_object.card.settings == by_name.card.settings


def test_words_of_other_tools_get_the_right_name(corpus: Corpus):
    for theirs, ours in (
        ("alpha", "learning_rate"),
        ("size", "dim"),
        ("vector_size", "dim"),
        ("negative", "negatives"),
    ):
        with pytest.raises(UnknownName, match=f"`{theirs}` is called `{ours}` here"):
            inlaid.train(corpus, "sgns", **{theirs: 1})


def test_an_encoding_and_single_settings_of_it_go_together():
    sentences = ["the cat sat", "the cat ran"]
    vectors = inlaid.train(sentences, "onehot", encoding=Encoding(tokenizer="char", min_count=1), min_count=2)
    assert all(len(word) == 1 for word in vectors.words)
    corpus = inlaid.corpus(sentences, encoding=Encoding(tokenizer="char"), min_count=1)
    assert all(len(word) == 1 for word in corpus.vocabulary.words)


def test_a_config_file_may_be_joined_to_its_flag(tmp_path: Path):
    (tmp_path / "t.txt").write_text("\n".join(world.sentences("en", words=5000)), "utf-8")
    (tmp_path / "c.toml").write_text("dim = 7\nepochs = 1\n")
    output = tmp_path / "v.inlaid"
    assert (
        main(["train", "sgns", str(tmp_path / "t.txt"), "-o", str(output), f"--config={tmp_path / 'c.toml'}"])
        == 0
    )
    assert inlaid.load(output).dim == 7


def test_an_earlier_checkpoint_is_named_before_the_text_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "v.inlaid"
    (tmp_path / "v.inlaid.checkpoint").write_text("not a checkpoint")
    assert main(["train", "sgns", str(tmp_path / "no such text.txt"), "-o", str(output)]) == 2
    assert "already exists and is not a checkpoint" in capsys.readouterr().err
