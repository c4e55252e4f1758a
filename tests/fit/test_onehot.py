"""One-hot: every pair equally far, and a product that is a lookup."""

from __future__ import annotations

import numpy as np
import pytest

import inlaid
from inlaid.encode.corpus import Encoding, encode
from inlaid.errors import SettingError
from inlaid.fit.onehot import OneHot

FRUIT = ["apple banana cherry date elder"]


def test_words_are_orthogonal_unit_vectors():
    table = inlaid.train(encode(FRUIT, Encoding(min_count=1)), OneHot()).table
    np.testing.assert_array_equal(table @ table.T, np.eye(5))


def test_ids_on_one_axis_collide_and_one_hot_does_not():
    vectors = inlaid.train(encode(["苹果 香蕉 梨"], Encoding(min_count=1, tokenizer="whitespace")), OneHot())
    ids = {"苹果": 1, "香蕉": 2, "梨": 3}
    assert ids["苹果"] + ids["香蕉"] == ids["梨"]
    assert not np.array_equal(vectors["苹果"] + vectors["香蕉"], vectors["梨"])
    assert {word for word in vectors.words if (vectors["苹果"] + vectors["香蕉"]) @ vectors[word]} == {
        "苹果",
        "香蕉",
    }


def test_one_hot_times_a_table_is_lookup():
    one_hot = inlaid.train(encode(FRUIT, Encoding(min_count=1)), OneHot())
    table = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    for word in one_hot.words:
        np.testing.assert_array_equal(one_hot[word] @ table, table[one_hot.id(word)])


def test_a_vocabulary_too_large_is_refused():
    with pytest.raises(SettingError, match=r"One-hot vectors of 5 words need .* max_words \(now 4\)"):
        inlaid.train(encode(FRUIT, Encoding(min_count=1)), OneHot(max_words=4))
