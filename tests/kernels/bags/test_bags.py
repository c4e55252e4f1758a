"""The kernels of bags agree with their reference."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.feed.bags import BagIds, BagSettings, TokenIds, hashed_features, means, weighted_means
from inlaid.kernels.bags import reference

SIZE = 20


@pytest.mark.parametrize("word_ngrams", [1, 2, 3])
def test_features_are_those_of_the_reference(word_ngrams: int):
    random = np.random.default_rng(1)
    lengths = random.integers(0, 9, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = random.integers(0, SIZE + 4, offsets[-1]).astype(np.int32)  # some are outside the vocabulary
    spelled = [random.integers(0, 50, random.integers(0, 4)).tolist() for _ in range(SIZE + 4)]
    grams = BagIds(
        np.array([bucket for word in spelled for bucket in word], np.int32),
        np.cumsum([0, *map(len, spelled)]),
    )
    settings = BagSettings(word_ngrams=word_ngrams, min_n=1, max_n=2, buckets=50)
    found = hashed_features(TokenIds(ids, offsets), SIZE, settings, grams)
    for text in range(len(lengths)):
        expected = reference.features(
            ids[offsets[text] : offsets[text + 1]].tolist(),
            size=SIZE,
            word_ngrams=word_ngrams,
            buckets=50,
            spelled=spelled,
        )
        # the reference lists n-grams of a word after the word, and its spelling last, as the kernel does
        assert found.ids[found.bounds[text] : found.bounds[text + 1]].tolist() == expected


def test_an_out_of_vocabulary_word_breaks_ngrams():
    with_unknown = reference.features([1, SIZE, 2], size=SIZE, word_ngrams=2, buckets=50, spelled=())
    end = reference.features([2], size=SIZE, word_ngrams=2, buckets=50, spelled=())
    assert with_unknown == [1, *end]


def test_what_a_text_ends_with_is_a_feature_of_ngrams():
    def features(ids: list[int], word_ngrams: int = 2) -> set[int]:
        return set(reference.features(ids, size=SIZE, word_ngrams=word_ngrams, buckets=1 << 20, spelled=()))

    ends = features([1, 3]) & features([2, 3])
    assert len(ends) == 2  # the word, and its place at the end
    assert len(ends & features([3, 1])) == 1
    assert features([1, 3], word_ngrams=1) == {1, 3}


def test_means_are_those_of_the_reference_and_zero_for_an_empty_bag():
    random = np.random.default_rng(2)
    table = random.normal(size=(30, 7)).astype(np.float32)
    bounds = np.array([0, 3, 3, 10])
    ids = random.integers(0, 30, 10).astype(np.int32)
    found = means(table, BagIds(ids, bounds))
    np.testing.assert_allclose(found, reference.means(table, ids, bounds), rtol=1e-5, atol=1e-6)
    assert not found[1].any()


def test_weighted_means_are_those_of_the_reference():
    random = np.random.default_rng(3)
    table = random.normal(size=(30, 7)).astype(np.float32)
    composed = random.normal(size=(5, 7)).astype(np.float32)
    weights = random.random(30, np.float32)
    bounds = np.array([0, 3, 3, 20])
    ids = random.integers(0, 35, 20).astype(np.int32)
    found = weighted_means(table, composed, weights, BagIds(ids, bounds))
    expected = reference.weighted_means(table, composed, weights, ids, bounds)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert not found[1].any()
