"""Reasons add up: dimensions to the cosine, n-grams to the cosine, contexts to the cosine of the text."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.errors import OutOfVocabulary, SettingError, SourceError
from inlaid.study.explain.explain import ExplainSettings, cosine_shares, explain
from inlaid.study.search.neighbors import neighbors
from inlaid.vectors import Vectors


def test_cosine_shares_dimensions_sum_to_the_cosine(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    found = explain(vectors, "apple", "banana")
    expected = next(
        each.score for each in neighbors(vectors, "apple", n=len(vectors)) if each.word == "banana"
    )
    assert found.cosine == pytest.approx(expected, abs=1e-6)
    assert sum(each.share for each in found.dimensions) == pytest.approx(found.cosine)
    assert sorted(each.dimension for each in found.dimensions) == list(range(vectors.dim))
    sizes = [abs(each.share) for each in found.dimensions]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes[: found.half]) >= sum(sizes) / 2 > sum(sizes[: found.half - 1])


def test_very_long_and_very_short_vectors_have_shares_too():
    shares = cosine_shares(np.array([3e200, 4e200]), np.array([3e-200, 4e-200]))
    np.testing.assert_allclose(shares, [0.36, 0.64])


def test_contexts_of_the_world_say_why(english: tuple[Vectors, Corpus]):
    vectors, corpus = english
    text = explain(vectors, "apple", "banana", corpus=corpus, settings=ExplainSettings(n=1000)).text
    assert text is not None
    assert sum(each.weight for each in text.contexts) == pytest.approx(text.cosine)
    assert text.shared == len(text.contexts)
    assert {"sweet", "ripe", "fruit"} & {each.word for each in text.contexts[:10]}
    assert all(each.first_pmi > 0 and each.second_pmi > 0 and each.first_count > 0 for each in text.contexts)
    assert text.first_count == corpus.vocabulary.counts[vectors.id("apple")]
    assert all("apple" in each.text.split() for each in text.of_first)
    assert all("banana" in each.text.split() for each in text.of_second)
    assert text.window == 5


def test_a_context_seen_once_is_never_first():
    """`odd` is near both words once and nowhere else, so its PMI is the highest; `often` is near them often,
    and near others."""
    sentences = [
        "cat odd dog",
        *["cat often"] * 6,
        *["dog often"] * 6,
        *["often cow"] * 30,
        *["cow hay"] * 20,
    ]
    corpus = encode(sentences, Encoding(min_count=1))
    vectors = Vectors.of(["cat", "dog"], [[1, 0], [1, 1]])
    trusting = explain(vectors, "cat", "dog", corpus=corpus, settings=ExplainSettings(discount=0)).text
    assert trusting is not None
    assert max(trusting.contexts, key=lambda each: each.weight).word == "odd"
    assert trusting.contexts[0].word == "often"
    text = explain(vectors, "cat", "dog", corpus=corpus).text
    assert text is not None
    assert [each.word for each in text.contexts[:2]] == ["often", "odd"]
    assert (text.contexts[0].first_count, text.contexts[0].second_count) == (6, 6)


def test_a_word_is_nearer_in_the_text_to_its_own_field(english: tuple[Vectors, Corpus]):
    vectors, corpus = english
    cosines = [
        found.text.cosine
        for other in ("banana", "paris")
        if (found := explain(vectors, "apple", other, corpus=corpus)).text
    ]
    assert cosines[0] > 3 * cosines[1]


class Letters:
    """Subwords that are letters, each with a vector of its own."""

    def vector(self, word: str) -> np.ndarray:
        return np.mean([row for _, row in self.parts(word)], axis=0).astype(np.float32)

    def parts(self, word: str, id: int | None = None) -> list[tuple[str, np.ndarray]]:
        return [(letter, np.eye(26, dtype=np.float32)[ord(letter) - 97]) for letter in word]


def test_cosine_shares_n_grams_sum_to_the_cosine_also_for_words_without_rows():
    vectors = dataclasses.replace(Vectors.of(["cat"], Letters().vector("cat")[None]), subwords=Letters())
    found = explain(vectors, "cat", "tack")
    assert sum(each.share for each in found.ngrams) == pytest.approx(found.cosine)
    assert {(each.first, each.second) for each in found.ngrams if each.share > 0} == {
        ("c", "c"),
        ("a", "a"),
        ("t", "t"),
    }
    assert len(found.ngrams) == 12


def test_without_subwords_there_are_no_n_grams(english: tuple[Vectors, Corpus]):
    assert explain(english[0], "apple", "banana").ngrams == ()


def test_mistakes(english: tuple[Vectors, Corpus]):
    vectors, _ = english
    with pytest.raises(OutOfVocabulary, match="Did you mean 'banana'"):
        explain(vectors, "apple", "bananna")
    with pytest.raises(SettingError, match="'b' has a zero vector"):
        explain(Vectors.of(["a", "b"], [[1, 0], [0, 0]]), "a", "b")
    other = encode(["the cat sits", "the apple falls"], Encoding(min_count=1))
    with pytest.raises(
        SourceError, match="'banana' has a vector, but is not among the 5 words of the corpus"
    ):
        explain(vectors, "apple", "banana", corpus=other)
    notes: list[object] = []
    found = explain(
        Vectors.of(["cat", "apple"], [[1, 0], [1, 1]]), "cat", "apple", corpus=other, report=notes.append
    )
    assert found.text is not None
    assert found.text.cooccurrences == 0
    assert found.text.shared <= 1
    with pytest.raises(SettingError, match="window is 0"):
        ExplainSettings(window=0)


def test_another_corpus_is_reported(english: tuple[Vectors, Corpus]):
    other = encode(world.sentences("en", words=30_000, seed=2), Encoding(), workers=1)
    assert "not trained on this corpus" in explain(english[0], "apple", "banana", corpus=other).notes[0].text
    assert explain(english[0], "apple", "banana", corpus=english[1]).notes == ()


def test_words_that_share_nothing():
    corpus = encode(["cat eats fish", "apple falls down"], Encoding(min_count=1))
    found = explain(Vectors.of(["cat", "apple"], [[1, 0], [1, 1]]), "cat", "apple", corpus=corpus)
    assert found.text is not None
    assert (found.text.cosine, found.text.contexts, found.text.of_both, found.text.of_first) == (
        0,
        (),
        (),
        (),
    )
    assert "no reason" in found.notes[0].text
