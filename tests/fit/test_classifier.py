"""The classifier learns planted labels, to the same bits every time, also after a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.classification import quantized
from inlaid.classifier import BagEmbedder
from inlaid.errors import FormatError, SettingError
from inlaid.feed.labelled import Labelled
from inlaid.fit.classifier import NGramClassifier
from inlaid.jobs.safety import Safety
from inlaid.report import silent

WORDS = {"food": ["apple", "bread", "米饭", "soup"], "sport": ["ball", "goal", "比赛", "team"]}


def planted(texts: int = 200, seed: int = 1) -> Labelled:
    """Texts of four filler words and one word that tells the label."""
    random = np.random.default_rng(seed)
    labels = [("food", "sport")[n % 2] for n in range(texts)]
    filler = [f"word{n}" for n in range(30)]
    made = [" ".join([*random.choice(filler, 4), str(random.choice(WORDS[label]))]) for label in labels]
    return Labelled.of(made, labels)


def ordered(texts: int = 300) -> Labelled:
    """The order of two words tells the label: no bag of single words does."""
    labels = [n % 2 for n in range(texts)]
    return Labelled.of([("dog bites man", "man bites dog")[label] for label in labels], labels)


def parts(classifier: inlaid.Classifier) -> list[bytes]:
    assert isinstance(classifier.embedder, BagEmbedder)
    assert isinstance(classifier.embedder.table, np.ndarray)
    return [classifier.embedder.table.tobytes(), classifier.output.tobytes(), classifier.bias.tobytes()]


def test_planted_labels_are_found_in_new_texts():
    classifier = inlaid.train_classifier(planted(), report=silent)
    tested = inlaid.test_classifier(classifier, planted(seed=2))
    assert tested.accuracy > 0.98
    assert tested.interval.low <= tested.accuracy <= tested.interval.high


def test_ngrams_see_the_order_of_words():
    words = inlaid.train_classifier(ordered(), word_ngrams=1, epochs=5, report=silent)
    assert inlaid.test_classifier(words, ordered()).accuracy == 0.5
    ngrams = inlaid.train_classifier(ordered(), word_ngrams=2, epochs=5, report=silent)
    assert inlaid.test_classifier(ngrams, ordered()).accuracy == 1.0


def test_character_ngrams_know_misspelled_words():
    plain = inlaid.train_classifier(planted(), word_ngrams=1, report=silent)
    spelled = inlaid.train_classifier(planted(), word_ngrams=1, min_n=3, max_n=4, report=silent)
    assert not plain.known(["breadd"]).any()
    assert spelled.predict(["breadd", "teams"]) == ["food", "sport"]


def test_one_worker_gives_the_same_bits():
    one, other = (inlaid.train_classifier(planted(), max_n=3, epochs=3, report=silent) for _ in range(2))
    assert parts(one) == parts(other)


def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("inlaid.fit.classifier.STEP", 100)  # many steps
    whole = inlaid.train_classifier(planted(), epochs=3, report=silent)
    from inlaid.fit import classifier as module

    step = module.ClassifierTraining.step
    done: list[int] = []

    def crash(self: module.ClassifierTraining, at: int):
        done.append(at)
        if len(done) == 20:
            raise RuntimeError("power cut")
        return step(self, at)

    safety = Safety(checkpoint=tmp_path / "c", checkpoint_minutes=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(module.ClassifierTraining, "step", crash)
        with pytest.raises(RuntimeError, match="power cut"):
            inlaid.train_classifier(planted(), epochs=3, safety=safety, report=silent)
    resumed = Safety(checkpoint=tmp_path / "c", resume=True)
    again = inlaid.train_classifier(planted(), epochs=3, safety=resumed, report=silent)
    assert parts(again) == parts(whole)


def test_early_stopping_holds_out_texts():
    classifier = inlaid.train_classifier(
        planted(), held_out=0.2, epochs=200, learning_rate=1.0, safety=Safety(patience=2), report=silent
    )
    assert classifier.card.outcome is not None
    assert classifier.card.outcome.marks[-1].held_out is not None
    with pytest.raises(SettingError, match="held_out is 0"):
        inlaid.train_classifier(planted(), safety=Safety(patience=2), report=silent)


def test_a_saved_classifier_is_the_same(tmp_path: Path):
    classifier = inlaid.train_classifier(planted(), max_n=2, min_n=1, epochs=2, report=silent)
    inlaid.save_classifier(classifier, tmp_path / "c")
    loaded = inlaid.load_classifier(tmp_path / "c")
    assert parts(loaded) == parts(classifier)
    texts = planted(seed=3).texts
    assert loaded.probabilities(texts).tobytes() == classifier.probabilities(texts).tobytes()
    assert loaded.card == classifier.card


def test_int8_is_a_quarter_and_agrees(tmp_path: Path):
    classifier = inlaid.train_classifier(planted(), report=silent)
    small = quantized(classifier, planted().texts, silent)
    inlaid.save_classifier(classifier, tmp_path / "float32")
    inlaid.save_classifier(small, tmp_path / "int8")
    assert (tmp_path / "int8").stat().st_size < 0.4 * (tmp_path / "float32").stat().st_size
    loaded = inlaid.load_classifier(tmp_path / "int8")
    assert loaded.predict(planted(seed=2).texts) == classifier.predict(planted(seed=2).texts)
    assert loaded.card.scores["int8"]["changed"] == 0


@pytest.mark.parametrize("place", range(0, 4000, 331))
def test_a_damaged_file_is_refused_or_harmless(place: int, tmp_path: Path):
    path = tmp_path / "c"
    inlaid.save_classifier(inlaid.train_classifier(planted(20), dim=4, epochs=1, report=silent), path)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 0x41
    path.write_bytes(data)
    with pytest.raises(FormatError):
        inlaid.load_classifier(path)


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(SettingError, match="max_n is not"):
        NGramClassifier(min_n=2)
    with pytest.raises(SettingError, match="makes subwords"):
        inlaid.train_classifier(planted(), tokenizer="bpe", report=silent)


def test_logistic_regression_on_word_vectors(tmp_path: Path):
    words = ["apple", "bread", "米饭", "soup", "ball", "goal", "比赛", "team", "word1"]
    table = np.random.default_rng(1).normal(size=(9, 6)) * 0.1
    table[:4, 0] += 1
    table[4:8, 1] += 1
    vectors = inlaid.Vectors.of(words, table)
    classifier = inlaid.train_classifier(planted(), embedder=vectors, report=silent)
    assert classifier.card.method == "logistic"
    assert inlaid.test_classifier(classifier, planted(seed=2)).accuracy > 0.98
    inlaid.save_classifier(classifier, tmp_path / "c")
    assert inlaid.load_classifier(tmp_path / "c").predict(["goal"]) == ["sport"]
