"""A tokenizer of whole words cuts text as ours does, and finds every word it was made for."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer as Engine

from inlaid.encode.subwords.word_level import UNKNOWN, tokenizer_for
from inlaid.encode.tokenizers import Char, Whitespace, Word
from inlaid.encode.vocabulary import Words
from inlaid.report import Note, silent

TEXT = "I don't like 3.14 cats, New York's 2,000 cafés — naïve Straße ①²."


def engine(words: list[str], **encoding: object) -> Engine:
    return Engine.from_str(tokenizer_for(Words.of(words), encoding, silent).json)


@pytest.mark.parametrize(("name", "ours"), [("word", Word()), ("whitespace", Whitespace()), ("char", Char())])
def test_alphabetic_text_is_cut_as_ours(name: str, ours: Word | Whitespace | Char):
    words = ours.words(TEXT)
    made = engine(list(dict.fromkeys(words)), tokenizer=name)
    assert [made.id_to_token(id) for id in made.encode(TEXT).ids] == words


def test_chinese_is_cut_by_the_longest_word_and_the_rest_is_dropped():
    made = engine(["我", "喜欢", "人工", "人工智能", "cat"])
    assert made.encode("我很喜欢cat和人工智能。").tokens == ["我", "喜欢", "cat", "人工智能"]


def test_words_that_are_no_words_are_found_only_by_themselves():
    made = engine(["new_york", "c++", ",", "new"], normalize=["lower"])
    assert made.encode("NEW_YORK, c++ new").tokens == ["new_york", ",", "c++", "new"]
    assert "new_york" not in made.encode("anew_yorker").tokens


def test_unknown_words_have_one_token_behind_ours_or_the_one_we_have():
    made = tokenizer_for(Words.of(["a", "b"]), {}, silent)
    assert made.rows == 3
    assert Engine.from_str(made.json).encode("a zzz b").ids == [0, 2, 1]
    assert tokenizer_for(Words.of(["a", UNKNOWN]), {}, silent).rows == 2


def test_steps_of_normalisation_travel_along():
    made = engine(["ｆｕｌｌ", "full", "é"], normalize=["width", "nfc", "lower"])
    assert made.encode("ＦＵＬＬ E\u0301").tokens == ["full", "é"]
    assert engine(["中国"], normalize=["nfc", "simplified"]).encode("中國").tokens == ["中国"]
    notes: list[object] = []
    tokenizer_for(Words.of(["a"]), {"normalize": ["stems"]}, notes.append)
    assert notes == [
        Note(
            "A tokenizer.json has no normalization step '{name}'. Apply it to your text first.", name="stems"
        )
    ]
