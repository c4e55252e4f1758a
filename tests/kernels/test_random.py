"""Draws are uniform, independent, and the same in kernels and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.kernels import random
from inlaid.kernels.compile import kernel


@kernel
def _draws(key, positions, numbers, out):
    for n in range(len(positions)):
        out[n] = random.draw(random.counter(key, positions[n]), numbers[n])


@kernel
def _noise(key, position, noise, out):
    for n in range(len(out)):
        out[n] = random.noise_word(random.counter(key, position), n, len(out), noise)


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 1, 2**40])
def test_kernels_and_arrays_draw_the_same(seed: int):
    generator = np.random.default_rng(seed)
    positions = generator.integers(0, 2**40, 1000)
    numbers = generator.integers(0, 2**31, 1000)
    out = np.zeros(1000, np.uint32)
    _draws(random.key_of(seed, 3), positions, numbers, out)
    np.testing.assert_array_equal(out, random.draws(random.key_of(seed, 3), positions, numbers))


def _surprise(counts: np.ndarray) -> float:
    """How many standard deviations chi-square is from what chance gives."""
    expected = counts.sum() / counts.size
    degrees = counts.size - 1
    return abs((((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees))


@pytest.mark.parametrize("shift", [0, 12, 24])
def test_draws_are_uniform_in_all_their_bits(shift: int):
    drawn = random.draws(random.key_of(1, 1), np.arange(100_000), 0)
    assert _surprise(np.bincount(drawn >> np.uint32(shift) & np.uint32(255), minlength=256)) < 5


@pytest.mark.parametrize(
    "other",
    [(1, 1, 0, 1), (1, 2, 0, 0), (2, 1, 0, 0), (2**32 + 1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 2**32, 0)],
    ids=["number", "epoch", "seed", "high seed", "next position", "far position"],
)
def test_streams_that_differ_in_one_thing_are_independent(other: tuple[int, int, int, int]):
    seed, epoch, shift, number = other
    here = random.draws(random.key_of(1, 1), np.arange(100_000), 0)
    there = random.draws(random.key_of(seed, epoch), np.arange(100_000) + shift, number)
    together = (here >> np.uint32(28)).astype(int) * 16 + (there >> np.uint32(28)).astype(int)
    assert _surprise(np.bincount(together, minlength=256)) < 5


def test_noise_words_follow_the_noise_distribution():
    weights = np.array([1000, 300, 0, 20, 3, 1]) ** 0.75
    noise = random.alias_table(weights)
    drawn = np.concatenate(
        [random.noise_words(random.key_of(1, 1), position, 16, noise) for position in range(4000)]
    )
    share = np.bincount(drawn, minlength=6) / len(drawn)
    expected = weights / weights.sum()
    np.testing.assert_allclose(share, expected, atol=5 * np.sqrt(0.25 / len(drawn)))
    assert share[2] == 0


@pytest.mark.parametrize(
    "weights", [[5], [1, 1], [9, 1], [1, 9], [1, 0, 2, 0, 97, 3], [3, 3, 3, 3], np.arange(2000) ** 1.5]
)
def test_an_alias_table_has_the_distribution_of_its_weights(weights: list[int] | np.ndarray):
    noise = random.alias_table(np.array(weights, float))
    own = noise[:, 0] / 2**32
    others = noise[:, 1]
    own[others == np.arange(len(noise))] = 1
    share = (own + np.bincount(others, 1 - own, minlength=len(noise))) / len(noise)
    np.testing.assert_allclose(share, np.array(weights, float) / np.sum(weights), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 7, 5000])
def test_kernel_and_array_find_the_same_noise_words(size: int):
    noise = random.alias_table(np.random.default_rng(1).zipf(1.3, size).astype(float))
    for position in range(50):
        out = np.zeros(32, np.int32)
        _noise(random.key_of(7, 2), position, noise, out)
        np.testing.assert_array_equal(out, random.noise_words(random.key_of(7, 2), position, 32, noise))


def test_first_vectors_are_uniform_and_each_row_its_own():
    table = np.zeros((3000, 20), np.float32)
    random.uniform(random.key_of(1, 0), table, 0.5)
    assert -0.5 <= table.min() < -0.49
    assert 0.49 < table.max() <= 0.5
    assert abs(table.mean()) < 0.01
    assert len(np.unique(table[:, 0])) > 2990
