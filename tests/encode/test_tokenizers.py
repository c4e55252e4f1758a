"""Tokens in both languages, and their offsets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlaid import registry
from inlaid.encode.tokenizers import Char, Whitespace, Word, read_dictionary
from inlaid.errors import SourceError

NAMES = [entry.name for entry in registry.entries("tokenizer")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I like NLP.", ["I", "like", "NLP"]),
        ("don't stop, it’s 3.14 or 1,000.", ["don't", "stop", "it’s", "3.14", "or", "1,000"]),
        ("我喜欢苹果手机。", ["我", "喜欢", "苹果", "手机"]),
        ("iPhone手机很snake_case", ["iPhone", "手机", "很", "snake", "case"]),
        ("हिन्दी e\u0301tude", ["हिन्दी", "e\u0301tude"]),
        ("…!?，。", []),
        ("", []),
        ("a.b 1.a 'x' 5.", ["a", "b", "1", "a", "x", "5"]),
    ],
)
def test_words(text: str, words: list[str]):
    assert Word().words(text) == words


def test_a_dictionary_word_is_one_token_everywhere():
    assert Word().words("小明说他喜欢") == ["小", "明说", "他", "喜欢"]
    assert Word(dictionary=("小明",)).words("小明说他喜欢") == ["小明", "说", "他", "喜欢"]
    assert Word(dictionary=("坐", "很")).words("猫坐在很甜的垫子上") == [
        "猫",
        "坐",
        "在",
        "很",
        "甜",
        "的",
        "垫子",
        "上",
    ]


def test_characters_keep_their_marks():
    assert Char().words("我 é e\u0301 👨\u200d👩\u200d👧 👍🏽!") == [
        "我",
        "é",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "!",
    ]


def test_whitespace_leaves_punctuation():
    assert Whitespace().words("I like\u3000NLP.\n") == ["I", "like", "NLP."]


@pytest.mark.parametrize("name", NAMES)
@given(
    text=st.text(alphabet=st.characters(blacklist_categories=["Cs"])) | st.text("我喜欢苹 a'1.,é\u0301\u200d")
)
def test_offsets_point_at_the_tokens(name: str, text: str):
    tokenizer = registry.find("tokenizer", name)()
    tokens = tokenizer.tokenize(text)
    assert (
        [text[token.start : token.end] for token in tokens]
        == [token.text for token in tokens]
        == tokenizer.words(text)
    )
    assert all(token.start < token.end for token in tokens)
    assert all(before.end <= after.start for before, after in pairwise(tokens))


@given(text=st.text())
def test_characters_and_whitespace_lose_nothing_visible(text: str):
    visible = "".join(text.split())
    assert "".join(Whitespace().words(text)) == visible
    assert "".join(Char().words(text)) == visible.replace("\u200d", "") or "\u200d" in text


def test_a_dictionary_file_may_carry_frequencies(tmp_path: Path):
    (tmp_path / "d.txt").write_text("\ufeff小明 3 nr\n云计算\n\n小明\n", "utf-8")
    assert read_dictionary(tmp_path / "d.txt") == ("小明", "云计算")
    with pytest.raises(SourceError, match="Cannot read the dictionary"):
        read_dictionary(tmp_path / "none.txt")
