"""Quality of maps: plain definitions, maps whose faults are planted, samples and few words."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.map.quality import MapQuality, measure_map


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def arc(size: int) -> np.ndarray:
    """Directions ever further apart, so that no two pairs are equally near."""
    angles = np.cumsum(np.linspace(0.5, 1.5, size)) / size
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def plain(space: np.ndarray, places: np.ndarray, k: int) -> MapQuality:
    """The definitions, word for word: every list of neighbors sorted whole."""
    size = len(space)
    closest = max(1, k // 3)
    false = lost = 0
    intruded = extruded = 0
    for word in range(size):
        others = [other for other in range(size) if other != word]
        in_space = sorted(
            others, key=lambda other: (-float(space[word].astype(float) @ space[other].astype(float)), other)
        )
        on_map = sorted(
            others,
            key=lambda other: (
                float(((places[word].astype(float) - places[other].astype(float)) ** 2).sum()),
                other,
            ),
        )
        for other in on_map[:k]:
            if other not in in_space[:k]:
                false += 1
                intruded += in_space.index(other) + 1 - k
        for other in in_space[:k]:
            if other not in on_map[:k]:
                extruded += on_map.index(other) + 1 - k
        lost += len(set(in_space[:closest]) - set(on_map[:k]))
    worst = size * k * (2 * size - 3 * k - 1) / 2
    return MapQuality(
        k, closest, false / size / k, lost / size / closest, 1 - intruded / worst, 1 - extruded / worst, size
    )


@pytest.mark.parametrize(("size", "k"), [(3, 10), (8, 10), (21, 10), (60, 7), (60, 10)])
def test_the_figures_are_their_definitions(size: int, k: int):
    random = np.random.default_rng(size)
    space = unit(random.standard_normal((size, 6)))
    places = random.standard_normal((size, 2)).astype(np.float32)
    found = measure_map(space, places, k=k).quality
    assert found is not None
    expected = plain(space, places, found.k)
    assert vars(found) == pytest.approx(vars(expected))
    assert found.k == min(k, (size - 1) // 2)


def test_a_perfect_map():
    rows = arc(30)
    measured = measure_map(rows, rows)
    assert measured.quality == MapQuality(10, 3, 0.0, 0.0, 1.0, 1.0, 30)
    assert measured.true.tolist() == [1.0] * 30
    assert measured.nearest[0].tolist() == list(range(1, 11))


def test_two_words_in_each_others_place_are_found():
    rows = arc(200)
    places = rows.copy()
    places[[10, 180]] = places[[180, 10]]
    measured = measure_map(rows, places)
    assert measured.quality is not None
    assert measured.true[[10, 180]].tolist() == [0, 0]
    assert measured.true[100] == 1
    assert 0 < measured.quality.missing < 0.1


def test_chance_is_about_a_half():
    random = np.random.default_rng(1)
    found = measure_map(
        unit(random.standard_normal((500, 20))), random.standard_normal((500, 2)).astype(np.float32)
    ).quality
    assert found is not None
    assert found.trustworthiness == pytest.approx(0.5, abs=0.03)
    assert found.continuity == pytest.approx(0.5, abs=0.03)
    assert found.false > 0.95
    assert found.missing > 0.95


def test_a_sample_says_so_and_is_close():
    random = np.random.default_rng(1)
    space = unit(random.standard_normal((400, 3)))
    places = space[:, :2].copy()
    whole, some, again = (
        measure_map(space, places, pairs=pairs) for pairs in (1 << 20, 400 * 150, 400 * 150)
    )
    assert whole.quality is not None
    assert some.quality is not None
    assert some.quality.sampled == 150
    assert some.quality == again.quality
    assert np.isnan(some.true).sum() == 250
    assert (some.nearest[np.isnan(some.true)] == -1).all()
    assert some.quality.false == pytest.approx(whole.quality.false, abs=0.05)
    assert some.quality.trustworthiness == pytest.approx(whole.quality.trustworthiness, abs=0.02)


def test_equal_words_keep_their_order():
    same = np.ones((9, 2), np.float32) / np.float32(2**0.5)
    measured = measure_map(same, np.zeros((9, 2), np.float32))
    assert measured.quality == MapQuality(4, 1, 0.0, 0.0, 1.0, 1.0, 9)
    assert measured.nearest[0].tolist() == [1, 2, 3, 4]


def test_two_words_have_no_figures():
    measured = measure_map(arc(2), arc(2))
    assert measured.quality is None
    assert np.isnan(measured.true).all()
    assert measured.nearest.shape == (2, 0)
