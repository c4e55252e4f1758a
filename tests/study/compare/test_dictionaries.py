"""Dictionaries in both forms, and what is no dictionary."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from inlaid.errors import FormatError, SourceError
from inlaid.report import Event, Note
from inlaid.study.compare.dictionaries import read_dictionary

CEDICT = """# CC-CEDICT
#! version=1
貓 猫 [mao1] /cat/CL:隻|只[zhi1]/(dialect) to hide oneself/
吃 吃 [chi1] /to eat; to consume/(fig.) to absorb/variant of 喫[chi1]/
中國 中国 [Zhong1 guo2] /China/Middle Kingdom/
"""


def test_two_columns(tmp_path: Path):
    (tmp_path / "blank.txt").write_text("and 而且\nand 和\n\nand 和\n", "utf-8")
    (tmp_path / "tab.txt").write_text("\ufeffnew york\t纽约\r\n# \t井\r\n", "utf-8")
    assert read_dictionary(tmp_path / "blank.txt") == [("and", "而且"), ("and", "和")]
    assert read_dictionary(tmp_path / "tab.txt") == [("new york", "纽约"), ("#", "井")]


def test_cedict_gives_single_words_of_both_scripts(tmp_path: Path):
    path = tmp_path / "cedict.txt.gz"
    path.write_bytes(gzip.compress(CEDICT.encode()))
    assert read_dictionary(path) == [
        ("猫", "cat"),
        ("貓", "cat"),
        ("吃", "eat"),
        ("吃", "consume"),
        ("吃", "absorb"),
        ("中国", "China"),
        ("中國", "China"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"cat \xe7\x8c\xab\ndog\n", ":2: expected a word and its translation, found 'dog'"),
        (b"cat \xe7\x8c\xab a\n", ":1: expected"),
        (b"cat \xff\n", ":1: byte 5 of the line is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: bytes, said: str):
    (tmp_path / "pairs.txt").write_bytes(text)
    with pytest.raises((FormatError, SourceError), match=said):
        read_dictionary(tmp_path / "pairs.txt")


def test_the_charset_is_recognized(tmp_path: Path):
    lines = "cat 猫\ndog 狗\ncity 城市\nschool 学校\nperson 人\n"
    (tmp_path / "pairs.txt").write_bytes(lines.encode("gbk"))
    notes: list[Event] = []
    assert read_dictionary(tmp_path / "pairs.txt", notes.append)[0] == ("cat", "猫")
    assert [each.text for each in notes if isinstance(each, Note)] == [
        f"{tmp_path / 'pairs.txt'} is read as GB18030."
    ]


def test_nothing_to_read(tmp_path: Path):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(SourceError, match="has no pairs"):
        read_dictionary(tmp_path / "empty.txt")
    with pytest.raises(SourceError, match="There is no dictionary"):
        read_dictionary(tmp_path / "none.txt")


def test_real_dictionaries(data: Path):
    pairs = read_dictionary(data / "dict_en_zh" / "muse_en-zh.0-5000.txt")
    assert len(pairs) == 8728
    assert pairs[0] == ("and", "而且")
    entries = set(read_dictionary(data / "dict_en_zh" / "cedict_1_0_ts_utf-8_mdbg.txt.gz"))
    assert len(entries) > 100_000
    assert {("猫", "cat"), ("貓", "cat"), ("高兴", "happy"), ("吃", "eat")} <= entries
