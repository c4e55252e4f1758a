"""Each vector part does what its plain twin says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.kernels.compile import kernel
from inlaid.kernels.simd import byte_vectors


@kernel
def _between(text, here, low, high):
    return byte_vectors.between(text, here, low, high)


@kernel
def _put_words(text, here, kept, upper, newlines, out):
    byte_vectors.put_words(text, here, kept, upper, newlines, out)


@kernel
def _copy(text, here, out, there):
    byte_vectors.copy(text, here, out, there)


@kernel
def _eight(text, here):
    return byte_vectors.eight(text, here)


@kernel
def _lowest_bit(bits):
    return byte_vectors.lowest_bit(bits)


BYTES = st.binary(min_size=130, max_size=130).map(lambda data: np.frombuffer(data, np.uint8))
BITS = st.integers(0, 2**64 - 1)


@given(BYTES, st.integers(0, 64), st.integers(0, 255), st.integers(0, 255))
@settings(deadline=None)
def test_between(text: np.ndarray, here: int, low: int, high: int):
    assert int(_between(text, here, low, high)) == byte_vectors.between_plain(text, here, low, high)


@given(BYTES, st.integers(0, 64), BITS, BITS, BITS)
@settings(deadline=None)
def test_put_words(text: np.ndarray, here: int, kept: int, upper: int, newlines: int):
    upper &= byte_vectors.between_plain(text, here, 65, 90)  # only capitals are lowered
    ours = np.zeros(200, np.uint8)
    plain = np.zeros(200, np.uint8)
    _put_words(text, here, np.uint64(kept), np.uint64(upper), np.uint64(newlines), ours)
    byte_vectors.put_words_plain(text, here, kept, upper, newlines, plain)
    np.testing.assert_array_equal(ours, plain)


@given(BYTES, st.integers(0, 64), st.integers(0, 100))
@settings(deadline=None)
def test_copy(text: np.ndarray, here: int, there: int):
    ours = np.zeros(200, np.uint8)
    plain = np.zeros(200, np.uint8)
    _copy(text, here, ours, there)
    byte_vectors.copy_plain(text, here, plain, there)
    np.testing.assert_array_equal(ours, plain)


@given(BYTES, st.integers(0, 120))
@settings(deadline=None)
def test_eight(text: np.ndarray, here: int):
    assert int(_eight(text, here)) == byte_vectors.eight_plain(text, here)


@given(BITS)
@settings(deadline=None)
def test_lowest_bit(bits: int):
    assert _lowest_bit(np.uint64(bits)) == byte_vectors.lowest_bit_plain(bits)
