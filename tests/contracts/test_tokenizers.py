"""What every tokenizer promises in both languages, from the command line: text becomes a corpus, a corpus
vectors, and words that a user types are found, scored and shown as text.

Two pairs of words are planted in the text, each in sentences of its own, so that the vectors of a pair are
nearest to each other.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from inlaid import registry
from inlaid.encode.corpus import open_corpus

NAMES = [entry.name for entry in registry.entries("tokenizer", "subwords")]
FILES = ["gpt2", "bert", "sentencepiece"]
LANGUAGES = ["zh", "en"]
LETTERS_OF_BYTES = re.compile("[\u00a1-\u00ff\u0121-\u0142]")
"""How byte-level tokenizers write bytes; no text here has these characters."""
DATA = os.environ.get("INLAID_DATA")


class Words(NamedTuple):
    """Words planted in the text; each is one token of every tokenizer."""

    first: str
    near_first: str
    second: str
    near_second: str
    unseen: str
    """A word that is not in the text, made of two that are."""


PLANTED = {
    "zh": Words("王", "女", "上", "天", "王女"),
    "en": Words("house", "school", "water", "time", "schoolhouse"),
    "letters": Words("q", "z", "x", "j", "qz"),
}
SENTENCES = {
    "zh": ("{}，很好，可以。", "{}，不错，可以。", "{}，又高，又远。", "{}，又长，又远。"),
    "en": ("a {} is good .", "the {} is new .", "two {} are far .", "some {} are long ."),
}


SIZES = {
    "bpe": {"zh": 295, "en": 305},
    "wordpiece": {"zh": 21, "en": 73},
    "unigram": {"zh": 306, "en": 323},
}
"""As many subwords as the text gives."""


class Case(NamedTuple):
    """A tokenizer, and a text in one language: the file text.txt."""

    name: str
    language: str
    words: Words
    flags: list[str]
    composes: bool
    """Whether a word of several tokens gets a vector."""


def text_of(language: str, words: Words) -> str:
    templates = SENTENCES[language]
    pairs = ((words.first, words.near_first), (words.second, words.near_second))
    sentences = [
        template.format(word)
        for pair, of_pair in zip(pairs, (templates[:2], templates[2:]), strict=True)
        for template in of_pair
        for word in pair
    ]
    return "\n".join(sentences * 30)


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    name, language = request.param
    monkeypatch.chdir(tmp_path)
    words = PLANTED["letters" if name == "char" and language == "en" else language]
    text = text_of(language, words)
    if name == "whitespace":
        text = re.sub("(?<=[\u3000-\uffef])", " ", text)
    Path("text.txt").write_text(text, "utf-8")
    flags = ["--tokenizer", name]
    if name in SIZES:
        flags += ["--subwords", str(SIZES[name][language])]
    if name in FILES:
        flags = ["--tokenizer-file", str(tokenizer_file(name, language, tmp_path))]
    return Case(name, language, words, flags, composes=name in SIZES or name in FILES or name == "char")


def tokenizer_file(name: str, language: str, folder: Path) -> Path:
    if DATA is None:
        pytest.skip("needs INLAID_DATA")
    data = Path(DATA)
    if name == "gpt2":
        return data / "vocab_gpt2"
    if name == "bert":
        shutil.copy(data / "vocab_bert_chinese/vocab.txt", folder / "vocab.txt")
        (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
        return folder / "vocab.txt"
    if language == "en":
        return data / "vocab_sentencepiece/test_model.model"
    return data / "vocab_opus_mt_zh_en/source.spm"


def plain(token: str) -> str:
    """A token without its mark."""
    return token.lstrip("Ġ▁").removeprefix("##")


CASES = pytest.mark.parametrize(
    "case",
    [(name, language) for name in NAMES + FILES for language in LANGUAGES],
    indirect=True,
    ids="-".join,
)


@CASES
def test_from_text_to_answers(case: Case, typed: Callable[..., Any]):
    words = case.words
    typed("corpus", "text.txt", "-o", "c.corpus", *case.flags)
    trained = typed("train", "ppmi", "c.corpus", "-o", "v.inlaid", "--dim", "8", "--window", "8")
    advised = next(line.split()[1:] for line in trained.out.splitlines() if "inlaid neighbors" in line)
    assert advised[-1] in Path("text.txt").read_text("utf-8")
    typed(*advised)

    found = json.loads(typed("neighbors", "v.inlaid", words.first, "-n", "3", "--json").out)
    assert plain(found["queries"][0]["neighbors"][0]["word"]) == words.near_first
    shown = typed("neighbors", "v.inlaid", words.first, words.second, "-n", "20").out
    assert not LETTERS_OF_BYTES.search(shown)

    Path("pairs.txt").write_text(
        f"{words.first}\t{words.near_first}\t9\n{words.second}\t{words.near_second}\t8\n"
        f"{words.first}\t{words.second}\t1\n{words.near_first}\t{words.near_second}\t2\n"
        f"{words.unseen}\t{words.first}\t7\n",
        "utf-8",
    )
    score = json.loads(typed("evaluate", "v.inlaid", "pairs.txt", "--json").out)["scores"][0]
    assert score["too_few"]
    assert score["low"] is None
    assert "too few items" in typed("evaluate", "v.inlaid", "pairs.txt").out
    assert score["in_vocabulary"] == 4
    assert score["used"] == (5 if case.composes else 4)
    assert score["value"] > 0.5
    over_vocabulary = {each["metric"]: each for each in score["others"]}.get("spearman in vocabulary")
    assert (over_vocabulary is not None) == case.composes

    text = f"{words.first} ， {words.second}" if case.language == "zh" else f"a {words.first} {words.second}"
    tokens = typed("tokenize", text, "--corpus", "c.corpus").out
    rows = [line.split() for line in tokens.splitlines()]
    ids = {plain(row[0]): int(row[1]) for row in rows if len(row) >= 4 and row[1].isdigit()}
    assert {words.first, words.second} <= ids.keys()
    assert not LETTERS_OF_BYTES.search(tokens)

    if not case.composes:
        told = typed("neighbors", "v.inlaid", words.unseen, code=2).err
        assert f"'{words.unseen}' is not among the" in told
        return
    told = typed("neighbors", "v.inlaid", words.unseen)
    assert f"vector made from subwords: {words.unseen} (" in told.err
    if case.language == "zh":  # its own tokens, 王 and 女, are not its neighbors
        assert {line.split()[1] for line in told.out.splitlines()}.isdisjoint(words.unseen)


@pytest.mark.parametrize(
    "case", [("bpe", "zh"), ("wordpiece", "en"), ("unigram", "zh")], indirect=True, ids="-".join
)
def test_other_commands_show_text(case: Case, typed: Callable[..., Any]):
    words = case.words
    typed("corpus", "text.txt", "-o", "c.corpus", *case.flags)
    typed("train", "sgns", "c.corpus", "-o", "v.inlaid", "--dim", "10", "--epochs", "3")
    pair = (words.first, words.near_first)
    shown = [
        typed("explain", "v.inlaid", *pair, "--corpus", "c.corpus").out,
        typed("similarity", "v.inlaid", *pair).out,
        typed("cooccurrence", "c.corpus", words.first).out,
        typed("fill", "v.inlaid", f"{words.first}___{words.second}").out,
        typed("map", "v.inlaid", *pair, words.second, "--method", "pca", "-o", "m.html", "--json").out,
        typed("vector", "v.inlaid", words.unseen).out,
        typed("doctor", "v.inlaid").out,
        typed("geometry", "v.inlaid").out,
    ]
    for each in shown:
        assert not LETTERS_OF_BYTES.search(each)


@pytest.mark.parametrize("case", [("bpe", "zh"), ("unigram", "en")], indirect=True, ids="-".join)
def test_every_format_keeps_words_readable(case: Case, typed: Callable[..., Any]):
    typed("train", "ppmi", "text.txt", "-o", "v.inlaid", "--dim", "8", "--window", "8", *case.flags)
    for format in [entry.name for entry in registry.entries("format") if not entry.extra]:
        if format == "fasttext":
            continue  # it needs n-grams
        typed("convert", "v.inlaid", format, "--format", format)
        shown = json.loads(typed("neighbors", format, case.words.first, "-n", "1", "--json").out)
        assert plain(shown["queries"][0]["neighbors"][0]["word"]) == case.words.near_first, format


@pytest.mark.parametrize(
    "case", [("word", "zh"), ("word", "en"), ("bpe", "zh"), ("unigram", "en")], indirect=True
)
def test_tokenize_as_a_corpus_with_phrases(case: Case, typed: Callable[..., Any]):
    typed("corpus", "text.txt", "-o", "c.corpus", *case.flags)
    typed("phrases", "c.corpus", "-o", "joined.corpus", "--threshold", "0.1", "--min-count", "2")
    text = Path("text.txt").read_text("utf-8").splitlines()[0]
    shown = rows_of(typed("tokenize", text, "--corpus", "joined.corpus").out)
    joined = open_corpus(Path("joined.corpus"))
    assert [id for _, id, *_ in shown] == joined.ids[: joined.offsets[1]].tolist()
    assert len(shown) < len(rows_of(typed("tokenize", text, "--corpus", "c.corpus").out))
    assert all(start < end for *_, start, end in shown)


def rows_of(shown: str) -> list[tuple[str, int, int, int]]:
    """The rows of the table that `inlaid tokenize` shows."""
    rows = [line.split() for line in shown.splitlines()]
    return [(row[0], *map(int, row[1:])) for row in rows if len(row) == 4 and row[1].isdigit()]  # pyright: ignore
