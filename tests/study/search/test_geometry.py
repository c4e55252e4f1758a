"""Figures of spaces that were made to have them."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.study.search.geometry import geometry, occurrences
from inlaid.vectors import Vectors


def space(rows: np.ndarray) -> Vectors:
    return Vectors.of([f"w{id}" for id in range(len(rows))], rows)


def test_occurrences_are_counted():
    rows = np.array([[1, 0], [1, 0.1], [1, 0.3], [0, 1]], np.float32)
    assert occurrences(rows, k=1).tolist() == [1, 2, 1, 0]  # 0->1, 1->0, 2->1, 3->2


def test_a_planted_hub_is_named():
    rows = np.random.default_rng(1).standard_normal((400, 200)) + 1
    rows[123] = 1
    figures = geometry(space(rows), k=5)
    assert figures.hubs[0].word == "w123"
    assert figures.hubs[0].times > 300
    assert figures.skewness > 5
    assert figures.antihubs > 0.05
    assert figures.mean_cosine > 0.4


def test_an_isotropic_space_has_none():
    figures = geometry(space(np.random.default_rng(1).standard_normal((1000, 10))), k=5, pairs=20_000)
    assert abs(figures.skewness) < 1
    assert figures.low < 0 < figures.high
    assert figures.mean_length < 0.1
    np.testing.assert_allclose(figures.variance, 0.1, atol=0.03)
    assert sum(figures.variance) == pytest.approx(1)


def test_everything_in_one_direction():
    figures = geometry(space(np.outer(np.arange(1, 30), [1, 2, 3])))
    assert figures.mean_cosine == pytest.approx(1)
    assert figures.mean_length == pytest.approx(1)


def test_the_mean_cosine_is_the_square_of_the_mean_length():
    """Over all pairs, a word with itself left out."""
    figures = geometry(space(np.random.default_rng(1).standard_normal((500, 20)) + 0.5), pairs=200_000)
    expected = (figures.mean_length**2 * 500 - 1) / 499
    assert figures.mean_cosine == pytest.approx(expected, abs=0.005)
    assert figures.low < expected < figures.high


def test_a_sample_is_the_same_for_the_same_seed_and_reports_its_size():
    vectors = space(np.random.default_rng(1).standard_normal((500, 8)))
    one, again, other = (geometry(vectors, sample=100, seed=seed) for seed in (1, 1, 2))
    assert (one.sampled, one.words, one.seed) == (100, 500, 1)
    assert one == again
    assert one != other


def test_zeros_and_more_dimensions_than_words():
    figures = geometry(space(np.eye(4, 6)[[0, 1, 2, 3, 3]] * np.array([1, 1, 1, 1, 0])[:, None]))
    assert figures.zeros == 1
    assert figures.k == 4
    assert sum(figures.variance) == pytest.approx(1)


def test_too_little():
    with pytest.raises(SettingError, match="1 word has no geometry"):
        geometry(space(np.ones((1, 2))))
    with pytest.raises(SettingError, match="k is 0"):
        geometry(space(np.ones((2, 2))), k=0)
