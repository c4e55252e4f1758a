"""Texts and tokenizers that the tests of subwords share."""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inlaid.collect import world
from inlaid.encode.subwords.tokenizer import Subwords
from inlaid.encode.subwords.training import learn

SIZES = {"bpe": 500, "wordpiece": 2000, "unigram": 2000}


class Trained:
    """One small tokenizer of each kind, trained when first used; only unigram needs sentencepiece."""

    def __init__(self) -> None:
        self.made: dict[str, Subwords] = {}
        self.sizes = SIZES
        self.sentences = list(itertools.islice(world.sentences(), 2000))

    def __getitem__(self, kind: str) -> Subwords:
        if kind == "unigram":
            _sentencepiece()
        if kind not in self.made:
            self.made[kind] = learn(kind, self.sentences, size=SIZES[kind])
        return self.made[kind]


@pytest.fixture(scope="session")
def trained() -> Trained:
    return Trained()


@pytest.fixture(params=SIZES)
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of subwords that can be trained here."""
    if request.param == "unigram":
        _sentencepiece()
    return request.param


@pytest.fixture
def sentencepiece() -> Any:
    return _sentencepiece()


def _sentencepiece() -> Any:
    reason = "SentencePiece models need the extra `sentencepiece`"
    pytest.importorskip("google.protobuf", reason=reason)
    return pytest.importorskip("sentencepiece", reason=reason)


@pytest.fixture(scope="session")
def odd() -> str:
    """Everything a tokenizer may stumble over, in one text."""
    return (
        "I don't like naïve 3.14 …  [MASK] <s> <0x41> ##ing 我喜欢 iPhone手机，😀👨‍👩‍👧\u3000e\u0301\t\n end "
    )


@pytest.fixture(scope="session")
def mixed() -> list[str]:
    return [
        "The cat sat on the mat.",
        "我喜欢自然语言处理。",
        "naïve café 3.14",
        "  two  spaces ",
        "",
        " ",
        "（全角）ＡＢＣ①",
        "Hello world",
    ]


@pytest.fixture(scope="session")
def read_lines(data: Path) -> Callable[[str], list[str]]:
    def read(name: str) -> list[str]:
        with lzma.open(data / name, "rt", encoding="utf-8") as file:
            return file.read(100_000).split("\n")

    return read


@pytest.fixture(scope="session")
def chinese(read_lines: Callable[[str], list[str]]) -> list[str]:
    return read_lines("corpus_zhwiki/zhwiki_slice.txt.xz")


@pytest.fixture(scope="session")
def english(read_lines: Callable[[str], list[str]]) -> list[str]:
    return read_lines("corpus_enwiki/enwiki_slice.txt.xz")
