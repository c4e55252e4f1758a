"""Words that look wrong are found; words that only look strange are left alone."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import numpy as np
import pytest

from inlaid.study.doctor.broken_words import broken, is_mojibake, kind_of
from inlaid.study.doctor.findings import Finding
from inlaid.study.doctor.word_checks import ENGLISH, case, missing, script, width
from inlaid.vectors import Vectors

BROKEN = {
    "mojibake": [
        "café".encode().decode("latin-1"),
        "’".encode().decode("cp1252"),
        "中文".encode().decode("latin-1"),
        "锟斤拷",
        "a\ufffdb",
        "你好世界".encode().decode("gbk"),
    ],
    "control characters": ["a\x00b", "soft\u00adhyphen", "zero\u200bwidth", "\ufeffword", "\ue000"],
    "markup": ["&amp;", "&#39;", "&nbsp", "<br", "</ref>", "x&lt;y"],
    "unused": ["[unused12]", "<unused3>", "madeupword0001"],
    "whitespace": [" ", "new york", "\u3000"],
    "punctuation": ["。", "...", "——", "«"],
}
SOUND = [
    "café",
    "naïve",
    "Ångström",
    "straße",
    "мир",
    "世界",
    "联通",
    "中华人民共和国",
    "don't",
    "3.14",
    "r&b",
    "at&t",
    "c++",
    "<unk>",
    "</s>",
    "😀",
    "👨‍👩‍👧",
    "نیم‌فاصله",
    "हिन्दी",
    "ça",
    "ü",
    "ɪ",
    "$",
    "a<b",
    "e-mail",
    "new_york",
    "prev&oldid",
]


@pytest.mark.parametrize(("kind", "word"), [(kind, word) for kind, words in BROKEN.items() for word in words])
def test_broken_words_are_named(kind: str, word: str):
    assert kind_of(word) == kind


@pytest.mark.parametrize("word", SOUND)
def test_sound_words_are_left_alone(word: str):
    assert kind_of(word) is None


def space(words: list[str]) -> Vectors:
    return Vectors.of(words, np.random.default_rng(1).standard_normal((len(words), 4)))


def test_findings_count_and_show_what_cannot_be_seen():
    words = [f"w{id}" for id in range(400)] + ["a\x00b", "cafÃ©", "…"]
    seen = {each.check: each for each in broken(space(words))}
    assert set(seen) == {"control characters", "mojibake", "punctuation"}
    assert seen["control characters"].examples == ("a\\u0000b",)
    assert (seen["mojibake"].severity, seen["punctuation"].severity) == ("warning", "note")
    assert {each.check: each.severity for each in broken(space(["word", "cafÃ©"]))} == {"mojibake": "serious"}


def spelled_twice(vectors: Vectors) -> list[Finding]:
    return [*case(vectors), *width(vectors), *script(vectors)]


def test_one_word_in_several_spellings():
    seen = {
        each.check: each
        for each in spelled_twice(space(["the", "The", "THE", "红色", "紅色", "abc", "ａｂｃ", "cat"]))
    }
    assert (seen["case"].figure, seen["case"].examples) == (2, ("the = The", "the = THE"))
    assert seen["script"].examples == ("红色 = 紅色",)
    assert seen["width"].examples == ("abc = ａｂｃ",)
    assert spelled_twice(space(["the", "cat", "红色"])) == []
    assert (
        spelled_twice(space(["km2", "km²", *(f"w{id}" for id in range(2000))])) == []
    )  # one in a thousand is in every text


def test_missing_words_of_the_languages_spoken():
    english, days, numerals = (ENGLISH.groups[group] for group in ("function words", "days", "numerals"))
    assert missing(space([*english, *days, *numerals])) == []
    assert missing(space([*english, *map(str.capitalize, days), *numerals])) == []
    seen = {each.check: each for each in missing(space([*english[:-2], *days[1:], *numerals]))}
    assert {name: each.examples for name, each in seen.items()} == {
        "missing function words": ("this", "not"),
        "missing days": ("monday",),
    }
    assert missing(space(["bonjour", "monde"])) == []  # it speaks neither language
    assert missing(space([*english[:12], "的", "了"])) == []  # too few of its function words
    assert (
        missing(space([*(f"词{chr(0x4E00 + id)}" for id in range(300)), *english])) == []
    )  # English words occur in Chinese text too


def test_real_words_of_chinese_are_hardly_ever_taken_for_mojibake(data: Path):
    """Runs of two to six characters of real text, whatever words they are."""
    with lzma.open(data / "people_daily_199801" / "199801_tagged.txt.xz", "rt", encoding="utf-8") as file:
        text = re.sub(r"[^\u4e00-\u9fff]", "", file.read(1_000_000))
    runs = {text[at : at + size] for size in (2, 3, 4, 5, 6) for at in range(0, len(text) - 6, 3)}
    assert len(runs) > 100_000
    assert sum(map(is_mojibake, runs)) <= len(runs) // 10_000
