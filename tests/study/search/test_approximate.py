"""Approximate search: what it finds is scored exactly, and what it misses is measured."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.study.search import neighbors as search
from inlaid.study.search.approximate import Approximate, approximate
from inlaid.vectors import Vectors

pytest.importorskip("faiss", reason="the extra `ann` is not installed")


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    rows = np.random.default_rng(1).standard_normal((2000, 16))
    return Vectors.of([f"w{id}" for id in range(2000)], rows * np.linspace(1, 9, 2000)[:, None])


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_recall_is_what_is_found(vectors: Vectors, kind: str):
    said = []
    near = approximate(vectors, Approximate(kind=kind, effort=64), queries=2000, report=said.append)  # pyright: ignore
    words = list(vectors.words)
    exact = search.neighbors_of_each(vectors, words, include=True)
    found = near.neighbors_of_each(words, include=True)
    shares = [
        len({each.word for each in a} & {each.word for each in b}) / 10
        for a, b in zip(exact, found, strict=True)
    ]
    assert near.recall == pytest.approx(np.mean(shares))
    assert near.recall > 0.8
    assert f"{near.recall:.1%} of the 10 nearest words, measured on 2,000 words" in said[0].text


def test_looking_everywhere_is_exact(vectors: Vectors):
    near = approximate(vectors, Approximate(kind="ivf", lists=10, probes=10))
    assert near.recall == 1
    queries = ["w5", ["w6", "w7"], vectors["w8"]]
    assert near.neighbors_of_each(queries) == search.neighbors_of_each(vectors, queries)
    assert near.neighbors("w5", n=3) == search.neighbors(vectors, "w5", n=3)
    assert near.neighbors_of_each([]) == []


def test_small_spaces_and_bad_requests():
    near = approximate(Vectors.of(["a", "b"], [[1, 0], [0, 1]]))
    assert [each.word for each in near.neighbors("a", n=10)] == ["b"]
    with pytest.raises(SettingError, match="n is 0"):
        near.neighbors("a", n=0)
    with pytest.raises(SettingError, match="vector of zeros"):
        near.neighbors(np.zeros(2))
