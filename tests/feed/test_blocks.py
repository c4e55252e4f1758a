"""Blocks: every word once an epoch, in whole sentences; a rate that falls; as much noise as the rate calls
for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.blocks import BLOCK, BLOCKS, Blocks


@pytest.fixture(scope="module")
def blocks() -> Blocks:
    corpus = encode(world.sentences("en", words=200_000), Encoding(min_count=1))
    return Blocks(
        corpus=corpus,
        window=5,
        negatives=5,
        subsample=1e-3,
        noise_exponent=0.75,
        learning_rate=0.025,
        epochs=2,
        seed=1,
    )


def test_every_word_is_read_once_an_epoch_and_no_sentence_is_cut(blocks: Blocks):
    done = 0
    ends = []
    while done < blocks.total:
        some = blocks.after(done)
        assert len(some) <= BLOCKS
        assert len({block.epoch for block in some}) == 1
        for block in some:
            assert block.start == done % blocks.words
            assert 0 < block.stop - block.start <= BLOCK
            ends.append(block.stop)
            done = blocks.done(block)
    assert done == blocks.total
    assert set(ends) <= set(blocks.corpus.offsets.tolist())


def test_the_rate_falls_in_a_straight_line(blocks: Blocks):
    rates = [blocks.rate_after(done) for done in (0, blocks.total // 2, blocks.total)]
    np.testing.assert_allclose(rates, [0.025, 0.0125, 0.025e-4], rtol=1e-4)


@pytest.mark.parametrize(
    ("rate", "negatives", "shared"),
    [
        (0.001, 5, 16),
        (0.025, 5, 16),
        (0.05, 5, 32),
        (0.1, 5, 64),
        (10.0, 5, 64),
        (0.025, 17, 32),
        (0.05, 100, 112),
    ],
)
def test_more_negatives_are_shared_at_a_higher_rate_and_never_fewer_than_asked_for(
    blocks: Blocks, rate: float, negatives: int, shared: int
):
    other = replace(blocks, learning_rate=rate, negatives=negatives)
    assert other.shared == shared
    assert other.shared_to_measure == replace(other, learning_rate=0.025).shared_to_measure >= shared


def test_fewer_are_shared_at_a_low_rate_where_fewer_will_do(blocks: Blocks):
    fewer = replace(blocks, shared_least=12)
    assert [
        replace(fewer, learning_rate=rate, negatives=n).shared
        for rate, n in ((0.025, 5), (0.025, 13), (0.05, 5))
    ] == [12, 24, 32]
