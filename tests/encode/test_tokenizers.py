"""Tokens in both languages, and their offsets."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inlaid import registry
from inlaid.collect.normalize import normalizer
from inlaid.encode.corpus import Encoding
from inlaid.encode.dictionary import read_dictionary
from inlaid.encode.tokenizers import Char, Tokenizer, Whitespace, Word
from inlaid.errors import FormatError, SettingError, SourceError

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


def test_a_nickname_before_a_verb_is_one_word():
    assert Word().words("小明说他喜欢游泳") == ["小明", "说", "他", "喜欢", "游泳"]
    assert Word().words("老王问小红") == ["老王", "问", "小红"]
    assert Word().words("大小明显不同") == ["大小", "明显", "不同"]


def test_a_forced_dictionary_word_is_one_token_everywhere():
    dictionary = ("坐", "很", "研究", "A股")
    assert Word(dictionary=dictionary, force_dictionary=True).words("猫坐在很甜的垫子上，研究生谈A股东") == [
        "猫",
        "坐",
        "在",
        "很",
        "甜",
        "的",
        "垫子",
        "上",
        "研究",
        "生谈",
        "A股",
        "东",
    ]


@pytest.mark.parametrize("text", ["研究生", "研究生在研究院", "我是研究生"])
def test_a_short_dictionary_word_breaks_no_longer_one(text: str):
    assert Word(dictionary=("研究", "究", "研究 5 vn")).words(text) == Word().words(text)


def test_words_compete_by_frequency():
    assert Word(dictionary=("云计算",)).words("云计算平台") == ["云计算", "平台"]
    assert Word(dictionary=("台中",)).words("台中市") == Word().words("台中市")
    assert Word().words("中将军") == ["中", "将军"]
    assert Word(dictionary=("中将 10",)).words("中将军") == ["中", "将军"]
    assert Word(dictionary=("中将 100000000",)).words("中将军") == ["中将", "军"]


MIXED = (
    "T恤",
    "卡拉OK",
    "C++",
    "3D打印",
    "iPhone手机",
    "A股",
    "列夫·托尔斯泰",
    "三〇一医院",
    ".NET",
    "α粒子",
    "5G手机",
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我买了一件T恤，很好看", ["我", "买", "了", "一件", "T恤", "很", "好看"]),
        ("我们去唱卡拉OK吧", ["我们", "去", "唱", "卡拉OK", "吧"]),
        ("他会写C++程序和C++", ["他会", "写", "C++", "程序", "和", "C++"]),
        ("3D打印技术与3D打印机", ["3D打印", "技术", "与", "3D", "打印机"]),
        ("新iPhone手机壳", ["新", "iPhone手机", "壳"]),
        ("A股市场，A股东大会，USA股", ["A股", "市场", "A", "股东大会", "USA", "股"]),
        ("列夫·托尔斯泰在三〇一医院", ["列夫·托尔斯泰", "在", "三〇一医院"]),
        ("用.NET开发α粒子模型", ["用", ".NET", "开发", "α粒子", "模型"]),
        ("3.5G手机和5G手机", ["3.5G", "手机", "和", "5G手机"]),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_words_of_mixed_script_are_one_token(text: str, words: list[str], force: bool):
    if force and ("打印机" in text or "股东" in text):
        return
    assert Word(dictionary=MIXED, force_dictionary=force).words(text) == words


def test_dictionary_words_are_normalized_like_the_text():
    encoding = Encoding(
        dictionary=("Ｔ恤", "卡拉ＯＫ 5 n", "電腦病毒"), normalize=("nfkc", "lower", "simplified")
    )
    words = encoding.make_tokenizer().words(normalizer(encoding.steps)("T恤、卡拉OK和電腦病毒"))
    assert words == ["t恤", "卡拉ok", "和", "电脑病毒"]
    with pytest.raises(SettingError, match="'¨' is ' ̈' after normalization"):
        Encoding(dictionary=("¨",), normalize=("nfkc",)).make_tokenizer()


ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
EMOJI = f"👍🏽 👨\u200d👩\u200d👧 🇨🇳🇺🇸 ❤\ufe0f 1\ufe0f\u20e3 {ENGLAND} 🏃🏻\u200d♀\ufe0f ™\ufe0f"


def test_emoji_are_dropped_or_one_token_each():
    text = f"我{EMOJI}你™+1"
    assert Word().words(text) == ["我", "1", "你", "1"]
    emoji = EMOJI.replace("🇨🇳🇺🇸", "🇨🇳 🇺🇸").split()
    assert Word(symbols="emoji").words(text) == ["我", *emoji, "你", "1"]
    assert Word(symbols="all").words(text) == ["我", *emoji, "你", "™", "+", "1"]
    assert Word(symbols="all").words("20℃，$5（a）") == ["20", "℃", "$", "5", "a"]


def test_characters_keep_their_marks():
    assert Char().words("我 é e\u0301 👨\u200d👩\u200d👧 👍🏽!") == [
        "我",
        "é",
        "e\u0301",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "!",
    ]
    assert Char().words(EMOJI) == EMOJI.replace("🇨🇳🇺🇸", "🇨🇳 🇺🇸").split()


def test_whitespace_leaves_punctuation():
    assert Whitespace().words("I like\u3000NLP.\n") == ["I", "like", "NLP."]


TOKENIZERS = [
    *(registry.find("tokenizer", name)() for name in NAMES),
    Word(dictionary=MIXED, symbols="all"),
    Word(dictionary=("喜欢", "T恤"), force_dictionary=True, hmm=False, symbols="emoji"),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=str)
@given(
    text=st.text(alphabet=st.characters(blacklist_categories=["Cs"]))
    | st.text("我喜欢苹 a'1.,é\u0301\u200d")
    | st.lists(st.sampled_from([*MIXED, *EMOJI, "恤", "市场", "东", "g", "+"])).map("".join)
)
def test_offsets_point_at_the_tokens(tokenizer: Tokenizer, text: str):
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
    (tmp_path / "d.txt").write_text("\ufeff小明 3 nr\n云计算\n\n凱特琳 nz\nC++\t7\n", "utf-8")
    assert read_dictionary(tmp_path / "d.txt") == ("小明 3", "云计算", "凱特琳", "C++ 7")
    with pytest.raises(SourceError, match="Cannot read the dictionary"):
        read_dictionary(tmp_path / "none.txt")


@pytest.mark.parametrize(
    "line",
    [
        "云计算 5 n x",
        "云计算 -5",
        "云计算 0",
        "云计算 5.5",
        "machine learning",
        "Edu Trust认证 2000",
        "5 5 5",
    ],
)
def test_a_line_that_is_no_entry_is_refused_with_its_number(line: str, tmp_path: Path):
    (tmp_path / "d.txt").write_text(f"小明\n\n{line}\n", "utf-8")
    with pytest.raises(FormatError, match=f"d.txt:3: found '{re.escape(line)}'. Expected a word"):
        read_dictionary(tmp_path / "d.txt")
    with pytest.raises(SettingError, match="The dictionary has"):
        Word(dictionary=(line,))
