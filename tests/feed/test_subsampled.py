"""Subsampled text: every word once an epoch, in whole sentences; the learning rate; the number of
negatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Encoding, encode
from inlaid.feed.subsampled import SPAN, SPANS, SubsampledText


@pytest.fixture(scope="module")
def text() -> SubsampledText:
    corpus = encode(world.sentences("en", words=200_000), Encoding(min_count=1))
    return SubsampledText(
        corpus=corpus,
        window=5,
        negatives=5,
        subsample=1e-3,
        noise_exponent=0.75,
        learning_rate=0.025,
        epochs=2,
        seed=1,
    )


def test_every_word_is_read_once_an_epoch_and_no_sentence_is_cut(text: SubsampledText):
    done = 0
    ends = []
    while done < text.total:
        some = text.spans_after(done)
        assert len(some) <= SPANS
        assert len({span.epoch for span in some}) == 1
        for span in some:
            assert span.start == done % text.tokens
            assert 0 < span.stop - span.start <= SPAN
            ends.append(span.stop)
            done = text.done_after(span)
    assert done == text.total
    assert set(ends) <= set(text.corpus.offsets.tolist())


def test_the_learning_rate_decays_linearly(text: SubsampledText):
    rates = [text.learning_rate_after(done) for done in (0, text.total // 2, text.total)]
    np.testing.assert_allclose(rates, [0.025, 0.0125, 0.025e-4], rtol=1e-4)
    by_clock = [text.learning_rate_after(text.total // 2, clock) for clock in (0.2, 0.75, 1.0)]
    np.testing.assert_allclose(by_clock, [0.0125, 0.00625, 0.025e-4], rtol=1e-4)


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
def test_more_negatives_are_shared_at_a_higher_learning_rate_and_never_fewer_than_asked_for(
    text: SubsampledText, rate: float, negatives: int, shared: int
):
    other = replace(text, learning_rate=rate, negatives=negatives)
    assert other.shared_negatives == shared
    assert (
        other.shared_negatives_to_measure
        == replace(other, learning_rate=0.025).shared_negatives_to_measure
        >= shared
    )


def test_fewer_are_shared_at_a_low_learning_rate_where_fewer_will_do(text: SubsampledText):
    fewer = replace(text, fewest_shared=12)
    assert [
        replace(fewer, learning_rate=rate, negatives=n).shared_negatives
        for rate, n in ((0.025, 5), (0.025, 13), (0.05, 5))
    ] == [12, 24, 32]
