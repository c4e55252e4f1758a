"""Batches by length: each text once an epoch, little padding, the same number of batches in every epoch."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.feed.length_buckets import LengthBuckets, padded, split_long


@pytest.fixture
def lengths() -> np.ndarray:
    return np.random.default_rng(1).integers(1, 40, 500)


def test_each_text_is_in_one_batch(lengths: np.ndarray):
    buckets = LengthBuckets(lengths, 100, seed=1)
    for epoch in (0, 3):
        ends = buckets.ends(epoch)
        batches = [buckets.texts(epoch, number) for number in range(len(ends))]
        assert sorted(np.concatenate(batches)) == list(range(500))
        sizes = [int(lengths[batch].sum()) for batch in batches]
        assert np.array_equal(np.cumsum(sizes), ends)
        assert ends[-1] == lengths.sum()


def test_a_batch_has_no_more_tokens_than_allowed_and_as_many_as_fit(lengths: np.ndarray):
    buckets = LengthBuckets(lengths, 100, seed=1)
    ordered = np.sort(lengths)
    for first, last in zip(buckets.bounds[:-1], buckets.bounds[1:], strict=True):
        assert (last - first) * ordered[last - 1] <= 100
        if last < len(ordered):
            assert (last - first + 1) * ordered[last] > 100


def test_a_text_longer_than_a_batch_is_a_batch():
    buckets = LengthBuckets(np.array([2, 300, 2]), 10, seed=1)
    assert buckets.bounds.tolist() == [0, 2, 3]


def test_epochs_mix_texts_of_one_length_and_the_order_of_batches():
    buckets = LengthBuckets(np.full(64, 5), 20, seed=1)
    first = [set(buckets.texts(0, number).tolist()) for number in range(16)]
    second = [set(buckets.texts(1, number).tolist()) for number in range(16)]
    assert first != second
    again = LengthBuckets(np.full(64, 5), 20, seed=1)
    assert [set(again.texts(1, number).tolist()) for number in range(16)] == second


def test_long_sentences_are_cut_into_equal_parts_and_nothing_is_lost():
    offsets = np.array([0, 0, 5, 5, 27, 30])
    starts, stops = split_long(offsets, 8)
    assert (stops - starts).max() <= 8
    tokens = [token for start, stop in zip(starts, stops, strict=True) for token in range(start, stop)]
    assert tokens == list(range(30))
    assert (stops - starts).tolist() == [5, 7, 7, 8, 3]


def test_padding_fills_the_ends():
    rows = padded([np.array([1, 2]), np.array([3])], 9)
    assert rows.tolist() == [[1, 2], [3, 9]]
