"""Chinese segmentation beside jieba: the same words, with and without new words, frequencies and the hidden
Markov model."""

from __future__ import annotations

import logging
import lzma
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from inlaid.encode import chinese
from inlaid.encode.chinese import Entry
from inlaid.encode.dictionary import read_dictionary
from inlaid.encode.tokenizers import Word

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on import
    jieba = pytest.importorskip("jieba", reason="jieba comes with the extra `peers`")

jieba.setLogLevel(logging.ERROR)
TAGGED = "people_daily_199801/199801_tagged.txt.xz"
NEW = {"云计算": 5, "小福": None, "创新办": 3, "韩玉赏鉴": 3, "机器学习": None, "区块链": 300, "生成式": 5000}
TEXTS = [
    "李小福是创新办主任也是云计算方面的专家",
    "研究生研究生命起源",
    "区块链和机器学习都用得上生成式模型",
    "韩玉赏鉴会上小明说他喜欢游泳",
    "老王问小红结婚的和尚未结婚的人",
    "刘小丽和陈小江在小红书上看小田原的照片",
]


def jieba_with_nicknames() -> Any:
    """jieba with the names that we add to its dictionary."""
    made = jieba.Tokenizer()
    made.initialize()
    for name, frequency in chinese.names():
        if not made.FREQ.get(name):
            made.add_word(name, frequency)
    return made


@pytest.fixture(scope="module")
def runs(data: Path) -> list[str]:
    """Runs of Chinese in newspaper text, and the texts above."""
    with lzma.open(data / TAGGED, "rt", encoding="utf-8") as file:
        lines = [re.sub(r"/[A-Za-z]+|[\s\[\]]", "", next(file)) for _ in range(1500)]
    return TEXTS + [run for line in lines for run in re.findall("[\u4e00-\u9fd5]+", line)]


@pytest.mark.parametrize("hmm", [True, False])
def test_the_same_words(hmm: bool, runs: list[str]):
    segment = chinese.segmenter(hmm=hmm)
    theirs = jieba_with_nicknames()
    assert [segment(run) for run in runs] == [theirs.lcut(run, HMM=hmm) for run in runs]


@pytest.mark.parametrize("hmm", [True, False])
def test_the_same_words_with_a_dictionary(hmm: bool, runs: list[str], tmp_path: Path):
    path = tmp_path / "words.txt"
    lines = [word if frequency is None else f"{word} {frequency} n" for word, frequency in NEW.items()]
    path.write_text("\n".join(lines), "utf-8")
    theirs = jieba_with_nicknames()
    with path.open("rb") as file:
        theirs.load_userdict(file)
    ours = Word(dictionary=read_dictionary(path), hmm=hmm)
    assert ours.entries == tuple(Entry(word, frequency) for word, frequency in NEW.items())
    assert [ours.words(run) for run in runs] == [theirs.lcut(run, HMM=hmm) for run in runs]
    assert ours.words(TEXTS[0])[-5:] != Word(hmm=hmm).words(TEXTS[0])[-5:]  # the dictionary had a part in it
