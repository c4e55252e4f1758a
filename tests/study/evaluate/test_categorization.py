"""Clusters, categories and outlier sets from data that has them."""

from __future__ import annotations

import itertools

import numpy as np

from inlaid.study.evaluate.categorization import grouped, kmeans, right_of, with_outliers


def test_planted_clusters_are_found():
    random = np.random.default_rng(1)
    wanted = np.repeat(np.arange(6), 30)
    points = (10 * random.standard_normal((6, 20))[wanted] + random.standard_normal((180, 20))).astype(
        np.float32
    )
    found = kmeans(points, 6)
    assert len({(a, b) for a, b in zip(found.tolist(), wanted.tolist(), strict=True)}) == 6
    assert np.array_equal(found, kmeans(points, 6))


def test_more_clusters_than_different_points_is_no_crash():
    assert len(kmeans(np.ones((5, 2), np.float32), 3)) == 5
    assert kmeans(np.ones((1, 2), np.float32), 1).tolist() == [0]


def test_purity_counts_the_leading_category_of_each_cluster():
    right = right_of(np.array([0, 0, 0, 1, 1]), ["a", "a", "b", "b", "c"])
    assert right.tolist() == [1, 1, 0, 1, 0]  # b and c are level; the earlier name leads


def test_categories_come_out_of_analogies():
    cities = [f"city{n}" for n in range(9)]
    questions = [(a, f"{a}-opera", b, f"{b}-opera") for a, b in itertools.pairwise(cities)]
    found = grouped(questions, ["geography"] * len(questions))
    assert sorted(map(len, found.values())) == [9, 9]
    assert {word.endswith("opera") for word in found["geography: city0-opera"]} == {True}


def test_kinds_on_both_sides_are_left_out():
    chain = [f"w{n}" for n in range(12)]
    questions = [(chain[n], chain[n + 1], chain[n + 2], chain[n + 3]) for n in range(9)]
    assert grouped(questions, ["mixed"] * 9) == {}


def test_an_outlier_is_of_another_category_and_the_order_of_words_does_not_matter():
    categories = {"a": [f"a{n}" for n in range(10)], "b": [f"b{n}" for n in range(8)], "few": ["x", "y"]}
    sets = with_outliers(categories, each=3)
    assert len(sets) == 6
    assert all(len(words) == 9 and {word[0] for word in words[:8]} != {words[8][0]} for words in sets)
    assert sets == with_outliers({name: words[::-1] for name, words in reversed(categories.items())}, each=3)
