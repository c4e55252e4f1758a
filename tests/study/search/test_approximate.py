"""Approximate search: what it finds is scored exactly, and what it misses is measured."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.errors import SettingError
from inlaid.study.search.approximate import ApproximateSettings, approximate
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Vectors

pytest.importorskip("faiss", reason="the extra `ann` is not installed")


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    rows = np.random.default_rng(1).standard_normal((2000, 16))
    return Vectors.of([f"w{id}" for id in range(2000)], rows * np.linspace(1, 9, 2000)[:, None])


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_recall_is_what_is_found(vectors: Vectors, kind: str):
    said = []
    near = approximate(
        vectors, ApproximateSettings(kind=kind, ef_search=64), queries=2000, report=said.append
    )  # pyright: ignore
    words = list(vectors.words)
    exact = neighbors(vectors, words, include=True)
    found = near.neighbors(words, include=True)
    shares = [
        len({each.word for each in a} & {each.word for each in b}) / 10
        for a, b in zip(exact, found, strict=True)
    ]
    assert near.recall == pytest.approx(np.mean(shares))
    assert near.recall > 0.8
    assert f"finds {near.recall:.1%} of the 10 nearest words, measured on 2,000 words" in said[0].text


def test_looking_everywhere_is_exact(vectors: Vectors):
    near = approximate(vectors, ApproximateSettings(kind="ivf", nlist=10, nprobe=10))
    assert near.recall == 1
    queries = ["w5", "w6", vectors["w8"]]
    assert near.neighbors(queries) == neighbors(vectors, queries)
    assert near.neighbors("w5", n=3) == neighbors(vectors, "w5", n=3)
    assert len(near.neighbors([])) == 0


def test_as_a_setting_of_neighbors(vectors: Vectors):
    """The index is built once for a space, and its recall is reported then."""
    notes: list[object] = []
    found = neighbors(vectors, ["w5", "w6"], approximate="ivf", nlist=10, nprobe=10, n=4, report=notes.append)
    assert found == neighbors(vectors, ["w5", "w6"], n=4)
    assert "ivf finds 100.0% of the 10 nearest words" in str(notes[0])
    neighbors(vectors, "w7", approximate="ivf", nlist=10, nprobe=10, report=notes.append)
    assert len(notes) == 1
    with pytest.raises(SettingError, match="leave out by, top and int8"):
        neighbors(vectors, "w5", approximate="hnsw", by="csls")


def test_small_spaces_and_bad_requests():
    near = approximate(Vectors.of(["a", "b"], [[1, 0], [0, 1]]))
    assert [each.word for each in near.neighbors("a", n=10)] == ["b"]
    with pytest.raises(SettingError, match="n is 0"):
        near.neighbors("a", n=0)
    with pytest.raises(SettingError, match="vector of zeros"):
        near.neighbors(np.zeros(2))
