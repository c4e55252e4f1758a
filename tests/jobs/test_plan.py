"""The plan of a run: from samples of the text, before anything is trained."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import report
from inlaid.cli import main
from inlaid.collect import world
from inlaid.collect.samples import sample_of
from inlaid.errors import SettingError
from inlaid.jobs import plan as planning
from inlaid.jobs.trial import extrapolated
from inlaid.report import Event, Note


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "world.txt"
    path.write_text("\n".join(world.sentences("en", words=60_000)) + "\n", "utf-8")
    return path


def test_power_laws_are_extrapolated():
    assert extrapolated(50.0, 100.0, 1.0) == 100
    assert extrapolated(50.0, 100.0, 10.0) == pytest.approx(1000)  # linear
    assert extrapolated(100.0, 100.0, 10.0) == pytest.approx(100)  # constant
    assert extrapolated(50.0, 50 * 2**0.5, 16.0) == pytest.approx(200 * 2**0.5)  # a square root


def test_a_sample_knows_how_much_longer_the_text_is(text: Path):
    size = text.stat().st_size
    found = sample_of(text, size=size * 2)
    assert found is not None
    assert found.scale == 1.0
    assert "\n".join(found.lines) + "\n" == text.read_text("utf-8")
    assert sample_of(iter(["a b"])) is None


@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)]
)
def test_a_file_longer_than_the_sample_is_known_to_be_longer(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
):
    content = b"".join(
        line.hex().encode() + b"\n" for line in np.random.default_rng(1).bytes(3_000_000).split(b"a")
    )
    path = tmp_path / f"long.txt{suffix}"
    path.write_bytes(compress(content))
    found = sample_of(path, size=1_000_000)
    assert found is not None
    passed = sum(len(line) + 1 for line in found.lines)
    assert passed < len(content)
    assert found.scale == pytest.approx(len(content) / passed, rel=0.1)


def test_compiling_is_no_part_of_the_plan(text: Path, monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(report.time, "monotonic", lambda: now[0])
    encoded = planning.encoded_for

    def slow(*given: Any, **settings: Any) -> Any:
        report.compilation_began()
        now[0] += 100
        report.compilation_ended()
        now[0] += 2
        return encoded(*given, **settings)

    monkeypatch.setattr(planning, "encoded_for", slow)
    assert inlaid.plan(text, "onehot").seconds["encoding"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("method", "stages"), [("sgns", {"encoding", "training"}), ("ppmi", {"encoding", "counting", "training"})]
)
def test_the_plan_has_every_stage(text: Path, method: str, stages: set[str]):
    plan = inlaid.plan(text, method)
    assert set(plan.seconds) == stages
    assert all(seconds > 0 for seconds in plan.seconds.values())
    assert not plan.estimated
    vectors = inlaid.train(text, "onehot")
    assert plan.words == len(vectors)


def test_the_plan_of_a_corpus_has_its_own_sizes(text: Path):
    corpus = inlaid.corpus(text)
    plan = inlaid.plan(corpus, "sgns", dim=100)
    assert plan.tokens == len(corpus.ids)
    assert plan.memory == 2 * len(corpus.vocabulary) * 112 * 4
    assert "encoding" not in plan.seconds


def test_a_text_of_unknown_length_has_no_plan():
    with pytest.raises(SettingError, match="length of this text is not known"):
        inlaid.plan((line for line in ["a b"]), "sgns")


def test_the_flag_shows_the_plan_and_trains_nothing(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["train", "glove", str(text), "-o", str(tmp_path / "v.inlaid"), "--plan"]) == 0
    shown = capsys.readouterr().out
    for word in ("encoding", "counting", "training", "(epochs: 50)", "memory", "in all"):
        assert word in shown
    assert list(tmp_path.iterdir()) == []


def test_a_long_run_reports_its_plan_first(text: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planning, "LONG_TEXT_BYTES", 1000)
    monkeypatch.setattr(planning, "LONG_RUN_SECONDS", 0.0)
    events: list[Event] = []
    inlaid.train(text, "sgns", epochs=1, report=events.append)
    notes = [event for event in events if isinstance(event, Note)]
    planned = next(note for note in notes if note.text.startswith("Planned: about "))
    assert "encoding" in planned.text
    assert "编码" in planned.in_language("zh")


def test_sentences_longer_than_a_file_name_are_no_files():
    assert planning._bytes(["a sentence of many words " * 20]) == 0
