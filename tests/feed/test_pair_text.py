"""Pairs in batches: source and target stay together, and pairs of one source are in one split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import SourceError
from inlaid.feed.pair_text import PairText

PADDING = 900
END = 901


@pytest.fixture
def corpus() -> Corpus:
    """The target of n words is the same words, each with a prime."""
    sentences: list[list[str]] = []
    for number in range(300):
        words = [f"w{(number + place) % 50}" for place in range(1 + number % 9)]
        sentences += [words, [f"{word}'" for word in words]]
    return encode(sentences, Encoding(min_count=1))


def pairs(corpus: Corpus, **settings: Any) -> PairText:
    given = {"corpus": corpus, "padding": PADDING, "end": END, "max_length": 12, "tokens": 60}
    return PairText(**given | settings)


def words(corpus: Corpus, ids: np.ndarray) -> list[str]:
    return [corpus.vocabulary.words[id] for id in ids.tolist()]


def test_pairs_stay_together(corpus: Corpus):
    text = pairs(corpus)
    seen = 0
    for number in range(len(text.ends(0))):
        batch = text.batch(0, number)
        for row in range(len(batch.source)):
            source = batch.source[row][batch.source_real[row]]
            target = batch.target[row][batch.target_real[row]]
            assert source[-1] == END
            assert target[-1] == END
            assert [f"{word}'" for word in words(corpus, source[:-1])] == words(corpus, target[:-1])
            seen += 1
        assert batch.source.size <= 60
        assert (batch.source[~batch.source_real] == PADDING).all()
    assert seen == 300


def test_long_pairs_are_left_out_and_counted(corpus: Corpus):
    text = pairs(corpus, max_length=5)
    assert text.lengths[text.training].max() == 5
    events: list[Any] = []
    text.note(events.append)
    assert "are left out" in str(events[0])
    with pytest.raises(SourceError, match="Raise max_length"):
        pairs(corpus, max_length=1)


def test_pairs_with_one_source_are_all_held_out_or_none(corpus: Corpus):
    text = pairs(corpus, held_out_every=5)
    held_out = {text._side(pair, 0).tobytes() for pair in np.flatnonzero(text._is_held_out).tolist()}
    trained = {text._side(pair, 0).tobytes() for pair in text.training.tolist()}
    assert held_out
    assert not held_out & trained
