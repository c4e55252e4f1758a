"""Who meets whom: the known table, and the specification on random text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlay.encode.corpus import Corpus, Encoding, encode
from inlay.errors import SettingError
from inlay.feed import cooccurrence as feed
from inlay.kernels import reference


def test_three_sentences_give_the_known_table():
    corpus = encode(["I like NLP.", "I like deep learning.", "I enjoy flying."], Encoding(min_count=1, normalize=()))
    order = [corpus.vocabulary.words.find(word) for word in ("I", "like", "enjoy", "NLP", "deep", "learning", "flying")]
    table = feed.cooccurrence(corpus, window=None).dense()[np.ix_(order, order)]
    assert table.tolist() == [
        [0, 2, 1, 1, 1, 1, 1],
        [2, 0, 0, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 0, 1],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 1, 0, 0],
        [1, 0, 1, 0, 0, 0, 0],
    ]


def numbered(sentences: list[list[int]]) -> Corpus:
    return encode([[f"{id:02}" for id in sentence] for sentence in sentences], Encoding(min_count=1))


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), min_size=1, max_size=10),
    st.integers(1, 6),
    st.booleans(),
    st.integers(1, 3),
)
@settings(deadline=None)
def test_counting_equals_the_specification(sentences: list[list[int]], window: int, decay: bool, workers: int):
    corpus = numbered(sentences)
    weights = np.array([0.0] + [1 / d if decay else 1.0 for d in range(1, window + 1)])
    expected = reference.cooccurrence(corpus.ids, corpus.offsets, len(corpus.vocabulary), window, weights)
    cells = feed.cooccurrence(corpus, window=window, decay=decay, workers=workers)
    np.testing.assert_allclose(cells.dense(), expected, rtol=1e-12)
    np.testing.assert_allclose(cells.sums(), expected.sum(axis=1), rtol=1e-12)
    for row in range(cells.size):
        assert (np.diff(cells.columns[cells.starts[row] : cells.starts[row + 1]]) > 0).all()


@pytest.mark.parametrize("decay", [False, True])
def test_many_blocks_and_workers_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, decay: bool):
    random = np.random.default_rng(1)
    corpus = numbered([random.integers(0, 60, length).tolist() for length in random.integers(1, 40, 300)])
    whole = feed.cooccurrence(corpus, window=4, decay=decay)
    monkeypatch.setattr(feed, "BLOCK", 500)
    pieces = [feed.cooccurrence(corpus, window=4, decay=decay, workers=workers) for workers in (1, 2, 4)]
    for each in pieces:
        np.testing.assert_array_equal(each.columns, whole.columns)
        np.testing.assert_allclose(each.counts, whole.counts, rtol=1e-12)
        np.testing.assert_array_equal(each.counts, pieces[0].counts)


def test_decay_without_a_window_is_refused():
    with pytest.raises(SettingError, match="decay needs a window"):
        feed.cooccurrence(numbered([[1, 2]]), window=None, decay=True)
