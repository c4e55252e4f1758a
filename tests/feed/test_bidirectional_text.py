"""Sentences between boundaries: every one once an epoch, words by their characters once a batch."""

from __future__ import annotations

import numpy as np
import pytest

from inlaid.encode.corpus import Corpus, Encoding, encode
from inlaid.encode.word_characters import characters_of, count_long, cropped, with_boundaries
from inlaid.errors import SettingError
from inlaid.feed.bidirectional_text import BidirectionalText

SENTENCES = ["a b c", "c b", "a", "b a c a b", "c c c c", "a b"] * 3


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return encode(SENTENCES, Encoding(min_count=1))


def batches(corpus: Corpus, **rest: int) -> BidirectionalText:
    words = list(corpus.vocabulary.words)
    start = len(words)
    spelled = characters_of(with_boundaries(words, start, start + 1), 10)
    settings = {"max_length": 10, "tokens": 20, **rest}
    return BidirectionalText(corpus=corpus, start=start, end=start + 1, characters=spelled, **settings)


def sentences_of(made: BidirectionalText, epoch: int) -> list[str]:
    words = list(made.corpus.vocabulary.words)
    found = list[str]()
    for number in range(len(made.ends(epoch))):
        batch = made.batch(epoch, number)
        assert batch.ids.size <= made.tokens
        for row, real in zip(batch.ids, batch.real, strict=True):
            kept = row[real]
            assert (kept[0], kept[-1]) == (made.start, made.end)
            found.append(" ".join(words[id] for id in kept[1:-1]))
    return found


def test_an_epoch_has_every_sentence_once_in_another_order(corpus: Corpus):
    made = batches(corpus)
    first = sentences_of(made, 0)
    assert sorted(first) == sorted(SENTENCES)
    assert sorted(sentences_of(made, 1)) == sorted(SENTENCES)
    assert sentences_of(made, 1) != first
    assert sentences_of(batches(corpus), 0) == first


def test_held_out_sentences_are_never_trained_on(corpus: Corpus):
    made = batches(corpus, held_out_every=6)
    assert sorted(sentences_of(made, 0)) == sorted(each for at, each in enumerate(SENTENCES) if at % 6 != 5)
    (held_out,) = made.held_out()
    assert held_out.ids.shape == (3, 4)


def test_long_sentences_are_cut_into_parts_and_no_word_is_lost(corpus: Corpus):
    made = batches(corpus, max_length=4)
    words = " ".join(sentences_of(made, 0)).split()
    assert sorted(words) == sorted(" ".join(SENTENCES).split())
    with pytest.raises(SettingError, match="max_length is 2"):
        batches(corpus, max_length=2)


def test_the_characters_of_a_batch_are_those_of_its_tokens(corpus: Corpus):
    made = batches(corpus)
    batch = made.batch(0, 0)
    assert batch.characters is not None
    assert batch.words is not None
    assert made.characters is not None
    assert len(np.unique(batch.characters, axis=0)) == len(batch.characters)
    assert np.array_equal(batch.characters[batch.words], made.characters[batch.ids])


def test_characters_are_bytes_between_boundaries():
    found = characters_of(["猫", "</S>", "abcdef"], 6)
    assert found[0].tolist() == [259, *(byte + 1 for byte in "猫".encode()), 260, 261]
    assert found[1].tolist() == [259, 258, 260, 261, 261, 261]
    assert found[2].tolist() == [259, *(byte + 1 for byte in b"abcd"), 260]
    assert count_long(["猫", "</S>", "abcd", "abcde", "猫猫"], 6) == 2


def test_cropping_leaves_one_place_of_padding_for_the_widest_filter():
    found = cropped(characters_of(["a", "abc"], 20), widest=4)
    assert found.shape == (2, 9)
    assert (found[1, 5:] == 261).all()
    assert cropped(characters_of(["a" * 30], 20), widest=4).shape == (1, 20)
