"""Vectors: found by word, never changed, never NaN."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.encode.vocabulary import Words
from inlaid.errors import FormatError, OutOfVocabulary, SettingError
from inlaid.vectors import Card, Int8Table, Vectors


def test_a_word_finds_its_row():
    vectors = Vectors.of(["cat", "猫"], [[1, 0], [0, 2]])
    np.testing.assert_array_equal(vectors["猫"], [0, 2])
    assert "猫" in vectors
    assert "狗" not in vectors
    assert (len(vectors), vectors.dim) == (2, 2)


def test_a_query_is_normalized_as_the_text_was():
    vectors = Vectors.of(["cat", "Dog"], np.eye(2), Card(encoding={"normalize": ["nfc", "lower"]}))
    assert vectors.id("CAT") == 0
    assert vectors.id("Dog") == 1  # the exact form comes first


def test_an_unknown_word_suggests_a_known_one():
    with pytest.raises(OutOfVocabulary, match="'chetah' is not among the 2 words. Did you mean 'cheetah'?"):
        Vectors.of(["cheetah", "lion"], np.eye(2))["chetah"]


def test_nothing_can_be_changed():
    vectors = Vectors.of(["a"], [[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        vectors.table[0, 0] = 2
    with pytest.raises(AttributeError):
        vectors.table = np.zeros((1, 1), np.float32)


def test_the_array_of_the_caller_is_not_changed():
    table = np.ones((1, 2), np.float32)
    vectors = Vectors.of(["a"], table)
    table[0, 0] = 5  # still the caller's to change
    assert vectors["a"].tolist() == [1, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_by_name(bad: float):
    with pytest.raises(FormatError, match=r"The vector of 'b' \(row 1\) holds NaN or infinity"):
        Vectors.of(["a", "b"], [[1, 2], [bad, 2]])


def test_words_and_rows_must_match():
    with pytest.raises(FormatError, match="Expected a table with 2 rows, one for each word"):
        Vectors.of(["a", "b"], [[1.0]])


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are not checked, as where users call: the tests would refuse a wrong one first."""
    monkeypatch.setattr(Vectors, "__init__", inspect.unwrap(Vectors.__init__))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("words", "table", "found"),
    [
        (["a", "b"], np.eye(2, dtype=np.float32), "found list and float32"),
        (("a", "b"), np.eye(2), "found tuple and float64"),
        (Words.of(["a", "b"]), np.eye(2, dtype=np.int64), "found Words and int64"),
        (Words.of(["a", "b"]), [[1.0, 0.0], [0.0, 1.0]], "found Words and list"),
    ],
)
def test_what_is_not_words_and_a_table_is_refused_with_the_way_to_convert_it(
    words: Any, table: Any, found: str
):
    with pytest.raises(SettingError, match=rf"{found}\. Use Vectors\.of\(words, table\)"):
        Vectors(words, table)
    assert Vectors.of(list(words), table).neighbors("a")[0].word == "b"


@pytest.mark.usefixtures("unchecked")
def test_counts_and_contexts_are_arrays_with_one_row_for_each_word():
    vectors = Vectors.of(["a", "b"], np.eye(2))
    listed: Any = [2, 1]
    with pytest.raises(SettingError, match=r"counts, found list\. Use np\.array\(counts, int\)"):
        dataclasses.replace(vectors, counts=listed)
    with pytest.raises(SettingError, match="whole numbers as counts, found float64"):
        dataclasses.replace(vectors, counts=np.ones(2))
    with pytest.raises(FormatError, match=r"Expected 2 counts, one for each word; found shape \(3,\)"):
        dataclasses.replace(vectors, counts=np.ones(3, np.int64))
    with pytest.raises(SettingError, match="context table of float32, found float64"):
        dataclasses.replace(vectors, contexts=np.eye(2))


