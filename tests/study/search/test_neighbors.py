"""Neighbors and formulas on spaces whose answers are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from inlaid.errors import OutOfVocabulary, SettingError
from inlaid.study.search.analogy import analogy
from inlaid.study.search.found import Neighbor
from inlaid.study.search.neighbors import nearest, neighbors
from inlaid.vectors import Vectors

WORDS = ["east", "north", "northeast", "west", "zero", "east too"]
ROWS = [[2, 0], [0, 3], [1, 1], [-1, 0], [0, 0], [5, 0]]


#              royal, male, female
ROYAL = Vectors.of(
    ["king", "queen", "man", "woman", "e-mail"],
    [[2, 1, 0], [2, 0, 1], [0, 1, 0], [0, 0, 1], [-1, -1, -1]],
)


@pytest.fixture
def compass() -> Vectors:
    return Vectors.of(WORDS, ROWS)


def words(found: Iterable[Neighbor]) -> list[str]:
    return [each.word for each in found]


def test_a_word(compass: Vectors):
    found = neighbors(compass, "east")
    assert words(found) == ["east too", "northeast", "north", "zero", "west"]
    np.testing.assert_allclose([each.score for each in found], [1, 0.5**0.5, 0, 0, -1], atol=1e-7)


def test_the_word_itself_when_asked(compass: Vectors):
    assert words(neighbors(compass, "east", n=2, include=True)) == [
        "east",
        "east too",
    ]  # equal scores: the lower id first


def test_a_sum_of_words_is_their_mean_direction(compass: Vectors):
    """East is shorter than north, but has the same weight."""
    found = analogy(compass, "east + north", n=1)[0]
    assert (found.word, found.score) == ("northeast", pytest.approx(1))


def test_a_vector(compass: Vectors):
    assert words(neighbors(compass, np.array([-9.0, 1.0]), n=1)) == ["west"]
    assert words(nearest(compass, np.array([-9, 1], np.float32), n=1, without=[3])) == ["north"]


def test_many_at_once_are_each_alone(compass: Vectors):
    queries = ["east", "west", np.array([1.0, 2.0])]
    assert list(neighbors(compass, queries, n=3)) == [neighbors(compass, query, n=3) for query in queries]
    assert len(neighbors(compass, [])) == 0


def test_only_the_first_words(compass: Vectors):
    assert words(neighbors(compass, "east", top=3)) == ["northeast", "north"]
    assert len(neighbors(compass, "east", top=100)) == 5


def test_a_formula(compass: Vectors):
    assert words(analogy(compass, "east + north", n=1)) == ["northeast"]
    assert words(analogy(compass, "north-east", n=1)) == ["west"]
    assert words(analogy(compass, "east + 0.01 * north", n=1)) == ["east too"]
    assert words(analogy(compass, '"east too" - 3 * east', n=1)) == ["west"]
    assert "east" in words(analogy(compass, "east + north", include=True))


@pytest.mark.parametrize("by", ["cosine", "csls", "frequency"])
def test_int8_codes_change_nothing(by: str):
    table = np.random.default_rng(1).standard_normal((300, 20))
    vectors = Vectors.of([f"w{id}" for id in range(300)], table)
    queries = ["w1", "w2", vectors["w3"] + vectors["w4"]]
    for top in (None, 100):
        coded = neighbors(vectors, queries, int8=True, by=by, top=top)
        assert coded == neighbors(vectors, queries, by=by, top=top)


def test_one_word_has_no_neighbors():
    alone = Vectors.of(["alone"], [[1.0]])
    for by in ("cosine", "csls", "frequency"):
        assert words(neighbors(alone, "alone", by=by)) == []
        assert words(neighbors(alone, "alone", by=by, include=True)) == ["alone"]


@pytest.mark.parametrize("n", [0, -1])
def test_no_neighbors_cannot_be_asked_for(compass: Vectors, n: int):
    for ask in (
        lambda: neighbors(compass, "east", n=n),
        lambda: analogy(compass, "east", n=n),
        lambda: nearest(compass, compass.table[0], n=n),
    ):
        with pytest.raises(SettingError, match=f"n is {n}; expected at least 1"):
            ask()


def test_more_than_there_are(compass: Vectors):
    assert len(neighbors(compass, "east", n=10**9)) == 5


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("zero", "'zero' is a vector of zeros: it has no direction"),
        (["east", "zero"], "'zero' is a vector of zeros"),
        (np.zeros(2), "'vector' is a vector of zeros"),
        (np.array([1, np.nan]), "holds NaN or infinity"),
        (np.ones(3), r"has shape \(3,\); these vectors have 2 dimensions"),
        (np.ones((1, 2)), r"has shape \(1, 2\)"),
    ],
)
def test_queries_that_mean_nothing(compass: Vectors, query: object, message: str):
    with pytest.raises(SettingError, match=message):
        neighbors(compass, query)  # pyright: ignore


def test_a_formula_that_cancels_out(compass: Vectors):
    with pytest.raises(SettingError, match="'east - east' is a vector of zeros"):
        analogy(compass, "east - east")


def test_an_unknown_word_in_a_formula(compass: Vectors):
    with pytest.raises(OutOfVocabulary, match="'nort' is not among the 6 words. Did you mean 'north'?"):
        analogy(compass, "east - nort")


def test_a_word_that_reads_as_a_formula_points_to_analogy():
    typed = "king - man + woman"
    with pytest.raises(
        OutOfVocabulary, match="reads as a formula: `analogy\\(vectors, 'king - man \\+ woman'\\)`"
    ):
        neighbors(ROYAL, typed)
    for word in ("e-mails", "new york", "king -"):
        with pytest.raises(OutOfVocabulary) as caught:
            neighbors(ROYAL, word)
        assert "formula" not in str(caught.value)
    own = Vectors.of([typed, "king", "man"], np.eye(3))
    assert {each.word for each in neighbors(own, typed)} == {"king", "man"}


def test_tiny_and_huge_queries_have_a_direction(compass: Vectors):
    for size in (1e-300, 1e300):
        assert words(neighbors(compass, np.array([-size, 0.0]), n=1)) == ["west"]


def test_neighbors_come_nearest_first_without_the_word():
    found = neighbors(ROYAL, "king")
    assert [each.word for each in found] == ["queen", "man", "woman", "e-mail"]
    assert found[0].score == pytest.approx(4 / 5)
    assert found[3].score == pytest.approx(-3 / np.sqrt(15))


def test_a_formula_is_a_sum_of_unit_vectors():
    assert analogy(ROYAL, "king - man + woman", n=1)[0].word == "queen"
    assert analogy(ROYAL, "  queen  -  woman  +  man ", n=1)[0].word == "king"
    assert analogy(ROYAL, "- e-mail", n=1)[0].word in ("king", "queen")


@pytest.mark.parametrize("formula", ["", "king man", "king - ", "+", "king - + man"])
def test_a_formula_that_cannot_be_read_is_refused(formula: str):
    with pytest.raises((SettingError, OutOfVocabulary)):
        analogy(ROYAL, formula)


def test_n_is_limited_by_the_words_there_are():
    assert len(neighbors(ROYAL, "king", n=100)) == 4
    assert words(neighbors(Vectors.of(["one"], [[1.0]]), "one")) == []
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
