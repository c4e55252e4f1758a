"""Vectors: found by word, never changed, never NaN."""

from __future__ import annotations

import numpy as np
import pytest

from inlay.errors import FormatError, UnknownWord
from inlay.vectors import Card, Vectors


def test_a_word_finds_its_row():
    vectors = Vectors.of(["cat", "猫"], [[1, 0], [0, 2]])
    np.testing.assert_array_equal(vectors["猫"], [0, 2])
    assert "猫" in vectors
    assert "狗" not in vectors
    assert (len(vectors), vectors.dim) == (2, 2)


def test_a_query_is_written_as_the_text_was():
    vectors = Vectors.of(["cat", "Dog"], np.eye(2), Card(encoding={"normalize": ["nfc", "lower"]}))
    assert vectors.id("CAT") == 0
    assert vectors.id("Dog") == 1  # as it stands comes first


def test_an_unknown_word_suggests_a_known_one():
    with pytest.raises(UnknownWord, match="'chetah' is not among the 2 words. Did you mean 'cheetah'?"):
        Vectors.of(["cheetah", "lion"], np.eye(2))["chetah"]


def test_nothing_can_be_changed():
    vectors = Vectors.of(["a"], [[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        vectors.table[0, 0] = 2
    with pytest.raises(AttributeError):
        vectors.table = np.zeros((1, 1), np.float32)


def test_the_callers_numbers_are_not_touched():
    table = np.ones((1, 2), np.float32)
    vectors = Vectors.of(["a"], table)
    table[0, 0] = 5  # still the caller's to change
    assert vectors["a"].tolist() == [1, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_by_name(bad: float):
    with pytest.raises(FormatError, match=r"The vector of 'b' \(row 1\) holds NaN or infinity"):
        Vectors.of(["a", "b"], [[1, 2], [bad, 2]])


def test_words_and_rows_must_match():
    with pytest.raises(FormatError, match="2 words need a table with as many rows"):
        Vectors.of(["a", "b"], [[1.0]])


def test_unit_rows_have_length_one_and_zeros_stay_zeros():
    unit = Vectors.of(["a", "b"], [[3, 4], [0, 0]]).unit
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]])
