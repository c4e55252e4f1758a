"""Probes on planted states: a property in one layer, in one dimension, spread over all; shuffled labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.cli import main
from inlaid.collect.truth import Span, Usage
from inlaid.errors import SettingError, UnknownName
from inlaid.study.probe.classifiers import (
    classify_mlp,
    control_labels,
    majority,
    majority_by_word,
)
from inlaid.study.probe.probe import ProbeSettings, by_group, probe_states
from inlaid.study.probe.states import States
from inlaid.study.probe.tasks import Dataset, Example, dataset, frequency_classes
from inlaid.vectors import Vectors

WORDS = 40
DIM = 12


def planted(
    labels_of: Any, *, count: int = 400, seed: int = 1
) -> tuple[Dataset, np.ndarray, np.random.Generator]:
    """Occurrences of words with labels 0 or 1, and a random row for each word that all its states share."""
    random = np.random.default_rng(seed)
    words = random.integers(0, WORDS, count)
    labels = np.array([labels_of(word, random) for word in words.tolist()])
    examples = [
        Example(Usage(f"sentence {place}", Span(0, 8)), f"w{word}", str(label))
        for place, (word, label) in enumerate(zip(words.tolist(), labels.tolist(), strict=True))
    ]
    test = np.arange(count) % 5 == 0
    identity = random.standard_normal((WORDS, DIM))[words]
    return Dataset("pos", tuple(examples), test, "sentence", "planted"), identity, random


def by_context(word: int, random: np.random.Generator) -> int:
    return int(random.random() < 0.5)


def scores(made: Dataset, table: np.ndarray, probes: Any = "linear") -> dict[tuple[str, str], Any]:
    states = States(table, np.ones(len(table), bool), tuple(map(str, range(table.shape[1]))))
    found = probe_states(states, made, ProbeSettings(probes=probes))
    return {(each.layer, each.probe): each for each in found.scores}


def test_a_property_planted_in_one_layer_is_found_there_and_nowhere_else():
    made, identity, random = planted(by_context)
    layers = np.stack([identity + 0.3 * random.standard_normal(identity.shape) for _ in range(3)], axis=1)
    layers[:, 1, 4] += 4 * made.labels
    found = scores(made, layers)
    assert found["1", "linear"].accuracy > 0.95
    assert found["1", "linear"].selectivity_low > 0
    for layer in ("0", "2"):
        assert found[layer, "linear"].low <= 0.5
        assert found[layer, "linear"].accuracy < 0.7


def test_a_distributed_property_is_found_and_a_rotation_changes_nothing():
    made, identity, random = planted(by_context)
    direction = np.ones(DIM) / np.sqrt(DIM)
    rows = 0.5 * random.standard_normal(identity.shape) + 4 * made.labels[:, None] * direction
    rotation = np.linalg.qr(random.standard_normal((DIM, DIM)))[0]
    plain, turned = (scores(made, each[:, None])["0", "linear"] for each in (rows, rows @ rotation))
    assert plain.accuracy > 0.95
    assert turned.accuracy == pytest.approx(plain.accuracy, abs=0.02)


def test_a_probe_that_only_remembers_words_has_no_selectivity():
    made, identity, _ = planted(lambda word, _: word % 2)
    found = scores(made, identity[:, None], "mlp")["0", "mlp"]
    assert found.accuracy > 0.95
    assert found.control > 0.9
    assert found.selectivity_low <= 0.02


def test_a_hidden_layer_finds_what_a_linear_probe_cannot():
    """Exclusive or."""
    random = np.random.default_rng(3)
    rows = random.standard_normal((600, 4))
    labels = ((rows[:, 0] > 0) ^ (rows[:, 1] > 0)).astype(int)
    guesses = classify_mlp(rows[:500], labels[:500], rows[500:], classes=2)
    assert (guesses == labels[500:]).mean() > 0.9


@pytest.mark.parametrize("probes", ["linear", "mlp"])
def test_shuffled_labels_score_chance(probes: str):
    """The mean of several draws: a single one may be three standard errors off."""
    found = list[float]()
    for seed in range(6):
        made, identity, random = planted(by_context, count=500, seed=seed)
        permuted = random.permutation([each.label for each in made.examples])
        pairs = zip(made.examples, permuted, strict=True)
        examples = tuple(each._replace(label=str(label)) for each, label in pairs)
        shuffled = Dataset("pos", examples, made.test, "sentence", "planted")
        rows = identity + 4 * made.labels[:, None]
        assert probes == "mlp" or scores(made, rows[:, None])["0", "linear"].accuracy > 0.9
        found.append(scores(shuffled, rows[:, None], probes)["0", probes].accuracy)
    assert np.mean(found) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(600))


def test_control_tasks():
    words = [f"w{n % 10}" for n in range(200)]
    labels = np.arange(200) // 10 % 2
    by_word = control_labels(words, labels, seed=1)
    assert all(len(set(by_word[np.array(words) == word])) == 1 for word in set(words))
    assert 0 < by_word.mean() < 1
    within = control_labels(words, labels, seed=1, control="within words")
    for word in set(words):
        held = np.array(words) == word
        assert sorted(within[held]) == sorted(labels[held])
    assert (within != labels).any()
    assert (control_labels(words, labels, seed=1) == by_word).all()


def test_chance_and_the_most_frequent_label_of_a_word():
    labels = np.array([0, 0, 0, 1, 1])
    assert majority(labels, np.array([0, 1, 0])).tolist() == [True, False, True]
    right = majority_by_word(["a", "a", "a", "b", "b"], labels, ["a", "b", "new"], np.array([0, 1, 1]))
    assert right.tolist() == [True, True, False]


def test_words_of_one_sentence_are_one_item_of_the_interval():
    values = np.repeat([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 50)
    low, high = by_group(values, np.repeat(np.arange(6), 50), 1)
    single = by_group(values, np.arange(300), 1)
    assert high - low > 3 * (single[1] - single[0])


def test_no_test_word_of_a_word_split_is_in_training():
    made = dataset("field", "world", "en", examples=1500, seed=1)
    held = {word for word, test in zip(made.words, made.test.tolist(), strict=True) if test}
    assert held
    assert held.isdisjoint(
        word for word, test in zip(made.words, made.test.tolist(), strict=True) if not test
    )
    sense = dataset("sense", "world", "zh", examples=1500, seed=1)
    sentences = [each.usage.sentence for each in sense.examples]
    tested = {text for text, test in zip(sentences, sense.test.tolist(), strict=True) if test}
    assert tested.isdisjoint(
        text for text, test in zip(sentences, sense.test.tolist(), strict=True) if not test
    )
    for each in (*made.examples[:50], *sense.examples):
        start, end = each.usage.span
        assert each.usage.sentence[start:end].lower() == each.word


def test_frequency_classes_are_quarters_of_the_words():
    from collections import Counter

    found = frequency_classes(Counter({f"w{n}": n for n in range(1, 10)}))
    assert found["w9"] == "4"
    assert found["w2"] == "1"
    assert "w1" not in found
    assert Counter(found.values()) == dict.fromkeys("1234", 2)


class TestTyped:
    """What a user types."""

    @pytest.fixture
    def vectors(self, english: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vectors:
        monkeypatch.chdir(tmp_path)
        inlaid.save(english[0], "v.inlaid")
        return english[0]

    def test_fields_of_static_vectors(self, vectors: Vectors, capsys: pytest.CaptureFixture[str]):
        words = ["probe", "v.inlaid", "--task", "field", "--probes", "linear", "--examples", "1200"]
        assert main([*words, "--json"]) == 0
        (task,) = json.loads(capsys.readouterr().out)["tasks"]
        (score,) = task["scores"]
        assert score["layer"] == "static"
        assert score["accuracy"] > 0.5 > 0.3 > task["majority"]
        assert task["split"] == "word"
        assert main([*words, "--shuffle", "--json"]) == 0
        (task,) = json.loads(capsys.readouterr().out)["tasks"]
        assert task["scores"][0]["low"] < task["majority"] + 0.05

    def test_pictures_and_pages(self, vectors: Vectors, capsys: pytest.CaptureFixture[str]):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'inlaid[explore]'")
        words = ["probe", "v.inlaid", "--task", "sense", "field", "--probes", "linear", "--examples", "600"]
        assert main([*words, "-o", "p.png"]) == 0
        assert Path("p.png").read_bytes().startswith(b"\x89PNG")
        assert main([*words, "-o", "p.html"]) == 0
        page = Path("p.html").read_text("utf-8")
        assert "selectivity" in page
        assert "http" not in page.replace("http-equiv", "")
        assert "written to p.html" in capsys.readouterr().out

    def test_tagged_text_of_both_languages(self, vectors: Vectors, capsys: pytest.CaptureFixture[str]):
        nouns = ["king", "queen", "man", "woman", "doctor", "teacher"]
        adjectives = ["red", "green", "big", "small", "old", "new"]
        lines = [f"The/at {a}/jj {n}/nn eats/vbz ./." for a in adjectives for n in nouns]
        Path("tagged.txt").write_text("\n".join(lines), "utf-8")
        assert main(["probe", "v.inlaid", "--task", "pos", "--data", "tagged.txt", "--json"]) == 0
        (task,) = json.loads(capsys.readouterr().out)["tasks"]
        assert {"ADJ", "NOUN"} <= set(task["classes"])
        assert task["scores"][0]["accuracy"] == 1

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--task", "poss"], "Did you mean 'pos'?"),
            (["--task", "pos"], "Name a file: tagged text"),
            (["--task", "tense", "--language", "zh"], "Chinese words have no form for tense"),
            (["--task", "pos", "--data", "missing.txt"], "There is no file 'missing.txt'"),
            (["--task", "pos", "--data", "plain.txt"], "no tagged words are found"),
            (["--task", "field", "-o", "p.pdf"], "is written as .png or .html"),
            (["--examples", "0"], "examples is 0"),
        ],
    )
    def test_what_cannot_be_probed(
        self, vectors: Vectors, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ):
        Path("plain.txt").write_text("no tags here\n", "utf-8")
        assert main(["probe", "v.inlaid", *words]) == 2
        assert said in capsys.readouterr().err


def test_python_names_what_is_wrong(english: Any):
    with pytest.raises(UnknownName):
        inlaid.probe(english[0], task=["nothing"])
    with pytest.raises(SettingError, match="no task"):
        inlaid.probe(english[0], task=[])
