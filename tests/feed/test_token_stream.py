"""Windows of a stream: every token is seen once an epoch, and the held-out part never."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import SourceError
from inlaid.feed.token_stream import TokenStream

END = 999


@pytest.fixture
def corpus() -> Corpus:
    words = [f"w{number}" for number in range(40)]
    sentences = [words[start % 37 : start % 37 + 3 + start % 5] for start in range(60)]
    return encode([each for each in sentences if each], Encoding(min_count=1))


def whole(corpus: Corpus) -> np.ndarray:
    """The stream, written out sentence by sentence."""
    found: list[int] = []
    for start, stop in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        found += [*corpus.ids[start:stop].tolist(), END]
    return np.array(found)


def stream(corpus: Corpus, **settings: int | float) -> TokenStream:
    return TokenStream(corpus=corpus, end=END, **{"length": 7, "rows": 3, **settings})  # pyright: ignore


def test_it_is_the_sentences_with_an_end_after_each(corpus: Corpus):
    text = stream(corpus)
    expected = whole(corpus)
    assert text.tokens == len(expected)
    assert np.array_equal(text.read(np.arange(text.tokens)), expected)


def test_windows_of_an_epoch_touch_and_cover_the_text(corpus: Corpus):
    text = stream(corpus)
    expected = whole(corpus)
    for epoch in (0, 1, 5):
        ends = text.ends(epoch)
        rows = np.concatenate([text.batch(epoch, number) for number in range(len(ends))])
        assert rows.shape == (text.windows, 8)
        assert ends[-1] == text.windows * 7
        joined = {row.tobytes() for row in rows}
        order, shift = text._order(epoch)
        assert sorted(order) == list(range(text.windows))
        for window in range(text.windows):
            start = shift + 7 * window
            assert expected[start : start + 8].tobytes() in joined


def test_whole_batches_all_have_the_same_shape(corpus: Corpus):
    text = stream(corpus)
    assert text.windows % 4
    whole_batches = stream(corpus, rows=4, whole_batches=True)
    count = len(whole_batches.ends(0))
    assert count == text.windows // 4
    assert {whole_batches.batch(0, number).shape for number in range(count)} == {(4, 8)}
    assert whole_batches.ends(0)[-1] == 4 * count * 7
    few = stream(corpus, rows=1000, whole_batches=True)
    assert few.ends(0).tolist() == [few.windows * 7]  # one batch, smaller than it might be


def test_epochs_differ_and_are_the_same_each_time(corpus: Corpus):
    text = stream(corpus)
    assert not np.array_equal(text.batch(0, 0), text.batch(1, 0))
    assert np.array_equal(stream(corpus).batch(3, 2), text.batch(3, 2))


def test_the_end_of_the_text_is_held_out(corpus: Corpus):
    text = stream(corpus, held_out_share=0.25)
    expected = whole(corpus)
    first = len(expected) - int(len(expected) * 0.25)
    held_out = np.concatenate(text.held_out())
    assert np.array_equal(held_out[0], expected[first : first + 8])
    for epoch in range(3):
        order, shift = text._order(epoch)
        assert shift + 7 * int(order.max()) + 8 <= first


def test_a_text_shorter_than_two_windows_is_an_error(corpus: Corpus):
    with pytest.raises(SourceError, match="lower max_length"):
        stream(corpus, length=1000)
