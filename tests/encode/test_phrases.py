"""Which words are joined, how the phrase is spelled, and that no token is lost on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.encode import phrases
from inlaid.encode.corpus import Corpus, Encoding, encode, open_corpus
from inlaid.encode.phrases import Phrases, collocations, join
from inlaid.errors import SettingError
from inlaid.kernels.text import reference
from inlaid.report import Event, Note

EASY = Phrases(min_count=1, threshold=0.1, passes=1)
PLANTED = Phrases(threshold=3.0, passes=1)  # below what planted phrases score in so little text
FAR = Phrases(threshold=3.0, passes=2)


def corpus_of(sentences: list[list[str]]) -> Corpus:
    return encode(sentences, Encoding(min_count=1))


def texts(corpus: Corpus) -> list[list[str]]:
    words = list(corpus.vocabulary.words)
    return [
        [words[id] for id in corpus.ids[start:stop]]
        for start, stop in zip(corpus.offsets, corpus.offsets[1:], strict=False)
    ]


def scattered(*planted: str, noise: int = 40, times: int = 30) -> list[list[str]]:
    """Each planted phrase many times between noise words that never have the same neighbors twice."""
    random = np.random.default_rng(5)
    sentences: list[list[str]] = []
    for turn in range(times):
        for each in planted:
            left, right = random.permutation(noise)[:2]
            sentences.append([f"n{left}", f"m{turn}", *each.split(), f"m{turn}x", f"n{right}"])
    return sentences


def test_planted_phrases_are_found_and_nothing_else():
    sentences = scattered("new york", "苹果 手机", "iphone 手机")
    joined = join(corpus_of(sentences), PLANTED)
    words = {"new york": ["new_york"], "苹果 手机": ["苹果手机"], "iphone 手机": ["iphone_手机"]}
    expected = [[*each[:2], *words[" ".join(each[2:4])], *each[4:]] for each in sentences]
    assert texts(joined) == expected


def test_two_passes_make_phrases_of_up_to_four_words():
    sentences = scattered("new york stock exchange", "中国 人民 代表 大会")
    once = set(join(corpus_of(sentences), PLANTED).vocabulary.words)
    twice = set(join(corpus_of(sentences), FAR).vocabulary.words)
    assert {"new_york", "stock_exchange", "中国人民", "代表大会"} <= once
    assert {"new_york_stock_exchange", "中国人民代表大会"} <= twice
    assert not {"new", "new_york", "中国", "代表大会"} & twice


def test_a_pair_across_two_sentences_is_no_pair():
    joined = join(corpus_of([["a"], ["b"], ["c", "d"]] * 10), EASY)
    assert texts(joined) == [["a"], ["b"], ["c_d"]] * 10


def test_where_pairs_overlap_the_left_one_is_joined():
    corpus = corpus_of([["a", "b", "c"], ["b", "c", "a", "a", "b", "b", "c"]])
    assert texts(join(corpus, EASY)) == [["a_b", "c"], ["b_c", "a", "a_b", "b_c"]]


def test_a_phrase_spelled_like_a_word_becomes_that_word():
    joined = join(
        corpus_of([["苹果", "手机"], ["苹果手机", "好"], ["苹果", "手机"]]),
        Phrases(min_count=1, threshold=0.5, passes=1),
    )
    assert texts(joined) == [["苹果手机"], ["苹果手机", "好"], ["苹果手机"]]
    assert joined.vocabulary.words.find("苹果手机") == 0
    assert joined.vocabulary.counts.tolist() == [3, 1]


def test_pairs_that_spell_the_same_phrase_become_one_word():
    joined = join(corpus_of([["中国", "人"], ["中", "国人"]] * 3), EASY)
    assert texts(joined) == [["中国人"]] * 6
    assert joined.vocabulary.counts.tolist() == [6]


def test_the_joiners_are_settings():
    corpus = corpus_of([["苹果", "手机"], ["new", "york"], ["买", "iphone"]] * 3)
    joined = join(corpus, Phrases(min_count=1, threshold=0.1, joiner="+", chinese_joiner="·"))
    assert set(joined.vocabulary.words) == {"苹果·手机", "new+york", "买+iphone"}


SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), min_size=1, max_size=12)


@given(
    SENTENCES,
    st.integers(1, 3),
    st.sampled_from([("default", 0.3), ("default", 2.0), ("npmi", 0.1), ("npmi", 0.6)]),
)
@settings(deadline=None)
def test_scores_and_joining_equal_the_specification(sentences: list[list[str]], min_count: int, how: tuple):
    score, threshold = how
    chosen = Phrases(min_count=min_count, threshold=threshold, score=score, passes=1)
    corpus = corpus_of(sentences)
    expected, joined = reference.phrases(corpus.ids, corpus.offsets, score, min_count, threshold)
    found = collocations(corpus.ids, corpus.offsets, len(corpus.vocabulary), chosen)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == sorted(expected)
    np.testing.assert_allclose(found.scores, [expected[pair] for pair in sorted(expected)], rtol=1e-14)
    words = list(corpus.vocabulary.words)
    spelled = [
        [f"{words[t[0]]}_{words[t[1]]}" if isinstance(t, tuple) else words[t] for t in sentence]
        for sentence in joined
    ]
    assert texts(join(corpus, chosen)) == spelled


@given(SENTENCES, st.integers(1, 3))
@settings(deadline=None)
def test_the_result_is_the_corpus_of_the_joined_sentences(sentences: list[list[str]], passes: int):
    """Ids, offsets, counts and the order of the vocabulary: all as if the phrases had been in the text."""
    corpus = corpus_of(sentences)
    before = corpus.ids.copy()
    joined = join(corpus, Phrases(min_count=1, threshold=0.3, passes=passes))
    again = corpus_of(texts(joined))
    assert joined.manifest["hash"] == again.manifest["hash"]
    assert [[part for word in sentence for part in word.split("_")] for sentence in texts(joined)] == texts(
        corpus
    )
    np.testing.assert_array_equal(corpus.ids, before)


def test_blocks_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch):
    """One sentence longer than many blocks, and many sentences shorter than one."""
    random = np.random.default_rng(2)
    long = [[f"w{id}" for id in random.zipf(1.4, 3000) if id < 50]]
    short = [[f"w{id}" for id in random.zipf(1.4, 7) if id < 50] or ["w1"] for _ in range(400)]
    corpus = corpus_of(long + short)
    size = len(corpus.vocabulary)
    chosen = Phrases(min_count=2, threshold=0.05)
    whole = collocations(corpus.ids, corpus.offsets, size, chosen)
    assert len(whole) > 50
    for block in (1, 2, 97, 1000):
        monkeypatch.setattr(phrases, "BLOCK", block)
        pieces = collocations(corpus.ids, corpus.offsets, size, chosen)
        for name in ("first", "second", "counts", "scores"):
            np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))


def test_every_token_is_accounted_for():
    corpus = encode([*scattered("new york stock exchange", "苹果 手机"), ["once"]], Encoding(min_count=2))
    joined = join(corpus, FAR)
    tokens = joined.manifest["tokens"]
    (how,) = joined.manifest["phrases"]
    assert how["tokens"] == {"read": len(corpus.ids), "used": len(joined.ids), "joined": 30 * 3 + 30}
    assert tokens["read"] == tokens["used"] + sum(tokens["dropped"].values())
    assert tokens["dropped"]["joined"] == 120
    assert tokens["dropped"]["rare"] == corpus.manifest["tokens"]["dropped"]["rare"] > 0
    assert how["of"] == corpus.manifest["hash"] != joined.manifest["hash"]
    assert how["settings"]["threshold"] == 3.0
    assert how["found"] == [4, 1]
    assert joined.manifest["words"]["used"] == len(joined.vocabulary)
    assert joined.vocabulary.counts.sum() == len(joined.ids)
    assert len(joined.offsets) == len(corpus.offsets)


def test_joining_twice_is_written_down_twice():
    corpus = corpus_of(scattered("new york stock exchange"))
    joined = join(join(corpus, PLANTED), PLANTED)
    assert [how["found"] for how in joined.manifest["phrases"]] == [[3], [1]]
    assert joined.manifest["tokens"]["dropped"]["joined"] == 90
    assert joined.manifest["hash"] == join(corpus, FAR).manifest["hash"]


def test_a_mapped_corpus_is_joined_and_saved(tmp_path: Path):
    corpus_of(scattered("苹果 手机")).save(tmp_path / "plain")
    joined = join(open_corpus(tmp_path / "plain"), PLANTED)
    joined.save(tmp_path / "joined")
    assert texts(open_corpus(tmp_path / "joined")) == texts(joined)
    assert "苹果手机" in joined.vocabulary.words


def test_no_phrases_is_reported_and_changes_nothing():
    heard: list[Event] = []
    corpus = corpus_of([["a", "b"], ["b", "a"]])
    joined = join(corpus, Phrases(), heard.append)
    assert joined.manifest["hash"] == corpus.manifest["hash"]
    assert [each.text for each in heard if isinstance(each, Note)] == [
        "No phrases were found: no pair of words scored above 10.0. Lower threshold or min_count."
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threshold": 0.0}, "threshold is 0.0; expected a number above 0"),
        ({"threshold": -1.0}, "expected a number above 0"),
        ({"score": "npmi"}, "threshold is 10.0, but npmi is never above 1. Try 0.5"),
        ({"min_count": 0}, "min_count is 0; expected at least 1"),
        ({"passes": 0}, "passes is 0; expected at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict, message: str):
    with pytest.raises(SettingError, match=message):
        Phrases(**wrong)
