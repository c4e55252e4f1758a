"""Masked text: which words are hidden, what is put there, and what is to be found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inlaid.collect import world
from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.subwords.tokenizer import Subwords
from inlaid.encode.tokenizers import Word
from inlaid.feed.masked_text import IGNORED, MaskedText, SpecialIds
from inlaid.feed.whole_words import WholeWords

SPECIAL = SpecialIds(padding=90_000, start=90_001, end=90_002, mask=90_003)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return encode(world.sentences("en", words=20_000), Encoding(min_count=1))


def masked(corpus: Corpus, **settings: Any) -> MaskedText:
    return MaskedText(**{"corpus": corpus, "special": SPECIAL, "max_length": 12, "tokens": 400} | settings)


def test_targets_are_the_hidden_words_and_the_rest_is_the_text(corpus: Corpus):
    text = masked(corpus)
    starts, stops = text.parts
    for number in range(5):
        batch = text.batch(0, number)
        sentences = text.training[text.buckets.texts(0, number)]
        original = np.where(batch.targets == IGNORED, batch.ids, batch.targets)
        for row, real, sentence in zip(original, batch.real, sentences, strict=True):
            ids = corpus.ids[starts[sentence] : stops[sentence]]
            assert row[real].tolist() == [SPECIAL.start, *ids.tolist(), SPECIAL.end]
            assert (row[~real] == SPECIAL.padding).all()


def test_shares_are_those_of_bert(corpus: Corpus):
    text = masked(corpus, max_length=64, tokens=2000)
    counts = np.zeros(4)
    for epoch in range(3):
        for number in range(len(text.ends(epoch))):
            batch = text.batch(epoch, number)
            chosen = batch.targets != IGNORED
            counts += [
                (batch.real & (batch.ids < 90_000) | chosen).sum(),
                chosen.sum(),
                (batch.ids[chosen] == SPECIAL.mask).sum(),
                (batch.ids[chosen] == batch.targets[chosen]).sum(),
            ]
    words, chosen, hidden, kept = counts
    assert chosen / words == pytest.approx(0.18, abs=0.04)  # 15 %, and at least one in each short sentence
    assert hidden / chosen == pytest.approx(0.8, abs=0.02)
    assert kept / chosen == pytest.approx(0.1, abs=0.02)


def test_every_sentence_has_something_to_find(corpus: Corpus):
    text = masked(corpus)
    for number in range(len(text.ends(0))):
        assert (text.batch(0, number).targets != IGNORED).any(axis=1).all()


def test_epochs_hide_other_words_and_runs_the_same(corpus: Corpus):
    first = masked(corpus)
    again = masked(corpus)
    for epoch in (0, 1):
        for one, two in zip(first.batch(epoch, 3), again.batch(epoch, 3), strict=True):
            assert np.array_equal(one, two)
    assert not np.array_equal(first.batch(0, 3).ids, first.batch(1, 3).ids)


def test_held_out_sentences_are_never_trained_on(corpus: Corpus):
    text = masked(corpus, held_out_every=10)
    numbers = np.flatnonzero(text._is_held_out)
    assert len(numbers) == len(text.parts[0]) // 10
    assert not set(numbers) & set(text.training.tolist())
    tokens = sum(int(batch.real.sum()) for batch in text.held_out())
    starts, stops = text.parts
    assert tokens == int((stops - starts + 2)[numbers].sum())
    assert np.array_equal(text.held_out()[0].ids, text.held_out()[0].ids)


def test_long_sentences_are_cut_and_nothing_is_lost(corpus: Corpus):
    text = masked(corpus, max_length=5)
    starts, stops = text.parts
    assert (stops - starts).max() <= 3
    assert int((stops - starts).sum()) == len(corpus.ids)


@pytest.mark.parametrize("tokenizer", ["bpe", "wordpiece"])
def test_whole_words_are_hidden_chinese_words_too(tokenizer: str):
    lines = list(world.sentences("both", words=30_000))
    corpus = encode(lines, Encoding(tokenizer=tokenizer, subwords=1800))
    subwords = Subwords.from_json(corpus.tokenizer_json or "")
    words = WholeWords(list(corpus.vocabulary.words), subwords.mark, Word())
    for line in ("小明喜欢吃香蕉和葡萄。", "The kindergarten is wonderful."):
        ids = np.array(subwords.ids(line))
        groups = np.split(ids, np.flatnonzero(words.starts(ids))[1:])
        found = [subwords.decode(group.tolist()).strip(" 。.#").replace(" ", "") for group in groups]
        assert [word for word in found if word] == Word().words(line)
    text = masked(corpus, special=SPECIAL, max_length=64, tokens=2000, whole_words=words)
    batch = text.batch(0, 0)
    for row, real, targets in zip(batch.ids, batch.real, batch.targets, strict=True):
        original = np.where(targets == IGNORED, row, targets)[real][1:-1]
        numbers = np.cumsum(words.starts(original))
        chosen = (targets != IGNORED)[real][1:-1]
        for number in set(numbers.tolist()):
            assert len(set(chosen[numbers == number].tolist())) == 1
