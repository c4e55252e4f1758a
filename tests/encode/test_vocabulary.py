"""Words in a fixed order, found by hash."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlaid.encode.vocabulary import Vocabulary, Words, by_count, pack_words
from inlaid.errors import FormatError, SourceError


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"])), unique=True), st.text())
def test_words_behave_like_a_list_and_its_dict(words: list[str], other: str):
    packed = Words.of(words)
    assert list(packed) == words == packed[:]
    assert len(packed) == len(words)
    assert [packed.find(word) for word in words] == list(range(len(words)))
    assert (other in packed) == (other in words)


def test_words_with_equal_hashes_are_distinguished():
    """Words that share a hash are a question of luck, so make them: every hash the same."""
    packed = Words.of(["猫", "狗", "鱼"])
    same = Words(({**pack_words(packed), "word_hashes": np.full(3, packed.hashes[0])}).__getitem__, 3)
    import xxhash

    for word in ("猫", "狗", "鱼"):
        if np.uint64(xxhash.xxh3_64_intdigest(word.encode())) == packed.hashes[0]:
            assert same.find(word) == packed.find(word)
            return
    pytest.fail("one of the three has the smallest hash")


def test_the_same_word_twice_is_an_error_that_names_both_places():
    with pytest.raises(FormatError, match="'猫' occurs twice, with ids 1 and 3"):
        Words.of(["狗", "猫", "鱼", "猫"])


def test_half_a_surrogate_is_no_text():
    with pytest.raises(SourceError, match="surrogate"):
        Words.of(["\ud800"])
    assert Words.of(["a"]).find("\ud800") is None


def test_an_index_outside_is_an_index_error():
    packed = Words.of(["a", "b"])
    assert packed[-1] == "b"
    with pytest.raises(IndexError):
        packed[2]


def test_order_is_count_then_bytes_whatever_came_first():
    counts = {"b": 2, "a": 2, "é": 2, "猫": 2, "top": 9, "rare": 1}
    shuffled = list(counts.items())
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        vocabulary = Vocabulary.of(dict(shuffled), min_count=2)
        assert list(vocabulary.words) == ["top", "a", "b", "é", "猫"]
        assert vocabulary.counts.tolist() == [9, 2, 2, 2, 2]


def test_growing_keeps_old_ids_and_adds_counts():
    old = Vocabulary.of({"cat": 3, "dog": 2})
    grown = old.grown({"emu": 9, "dog": 5, "rare": 1, "ant": 9}, min_count=2)
    assert list(grown.words) == ["cat", "dog", "ant", "emu"]
    assert grown.counts.tolist() == [3, 7, 9, 9]


def test_special_words_and_the_largest_size():
    made = Vocabulary.of({"a": 3, "b": 2, "<s>": 7, "c": 1}, special=("<pad>", "<s>"), max_size=3)
    assert list(made.words) == ["<pad>", "<s>", "a"]
    assert made.counts.tolist() == [0, 7, 3]


ALIKE = st.builds(
    lambda head, tail: head + tail,
    st.sampled_from([b"", b"counter", b"counters", b"countersign"]),
    st.text("a\0", max_size=3).map(str.encode),
)


@given(st.dictionaries(ALIKE, st.integers(1, 3)))
def test_by_count_then_by_bytes(counts: dict[bytes, int]):
    words = list(counts)
    places = by_count(words, np.array(list(counts.values()), np.int64)).tolist()
    assert [words[place] for place in places] == sorted(words, key=lambda word: (-counts[word], word))
