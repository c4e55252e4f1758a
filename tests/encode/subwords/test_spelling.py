"""Subword vocabularies are written as text that people read and type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from inlaid.encode.subwords.spelling import forms, mark_of, readable
from inlaid.encode.vocabulary import Words
from inlaid.vectors import Card, Vectors

LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def as_letters(text: str) -> str:
    return "".join(piece for piece, _ in LEVEL.pre_tokenize_str(text))


@given(text=st.text(min_size=1))
def test_byte_level_tokens_read_as_their_text(text: str):
    assert readable([as_letters(text)])[0] == forms("Ġ", f" {text}")[0].removeprefix("Ġ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("中国", "中国"),
        (" 中国", "Ġ中国"),
        (" king", "Ġking"),
        ("café", "café"),
        ("\n\n", "ĊĊ"),
        ("\u3000", "<0xE3><0x80><0x80>"),
        ("\u202e", "<0xE2><0x80><0xAE>"),
        ("Ġ", "Ġ"),
    ],
)
def test_what_cannot_be_seen_has_a_name(text: str, shown: str):
    assert readable([as_letters(text)]) == [shown]


def test_pieces_of_characters_are_shown_as_bytes():
    assert readable(["ä¸", "Ġä¸Ńå", "Ń"]) == ["<0xE4><0xB8>", "Ġ中<0xE5>", "<0xAD>"]


@given(tokens=st.lists(st.text("äåçĮ«¸ŃĠĢ中a<0xE4>", min_size=1), unique=True))
def test_readable_words_stay_distinct(tokens: list[str]):
    assert len(set(readable(tokens))) == len(tokens)


def test_the_whole_word_comes_first():
    assert forms("", "king") == ("king",)
    assert forms("▁", "new york") == ("▁new▁york", "new▁york")
    assert forms("Ġ", "国王") == ("国王", "Ġ国王")
    assert forms("Ġ", "，") == ("，", "Ġ，")
    assert forms("##", "king") == ("king", "##king")
    assert forms("Ġ", "##king") == ("##king", "king")
    assert forms("Ġ", " king") == forms("Ġ", "Ġking") == ("Ġking",)


def test_the_mark_is_told_from_the_vocabulary():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    assert mark_of([*letters, as_letters("中国"), as_letters("上海")]) == "Ġ"  # Chinese text has few spaces
    assert mark_of(["▁king", "queen"]) == "▁"
    assert mark_of(["king", "##s"]) == "##"
    assert mark_of(["king", "queen"]) == ""
    assert mark_of([]) == ""


def test_vectors_find_the_whole_word_and_the_piece():
    vectors = Vectors.of(
        ["king", "▁king", "▁猫", "猫", "▁dog"],
        np.eye(5),
        Card(encoding={"spelling": "▁", "normalize": ["lower"]}),
    )
    asked = ("king", " King", "##king", "猫", "▁猫", "dog", "猫猫")
    assert [vectors.find(word) for word in asked] == [1, 1, 0, 3, 2, 4, None]
    assert vectors.forms("king") == ["▁king", "king"]
    assert vectors.forms("dog") == ["▁dog"]


def test_vectors_without_a_card_tell_the_mark_from_their_words():
    vectors = Vectors.of(["Ġking", "king", "queen"], np.eye(3))
    assert [vectors.find(word) for word in ("king", "##king", "queen")] == [0, 1, 2]


def test_forms_that_the_text_has_are_preferred():
    words = ["▁king", "king", "▁猫", "猫", "▁狗", "狗"]
    card = Card(encoding={"spelling": "▁"})
    counted = Vectors(Words.of(words), np.eye(6, dtype=np.float32), np.array([0, 9, 8, 2, 1, 3]), card)
    assert [counted.forms(word)[0] for word in ("king", "猫", "狗")] == ["king", "▁猫", "狗"]
