"""Training continues with new text: old words keep their rows, frozen ones their bits, and new words are
learned."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.collect import world
from inlaid.collect.truth import truth
from inlaid.errors import SettingError
from inlaid.fit.glove import GloVe
from inlaid.jobs.init_from import Continuing
from inlaid.report import Event, Note
from inlaid.vectors import Vectors

NEW = "zebrafruit"
"""A word that only the new text has, in the places of `banana`."""


@pytest.fixture(scope="module")
def old() -> Vectors:
    return inlaid.train(world.sentences("en", words=100_000), "sgns", dim=30, epochs=10, subsample=0.0)


@pytest.fixture(scope="module")
def text() -> list[str]:
    return [re.sub(r"\b[Bb]anana\b", NEW, line) for line in world.sentences("en", words=100_000, seed=2)]


def _rows(vectors: Vectors, count: int) -> list[bytes]:
    assert isinstance(vectors.contexts, np.ndarray)
    return [vectors.table[:count].tobytes(), vectors.contexts[:count].tobytes()]


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_anchored_words_keep_every_bit_and_a_new_word_lands_in_its_field(
    old: Vectors, text: list[str], objective: str
):
    new = inlaid.train(
        text,
        "sgns",
        init_from=old,
        freeze=True,
        dim=30,
        epochs=10,
        subsample=0.0,
        objective=objective,
        workers=2,
    )
    assert list(new.words)[: len(old)] == list(old.words)
    assert _rows(new, len(old)) == _rows(old, len(old))
    assert new.card.notes[1].startswith(
        f"Continued from {len(old):,} words by sgns from corpus {old.card.corpus}"
    )
    assert "frozen" in new.card.notes[1]
    if objective == "skipgram":
        fruit = next(set(each.words) for each in truth("en").groups if "banana" in each.words)
        assert len(fruit & {each.word for each in inlaid.neighbors(new, NEW, n=5)}) >= 3


def test_a_path_in_place_of_vectors_is_refused_with_what_to_write():
    with pytest.raises(SettingError, match=r"init_from=inlaid\.load\('old\.inlaid'\)"):
        inlaid.train(["a b c"], "sgns", init_from="old.inlaid")
    with pytest.raises(SettingError, match="ppmi does not take init_from: it is for sgns, fasttext, glove"):
        inlaid.train(["a b c"], "ppmi", init_from="old.inlaid")


def test_free_words_move_and_counts_add_up(old: Vectors, text: list[str]):
    new = inlaid.train(text, "sgns", init_from=old, dim=30, epochs=1)
    assert list(new.words)[: len(old)] == list(old.words)
    assert not np.array_equal(new.table[: len(old)], old.table)
    assert old.counts is not None
    assert new.counts is not None
    assert new.counts[new.id("pear")] == old.counts[old.id("pear")] + len(
        re.findall(r"\bpear\b", " ".join(text).lower())
    )
    assert new.counts[new.id("banana")] == old.counts[old.id("banana")]


def test_what_cannot_continue_is_named(old: Vectors, text: list[str]):
    with pytest.raises(SettingError, match="have dim 30, and dim is 20 here"):
        inlaid.train(text, "sgns", init_from=old, dim=20)
    with pytest.raises(SettingError, match="there are no earlier vectors to keep fixed"):
        inlaid.train(text, "sgns", freeze=True)
    for method in ("ppmi", "onehot"):
        with pytest.raises(
            SettingError, match=f"{method} does not take init_from: it is for sgns, fasttext, glove"
        ):
            inlaid.train("no such file.txt", method, init_from=old)  # before any work is done
    with pytest.raises(SettingError, match="softmax moves every word"):
        inlaid.train(text, "sgns", init_from=old, freeze=True, dim=30, loss="softmax")


def test_without_contexts_only_words_that_are_not_frozen_can_continue(old: Vectors, text: list[str]):
    bare = Vectors.of(list(old.words), old.table)
    events = list[Event]()
    with pytest.raises(SettingError, match="have no context vectors"):
        inlaid.train(text, "sgns", init_from=bare, freeze=True, dim=30)
    new = inlaid.train(text, "sgns", init_from=bare, dim=30, epochs=1, report=events.append)
    assert len(new) > len(bare)
    assert any(isinstance(event, Note) and "those start from zero" in event.text for event in events)


def test_from_the_command_line(
    old: Vectors, text: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    inlaid.save(old, tmp_path / "old.inlaid")
    (tmp_path / "new.txt").write_text("\n".join(text), "utf-8")
    words = [
        "train",
        "sgns",
        str(tmp_path / "new.txt"),
        "--init-from",
        str(tmp_path / "old.inlaid"),
        "--freeze",
        "--epochs",
        "1",
    ]
    assert main([*words, "--dim", "30", "-o", str(tmp_path / "new.inlaid")]) == 0
    new = inlaid.load(tmp_path / "new.inlaid")
    assert NEW in new
    assert new.table[: len(old)].tobytes() == old.table.tobytes()
    assert main([*words, "--dim", "31", "-o", str(tmp_path / "other.inlaid")]) == 2
    assert "have dim 30" in capsys.readouterr().err


@pytest.mark.parametrize("combine", ["sum", "input"])
def test_glove_continues_and_freezes_to_the_bit(text: list[str], combine: str):
    common = {"dim": 20, "epochs": 5, "combine": combine}
    old = inlaid.train(world.sentences("en", words=60_000), "glove", **common)
    frozen = inlaid.train(text, "glove", init_from=old, freeze=True, workers=2, **common)
    assert frozen.table[: len(old)].tobytes() == old.table.tobytes()
    assert NEW in frozen
    assert frozen[NEW].any()
    free = inlaid.train(text, "glove", init_from=old, **common)
    assert not np.array_equal(free.table[: len(old)], old.table)
    training = GloVe(**common).start(Continuing(init_from=old).corpus(inlaid.corpus(text)))
    training.init_from(old, freeze=False)
    assert training.result().table[: len(old)].tobytes() == old.table.tobytes()  # where it starts


def test_flags_are_offered_only_where_they_work(capsys: pytest.CaptureFixture[str]):
    offered = {}
    for method in ("onehot", "ppmi", "glove", "sgns"):
        with pytest.raises(SystemExit):
            main(["train", method, "--help"])
        offered[method] = capsys.readouterr().out
    assert "--init-from" not in offered["ppmi"] + offered["onehot"]
    assert "--checkpoint" not in offered["ppmi"] + offered["onehot"]
    assert "--patience" not in offered["glove"]
    for flag in ("--init-from", "--freeze", "--checkpoint", "--resume"):
        assert flag in offered["glove"]
        assert flag in offered["sgns"]
    assert "--patience" in offered["sgns"]
