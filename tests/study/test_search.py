"""Neighbours and formulas on vectors whose geometry is known."""

from __future__ import annotations

import numpy as np
import pytest

from inlay.errors import SettingError, UnknownWord
from inlay.study.search import analogy, nearest, neighbors
from inlay.vectors import Vectors

#              royal, male, female
ROYAL = Vectors.of(
    ["king", "queen", "man", "woman", "e-mail"],
    [[2, 1, 0], [2, 0, 1], [0, 1, 0], [0, 0, 1], [-1, -1, -1]],
)


def test_neighbours_come_nearest_first_without_the_word():
    found = neighbors(ROYAL, "king")
    assert [each.word for each in found] == ["queen", "man", "woman", "e-mail"]
    assert found[0].score == pytest.approx(4 / 5)
    assert found[3].score == pytest.approx(-3 / np.sqrt(15))


def test_a_formula_is_a_sum_of_unit_vectors():
    assert analogy(ROYAL, "king - man + woman", n=1)[0].word == "queen"
    assert analogy(ROYAL, "  queen  -  woman  +  man ", n=1)[0].word == "king"
    assert analogy(ROYAL, "- e-mail", n=1)[0].word in ("king", "queen")


@pytest.mark.parametrize("formula", ["", "king man", "king - ", "+", "king - + man", "king -man"])
def test_a_formula_that_cannot_be_read_is_refused(formula: str):
    with pytest.raises((SettingError, UnknownWord)):
        analogy(ROYAL, formula)


def test_n_is_limited_by_the_words_there_are():
    assert len(neighbors(ROYAL, "king", n=100)) == 4
    assert neighbors(Vectors.of(["one"], [[1.0]]), "one") == []
    with pytest.raises(SettingError, match="n is 0"):
        neighbors(ROYAL, "king", n=0)


def test_nearest_to_a_zero_vector_is_no_crash():
    assert {each.score for each in nearest(ROYAL, np.zeros(3, np.float32))} == {0.0}


def test_best_of_many_equals_a_full_sort():
    random = np.random.default_rng(1)
    vectors = Vectors.of([str(i) for i in range(500)], random.standard_normal((500, 8)))
    query = random.standard_normal(8).astype(np.float32)
    scores = vectors.unit @ (query / np.linalg.norm(query))
    assert [each.word for each in nearest(vectors, query, n=20)] == [str(i) for i in np.argsort(-scores)[:20]]
