"""Rows that did not move although there were examples for them are found: planted, among rows that did."""

from __future__ import annotations

import numpy as np

from inlaid.encode.corpus import Corpus, encode
from inlaid.fit.glove import GloVe
from inlaid.fit.sgns import SGNS
from inlaid.jobs.run import run
from inlaid.jobs.safety import Safety
from inlaid.jobs.unmoved import Unmoved, row_hashes


def corpus() -> Corpus:
    random = np.random.default_rng(0)
    return encode([[f"w{n}" for n in random.integers(0, 300, 12)] for _ in range(800)])


def test_a_row_that_is_put_back_is_found():
    for method, name in ((SGNS(dim=6, epochs=2), "table"), (GloVe(dim=6, epochs=2), "words")):
        training = method.start(corpus())
        first = {name: rows.copy() for name, rows in training.rows().items()}
        before = Unmoved(training)
        run(training, Safety(), {})
        assert before.count(training, training.total) == 0
        training.rows()[name][[7, 200]] = first[name][[7, 200]]
        assert before.count(training, training.total) == 2
        assert before.count(training, training.total, frozen=100) == 1
        assert before.count(training, 0) == 0  # there was no example yet


def test_any_bit_changes_the_hash():
    random = np.random.default_rng(1)
    rows = random.standard_normal((600, 20)).astype(np.float32)
    before = row_hashes(rows[:, :13])
    bits = rows.view(np.uint32)
    for row in range(600):
        bits[row, row % 13] ^= np.uint32(1 << row % 32)
    assert not (row_hashes(rows[:, :13]) == before).any()
    rows[:, 13:] = 0
    assert (row_hashes(rows[:, :13]) == row_hashes(rows[:, :13].copy())).all()


def test_examples_are_those_of_the_streams_that_were_trained_on():
    """Counted for a few words by reading the spans that have them; counted for all by reading everything."""
    training = SGNS(dim=4, epochs=3, subsample=1e-3).start(corpus())
    text = training.text
    stream = text.empty_stream()
    expected = np.zeros(300, int)
    for epoch in range(2):
        for span in text.spans_of(epoch):
            kept = text.read(span, stream)
            has_context = kept.high[: kept.length] - kept.low[: kept.length] > 1
            np.add.at(expected, kept.words[: kept.length][has_context], 1)
    words = np.array([3, 50, 299])
    found = training.examples_of(words, 2 * text.tokens, 10**9)
    assert found.tolist() == expected[words].tolist()
    assert expected[words].min() > 0
