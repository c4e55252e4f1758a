"""Each intrinsic for sixteen pairs computes what its plain version says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.kernels.compile import kernel
from inlaid.kernels.simd import tiles


@kernel
def _gradients(scores, weights, labels, shift, begin):
    tiles.gradients(scores, weights, labels, shift, begin)


@kernel
def _matches(ids, begin, id):
    return tiles.matches(ids, begin, id)


@kernel
def _inside(lows, highs, first, place, values, out, begin, each):
    if each:
        tiles.contexts_of_centers(lows, highs, first, place, values, out, begin)
    else:
        tiles.centers_of_contexts(lows, highs, first, place, values, out, begin)


@kernel
def _repeat_four(values, out, begin):
    tiles.repeat_four(values, out, begin)


def test_gradients_also_where_scores_are_large_or_no_numbers():
    scores = np.array(
        [0, 1, -1, 5, -5, 20, -20, 79, -79, 200, -200, 1e30, -1e30, 0.1, -0.1, np.nan] * 2, np.float32
    )
    weights = np.linspace(0.1, 1, 32, dtype=np.float32)
    labels = np.array([1] * 20 + [0] * 20, np.float32)
    ours = scores.copy()
    plain = scores.astype(np.float64)
    for begin in (0, 16):
        _gradients(ours, weights, labels, 4, begin)
        with np.errstate(over="ignore"):
            tiles.gradients_plain(plain, weights, labels, 4, begin)
    np.testing.assert_allclose(ours, plain, atol=2e-7)
    assert np.isnan(ours[[15, 31]]).all()


def test_gradients_on_a_cpu_without_fused_multiply_add(tmp_path: Path):
    """There a * b + c is two instructions, which the compiler may reassociate. `make test-cpus` runs all
    tests of kernels this way."""
    name = f"{__file__}::{test_gradients_also_where_scores_are_large_or_no_numbers.__name__}"
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout


@given(st.lists(st.integers(-5, 5), min_size=20, max_size=20), st.integers(0, 4), st.integers(-5, 5))
@settings(deadline=None)
def test_matches(ids: list[int], begin: int, id: int):
    numbers = np.array(ids, np.int32)
    assert _matches(numbers, begin, id) == tiles.matches_plain(numbers, begin, id)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=16, max_size=16),
    st.integers(0, 12),
    st.integers(0, 12),
    st.booleans(),
)
@settings(deadline=None)
def test_windows(widths: list[tuple[int, int]], first: int, place: int, each: bool):
    lows = np.array([max(n - before, 0) for n, (before, _) in enumerate(widths)], np.int32)
    highs = np.array([n + 1 + behind for n, (_, behind) in enumerate(widths)], np.int32)
    values = np.array([1, 2, 3, 4], np.float32)
    ours = np.full(20, 9, np.float32)
    plain = np.full(20, 9, np.float32)
    _inside(lows, highs, first, place, values, ours, 2, each)
    tiles.inside_plain(lows, highs, first, place, values, plain, 2, words_are_centers=each)
    np.testing.assert_array_equal(ours, plain)


def test_four_are_repeated():
    values = np.array([1, 2, 3, 4], np.float32)
    ours = np.zeros(20, np.float32)
    plain = np.zeros(20, np.float32)
    _repeat_four(values, ours, 3)
    tiles.repeat_four_plain(values, plain, 3)
    np.testing.assert_array_equal(ours, plain)
