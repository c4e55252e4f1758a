"""Subword vocabularies spell text as the libraries they come from do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from inlaid.encode.subwords.spelling import spellings
from inlaid.vectors import Card, Vectors


@given(text=st.text(min_size=1))
def test_bytes_are_spelled_as_the_library_spells_them(text: str):
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    assert spellings("byte-level", text)[0] == "".join(piece for piece, _ in level.pre_tokenize_str(text))


def test_a_plain_vocabulary_has_no_other_spelling():
    assert spellings("", "king") == ()
    assert spellings("sentencepiece", "new york") == ("new▁york", "▁new▁york")


def test_vectors_find_a_word_as_the_tokenizer_spells_it():
    vectors = Vectors.of(
        ["king", "▁king", "▁猫"],
        [[1.0], [2.0], [3.0]],
        Card(encoding={"spelling": "sentencepiece", "normalize": ["lower"]}),
    )
    assert [vectors.find(word) for word in ("king", " King", "猫", "猫猫")] == [0, 1, 2, None]
