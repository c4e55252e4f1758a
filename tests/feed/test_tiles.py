"""Tiles: every cell once an epoch, and no row or column shared inside a stratum."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.cooccurrence import cooccurrence
from inlaid.feed.tiles import Tiles, tiles


@pytest.fixture(scope="module")
def made() -> Tiles:
    random = np.random.default_rng(4)
    text = [[f"{id:02}" for id in random.zipf(1.3, 20) if id < 60] for _ in range(100)]
    cells = cooccurrence(encode(text, Encoding(min_count=1)), window=3)
    return tiles(cells, parts=7, x_max=100.0, alpha=0.75, seed=2, memory=100)


def visited(made: Tiles, epoch: int) -> list[int]:
    return [
        tile.start + (tile.first + n * tile.stride) % (tile.stop - tile.start)
        for stratum in made.epoch(epoch)
        for tile in stratum
        for n in range(tile.stop - tile.start)
    ]


def test_every_cell_is_visited_once_an_epoch_in_another_order_each_time(made: Tiles):
    orders = [visited(made, epoch) for epoch in range(3)]
    assert all(sorted(order) == list(range(len(made))) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    assert visited(made, 0) == orders[0]


def test_tiles_of_a_stratum_share_neither_row_nor_column(made: Tiles):
    for stratum in made.epoch(0):
        for side in (0, 1):
            seen = [set(made.places[tile.start : tile.stop, side].tolist()) for tile in stratum]
            assert sum(map(len, seen)) == len(set().union(*seen))
