"""GloVe's kernels against their plain definitions."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.cooccurrence import Cells, cooccurrence
from inlaid.feed.tiles import Tiles, tiles
from inlaid.fit import glove
from inlaid.kernels.glove import cpu, reference


@pytest.fixture(scope="module")
def cells() -> Cells:
    random = np.random.default_rng(3)
    text = [[str(id) for id in random.zipf(1.5, 30) if id < 200] for _ in range(200)]
    return cooccurrence(encode(text, Encoding(min_count=1)), window=3, decay=True)


def of(cells: Cells, parts: int = 5, workers: int = 1, memory: int = 100) -> Tiles:
    return tiles(cells, parts=parts, x_max=10.0, alpha=0.75, seed=3, workers=workers, memory=memory)


def test_tiles_hold_every_cell_once_with_its_logarithm_and_weight(cells: Cells):
    made = of(cells)
    rows = np.repeat(np.arange(cells.size), np.diff(cells.starts))
    order = np.lexsort((made.places[:, 1], made.places[:, 0]))
    np.testing.assert_array_equal(made.places[order, 0], rows)
    np.testing.assert_array_equal(made.places[order, 1], cells.columns)
    np.testing.assert_allclose(made.values[order, 2], np.log(cells.counts), rtol=1e-6)
    weights = [reference.glove_weight(count, 10.0, 0.75) for count in cells.counts.tolist()]
    np.testing.assert_allclose(made.values[order, 3], weights, rtol=1e-6)
    for tile, (start, stop) in enumerate(zip(made.starts, made.starts[1:], strict=False)):
        assert (made.places[start:stop, 0] % 5 == tile // 5).all()
        assert (made.places[start:stop, 1] % 5 == tile % 5).all()


@pytest.mark.parametrize(("workers", "memory"), [(3, 100), (1, 0)])
def test_tiles_are_the_same_bits_for_any_workers_and_on_disk(cells: Cells, workers: int, memory: int):
    assert of(cells, workers=workers, memory=memory).places.tobytes() == of(cells).places.tobytes()


def test_shuffling_equals_the_specification():
    pairs = np.arange(200).reshape(100, 2)
    cpu.shuffle(pairs, 12345)
    assert (pairs[:, 0] // 2).tolist() == reference.shuffled(100, 12345)
    assert (pairs[:, 1] == pairs[:, 0] + 1).all()


@pytest.mark.parametrize("dim", [1, 14, 20, 100])
def test_steps_over_a_tile_equal_the_specification(cells: Cells, dim: int):
    made = of(cells, parts=1)
    arrays = glove._first_rows(cells.size, dim, 1)
    words = arrays["words"]
    contexts = arrays["contexts"]
    plain_words = words[:, :, : dim + 1].astype(np.float64)
    plain_contexts = contexts[:, :, : dim + 1].astype(np.float64)
    plain_contexts[:, :, dim] = contexts[:, :, dim + 1]  # a context's bias is after its constant
    first = 7
    stride = 11
    assert np.gcd(stride, len(made)) == 1
    expected = 0.0
    for n in range(len(made)):
        row, column = made.places[(first + n * stride) % len(made), :2]
        target, weight = made.values[(first + n * stride) % len(made), 2:].tolist()
        expected += reference.glove_step(plain_words[row], plain_contexts[column], target, weight, 0.05)
    loss = cpu.glove_tile(words, contexts, made.places, made.values, first, stride, np.float32(0.05))
    assert loss == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(words[:, :, : dim + 1], plain_words, atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(contexts[:, :, :dim], plain_contexts[:, :, :dim], atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(contexts[:, :, dim + 1], plain_contexts[:, :, dim], atol=1e-5, rtol=1e-3)
    assert (words[:, 0, dim + 1] == 1).all()
    assert (contexts[:, 0, dim] == 1).all()
    assert (words[:, 0, dim + 2 :] == 0).all()
