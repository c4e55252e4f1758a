"""Words are found by what a user types: letters, characters of either script, any width, or the sound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.collect.pinyin import readings, typed_pinyin
from inlaid.errors import OutOfVocabulary
from inlaid.suggestions import completions
from inlaid.vectors import Vectors

WORDS = [
    "苹果",
    "水果",
    "平静",
    "北京",
    "背景",
    "银行",
    "行走",
    "重庆",
    "绿色",
    "女儿",
    "西安",
    "苹果汁",
    "游泳",
]


def of(words: list[str]) -> Vectors:
    table = np.random.default_rng(1).normal(size=(len(words), 4)).astype(np.float32)
    return Vectors.of(words, table)


VECTORS = of(WORDS)


def suggested(word: str, vectors: Vectors = VECTORS) -> str:
    with pytest.raises(OutOfVocabulary) as found:
        vectors.id(word)
    return str(found.value).partition("words.")[2].strip()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pingguo", "苹果"),
        ("PingGuo", "苹果"),
        ("píngguǒ", "苹果"),
        ("ping2guo3", "苹果"),
        ("ping guo", "苹果"),
        ("ｐｉｎｇｇｕｏ", "苹果"),
        ("pinguo", "苹果"),  # a speaker who does not tell n from ng
        ("yinghang", "银行"),
        ("chongqing", "重庆"),
        ("congqing", "重庆"),
        ("lvse", "绿色"),
        ("lǜsè", "绿色"),
        ("nü'er", "女儿"),
        ("xi'an", "西安"),
        ("youyon", "游泳"),
        ("蘋果", "苹果"),
        ("平果", "苹果"),  # an input method offered the wrong word
        ("由泳", "游泳"),
    ],
)
def test_a_word_is_suggested_by_its_sound(typed: str, meant: str):
    assert suggested(typed).startswith(f"Did you mean '{meant}'")


def test_words_of_one_sound_are_all_suggested():
    assert suggested("beijing") == "Did you mean '北京' or '背景'?"
    assert suggested("yinhang") == "Did you mean '银行'?"
    assert suggested("xingzou") == "Did you mean '行走'?"
    assert suggested("qqq") == ""


def test_traditional_words_are_found_by_simplified_ones_and_by_sound():
    traditional = of(["蘋果", "銀行", "電腦"])
    assert suggested("苹果", traditional) == "Did you mean '蘋果'?"
    assert suggested("yinhang", traditional) == "Did you mean '銀行'?"
    assert suggested("diannao", traditional) == "Did you mean '電腦'?"
    assert [each.word for each in completions("电", traditional.words)] == ["電腦"]


def test_english_words_need_no_pinyin():
    code = (
        "import sys, numpy as np\n"
        "from inlaid.suggestions import suggestion\n"
        "from inlaid.vectors import Vectors\n"
        "vectors = Vectors.of(['banana', 'apple'], np.eye(2, dtype=np.float32))\n"
        "assert 'banana' in str(suggestion('bananna', vectors))\n"
        "assert 'pypinyin' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("苹", ["苹果", "苹果汁"]),
        ("蘋", ["苹果", "苹果汁"]),
        ("ping", ["苹果", "平静", "苹果汁"]),
        ("pingguo", ["苹果", "苹果汁"]),
        ("pg", ["苹果", "苹果汁"]),
        ("pgz", ["苹果汁"]),
        ("bj", ["北京", "背景"]),
        ("ｂｊ", ["北京", "背景"]),
        ("", []),
        ("zzz", []),
    ],
)
def test_completions(typed: str, found: list[str]):
    assert [each.word for each in completions(typed, VECTORS.words)] == found


def test_each_completion_says_how_it_was_found():
    mixed = of(["pingpong", "苹果"])
    assert [(each.word, each.how) for each in completions("ping", mixed.words)] == [
        ("pingpong", "spelling"),
        ("苹果", "pinyin"),
    ]
    assert completions("ping", mixed.words, n=1)[0].word == "pingpong"
    assert completions("pg", mixed.words)[0].how == "abbreviation"


def test_the_command(typed: Any, tmp_path: Path):
    inlaid.save(VECTORS, tmp_path / "v.inlaid")
    shown = typed("complete", tmp_path / "v.inlaid", "pg", "--lang", "zh")
    assert shown.splitlines() == [
        "词      拼音          查到的方式",
        "苹果    píng guǒ      拼音简写",
        "苹果汁  píng guǒ zhī  拼音简写",
    ]
    assert "no word begins with 'qq'" in typed("complete", tmp_path / "v.inlaid", "qq")
    assert [each.word for each in VECTORS.complete("bj").words] == ["北京", "背景"]


def test_pinyin_of_words_and_of_what_is_typed():
    assert readings("银行")[0] == ("yin", "hang")
    assert readings("苹果") == (("ping", "guo"),)
    assert readings("行")[:2] == (("xing",), ("hang",))
    assert readings("T恤") == readings("") == readings("cat") == ()
    assert typed_pinyin("国王") == typed_pinyin("a+b") == ""
