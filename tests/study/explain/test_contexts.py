"""Contexts counted around a few words are those of the whole table of pairs; sentences are those
with the largest weights."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.feed.cooccurrence import Cells, cooccurrence
from inlaid.fit.ppmi import PPMI
from inlaid.study.explain import contexts as module
from inlaid.study.explain import sentences as sentences_module
from inlaid.study.explain.contexts import count_contexts
from inlaid.study.explain.sentences import cooccurring_sentences, heaviest_sentences


def corpus_of(text: str) -> Corpus:
    return encode(text.splitlines(), Encoding(min_count=1))


def drawn(seed: int, words: int = 12, sentences: int = 60) -> Corpus:
    """Few words, so that they co-occur with themselves too; sentences of one word and long ones."""
    random = np.random.default_rng(seed)
    return encode(
        [[f"w{id}" for id in random.integers(0, words, random.integers(1, 15))] for _ in range(sentences)],
        Encoding(min_count=1),
    )


@pytest.mark.parametrize("window", [1, 2, 5, 40])
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_counts_and_sums_are_those_of_all_pairs(window: int, block: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TOKEN_BLOCK", block)
    corpus = drawn(window)
    whole = cooccurrence(corpus, window=window)
    found = count_contexts(corpus, [0, 3, 7], window=window)
    np.testing.assert_array_equal(found.counts, whole.dense()[[0, 3, 7]])
    np.testing.assert_array_equal(found.sums, whole.sums())


def test_positive_pmi_is_that_of_the_method():
    corpus = drawn(1, words=30)
    cells = cooccurrence(corpus, window=5)
    forward, _ = PPMI(smoothing=0.75)._associations(cells)
    expected = Cells(cells.starts, cells.columns, forward).dense()[[2, 5]]
    np.testing.assert_allclose(
        count_contexts(corpus, [2, 5], window=5).positive_pmi(0.75), expected, atol=1e-6
    )


def test_pmi_of_what_was_seen_once_is_discounted():
    counts = count_contexts(drawn(1, words=30), [2, 5], window=5)
    whole = counts.positive_pmi(0.75)
    expected = whole * counts.counts / (counts.counts + 5)
    np.testing.assert_allclose(counts.positive_pmi(0.75, 5), expected)


def test_the_nearest_co_occurrences_come_first():
    corpus = corpus_of("cat a b dog\ndog cat\ncat a dog\ncat b\nb dog")
    words = corpus.vocabulary.words
    cat, dog = (words.find(word) for word in ("cat", "dog"))
    assert cat is not None
    assert dog is not None
    total, some = cooccurring_sentences(corpus, cat, dog, n=2)
    assert total == 3
    assert [each.text for each in some] == ["dog cat", "cat a dog"]


def test_the_heaviest_sentences_come_first_and_each_once():
    corpus = corpus_of("cat sees dog\ncat eats fish\ncat eats fish\ncat eats raw fish\ncat sleeps")
    words = corpus.vocabulary.words
    weights = np.array([{"fish": 1.0, "eats": 0.5, "dog": 0.7}.get(word, 0.0) for word in words])
    cat = words.find("cat")
    assert cat is not None
    found = heaviest_sentences(corpus, cat, weights, window=5, n=2)
    assert [(each.text, each.weight) for each in found] == [
        ("cat eats fish", 1.5),
        ("cat eats raw fish", 1.5),
    ]
    assert [each.text for each in heaviest_sentences(corpus, cat, weights, window=5, n=9)][
        -1
    ] == "cat sees dog"  # sleeping has weight 0
    near = heaviest_sentences(corpus, cat, weights, window=1, n=9)
    assert {each.weight for each in near} == {0.5}  # fish is too far away


def test_cooccurrences_are_counted_by_sentence():
    corpus = corpus_of("cat dog cat\ndog cow\ncat cow\ndog and cat\ncat dog cat")
    words = corpus.vocabulary.words
    cat = words.find("cat")
    dog = words.find("dog")
    assert cat is not None
    assert dog is not None
    total, some = cooccurring_sentences(corpus, cat, dog, n=5)
    assert total == 3
    assert [str(each.marked) for each in some] == ["**cat** **dog** cat", "**dog** and **cat**"]
    assert cooccurring_sentences(corpus, cat, cat, n=1)[0] == 4


def test_of_a_long_sentence_the_place_is_shown():
    corpus = encode([["x", "y"] * 100 + ["cat", "dog"] + ["z"] * 100], Encoding(min_count=1))
    cat = corpus.vocabulary.words.find("cat")
    dog = corpus.vocabulary.words.find("dog")
    assert cat is not None
    assert dog is not None
    _, (only,) = cooccurring_sentences(corpus, cat, dog, n=1)
    assert "cat dog" in only.text
    assert len(only.text.split()) == sentences_module.SHOWN
