"""Nothing to learn from is an error before training; nothing learned is in the card and in the last line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import registry
from inlaid.encode.corpus import Corpus
from inlaid.encode.vocabulary import Vocabulary, Words
from inlaid.errors import InlaidError
from inlaid.feed import pairs

NEED_PAIRS = [
    entry.name
    for entry in registry.entries("method")
    if entry.name != "onehot" and not entry.load().abilities.model
]
"""Methods that learn from words and their contexts."""
SAMPLED = ["sgns", "fasttext"]


def flags(name: str) -> list[str]:
    known = {field.name for field in dataclasses.fields(registry.find("method", name))}
    given = {"dim": "4", "epochs": "2", "buckets": "100", "seed": "1"}
    chosen = {key: value for key, value in given.items() if key in known}
    return [word for key, value in chosen.items() for word in (f"--{key}", value)]


@pytest.mark.parametrize("name", NEED_PAIRS)
def test_sentences_of_one_word_are_refused(name: str, typed: Any, tmp_path: Path):
    (tmp_path / "t.txt").write_text("cat\ndog\n猫\n狗\nsun\n" * 30, "utf-8")
    shown = typed("train", name, tmp_path / "t.txt", "-o", tmp_path / "v.inlaid", *flags(name), code=2)
    assert "Put each sentence, not each word, on a line" in shown.err
    assert shown.err.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "v.inlaid").exists()


@pytest.mark.parametrize("name", NEED_PAIRS)
def test_a_million_sentences_of_one_word_too(name: str):
    size = 1_000_001
    vocabulary = Vocabulary(Words.of([f"w{n}" for n in range(50)]), np.full(50, size // 50 + 1))
    ids = (np.arange(size) % 50).astype(np.int32)
    corpus = Corpus(ids, np.arange(size + 1), vocabulary, {"hash": "h", "encoding": {}})
    with pytest.raises(InlaidError, match="no sentence has two words"):
        inlaid.train(corpus, name, dim=4)


@pytest.mark.parametrize("name", NEED_PAIRS)
def test_words_dropped_as_rare_may_leave_sentences_of_one_word(name: str, typed: Any, tmp_path: Path):
    lines = [f"{('cat', 'dog', '猫', 'sun', 'sea')[n % 5]} rare{n}" for n in range(60)]
    (tmp_path / "t.txt").write_text("\n".join(lines), "utf-8")
    words = ["train", name, tmp_path / "t.txt", "-o", tmp_path / "v.inlaid", "--min-count", "5"]
    assert "lower min_count" in typed(*words, *flags(name), code=2).err


def test_a_pair_in_the_last_sentence_is_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pairs, "PIECE", 3)
    for sentences in range(1, 12):
        offsets = np.arange(sentences + 1)
        vocabulary = Vocabulary(Words.of(["a", "b"]), np.array([2, 1]))
        corpus = Corpus(np.zeros(sentences, np.int32), offsets, vocabulary, {})
        with pytest.raises(InlaidError):
            pairs.need_pairs(corpus)
        offsets[-1] += 1
        pairs.need_pairs(dataclasses.replace(corpus, ids=np.zeros(sentences + 1, np.int32)))


@pytest.mark.parametrize("name", SAMPLED)
def test_subsampling_that_leaves_no_pair_is_refused(name: str, typed: Any, tmp_path: Path):
    (tmp_path / "t.txt").write_text("cat dog 猫 狗\n" * 40, "utf-8")
    words = ["train", name, tmp_path / "t.txt", "-o", tmp_path / "v.inlaid", *flags(name)]
    shown = typed(*words, "--subsample", "1e-9", code=2)
    assert "No pair is left to train on: with subsample 1e-09" in shown.err
    assert "Raise subsample" in shown.err
    assert not list(tmp_path.glob("v.*"))
    typed(*words, "--subsample", "0")


UNMOVED = {
    "sgns": ["--learning-rate", "1e-9"],
    "fasttext": ["--learning-rate", "1e-9"],
    "ppmi": ["--shift", "1e9"],
}
"""Settings with which nothing is learned, although every word has examples."""


@pytest.mark.parametrize("name", UNMOVED)
def test_vectors_that_never_moved_are_counted_in_the_card_and_the_last_line(
    name: str, typed: Any, tmp_path: Path, workshop: Path
):
    output = tmp_path / "v.inlaid"
    words = ["train", name, workshop / "corpus", "-o", output, *flags(name)]
    shown = typed(*words, *UNMOVED[name])
    count = len(inlaid.load(output))
    unmoved = json.loads(typed("info", output, "--json").out)["card"]["outcome"]["unmoved"]
    assert 0.75 * count < unmoved <= count
    last = shown.out.splitlines()[-1]
    assert last.startswith(f"{unmoved:,} of {count:,} vectors are as they were before training")
    shown = typed(*words[:-2], "--seed", "1") if name != "ppmi" else typed(*words)
    assert "as they were" not in shown.out
    assert json.loads(typed("info", output, "--json").out)["card"]["outcome"]["unmoved"] == 0


@pytest.mark.parametrize("name", ["sgns", "fasttext", "glove", "ppmi"])
def test_words_without_a_pair_are_explained(name: str):
    """`alone` is always alone: its vector does not move, and nothing is wrong with that."""
    sentences = [["a", "b", "c", "d"], ["b", "c", "a"], ["d", "a", "b"]] * 40 + [["alone"]] * 40
    settings = dict[str, Any]() if name == "ppmi" else {"epochs": 3}
    if name == "glove":
        settings["zero_weight"] = 0.0
    vectors = inlaid.train(sentences, name, dim=4, min_count=1, **settings)
    assert vectors.card.outcome is not None
    assert vectors.card.outcome.unmoved == 0


def test_frozen_vectors_are_not_to_move(tmp_path: Path):
    sentences = [["a", "b", "c", "d"], ["b", "c", "a"], ["d", "a", "b"]] * 40
    earlier = inlaid.train(sentences, "sgns", dim=4, min_count=1)
    more = [[*sentence, "new"] for sentence in sentences]
    later = inlaid.train(more, "sgns", init_from=earlier, freeze=True, dim=4, min_count=1)
    assert later.card.outcome is not None
    assert later.card.outcome.unmoved == 0
