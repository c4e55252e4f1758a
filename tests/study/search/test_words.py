"""vector, similarity and odd_one_out on spaces whose answers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import inlaid
from inlaid.errors import FormatError, OutOfVocabulary, SettingError
from inlaid.messages import Message
from inlaid.vectors import Vectors

COMPASS = Vectors.of(
    ["east", "north", "northeast", "west", "new york"], [[2, 0], [0, 3], [1, 1], [-1, 0], [4, 3]]
)


def test_the_vector_of_a_word_is_its_row():
    np.testing.assert_array_equal(np.asarray(inlaid.vector(COMPASS, "east")), [2, 0])
    found = inlaid.vector(COMPASS, "new york")
    assert found.length == 5
    assert found.to_dict() == {"name": '"new york"', "length": 5.0, "vector": [4.0, 3.0]}


def test_the_vector_of_a_formula():
    np.testing.assert_array_equal(inlaid.vector(COMPASS, "east - 2*(north + west)").values, [4, -6])
    np.testing.assert_allclose(inlaid.vector(COMPASS, "east + north", unit=True).values, [1, 1])
    with pytest.raises(OutOfVocabulary, match="Did you mean 'north'"):
        inlaid.vector(COMPASS, "east + nort")


def test_similarity_of_words():
    assert inlaid.similarity(COMPASS, ["east", "northeast"])[0].cosine == pytest.approx(0.5**0.5)
    found = inlaid.similarity(COMPASS, ["east", "north", "west"])
    assert [(each.first, each.second, each.cosine) for each in found] == [
        ("east", "north", 0),
        ("east", "west", -1),
        ("north", "west", 0),
    ]
    with pytest.raises(OutOfVocabulary):
        inlaid.similarity(COMPASS, ["east", "sout"])
    for words in ([], ["east"]):
        with pytest.raises(SettingError, match="at least two words"):
            inlaid.similarity(COMPASS, words)


def test_similarity_of_pairs_in_a_file(tmp_path: Path):
    (tmp_path / "p.txt").write_text("# pairs\neast west 9.5\n\nnew york\teast\t3\neast south\n", "utf-8")
    notes: list[object] = []
    found = inlaid.similarity(COMPASS, pairs=tmp_path / "p.txt", report=notes.append)
    assert [each.cosine for each in found] == [-1, pytest.approx(0.8), None]
    assert [str(each) for each in notes] == [
        "1 of 3 pairs hold a word without a vector: they have no cosine."
    ]
    assert found.rows()[-1] == (Message("none"), "east", "south")
    (tmp_path / "p.txt").write_text("east west\nnorth\n", "utf-8")
    with pytest.raises(FormatError, match=r"p.txt:2: expected two words .* found 'north'"):
        inlaid.similarity(COMPASS, pairs=tmp_path / "p.txt")
    with pytest.raises(SettingError, match="either words or a file"):
        inlaid.similarity(COMPASS, ["east", "west"], pairs=tmp_path / "p.txt")


def test_the_odd_one_out():
    found = inlaid.odd_one_out(COMPASS, ["east", "west", "northeast"])
    assert found.word == "west"
    assert found.words[0].mean_cosine == pytest.approx((-1 - 0.5**0.5) / 2)
    with pytest.raises(SettingError, match="Expected at least three words, found 2"):
        inlaid.odd_one_out(COMPASS, ["east", "west"])
