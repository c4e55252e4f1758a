"""The hash table of bytes gives the numbers a dict gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.encode.numbering import FastNumbering, PlainNumbering, padded

WORDS = st.lists(
    st.sampled_from(
        ["a", "b", "cc", "e" * 7, "e" * 8, "f" * 9, "g" * 16, "g" * 17, "g" * 16 + "h", "é", "中文", "h" * 70]
    )
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=30)


def text_of(sentences: list[list[str]]) -> bytes:
    return "".join(f"{'  '.join(words)} \n" for words in sentences).encode()


@given(SENTENCES, SENTENCES)
@settings(deadline=None)
def test_fast_equals_plain_block_after_block(first: list[list[str]], second: list[list[str]]):
    # space for two words only, so that it must grow again and again
    fast = FastNumbering(capacity=2)
    plain = PlainNumbering()
    for sentences in (first, second):
        data = text_of(sentences)
        np.testing.assert_array_equal(fast.ids(padded(data), len(data)), plain.ids(sentences))
    known = range(len(plain.first))
    assert fast.known == len(known)
    assert fast.words(known) == plain.words(known)
    assert fast.counts().tolist() == plain.counts().tolist()
    assert fast.lengths().tolist() == plain.lengths().tolist()


@given(SENTENCES, SENTENCES)
@settings(deadline=None)
def test_absorbing_gives_each_word_one_id(first: list[list[str]], second: list[list[str]]):
    one = FastNumbering(2)
    two = FastNumbering(2)
    both = PlainNumbering()
    for numbering, sentences in ((one, first), (two, second)):
        data = text_of(sentences)
        numbering.ids(padded(data), len(data))
    both.ids([*first, *second])
    map = one.absorb(two)
    assert [one.words([id])[0] for id in map.tolist()] == two.words(range(two.known))
    assert sorted(one.words(range(one.known))) == sorted(both.words(range(len(both.first))))


def test_many_different_words():
    words = [f"word{number}" for number in range(50_000)]
    data = (" ".join(words) + "\n").encode()
    fast = FastNumbering(4)
    assert fast.ids(padded(data), len(data)).tolist() == [*range(50_000), -1]
    assert fast.words([0, 49_999]) == [b"word0", b"word49999"]
