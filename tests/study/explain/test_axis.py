"""Axes between lists that were made to be apart, and between lists that were not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from inlaid.errors import OutOfVocabulary, SettingError
from inlaid.study.explain import word_lists
from inlaid.study.explain.axis import AxisSettings, axis
from inlaid.vectors import Vectors

DIM = 30


def planted(size: int, *, apart: float, seed: int = 1) -> Vectors:
    """`from0..` and `to0..` differ along the first dimension by `apart`; `low`, `middle`, `high` are
    points on it. The rest is noise."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((2 * size + 3, DIM))
    rows[:, 0] = np.concatenate([np.full(size, -apart), np.full(size, apart), [-2 * apart, 0, 2 * apart]])
    words = (
        [f"from{id}" for id in range(size)] + [f"to{id}" for id in range(size)] + ["low", "middle", "high"]
    )
    return Vectors.of(words, rows)


def lists(size: int) -> tuple[list[str], list[str]]:
    return [f"from{id}" for id in range(size)], [f"to{id}" for id in range(size)]


def test_a_planted_axis_is_found_with_the_words_along_it():
    found = axis(planted(20, apart=4), *lists(20), words=["high", "low", "middle"])
    assert abs(found.direction[0]) > 0.95
    assert np.linalg.norm(found.direction) == pytest.approx(1, abs=1e-6)
    assert found.p <= 2 * found.smallest_p
    assert found.accuracy == 1
    order = [each.word for each in found.words if not each.member]
    assert order == ["low", "middle", "high"]
    values = [each.value for each in found.words]
    assert values == sorted(values)
    low, middle, high = (next(each for each in found.words if each.word == word) for word in order)
    assert low.high < middle.low
    assert middle.high < high.low
    assert middle.low < 0 < middle.high


def test_random_lists_are_not_apart():
    """On average over many: p is even, and left out words fall on either side alike."""
    found = [
        axis(planted(6, apart=0, seed=seed), *lists(6), settings=AxisSettings(draws=200))
        for seed in range(60)
    ]
    p = np.array([each.p for each in found])
    assert 0.35 < p.mean() < 0.65
    assert (p <= 0.05).mean() < 0.15
    assert 0.35 < np.mean([each.accuracy for each in found]) < 0.6


def test_words_of_the_lists_are_placed_by_the_others():
    vectors = planted(5, apart=1)
    found = axis(vectors, *lists(5))
    unit = vectors.unit.astype(np.float64)
    mine = next(each for each in found.words if each.word == "to2")
    others = [5, 6, 8, 9]
    step = unit[others].mean(axis=0) - unit[:5].mean(axis=0)
    middle = (unit[others].mean(axis=0) + unit[:5].mean(axis=0)) / 2
    assert mine.value == pytest.approx((unit[7] - middle) @ step / np.linalg.norm(step))
    assert mine.member == "to"
    signs = {"from": -1, "to": 1}
    assert found.margin == pytest.approx(np.mean([signs[each.member] * each.value for each in found.words]))


def test_the_permutation_test_is_exact_where_there_are_few_permutations():
    """All C(6, 3) labellings, each with its own margins worked out the long way."""
    vectors = planted(3, apart=0.8, seed=5)
    found = axis(vectors, *lists(3))
    unit = vectors.unit[:6].astype(np.float64)

    def margin(first: tuple[int, ...]) -> float:
        total = 0.0
        for left_out in range(6):
            ones = [id for id in range(6) if id in first and id != left_out]
            twos = [id for id in range(6) if id not in first and id != left_out]
            one = unit[ones].mean(axis=0)
            two = unit[twos].mean(axis=0)
            value = (unit[left_out] - (one + two) / 2) @ (two - one) / np.linalg.norm(two - one)
            total += (-1 if left_out in first else 1) * value
        return total / 6

    margins = [margin(first) for first in itertools.combinations(range(6), 3)]
    assert found.margin == pytest.approx(margin((0, 1, 2)))
    assert found.p == pytest.approx(np.mean([each >= found.margin - 1e-9 for each in margins]))
    assert found.smallest_p == pytest.approx(2 / 20)


