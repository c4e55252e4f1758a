"""CSLS and frequency do to planted spaces what their formulas say."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from inlaid.study.search.csls import CSLSSettings, frequency, mean_similarity
from inlaid.study.search.index import index_of
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Vectors


def random_space(words: int = 200, dim: int = 20, seed: int = 1) -> Vectors:
    return Vectors.of(
        [f"w{id}" for id in range(words)], np.random.default_rng(seed).standard_normal((words, dim))
    )


def test_mean_similarity_is_the_mean_cosine_of_the_nearest():
    vectors = random_space()
    cosines = vectors.unit.astype(np.float64) @ vectors.unit.T
    np.fill_diagonal(cosines, -np.inf)
    expected = np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    np.testing.assert_allclose(mean_similarity(vectors), expected, atol=1e-6)
    among = np.sort(cosines[:, :50], axis=1)[:, -3:].mean(axis=1)
    np.testing.assert_allclose(mean_similarity(vectors, CSLSSettings(k=3, among=50)), among, atol=1e-6)


def test_csls_is_as_published():
    vectors = random_space()
    crowd = mean_similarity(vectors)
    cosines = vectors.unit.astype(np.float64) @ vectors.unit.T
    scores = 2 * cosines[7] - crowd - crowd[7]
    scores[7] = -np.inf
    order = np.argsort(-scores)[:5]
    found = neighbors(vectors, "w7", n=5, by="csls")
    assert [each.word for each in found] == [f"w{id}" for id in order]
    np.testing.assert_allclose([each.score for each in found], scores[order], atol=1e-6)
    alike = neighbors(
        vectors, vectors["w7"].astype(np.float64), n=6, by="csls"
    )  # a vector finds the word it is of first
    assert alike[0].word == "w7"


def test_csls_passes_over_a_hub():
    """Every word has a partner, but the word in the middle of all is nearer by cosine; by CSLS the partner
    is."""
    random = np.random.default_rng(1)
    own = random.standard_normal((150, 2000))
    partners = 0.35 * own + np.sqrt(1 - 0.35**2) * random.standard_normal((150, 2000))
    vectors = Vectors.of(
        [f"w{id}" for id in range(301)], np.concatenate([own + 1.2, partners + 1.2, np.full((1, 2000), 1.2)])
    )
    assert [neighbors(vectors, f"w{id}", n=1)[0].word for id in range(20)] == ["w300"] * 20
    assert [neighbors(vectors, f"w{id}", n=1, by="csls")[0].word for id in range(20)] == [
        f"w{150 + id}" for id in range(20)
    ]


def test_frequency_is_a_regression_of_the_cosines_on_log_rank():
    vectors = random_space(words=100)
    scale = -np.log(np.arange(1, 101))
    terms = np.stack([np.ones(100), scale, scale**2], axis=1)
    cosines = vectors.unit.astype(np.float64) @ vectors.unit[3].astype(np.float64)
    left = cosines - terms @ np.linalg.lstsq(terms, cosines, rcond=None)[0]
    left[3] = -np.inf
    order = np.argsort(-left)[:8]
    found = neighbors(vectors, "w3", n=8, by="frequency")
    assert [each.word for each in found] == [f"w{id}" for id in order]
    np.testing.assert_allclose([each.score for each in found], left[order], atol=1e-6)


def test_frequency_takes_a_planted_direction_away():
    """All words lean the way of their frequency; what is left is the topic that was planted."""
    random = np.random.default_rng(2)
    topics = random.standard_normal((10, 40))
    topic = random.integers(0, 10, 2000)
    lean = random.standard_normal(40)
    rows = (
        topics[topic]
        + 0.3 * random.standard_normal((2000, 40))
        - np.log(np.arange(1, 2001))[:, None] * lean / 4
    )
    vectors = Vectors.of([f"w{id}" for id in range(2000)], rows)

    def same(by: str) -> float:
        found = [neighbors(vectors, f"w{id}", by=by) for id in range(1500, 1600)]  # pyright: ignore
        return float(
            np.mean(
                [
                    topic[int(each.word[1:])] == topic[1500 + at]
                    for at, some in enumerate(found)
                    for each in some
                ]
            )
        )

    ranks = [
        int(each.word[1:])
        for id in range(1500, 1600)
        for each in neighbors(vectors, f"w{id}", by="frequency")
    ]
    assert same("frequency") > 0.9
    assert min(ranks) < 200  # rare words now find frequent ones too


def test_counts_are_used_where_they_are_known():
    counts = np.array([1000, 10, 5, 3], np.int64)
    rows = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    plain = Vectors.of(["a", "b", "c", "d"], rows)
    counted = Vectors(plain.words, rows.copy(), counts)
    expected = np.log(counts) - np.log(counts).mean()
    np.testing.assert_allclose(frequency(counted)[0][:, 1], expected / expected.std())
    assert not np.allclose(frequency(counted)[0], frequency(plain)[0])


def test_an_index_is_made_once_and_dies_with_its_vectors():
    vectors = random_space(words=20)
    assert index_of(vectors) is index_of(vectors)
    assert index_of(vectors).mean_similarity is index_of(vectors).mean_similarity
    gone = weakref.ref(vectors)
    del vectors
    gc.collect()
    assert gone() is None


def test_rows_of_zeros_have_no_density():
    vectors = Vectors.of(["a", "b"], [[1, 0], [0, 0]])
    assert mean_similarity(vectors).tolist() == [0, 0]
    assert [each.word for each in neighbors(vectors, "a", by="frequency")] == ["b"]


@pytest.mark.parametrize("bad", [{"k": 0}, {"among": 0}])
def test_densities_of_nothing_are_refused(bad: dict[str, int]):
    with pytest.raises(Exception, match="expected at least 1"):
        CSLSSettings(**bad)
