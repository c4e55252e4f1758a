"""PPMI: exact when small, as exact as needed when large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid import blas
from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import SettingError, SourceError
from inlaid.feed.cooccurrence import Cells
from inlaid.fit import ppmi
from inlaid.fit.ppmi import PPMI
from inlaid.kernels.cooccurrence import reference


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    random = np.random.default_rng(3)
    return encode(
        [[str(id) for id in random.zipf(1.4, 40) if id < 300] for _ in range(400)], Encoding(min_count=2)
    )


def test_the_table_is_the_truncated_svd_of_the_specification(corpus: Corpus):
    counts = reference.cooccurrence(corpus.ids, corpus.offsets, len(corpus.vocabulary), 5, np.ones(6))
    left, strength, _ = np.linalg.svd(reference.ppmi(counts, 0.75, 1.0))
    table = inlaid.train(corpus, PPMI(dim=20)).table
    # Signs are free, so compare what the vectors say about each other.
    expected = left[:, :20] * strength[:20] ** 0.5
    np.testing.assert_allclose(table @ table.T, expected @ expected.T, atol=1e-3)


def test_projection_agrees_with_the_exact_decomposition(monkeypatch: pytest.MonkeyPatch):
    corpus = encode(world.sentences("en", words=50_000), Encoding())
    exact = inlaid.train(corpus, PPMI(dim=50, singular_exponent=1.0)).table
    monkeypatch.setattr(ppmi, "DENSE", 0)
    projected = inlaid.train(corpus, PPMI(dim=50, singular_exponent=1.0)).table
    np.testing.assert_allclose(np.linalg.norm(projected, axis=0), np.linalg.norm(exact, axis=0), rtol=2e-3)
    difference = np.linalg.norm(projected @ projected.T - exact @ exact.T) / np.linalg.norm(exact @ exact.T)
    assert difference < 0.01


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_the_same_bits_for_any_number_of_workers(
    corpus: Corpus, workers: int, crew: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ppmi, "DENSE", 0)
    one = inlaid.train(corpus, "ppmi", dim=20)
    crew.expect(workers)
    # With little memory the counting, too, has a piece for every worker.
    many = inlaid.train(corpus, "ppmi", dim=20, workers=workers, memory=1)
    assert set(crew.together.values()) == {workers}, crew.together
    assert one.table.tobytes() == many.table.tobytes()


def test_a_large_vocabulary_never_becomes_a_dense_table(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(5)
    large = encode(
        [[str(id) for id in random.integers(0, 3000, 20)] for _ in range(1500)], Encoding(min_count=1)
    )
    monkeypatch.setattr(Cells, "dense", lambda _: pytest.fail("a table of words by words was made"))
    tables = [
        inlaid.train(large, PPMI(dim=5, workers=workers, memory=memory)).table
        for workers, memory in ((1, 1), (3, 1000))
    ]
    assert len(tables[0]) > 2900
    assert tables[0].tobytes() == tables[1].tobytes()


def test_power_scales_the_directions(corpus: Corpus):
    flat = inlaid.train(corpus, PPMI(dim=5, singular_exponent=0.0)).table
    full = inlaid.train(corpus, PPMI(dim=5, singular_exponent=1.0)).table
    np.testing.assert_allclose(np.linalg.norm(flat, axis=0), 1, rtol=1e-5)
    assert (np.diff(np.linalg.norm(full, axis=0)) < 0).all()


def test_more_dimensions_than_words_are_refused():
    with pytest.raises(SettingError, match="dim is 100, but 3 words have at most 3 dimensions"):
        inlaid.train(encode(["a b c"], Encoding(min_count=1)), PPMI())


def test_words_that_never_co_occur_are_refused():
    with pytest.raises(SourceError, match="No word has a context"):
        inlaid.train(encode(["a", "b"], Encoding(min_count=1)), PPMI(dim=1))


def test_words_without_contexts_have_vectors_of_zeros(monkeypatch: pytest.MonkeyPatch):
    """The text gives fewer directions than asked for: those that complete them are rounding, and would give
    words that occur in no pair a direction of their own."""
    monkeypatch.setattr(ppmi, "DENSE", 0)
    sentences = ["a b c", "b c a", "c a b"] * 20 + ["d", "e", "f", "g", "h"]
    corpus = inlaid.corpus(sentences, tokenizer="whitespace", min_count=1)
    vectors = inlaid.train(corpus, "ppmi", dim=6)
    lengths = dict(zip(vectors.words, np.linalg.norm(vectors.table, axis=1), strict=True))
    assert all(lengths[word] == 0 for word in "defgh")
    assert all(lengths[word] > 0 for word in "abc")


def test_the_decomposition_keeps_to_its_workers(monkeypatch: pytest.MonkeyPatch):
    """BLAS has threads of its own; without OpenBLAS there is nothing to keep."""
    found = blas._openblas()
    if found is None:
        pytest.skip("NumPy has another library than OpenBLAS here")
    get, set_threads = found
    before = get()
    used = list[int]()
    svd = np.linalg.svd

    def counted(*given: Any, **named: Any) -> Any:
        used.append(get())
        return svd(*given, **named)

    monkeypatch.setattr(np.linalg, "svd", counted)
    set_threads(2)
    try:
        for workers in (1, 2):
            inlaid.train([["cat", "dog", "car"]] * 30, "ppmi", dim=2, min_count=1, workers=workers)
        assert used == [1, 2]
        assert get() == 2
    finally:
        set_threads(before)
