"""Which scripts a Chinese text is in, and what the defaults make of it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid import cli
from inlaid.encode.scripts import scripts_of, scripts_of_words
from inlaid.report import Event, Note

SIMPLIFIED = "这个国家的经济发展很快，学习中文对我们来说是一件有趣的事情。"
TRADITIONAL = "這個國家的經濟發展很快，學習中文對我們來說是一件有趣的事情。"
ENGLISH = "the economy of this country grows fast"


def notes_of(text: list[str], **settings: Any) -> tuple[inlaid.Corpus, list[str]]:
    """The corpus, and what was reported about scripts."""
    events: list[Event] = []
    corpus = inlaid.corpus(text, min_count=1, report=events.append, **settings)
    found = [str(event) for event in events if isinstance(event, Note)]
    return corpus, [note for note in found if "traditional" in note]


def test_characters_are_counted_by_script() -> None:
    found = scripts_of("中国 and 中國, 42")
    assert (found.han, found.simplified, found.traditional, found.other) == (2, 1, 1, 5)
    assert scripts_of("，。 \n").mostly_han is False
    assert scripts_of(SIMPLIFIED).mostly_han
    assert not scripts_of(ENGLISH + "中国").mostly_han
    assert scripts_of("我买了iPhone和MacBook两台电脑").mostly_han


def test_words_count_as_often_as_they_occur() -> None:
    corpus, _ = notes_of(["国 國 国 a"], tokenizer="whitespace")
    found = scripts_of_words(corpus.vocabulary)
    assert (found.simplified, found.traditional, found.other) == (2, 1, 1)


@pytest.mark.parametrize(
    ("text", "mixed", "traditional"),
    [
        ([SIMPLIFIED] * 20, False, False),
        ([TRADITIONAL] * 20, False, True),
        ([SIMPLIFIED] * 10 + [TRADITIONAL] * 10, True, False),
        ([SIMPLIFIED] * 99 + [TRADITIONAL], False, False),
        ([ENGLISH] * 20, False, False),
        ([SIMPLIFIED, TRADITIONAL] + [ENGLISH] * 2000, False, False),
        ([TRADITIONAL] * 2 + [ENGLISH] * 2000, False, False),
        ([SIMPLIFIED, TRADITIONAL] * 10 + [ENGLISH] * 1000, True, False),
    ],
    ids=[
        "simplified",
        "traditional",
        "mixed",
        "one line of a hundred",
        "english",
        "english that quotes both",
        "english that quotes traditional",
        "a part that is mixed",
    ],
)
def test_a_mixed_text_is_recognized(text: list[str], mixed: bool, traditional: bool) -> None:
    found = scripts_of("\n".join(text))
    assert found.mixed is mixed
    assert found.mostly_traditional is traditional


def test_a_mixed_text_is_simplified_and_says_so() -> None:
    corpus, notes = notes_of([SIMPLIFIED, TRADITIONAL] * 5)
    assert corpus.manifest["encoding"]["normalize"] == ["nfc", "width", "lower", "simplified"]
    assert "国家" in corpus.vocabulary.words
    assert "國家" not in corpus.vocabulary.words
    assert corpus.vocabulary.counts[corpus.vocabulary.words.find("国家")] == 10
    [note] = notes
    assert "50%" in note
    assert "normalize=['nfc', 'width', 'lower']`" in note


def test_english_that_quotes_some_chinese_gets_no_note() -> None:
    corpus, notes = notes_of([SIMPLIFIED, TRADITIONAL, *[ENGLISH] * 2000])
    assert corpus.manifest["encoding"]["normalize"] == ["nfc", "width", "lower"]
    assert "國家" in corpus.vocabulary.words
    assert not notes


def test_steps_that_are_set_are_not_changed() -> None:
    corpus, notes = notes_of([SIMPLIFIED, TRADITIONAL] * 5, normalize=("nfc", "lower"))
    assert corpus.manifest["encoding"]["normalize"] == ["nfc", "lower"]
    assert "國家" in corpus.vocabulary.words
    [note] = notes
    assert "`normalize=['nfc', 'lower', 'simplified']`" in note


def test_a_text_of_one_script_stays_as_it_is() -> None:
    corpus, notes = notes_of([SIMPLIFIED] * 5)
    assert corpus.manifest["encoding"]["normalize"] == ["nfc", "width", "lower"]
    assert notes == []
    corpus, notes = notes_of([TRADITIONAL] * 5)
    assert "simplified" not in corpus.manifest["encoding"]["normalize"]
    [note] = notes
    assert "in traditional Chinese" in note


def test_full_width_letters_are_half_width_by_default() -> None:
    corpus, _ = notes_of(["我用ＡＢＣ１２３和abc123，共１，０００元"])
    words = set(corpus.vocabulary.words)
    assert {"abc123", "1,000"} <= words
    assert corpus.vocabulary.counts[corpus.vocabulary.words.find("abc123")] == 2


def test_the_command_line_says_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "zh.txt"
    text.write_text(f"{SIMPLIFIED}\n{TRADITIONAL}\n" * 20, encoding="utf-8")
    out = tmp_path / "v.inlaid"
    assert cli.main(["train", "ppmi", str(text), "-o", str(out), "--dim", "5", "--min-count", "1"]) == 0
    assert "all of it is converted to simplified" in capsys.readouterr().err
    assert cli.main(["neighbors", str(out), "國家"]) == 0
    assert "simplified" in inlaid.load(out).card.encoding["normalize"]


JAPANESE = "東京駅から電車に乗って、学校の図書館で国語の教科書を読みました。経済の発展についても話した。"


@pytest.mark.parametrize("tokenizer", ["word", "bpe"])
def test_japanese_is_never_converted(tokenizer: str) -> None:
    for text in ([JAPANESE] * 10, [JAPANESE, SIMPLIFIED, TRADITIONAL] * 5):
        corpus, notes = notes_of(text, tokenizer=tokenizer, **SMALL[tokenizer])
        assert "simplified" not in corpus.manifest["encoding"]["normalize"]
        assert notes == []
    assert scripts_of(f"{TRADITIONAL}の{SIMPLIFIED}" * 5).mixed  # a word of Japanese is no Japanese text


SMALL: dict[str, dict[str, Any]] = {"word": {}, "char": {}, "bpe": {"subwords": 300}}


@pytest.mark.parametrize("tokenizer", SMALL)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("files", ["many", "one", "gz", "jsonl", "gbk"])
def test_the_whole_text_decides(tokenizer: str, workers: int, files: str, tmp_path: Path) -> None:
    """Scripts that are apart, each in files of its own or in a half of one file, are mixed all the same."""
    texts = [f"{SIMPLIFIED}\n" * 4000, f"{TRADITIONAL}\n" * 4000]
    if files == "one":
        (tmp_path / "text.txt").write_text("".join(texts), "utf-8")
    for number, text in enumerate(texts if files != "one" else ()):
        path = tmp_path / f"{number}.txt"
        if files == "gz":
            path.with_suffix(".txt.gz").write_bytes(gzip.compress(text.encode()))
        elif files == "jsonl":
            lines = [json.dumps({"text": line}) for line in text.splitlines()]
            path.with_suffix(".jsonl").write_text("\n".join(lines))
        else:
            path.write_text(text, "gbk" if files == "gbk" else "utf-8")
    events: list[Event] = []
    corpus = inlaid.corpus(
        tmp_path,
        tokenizer=tokenizer,
        workers=workers,
        report=events.append,
        charset="auto",
        **SMALL[tokenizer],
    )
    assert corpus.manifest["encoding"]["normalize"][-1] == "simplified"
    [note] = [str(event) for event in events if "traditional" in str(event)]
    assert re.search(r"[\d,]+ are simplified and [\d,]+ \(50%\) traditional", note)
    assert ".176 instead of .295" in note


def test_a_stream_is_decided_by_its_beginning() -> None:
    sentences = [SIMPLIFIED] * 60_000 + [TRADITIONAL] * 60_000
    corpus, _ = notes_of(sentences)
    assert corpus.manifest["encoding"]["normalize"][-1] == "simplified"
    corpus, [note] = notes_of(iter(sentences))  # pyright: ignore[reportArgumentType]
    assert "simplified" not in corpus.manifest["encoding"]["normalize"]
    assert "To make them one: `normalize=['nfc', 'width', 'lower', 'simplified']`" in note


@pytest.mark.parametrize("charset", ["gbk", "big5", "utf-16-le"])
@pytest.mark.parametrize("flags", [[], ["--invalid", "skip"]])
def test_bytes_of_another_charset_have_no_script(
    charset: str, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TRADITIONAL if charset == "big5" else SIMPLIFIED
    (tmp_path / "text.txt").write_bytes((f"{text}\n" * 50).encode(charset))
    assert cli.main(["corpus", str(tmp_path / "text.txt"), "-o", str(tmp_path / "c"), *flags]) == 2
    assert "traditional" not in capsys.readouterr().err
