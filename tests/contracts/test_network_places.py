"""What is beside the output of a network is kept: files of the user, and the checkpoint of another start."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'inlaid[neural]'")

import inlaid
from inlaid.collect import world
from inlaid.encode.vocabulary import Words
from inlaid.vectors import Vectors

TINY = ["--dim", "8", "--layers", "1", "--epochs", "3", "--max-length", "32", "--min-count", "1"]
CAUSAL = [*TINY, "--subwords", "400", "--checkpoint-minutes", "0"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(world.sentences("en", words=2000)) + "\n", "utf-8")
    lines = [f"{pair.en}\t{pair.en}\n" for pair in world.pairs(words=2000)]
    Path("pairs.tsv").write_text("".join(lines), "utf-8")
    return tmp_path


def interrupt(typed: Any, monkeypatch: pytest.MonkeyPatch, *words: str, code: int = 130) -> Any:
    """Type a training and press Ctrl-C after its second checkpoint."""
    replace = os.replace
    saves = 0

    def replace_and_press_ctrl_c(source: Any, target: Any) -> None:
        nonlocal saves
        replace(source, target)
        saves += str(target).endswith(".checkpoint")
        if saves == 2:
            saves += 1
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_press_ctrl_c)
        return typed(*words, code=code)


def test_a_file_put_into_a_partial_model_stays(typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch):
    words = ["train", "causal", "text.txt", "-o", "m", *CAUSAL]
    interrupt(typed, monkeypatch, *words)
    notes = here / "m.partial" / "logs" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    shown = interrupt(typed, monkeypatch, *words, "--resume", code=2)
    assert f"m.partial stays: it holds {Path('logs/notes.txt')}" in shown.err
    assert "The model is in m-partial instead" in shown.err
    assert sorted(os.listdir()) == ["m-partial", "m.checkpoint", "m.partial", "pairs.tsv", "text.txt"]
    shown = typed(*words, "--resume")
    assert "note: m.partial stays" in shown.err
    assert notes.read_text() == "mine"
    assert sorted(os.listdir()) == ["m", "m-partial", "m.partial", "pairs.tsv", "text.txt"]


def test_a_second_partial_model_replaces_the_first(typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch):
    words = ["train", "causal", "text.txt", "-o", "m", *CAUSAL]
    interrupt(typed, monkeypatch, *words)
    first = (here / "m.partial" / "model.safetensors").read_bytes()
    interrupt(typed, monkeypatch, *words, "--resume")
    assert (here / "m.partial" / "model.safetensors").read_bytes() != first
    assert sorted(os.listdir()) == ["m.checkpoint", "m.partial", "pairs.tsv", "text.txt"]


def test_a_checkpoint_of_other_words_is_refused(typed: Any, here: Path, monkeypatch: pytest.MonkeyPatch):
    """Its rows would become vectors of other words, without an error."""
    vectors = inlaid.train("text.txt", "ppmi", dim=8, min_count=1)
    inlaid.save(vectors, "v.inlaid")
    words = ["train", "contrastive", "pairs.tsv", "-o", "m", "--init-from", "v.inlaid", "--epochs", "9"]
    interrupt(typed, monkeypatch, *words, "--checkpoint-minutes", "0")
    turned = Vectors(
        Words.of(list(vectors.words)[::-1]),
        np.ascontiguousarray(vectors.table[::-1]),
        np.ascontiguousarray(vectors.counts[::-1]),  # pyright: ignore
        card=vectors.card,
    )
    inlaid.save(turned, "v.inlaid")
    assert "is a checkpoint of another run: words is" in typed(*words, "--resume", code=2).err