def test_unit_rows_have_length_one_and_zeros_stay_zeros():
    unit = Vectors.of(["a", "b"], [[3, 4], [0, 0]]).unit
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]])


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("paris", ["Rome", "Paris"], "'Paris'"),
        ("ROME", ["Rome", "rome"], "'rome'"),
        ("ｒｏｍｅ", ["rome"], "'rome'"),
        ("new york", ["new_work", "new_york"], "'new_york'"),
        ("红色", ["颜色", "紅色"], "'紅色'"),
        ("紅色", ["颜色", "红色"], "'红色'"),
        ("颜料", ["手机", "颜色", "原料", "资料", "料理"], "'颜色' or '原料' or '资料'"),
        ("上海市", ["海", "上海", "城市"], "'上海' or '海'"),
        ("電腦桌", ["苹果", "电脑"], "'电脑'"),
    ],
)
def test_what_may_have_been_meant(word: str, known: list[str], meant: str):
    with pytest.raises(OutOfVocabulary) as error:
        Vectors.of(known, np.eye(len(known))).id(word)
    assert str(error.value).endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("word", "known"), [("大雪", ["手机"]), ("xyz", ["banana"]), ("大", ["北京大学"]), ("", ["a"])]
)
def test_nothing_is_suggested_where_nothing_is_close(word: str, known: list[str]):
    with pytest.raises(OutOfVocabulary, match=r"is not among the 1 words\.$"):
        Vectors.of(known, np.eye(1)).id(word)


def test_codes_are_the_nearest_whole_numbers():
    codes = Int8Table.of(np.array([[1.27, -0.014, 0.016], [0, 0, 0], [-254, 1.1, 0.9]], np.float32))
    assert codes.codes.tolist() == [[127, -1, 2], [0, 0, 0], [-127, 1, 0]]
    np.testing.assert_allclose(codes.scales, [0.01, 0, 2])
    np.testing.assert_allclose(codes.rows([0, 2]), [[1.27, -0.01, 0.02], [-254, 2, 0]], rtol=1e-6)
    assert len(codes) == 3


@pytest.mark.parametrize("size", [1e-44, 1e-20, 1, 1e30])
def test_codes_are_within_half_a_step(size: float):
    table = (np.random.default_rng(1).standard_normal((50, 40)) * size).astype(np.float32)
    codes = Int8Table.of(table)
    assert np.abs(codes.codes.astype(int)).max() <= 127
    if size > 1e-30:
        assert (np.abs(codes.rows(slice(None)) - table) <= codes.scales[:, None] * 0.501).all()


def test_lengths_of_very_long_and_very_short_rows():
    found = Vectors.of(["a", "b", "c", "d"], [[3, 4], [3e30, 4e30], [3e-30, 4e-30], [0, 0]]).lengths
    np.testing.assert_allclose(found, [5, 5e30, 5e-30, 0], rtol=1e-6)


def test_the_array_of_the_caller_stays_writable_and_that_of_the_vectors_is_not():
    array = np.eye(2, dtype=np.float32)
    vectors = Vectors(Words.of(["a", "b"]), array)
    with pytest.raises(ValueError, match="read-only"):
        vectors.table[0, 0] = 2
    array[0, 0] = 3
    assert np.shares_memory(array, vectors.table)


@pytest.mark.parametrize("id", [-1, 2, 1 << 40])
def test_a_row_that_does_not_exist_is_an_index_error(id: int, tmp_path: Path):
    vectors = Vectors.of(["a", "b"], np.eye(2))
    inlaid.save(vectors, tmp_path / "v.inlaid")
    for each in (vectors, inlaid.load(tmp_path / "v.inlaid")):
        with pytest.raises(IndexError, match=f"row {id} of 2"):
            each.rows([0, id])
        assert each.rows([1, 0]).tolist() == [[0, 1], [1, 0]]


def test_an_unknown_word_of_a_million_characters_is_shown_in_part():
    vectors = Vectors(Words.of(["a", "b"]), np.eye(2, dtype=np.float32))
    with pytest.raises(OutOfVocabulary) as caught:
        vectors.id("x" * 1_000_000)
    assert len(str(caught.value)) < 200
