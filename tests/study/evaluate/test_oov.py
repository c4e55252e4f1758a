"""Which words are known, under all settings; what a sentence's vector is."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.feed import bags
from inlaid.study.evaluate.oov import KnownWords, OOVSettings
from inlaid.vectors import Card, Vectors

CASED = Vectors.of(["us", "Apple", "US", "apple", "猫"], np.arange(10).reshape(5, 2))


def test_words_are_found_as_the_vectors_find_them():
    assert KnownWords(CASED).ids(["us", "US", "Us", "猫"]).tolist() == [0, 2, -1, 4]
    lowered = Vectors.of(["apple"], [[1.0]], Card(encoding={"normalize": ("lower",)}))
    assert KnownWords(lowered).ids(["APPLE", "pear"]).tolist() == [0, -1]


def test_only_the_first_words_take_part():
    assert KnownWords(CASED, OOVSettings(top=2)).ids(["us", "Apple", "US", "猫"]).tolist() == [0, 1, -1, -1]
    assert len(KnownWords(CASED, OOVSettings(top=2)).table) == 2


def test_folded_words_are_one_and_the_first_represents_them():
    space = KnownWords(CASED, OOVSettings(fold_case=True))
    assert space.ids(["Us", "APPLE", "猫"]).tolist() == [0, 1, 4]
    assert space.first(np.array([2, 3, 4])).tolist() == [0, 1, 4]
    assert [sorted(set(row)) for row in space.variants(np.array([[0, 4], [1, 1]])).tolist()] == [
        [0, 2, 4],
        [1, 3],
    ]
    assert KnownWords(CASED, OOVSettings(fold_case=True, top=2)).variants(np.array([[0]])).tolist() == [[0]]


def test_settings_are_checked():
    with pytest.raises(SettingError, match="top is 0"):
        OOVSettings(top=0)


def test_a_sentence_is_the_mean_of_its_known_words():
    rows, known = KnownWords(CASED).sentences(["Apple, us!", "nothing here", "", "the 猫 Us"])
    assert rows[0].tolist() == [1.0, 2.0]
    assert known.tolist() == [True, False, False, True]
    assert rows[3].tolist() == [4.0, 5.0]  # 猫 and, in lower case, us


def test_a_sentence_is_cut_as_the_training_text_was():
    card = Card(encoding={"tokenizer": "char", "normalize": ["nfc", "lower"]})
    vectors = Vectors.of(["猫", "狗", "a"], [[2, 0], [0, 2], [4, 4]], card)
    rows, known = KnownWords(vectors).sentences(["猫狗", "A"])
    assert rows.tolist() == [[1, 1], [4, 4]]
    assert known.all()


def test_vectors_keep_the_numbering_of_their_words(monkeypatch: pytest.MonkeyPatch):
    made: list[int] = []
    plain = bags.Numbering.__init__

    def counted(self: bags.Numbering, *given: Any) -> None:
        made.append(1)
        plain(self, *given)

    monkeypatch.setattr(bags.Numbering, "__init__", counted)
    vectors = Vectors.of(["cat", "dog"], np.eye(2))
    for text in ("cat", "dog unknown", "cat dog"):
        KnownWords(vectors).sentences([text])
    assert len(made) == 1
    assert (KnownWords(vectors).sentences(["cat dog"])[0] == 0.5).all()
    KnownWords(pickle.loads(pickle.dumps(vectors))).sentences(["cat"])
    assert len(made) == 2
