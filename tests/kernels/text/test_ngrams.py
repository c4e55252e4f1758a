"""The n-gram kernels against their plain definitions, on any bytes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.encode.ngrams import bucket_ids
from inlaid.kernels.text import ngrams, reference

WORDS = st.lists(
    st.one_of(st.text(max_size=12).map(str.encode), st.binary(max_size=12), st.just(b"</s>")), max_size=6
)


@settings(deadline=None)  # the first call compiles
@given(
    words=WORDS,
    min_n=st.integers(0, 7),
    max_n=st.integers(0, 9),
    buckets=st.sampled_from([1, 7, 2_000_000, 2**31 - 1]),
)
def test_ids_equal_the_specification(words: list[bytes], min_n: int, max_n: int, buckets: int):
    blob = np.frombuffer(b"".join(words), np.uint8)
    offsets = np.cumsum([0, *map(len, words)])
    ids, bounds = bucket_ids(blob, offsets, min_n=min_n, max_n=max_n, buckets=buckets)
    found = [ids[start:stop].tolist() for start, stop in pairwise(bounds)]
    assert found == [reference.ngrams(word, min_n, max_n, buckets) for word in words]


def test_means_equal_the_specification_bit_for_bit():
    random = np.random.default_rng(1)
    for dim in (1, 3, 16, 300):
        rows, buckets = (random.standard_normal((size, dim)).astype(np.float32) for size in (50, 20))
        bounds = np.concatenate([[0], np.cumsum(random.integers(0, 9, 50))])
        ids = random.integers(0, 20, bounds[-1]).astype(np.int32)
        expected = reference.mean_with_ngrams(rows, buckets, ids, bounds)
        ngrams.mean_with_ngrams(rows, buckets, ids, bounds)
        assert rows.tobytes() == expected.tobytes()
