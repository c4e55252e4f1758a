"""Our neighbors are gensim's, on the same vectors."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.study.search.analogy import analogy
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Vectors

gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")


@pytest.fixture(scope="module")
def both():
    random = np.random.default_rng(1)
    words = [f"w{id}" for id in range(5000)]
    table = (random.standard_normal((5000, 60)) * random.uniform(0.1, 9, (5000, 1))).astype(np.float32)
    peer = gensim.KeyedVectors(60)
    peer.add_vectors(words, table)
    return Vectors.of(words, table), peer


def agree(ours, theirs) -> None:
    assert [each.word for each in ours] == [word for word, _ in theirs]
    np.testing.assert_allclose([each.score for each in ours], [score for _, score in theirs], atol=1e-5)


@pytest.mark.parametrize("id", range(0, 5000, 500))
def test_neighbors(both, id: int):
    vectors, peer = both
    agree(neighbors(vectors, f"w{id}", n=20), peer.most_similar(f"w{id}", topn=20))
    agree(
        neighbors(vectors, f"w{id}", n=20, top=700), peer.most_similar(f"w{id}", topn=20, restrict_vocab=700)
    )


def test_formulas_and_several_words(both):
    vectors, peer = both
    agree(
        analogy(vectors, "w1 - w2 + w3", n=20),
        peer.most_similar(positive=["w1", "w3"], negative=["w2"], topn=20),
    )
    agree(
        analogy(vectors, "2 * w1 - 0.5 * w2", n=20),
        peer.most_similar(positive=[("w1", 2.0), ("w2", -0.5)], topn=20),
    )
    agree(analogy(vectors, "w8 + w9", n=20), peer.most_similar(positive=["w8", "w9"], topn=20))


def test_a_vector(both):
    vectors, peer = both
    row = np.random.default_rng(2).standard_normal(60).astype(np.float32)
    agree(neighbors(vectors, row, n=20), peer.similar_by_vector(row, topn=20))
