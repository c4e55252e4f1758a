"""Which words are known, under every policy; what a sentence's vector is."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.study.evaluate.oov import Lookup, Policy
from inlaid.vectors import Card, Vectors

CASED = Vectors.of(["us", "Apple", "US", "apple", "猫"], np.arange(10).reshape(5, 2))


def test_words_are_found_as_the_vectors_find_them():
    assert Lookup(CASED).ids(["us", "US", "Us", "猫"]).tolist() == [0, 2, -1, 4]
    lowered = Vectors.of(["apple"], [[1.0]], Card(encoding={"normalize": ("lower",)}))
    assert Lookup(lowered).ids(["APPLE", "pear"]).tolist() == [0, -1]


def test_only_the_first_words_take_part():
    assert Lookup(CASED, Policy(top=2)).ids(["us", "Apple", "US", "猫"]).tolist() == [0, 1, -1, -1]
    assert len(Lookup(CASED, Policy(top=2)).table) == 2


def test_folded_words_are_one_and_the_first_stands_for_them():
    lookup = Lookup(CASED, Policy(fold=True))
    assert lookup.ids(["Us", "APPLE", "猫"]).tolist() == [0, 1, 4]
    assert lookup.first(np.array([2, 3, 4])).tolist() == [0, 1, 4]
    assert [sorted(set(row)) for row in lookup.variants(np.array([[0, 4], [1, 1]])).tolist()] == [
        [0, 2, 4],
        [1, 3],
    ]
    assert Lookup(CASED, Policy(fold=True, top=2)).variants(np.array([[0]])).tolist() == [[0]]


def test_a_policy_is_checked():
    with pytest.raises(SettingError, match="top is 0"):
        Policy(top=0)


def test_a_sentence_is_the_mean_of_its_known_words():
    rows, known = Lookup(CASED).sentences(["Apple, us!", "nothing here", "", "the 猫 Us"])
    assert rows[0].tolist() == [1.0, 2.0]
    assert known.tolist() == [True, False, False, True]
    assert rows[3].tolist() == [4.0, 5.0]  # 猫 and, in lower case, us


def test_a_sentence_is_cut_as_the_training_text_was():
    card = Card(encoding={"tokenizer": "char", "normalize": ["nfc", "lower"]})
    vectors = Vectors.of(["猫", "狗", "a"], [[2, 0], [0, 2], [4, 4]], card)
    rows, known = Lookup(vectors).sentences(["猫狗", "A"])
    assert rows.tolist() == [[1, 1], [4, 4]]
    assert known.all()
