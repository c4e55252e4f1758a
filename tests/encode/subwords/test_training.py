"""Trained subwords: the size asked for, the same every time, or an error that says what to change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inlaid.encode.subwords import training
from inlaid.encode.subwords.loading import load
from inlaid.encode.subwords.tokenizer import SPECIAL
from inlaid.encode.subwords.training import learn
from inlaid.encode.tokenizers import Tokenizer
from inlaid.errors import FormatError, MissingExtra, SettingError, SourceError, UnknownName


def test_training_gives_the_size_asked_special_tokens_first(kind: str, trained: Any):
    assert isinstance(trained[kind], Tokenizer)
    assert len(trained[kind].vocabulary) == len(set(trained[kind].vocabulary)) == trained.sizes[kind]
    assert trained[kind].special == {name: id for id, name in enumerate(SPECIAL)}
    assert trained[kind].vocabulary[: len(SPECIAL)] == list(SPECIAL)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_same_text_gives_the_same_tokenizer_on_any_number_of_threads(
    threads: str, kind: str, trained: Any
):
    program = (
        "import json, sys; from inlaid.encode.subwords.training import learn;"
        "kind, size, text = json.load(sys.stdin); print(learn(kind, text, size=size).to_json())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([kind, trained.sizes[kind], trained.sentences]),
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.stdout.strip() == trained[kind].to_json().strip()


def test_real_text_gives_the_same_tokenizer_twice(kind: str, english: list[str], chinese: list[str]):
    text = english + chinese[:20]
    first, second = (learn(kind, text, size=3000) for _ in range(2))
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize("text", [[], ["", " \n"]])
def test_an_empty_text_is_refused(kind: str, text: list[str]):
    with pytest.raises(SourceError, match="text is empty"):
        learn(kind, text)


def test_too_little_text_is_refused_with_the_size_it_is_good_for(kind: str, trained: Any):
    with pytest.raises(
        SourceError,
        match=r"gives [\d,]+ subwords, and the setting subwords asks for 8,000. Add .*, or lower it to (\d+)",
    ) as refused:
        learn(kind, trained.sentences, size=8000)
    most = int(str(refused.value).split()[-1].rstrip("."))
    assert len(learn(kind, trained.sentences, size=most).vocabulary) == most


def test_by_default_there_are_as_many_as_the_text_gives(kind: str, trained: Any):
    notes: list[Any] = []
    made = learn(kind, trained.sentences, report=notes.append)
    found = len(made.vocabulary)
    with pytest.raises(SourceError, match=f"lower it to {found}"):
        learn(kind, trained.sentences, size=found + 1)
    assert made.to_json() == learn(kind, trained.sentences, size=found).to_json()
    assert f"The vocabulary has {found:,} subwords" in str(notes[-1])


def test_by_default_there_are_8000_where_the_text_gives_more(english: list[str], chinese: list[str]):
    notes: list[Any] = []
    assert len(learn("bpe", english + chinese, report=notes.append).vocabulary) == 8000
    assert not any("subwords, as" in str(each) for each in notes)


def test_a_size_below_the_alphabet_is_refused(kind: str, trained: Any):
    with pytest.raises(SettingError, match="subwords is 60"):
        learn(kind, trained.sentences, size=60)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'unigram'"):
        learn("unigramm", ["a"])
    with pytest.raises(SettingError, match="distinct"):
        learn("bpe", ["a"], special=("x", "x"))
    with pytest.raises(SettingError, match="without .UNK."):
        learn("wordpiece", ["a"], special=("[PAD]",))
    with pytest.raises(SourceError, match="half a character .* after 'abc'"):
        learn("bpe", ["abc\ud800"])


def test_a_missing_extra_is_named(data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    for attempt in (
        lambda: load(data / "vocab_sentencepiece" / "test_model.model"),
        lambda: learn("unigram", ["a"]),
    ):
        with pytest.raises(MissingExtra, match=r"pip install 'inlaid\[sentencepiece\]'"):
            attempt()


def test_a_panic_in_the_library_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch):
    class PanicException(BaseException):
        """As pyo3 makes them: no Exception."""

    def panic(*_: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setitem(training.TRAINERS, "bpe", panic)
    with pytest.raises(FormatError, match="cannot be trained on this text: index out of bounds"):
        learn("bpe", ["a"])
