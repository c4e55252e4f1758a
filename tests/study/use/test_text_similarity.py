"""Distances of texts whose answer is known: by hand, and by linear programming."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.errors import SettingError
from inlaid.study.use.text_similarity import WordBag, rwmd, wmd
from inlaid.vectors import Vectors

WORDS = ["cat", "dog", "猫", "far"]
TABLE = [[0, 0], [3, 4], [0, 1], [30, 40]]
HAS_POT = importlib.util.find_spec("ot") is not None


@pytest.fixture
def vectors() -> Vectors:
    return Vectors.of(WORDS, TABLE)


def by_linear_programming(one: WordBag, two: WordBag) -> float:
    """The least cost of flows that leave and reach each word as its share says."""
    optimize: Any = pytest.importorskip("scipy.optimize", reason="SciPy comes with the extra `peers`")
    costs = np.linalg.norm(one.rows[:, None] - two.rows[None], axis=2)
    leave = np.kron(np.eye(len(one.shares)), np.ones(len(two.shares)))
    reach = np.kron(np.ones(len(one.shares)), np.eye(len(two.shares)))
    shares = np.concatenate([one.shares, two.shares])
    return float(optimize.linprog(costs.ravel(), A_eq=np.vstack([leave, reach]), b_eq=shares).fun)


def random_bag(random: np.random.Generator) -> WordBag:
    count = int(random.integers(1, 6))
    shares = random.random(count) + 0.1
    return WordBag(random.normal(size=(count, 3)), shares / shares.sum())


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_symmetric_zero_for_the_same_and_never_above_the_optimum(seed: int):
    random = np.random.default_rng(seed)
    one = random_bag(random)
    two = random_bag(random)
    assert rwmd(one, one) == 0
    assert rwmd(one, two) == pytest.approx(rwmd(two, one))
    assert 0 < rwmd(one, two) <= by_linear_programming(one, two) + 1e-9


@pytest.mark.skipif(not HAS_POT, reason="POT is not installed: pip install 'inlaid[wmd]'")
@pytest.mark.parametrize("seed", range(8))
def test_the_distance_is_the_optimum(seed: int):
    random = np.random.default_rng(seed)
    one = random_bag(random)
    two = random_bag(random)
    assert wmd(one, two) == pytest.approx(by_linear_programming(one, two))
    assert wmd(two, one) == pytest.approx(wmd(one, two))
    assert wmd(one, one) == pytest.approx(0, abs=1e-12)


def test_by_hand(vectors: Vectors):
    """Half of "cat dog" moves from dog to 猫: the way from (3, 4) to (0, 1); cat stays or moves 1."""
    found = inlaid.text_similarity(vectors, ["cat", "dog", "猫 猫"], measure="rwmd")
    assert [each.value for each in found.pairs] == pytest.approx([5, 1, np.hypot(3, 3)])
    bound = inlaid.text_similarity(vectors, ["cat dog", "cat"], measure="rwmd").pairs[0].value
    assert bound == pytest.approx(2.5)
    assert inlaid.text_similarity(vectors, ["Cat, dog!", "dog cat"], measure="rwmd").pairs[0].value == 0


def test_cosine_of_embedded_texts(vectors: Vectors):
    found = inlaid.text_similarity(vectors, ["cat dog", "dog 猫"], measure="cosine").pairs[0].value
    one, two = inlaid.embed(vectors, ["cat dog", "dog 猫"], unit=True).table
    assert found == pytest.approx(float(one @ two))


def test_words_without_a_vector_are_named(vectors: Vectors, tmp_path: Path, typed: Any):
    inlaid.save(vectors, tmp_path / "v.inlaid")
    command = ["text-similarity", tmp_path / "v.inlaid", "the cat", "zebra dog zebra", "--json"]
    said = json.loads(typed(*command))
    assert said["without_vector"] == ["the", "zebra"]
    assert said["pairs"] == [{"first": "the cat", "second": "zebra dog zebra", "value": pytest.approx(5)}]
    assert said["measure"] == ("wmd" if HAS_POT else "rwmd")
    assert "has no word with a vector" in typed(*command[:3], "zebra", code=2)
    assert "at least two texts" in typed(*command[:3], code=2)


def test_one_string_is_not_two_texts(vectors: Vectors):
    with pytest.raises(SettingError, match="at least two texts"):
        inlaid.text_similarity(vectors, ["cat"])
