"""Chinese words as a user asks for them at the command line: dictionaries, symbols, BERT's vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import inlaid
from inlaid.encode.corpus import open_corpus
from inlaid.errors import SourceError

LINES = "T恤\n卡拉OK 5\nC++ 3 eng\n研究\n云计算 5 n\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "words.txt").write_text(LINES, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tokens(shown: Any) -> list[str]:
    """The first line of `inlaid tokenize`, without the name of the tokenizer."""
    return shown.out.splitlines()[0].partition(": ")[2].split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我买了Ｔ恤和T恤", "我 买 了 t恤 和 t恤"),
        ("去卡拉OK学C++", "去 卡拉ok 学 c++"),
        ("研究生研究云计算", "研究生 研究 云计算"),
    ],
)
def test_dictionary_words_are_found(text: str, expected: str, typed: Any, tmp_path: Path):
    steps = ("--normalize", "nfc", "width", "lower", "--dictionary", "words.txt")
    assert tokens(typed("tokenize", text, *steps)) == expected.split()
    Path("text.txt").write_text(f"{text}\n" * 5, "utf-8")
    typed("corpus", "text.txt", "-o", "corpus", *steps)
    corpus = open_corpus(tmp_path / "corpus")
    first = corpus.ids[: corpus.offsets[1]].tolist()
    assert [corpus.vocabulary.words[id] for id in first] == expected.split()


def test_a_dictionary_is_forced_on_request(typed: Any):
    asked = ("tokenize", "研究生", "--dictionary", "words.txt")
    assert tokens(typed(*asked)) == ["研究生"]
    assert tokens(typed(*asked, "--force-dictionary")) == ["研究", "生"]


@pytest.mark.parametrize("line", ["云计算 0", "云计算 五", "New York", "云计算 5 n 5"])
@pytest.mark.parametrize("command", ["tokenize", "corpus", "train"])
def test_a_bad_line_is_refused_with_its_number(line: str, command: str, typed: Any):
    Path("words.txt").write_text(f"{LINES}{line}\n", "utf-8")
    Path("text.txt").write_text("我喜欢苹果\n", "utf-8")
    words = {
        "tokenize": ["tokenize", "我喜欢苹果"],
        "corpus": ["corpus", "text.txt", "-o", "corpus"],
        "train": ["train", "ppmi", "text.txt", "-o", "v.inlaid"],
    }[command]
    shown = typed(*words, "--dictionary", "words.txt", code=2)
    assert f"words.txt:6: found '{line}'. Expected a word without spaces" in shown.err


def test_emoji_are_kept_on_request(typed: Any):
    text = "我❤\ufe0f你👍🏽🇨🇳+1"
    assert tokens(typed("tokenize", text)) == ["我", "你", "1"]
    kept = ["我", "❤\ufe0f", "你", "👍🏽", "🇨🇳", "1"]
    assert tokens(typed("tokenize", text, "--symbols", "emoji")) == kept
    assert tokens(typed("tokenize", text, "--symbols", "all")) == [*kept[:-1], "+", "1"]
    Path("text.txt").write_text(f"{text}\n" * 5, "utf-8")
    typed("train", "ppmi", "text.txt", "-o", "v.inlaid", "--symbols", "emoji", "--dim", "2")
    assert "👍🏽" in typed("neighbors", "v.inlaid", "🇨🇳").out


def test_a_name_is_a_word_by_default(typed: Any):
    assert tokens(typed("tokenize", "小明说他喜欢游泳")) == ["小明", "说", "他", "喜欢", "游泳"]


@pytest.mark.parametrize("option", [["--symbols", "all"], ["--no-hmm"], ["--force-dictionary"]])
def test_settings_of_words_are_refused_for_other_tokenizers(option: list[str], typed: Any):
    Path("text.txt").write_text("我喜欢苹果\n", "utf-8")
    shown = typed("corpus", "text.txt", "-o", "corpus", "--tokenizer", "char", *option, code=2)
    assert "works with the word tokenizer only" in shown.err


def test_the_vocabulary_of_chinese_bert_is_a_tokenizer(data: Path, typed: Any):
    vocabulary = ("--tokenizer-file", data / "vocab_bert_chinese" / "vocab.txt")
    assert tokens(typed("tokenize", "我喜欢NLP", *vocabulary)) == ["我", "喜", "欢", "n", "##lp"]
    Path("text.txt").write_text("我喜欢NLP\n他不喜欢游泳\n" * 20, "utf-8")
    typed("corpus", "text.txt", "-o", "corpus", *vocabulary)
    typed("train", "ppmi", "corpus", "-o", "of-corpus.inlaid", "--dim", "4")
    typed("train", "ppmi", "text.txt", "-o", "of-text.inlaid", "--dim", "4", *vocabulary)
    for name in ("of-corpus.inlaid", "of-text.inlaid"):
        assert "欢" in typed("neighbors", name, "喜").out


@pytest.mark.parametrize(
    ("dictionary", "expected"),
    [
        (["words.txt", "more.txt"], "t恤 卡拉ok 研究 深度学习"),
        (["words.txt", "深度学习"], "t恤 卡拉ok 研究 深度学习"),
        (["深度学习", "more.txt"], "t 恤 卡拉 ok 研究 深度学习"),
        (["卡拉OK"], "t 恤 卡拉ok 研究 深度 学习"),
    ],
)
def test_a_dictionary_is_files_and_words_in_any_mixture(dictionary: list[str], expected: str, typed: Any):
    Path("more.txt").write_text("深度学习 5\n", "utf-8")
    text = "T恤卡拉OK研究深度学习"
    assert tokens(typed("tokenize", text, "--dictionary", *dictionary)) == expected.split()
    Path("text.txt").write_text(f"{text}\n" * 5, "utf-8")
    Path("c.toml").write_text(f"dictionary = {dictionary!r}\n", "utf-8")
    typed("corpus", "text.txt", "-o", "corpus", "--config", "c.toml")
    assert set(open_corpus(Path("corpus")).vocabulary.words) == set(expected.split())
    found = inlaid.tokenize(text, dictionary=dictionary if len(dictionary) > 1 else dictionary[0])
    assert [token.text for token in found.tokens] == expected.split()


@pytest.mark.parametrize("name", ["none.txt", "none/words", "none.dict"])
def test_a_file_that_does_not_exist_is_no_word(name: str, typed: Any):
    shown = typed("tokenize", "研究", "--dictionary", "研究", name, code=2)
    assert f"Cannot read the dictionary {name}: No such file" in shown.err
    with pytest.raises(SourceError, match="Cannot read the dictionary"):
        inlaid.tokenize("研究", dictionary=Path("研究"))


@pytest.mark.parametrize(
    "line", ["深度学习,100", "深度学习, 100", "深度学习,n", "研究 1000000000000", "C++;5"]
)
def test_a_line_that_could_never_match_is_refused(line: str, typed: Any):
    Path("words.txt").write_text(f"{line}\n", "utf-8")
    shown = typed("tokenize", "研究", "--dictionary", "words.txt", code=2)
    assert f"words.txt:1: found '{line}'" in shown.err
    assert "a space and its frequency (1 to 999,999,999,999)" in shown.err


def test_a_corpus_keeps_the_words_of_its_dictionary(typed: Any, tmp_path: Path, monkeypatch: Any):
    text = "T恤和云计算"
    Path("text.txt").write_text(f"{text}\n" * 5, "utf-8")
    typed("corpus", "text.txt", "-o", "corpus", "--dictionary", "words.txt")
    typed("train", "sgns", "corpus", "-o", "v.inlaid", "--dim", "4", "--epochs", "1")
    Path("words.txt").write_text("和云\n", "utf-8")
    expected = ["t恤", "和", "云计算"]
    assert tokens(typed("tokenize", text, "--corpus", "corpus")) == expected
    Path("words.txt").unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("云计算").write_text("算 10000000\n", "utf-8")  # a file that is called like a word
    assert tokens(typed("tokenize", text, "--corpus", "../corpus")) == expected
    Path("texts.txt").write_text(f"{text}\t云计算\t5\n和\t{text}\t1\n", "utf-8")
    filled = json.loads(typed("fill", "../v.inlaid", "T恤___云计算", "--json").out)
    assert filled["context"] == ["t恤", "云计算"]


@pytest.mark.parametrize(
    "text", ["小红书 很 好", "刘小丽 来 了", "陈小江 去 学校", "小丁当", "小田原", "对于 小明", "小明 说"]
)
def test_names_break_no_longer_words(text: str, typed: Any):
    assert tokens(typed("tokenize", text.replace(" ", ""))) == text.split()


def test_a_file_that_is_typed_in_the_wrong_place_is_noticed(typed: Any):
    Path("vocab.txt").write_text("我\n", "utf-8")
    shown = typed("tokenize", "我", "--tokenizer", "vocab.txt", code=2)
    assert "Use --tokenizer-file vocab.txt" in shown.err
    assert "words.txt is taken as the text itself, not as a file" in typed("tokenize", "words.txt").err
    Path("word").mkdir()
    assert tokens(typed("tokenize", "我", "--tokenizer", "word")) == ["我"]
