"""Neither "each dimension is one meaning" nor "no dimension means anything": both are measured here."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.study.evaluate.evaluate import evaluate
from inlaid.study.explain.dimensions import DimensionsSettings, ablation, dimensions, keep_dimensions, rotated
from inlaid.study.explain.traits import traits
from inlaid.vectors import Vectors

TASKS = ("world-fields", "world-analogies")


def test_a_planted_trait_is_found_in_its_dimension():
    random = np.random.default_rng(1)
    rows = random.standard_normal((500, 8))
    trait = random.integers(0, 2, 500).astype(float)
    rows[:, 5] += trait
    found = traits(Vectors.of([f"w{id:03}" for id in range(500)], rows), {"planted": trait})
    assert (found[0].dimension, found[0].trait) == (5, "planted")
    assert found[0].correlation > 0.3
    assert found[0].p < 1e-6
    assert {each.trait for each in found if each.p < 0.01} == {"planted"}
    assert len(found) == 2 * 8  # all words are as long as each other, so length goes with nothing


def test_noise_correlates_with_nothing():
    random = np.random.default_rng(2)
    words = [f"w{'x' * (id % 7)}{id}" for id in range(400)]
    found = [traits(Vectors.of(words, random.standard_normal((400, 20))))[0].p for _ in range(10)]
    assert np.mean(np.array(found) < 0.05) <= 0.2


def test_p_is_adjusted_for_all_dimensions_and_traits():
    found = traits(
        Vectors.of([f"w{id}" for id in range(100)], np.random.default_rng(3).standard_normal((100, 50)))
    )
    p = [each.p for each in found]
    assert max(p) <= 1
    assert min(p) > 0.01
    assert p == sorted(p)


def test_a_rotation_keeps_every_score_and_changes_every_dimension(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    turned = rotated(vectors)
    np.testing.assert_allclose(turned.unit @ turned.unit.T, vectors.unit @ vectors.unit.T, atol=1e-5)
    for before, after in zip(evaluate(vectors, TASKS), evaluate(turned, TASKS), strict=True):
        assert after.value == pytest.approx(
            before.value, abs=0.005
        )  # equal up to words that tie in the last bits
    first = traits(vectors)
    second = traits(turned)
    assert abs(first[0].correlation - second[0].correlation) > 0.02
    as_table = [{(each.dimension, each.trait): each.correlation for each in some} for some in (first, second)]
    moved = [abs(as_table[0][key] - as_table[1][key]) for key in as_table[0]]
    assert np.mean(moved) > 0.05


def test_no_dimension_is_one_meaning_and_none_is_without(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    found = traits(vectors)
    fields: dict[str, set[int]] = {}
    for each in found:
        if each.p < 0.01:
            fields.setdefault(each.trait, set()).add(each.dimension)
    assert (
        sum(len(held) > 1 for held in fields.values()) > len(fields) / 2
    )  # a meaning is spread over several dimensions
    told = set().union(*fields.values())
    assert len(told) > vectors.dim / 2  # most dimensions go with something
    whole = evaluate(vectors, ["world-fields"])[0].value
    without = [
        evaluate(keep_dimensions(vectors, np.delete(np.arange(60), gone)), ["world-fields"])[0].value
        for gone in range(0, 60, 6)
    ]
    assert min(without) > whole - 0.05  # and no single one is missed


def test_quality_falls_as_dimensions_go(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    points = ablation(vectors, ["world-fields"], settings=DimensionsSettings(steps=6, runs=2))
    assert {each.left for each in points} == {60, 50, 40, 30, 20, 10}
    curve = {(each.order, each.left): each for each in points}
    for order in ("most", "least", "random"):
        assert curve[order, 60].value == pytest.approx(curve["most", 60].value)
        assert curve[order, 10].value < curve[order, 60].value
        assert all(each.low <= each.value <= each.high for each in points if each.order == order)
    assert curve["least", 10].value > curve["most", 10].value


def test_one_at_a_time_and_the_same_again(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    small = keep_dimensions(vectors, np.arange(4))
    one, again = (
        ablation(small, ["world-fields"], settings=DimensionsSettings(steps=4, runs=1)) for _ in range(2)
    )
    assert [each.left for each in one if each.order == "most"] == [4, 3, 2, 1]
    assert one == again


def test_kept_dimensions_are_the_last_of_the_order(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    np.testing.assert_array_equal(keep_dimensions(vectors, np.array([3, 1])).table, vectors.table[:, [1, 3]])


def test_both_in_one(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    found = dimensions(vectors, ["world-fields"], settings=DimensionsSettings(steps=1, runs=1))
    assert found.ablation
    assert found.traits


def test_too_few_words():
    with pytest.raises(SettingError, match="too few"):
        traits(Vectors.of(["a", "b"], [[1, 0], [0, 1]]))
    assert all(
        each.correlation == 0 for each in traits(Vectors.of(list("abcde"), np.ones((5, 3))))
    )  # constant: nothing goes with it


def test_of_a_large_space_the_first_words_are_scored(english: tuple[Vectors, Corpus]):
    """Any answer after that could only be wrong."""
    vectors, _ = english
    noise = np.random.default_rng(1).standard_normal((500, vectors.dim)) + vectors.table.mean(axis=0)
    larger = Vectors.of(
        [*vectors.words, *(f"w{id}" for id in range(500))], np.concatenate([vectors.table, noise])
    )
    settings = DimensionsSettings(steps=1, runs=1, top=len(vectors))
    assert ablation(larger, TASKS, settings=settings) == ablation(
        Vectors.of(list(vectors.words), vectors.table), TASKS, settings=settings
    )