def test_pairs_share_a_direction_that_lists_hide():
    """Pairs far from each other, all with the same small step: the lists overlap, the steps agree."""
    random = np.random.default_rng(1)
    starts = 3 * random.standard_normal((8, DIM))
    rows = np.concatenate([starts, starts + 2 * np.eye(DIM)[0]])
    vectors = Vectors.of([f"from{id}" for id in range(8)] + [f"to{id}" for id in range(8)], rows)
    found = axis(vectors, *lists(8))
    assert found.paired
    assert found.pairing is not None
    assert 0 < found.pairing.low < found.pairing.closer < found.pairing.high
    same = axis(vectors, *lists(8), settings=AxisSettings(paired="yes"))
    np.testing.assert_array_equal(found.direction, same.direction)
    assert same.pairing is None
    assert not axis(vectors, *lists(8), settings=AxisSettings(paired="no")).paired
    assert found.direction[0] > 0.9
    assert found.accuracy == 1
    assert found.p == pytest.approx(found.smallest_p)
    assert found.smallest_p == pytest.approx(2 / 2**8)


def test_lists_that_are_not_pairs_are_not_taken_as_pairs():
    """Two clusters: every word is as near to any word of the other list."""
    found = axis(planted(20, apart=4), *lists(20))
    assert not found.paired
    assert found.pairing is not None
    assert found.pairing.low < 0 < found.pairing.high
    assert axis(planted(5, apart=4), *lists(5)).pairing is None  # too few to test as pairs


def test_both_ends_are_named():
    found = axis(planted(3, apart=4), *lists(3), words=["high", "low", "middle"])
    assert found.to_dict()["start"] == ["from0", "from1", "from2"]
    shown = [tuple(map(str, row)) if isinstance(row, tuple) else str(row) for row in found.rows()]
    assert shown[0] == "negative: from0 from1 from2   positive: to0 to1 to2"
    nearer = {row[2]: row[3] for row in shown if isinstance(row, tuple)}
    assert (nearer["low"], nearer["high"], nearer["middle"]) == ("from0", "to0", "uncertain")
    assert nearer["from1"] == "from0 (in the list from)"


def test_one_word_a_side_makes_an_axis_but_no_test():
    found = axis(planted(2, apart=4), ["from0"], ["to0"], words=["high", "low"])
    assert math.isnan(found.p)
    assert math.isnan(found.accuracy)
    places = {each.word: each for each in found.words}
    assert places["from0"].value == pytest.approx(-places["to0"].value)
    assert places["low"].value < 0 < places["high"].value
    assert math.isnan(places["low"].low)


def test_the_same_seed_gives_the_same_intervals_in_any_blocks(monkeypatch: pytest.MonkeyPatch):
    vectors = planted(10, apart=1)
    one = axis(vectors, *lists(10), words=["middle"])
    assert one.words == axis(vectors, *lists(10), words=["middle"]).words
    other = axis(vectors, *lists(10), words=["middle"], settings=AxisSettings(seed=2))
    assert one.words != other.words
    monkeypatch.setattr(word_lists, "NUMBERS_HELD", 1)
    small = axis(vectors, *lists(10), words=["middle"], settings=AxisSettings(draws=50))
    assert small.words[0].low < small.words[0].high


def test_words_of_the_lists_asked_for_again_are_listed_once():
    found = axis(planted(3, apart=4), *lists(3), words=["from0", "high", "high"])
    assert len(found.words) == 7


MISTAKES = {
    "empty": (([], ["to0"]), "'from' is empty"),
    "overlap": ((["from0", "to0"], ["to0"]), "'to0' is in both lists"),
    "twice": ((["from0", "from0"], ["to0"]), "names a word twice"),
    "zeros": ((["from0"], ["zero"]), "'zero' has a zero vector"),
    "same": ((["from0"], ["copy"]), "no axis between them"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str):
    made = planted(2, apart=1)
    vectors = Vectors.of(
        [*made.words, "zero", "copy"], np.concatenate([made.table, np.zeros((1, DIM)), made.table[:1]])
    )
    (start, end), message = MISTAKES[name]
    with pytest.raises(SettingError, match=message):
        axis(vectors, start, end)


def test_more_mistakes():
    vectors = planted(3, apart=1)
    with pytest.raises(OutOfVocabulary, match="Did you mean 'from0'"):
        axis(vectors, ["from0x"], ["to0"])
    with pytest.raises(SettingError, match="found 2 and 1 words"):
        axis(vectors, ["from0", "from1"], ["to0"], settings=AxisSettings(paired="yes"))
    constant = Vectors.of(["a", "b", "c", "d"], np.ones((4, 3)))
    with pytest.raises(SettingError, match="no axis"):
        axis(constant, ["a", "b"], ["c", "d"])
    with pytest.raises(SettingError, match="same vector twice"):
        axis(constant, ["a", "b"], ["c", "d"], settings=AxisSettings(paired="yes"))
