"""Subword tokenizers: bytes and unigram lose nothing, offsets point at the text, JSON restores everything."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inlaid.encode.subwords import tokenizer
from inlaid.encode.subwords.tokenizer import SPECIAL, Subwords
from inlaid.errors import FormatError, OutOfVocabulary, SourceError


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é\u0301\u200d"))
@settings(deadline=None)  # the first call trains
def test_bytes_lose_nothing(text: str, trained: Any):
    assert trained["bpe"].decode(trained["bpe"].ids(text)) == text


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é\u0301\u200d"))
@settings(deadline=None)  # the first call trains
def test_unigram_loses_nothing_but_its_own_mark_for_a_space(text: str, trained: Any):
    assert trained["unigram"].decode(trained["unigram"].ids(text)) == text.replace("▁", " ")


@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é"))
@settings(deadline=None)  # the first call trains
def test_offsets_of_bytes_are_the_characters_they_come_from(text: str, trained: Any):
    bpe = trained["bpe"]
    tokens = bpe.tokenize(text)
    assert [token.text for token in tokens] == bpe.words(text) == [bpe.vocabulary[id] for id in bpe.ids(text)]
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert covered == set(range(len(text)))
    for token in tokens:
        surface = text[token.start : token.end]
        decoded = bpe.decode([bpe.vocabulary.index(token.text)])
        assert decoded == surface or "\ufffd" in decoded  # bytes that are not whole characters


@pytest.mark.parametrize(("subwords", "mark"), [("wordpiece", "##"), ("unigram", "▁")])
@given(text=st.text() | st.text("我喜欢cat<0x4>[MASK] \t\n😀é"))
@settings(deadline=None)  # the first call trains
def test_offsets_slice_to_the_surface(text: str, subwords: str, mark: str, trained: Any):
    tokens = trained[subwords].tokenize(text)
    assert [token.text for token in tokens] == trained[subwords].words(text)
    assert all(before.start <= after.start for before, after in itertools.pairwise(tokens))
    for token in tokens:
        surface = text[token.start : token.end].replace(" ", "▁")
        if token.text not in SPECIAL and not token.text.startswith("<0x"):
            assert token.text in (surface, mark + surface) or (token.text == mark and token.start == 0)
        assert token.start < token.end


def test_a_mark_without_a_character_has_the_place_of_the_first(trained: Any):
    tokens = trained["unigram"].tokenize("😀我")
    assert tokens[0].text == "▁"
    assert [(token.start, token.end) for token in tokens] == [(0, 1)] * 5 + [(1, 2)]


def test_wordpiece_sets_chinese_characters_apart_and_keeps_case(trained: Any):
    words = trained["wordpiece"].words("The cat喜欢")
    assert words[-2:] == ["喜", "欢"]
    assert words[0][0] == "T"


def test_names_of_special_tokens_are_text_unless_asked(kind: str, trained: Any, odd: str):
    mask = SPECIAL.index("[MASK]")
    assert mask not in trained[kind].ids("a [MASK] b")
    assert trained[kind].ids("a [MASK] b", special=True).count(mask) == 1
    assert trained[kind].ids(odd) == trained[kind].ids_of([odd])[0]


def test_json_carries_everything(kind: str, trained: Any, odd: str):
    for again in (Subwords.from_json(trained[kind].to_json()), pickle.loads(pickle.dumps(trained[kind]))):
        assert again == trained[kind]
        assert hash(again) == hash(trained[kind])
        assert again.special == trained[kind].special
        assert again.tokenize(odd) == trained[kind].tokenize(odd)
    assert trained["bpe"] != trained["wordpiece"]


def test_many_texts_are_encoded_as_each_alone(
    kind: str, trained: Any, monkeypatch: pytest.MonkeyPatch, mixed: list[str]
):
    monkeypatch.setattr(tokenizer, "BATCH", 3)
    assert trained[kind].ids_of(mixed) == [trained[kind].ids(text) for text in mixed]


def test_what_cannot_be_encoded_or_decoded_is_refused(trained: Any):
    with pytest.raises(SourceError, match="half a character"):
        trained["bpe"].ids("a\udc00")
    with pytest.raises(SourceError, match="half a character"):
        trained["bpe"].ids_of(["fine", "a\udc00"])
    for wrong in (-1, 500):
        with pytest.raises(OutOfVocabulary, match="from 0 to 499"):
            trained["bpe"].decode([wrong])


def test_a_tokenizer_that_cannot_read_says_so():
    without_unknown = Subwords.from_json(
        json.dumps(
            {
                "model": {
                    "type": "WordPiece",
                    "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 9,
                    "vocab": {"a": 0},
                }
            }
        )
    )
    for read in (without_unknown.ids, without_unknown.tokenize):
        with pytest.raises(FormatError, match="cannot encode a text: .*UNK"):
            read("b")


def test_holes_among_ids_are_shown():
    holed = Subwords.from_json(
        json.dumps({"model": {"type": "BPE", "vocab": {"a": 0, "b": 2, "c": 3}, "merges": []}})
    )
    assert holed.vocabulary == ["a", "<id 1>", "b", "c"]


def test_chance_is_taken_out():
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "dropout": 0.9}
    assert all(Subwords.from_json(json.dumps({"model": model})).ids("ab") == [2] for _ in range(20))
