"""Chinese as an equal: every sentence has its Chinese one, help and tables have no English left, frames
close, and the language is the one that was asked for. What programs read is English in any language."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inlaid
from inlaid.commands.terminal import places
from inlaid.commands.translated_help import read_help
from inlaid.errors import SettingError
from inlaid.messages import (
    Listed,
    Message,
    catalogue,
    said,
    shown_language,
    speaking,
    spoken_language,
    translated,
)
from inlaid.report import Note, log
from inlaid.vectors import Vectors

SCRIPT = Path(__file__).parents[2] / "docs" / "catalogue.py"
COLUMNS = 80
HAN = re.compile(r"[\u4e00-\u9fff]")
CODE = re.compile(
    r"inlaid(?: [a-z-]+)+|`[^`]*`|\{[^}]*\}|--?[a-zA-Z][\w-]*|\S+\.\w+|\(\w+ et al\. \d+\)|Hewitt and Liang"
)
"""What stays as it is typed: commands, choices, flags, names of files, references."""
ENGLISH = re.compile(r"(?:\b[a-z]+ ){2}[a-z]+\b")
"""Three words of running text."""


def _script() -> Any:
    """docs/catalogue.py, which knows every sentence."""
    spec = importlib.util.spec_from_file_location("catalogue", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _script()
HELP = [["--help"], ["train", "--help"], ["draw", "--help"], ["classify", "--help"], *script.pages_of_help()]


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language is chosen by what a test says, not by who runs it."""
    monkeypatch.delenv("INLAID_LANG", raising=False)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, "C.UTF-8")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def test_every_sentence_has_a_chinese_one():
    missing = script.missing()
    assert not missing, "`python docs/catalogue.py` lists them:\n" + "\n".join(missing)


def test_errors_that_single_files_derive_are_sentences_too():
    assert {"SourceError", "TooLittleText"} <= script.kinds(script.PACKAGE)


def test_every_line_of_the_catalogue_is_used():
    assert not script.unused()


def test_a_chinese_sentence_has_the_placeholders_of_the_english_one():
    wrong = [
        each for each, chinese in catalogue("zh").items() if script.fields(each) != script.fields(chinese)
    ]
    assert not wrong


def test_chinese_is_chinese_or_the_same():
    """What has no Chinese character is code, a name such as softmax, or has hardly a word."""
    wrong = [
        each
        for each, chinese in catalogue("zh").items()
        if not HAN.search(chinese) and chinese.lower() != each.lower()
    ]
    assert [each for each in wrong if re.search("[a-z]{6,}", re.sub(r"\{[^}]*\}", "", each))] == []


def test_the_lines_are_in_order(tmp_path: Path):
    """So that branches which add some of them merge."""
    script.write(catalogue("zh"), tmp_path / "zh.json")
    assert script.FILE.read_text("utf-8") == (tmp_path / "zh.json").read_text("utf-8")


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_in_chinese(words: list[str], typed: Any):
    shown = typed(*words, "--lang", "zh").out
    assert shown.startswith("用法：inlaid")
    lines = shown.splitlines()
    assert [line for line in lines if places(line) > COLUMNS] == []
    framed = [line for line in lines if line.startswith(("│", "╭", "╰"))]
    assert {places(line) for line in framed} <= {COLUMNS}
    explained = shown.partition("\n示例：")[0]
    prose = " ".join(CODE.sub(" ", re.sub("[│╭╰─╮╯]", " ", explained)).split())
    assert ENGLISH.findall(prose) == []


def test_help_says_the_same_in_both_languages(typed: Any):
    """The same options in the same frames, each with a help."""
    in_english = script.shown(["neighbors", "--help", "--lang", "en"])
    in_chinese = typed("neighbors", "--help", "--lang", "zh").out
    ours = read_help(in_chinese)
    theirs = read_help(in_english)
    assert [len(box.options) for box in ours.boxes] == [len(box.options) for box in theirs.boxes]
    assert all(HAN.search(option.help) for box in ours.boxes for option in box.options)
    assert "（默认 10）" in in_chinese
    assert "（必填）" in in_chinese


def test_an_error_is_in_the_language_that_is_typed(typed: Any):
    shown = typed("nieghbors", "--lang", "zh", code=2).err
    assert shown == "错误：没有“nieghbors”这个命令。是否想用“neighbors”？\n"
    assert "There is no command" in typed("--lang=en", "nieghbors", code=2).err
    assert typed("neighbors", "--lang", "fr", code=2).err == "error: --lang is 'fr'; expected zh or en.\n"
    assert typed("neighbors", "--lang", code=2).err == "error: --lang is ''; expected zh or en.\n"


def test_the_variable_comes_before_the_locale(typed: Any, monkeypatch: pytest.MonkeyPatch):
    assert typed("--help").out.startswith("usage:")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert typed("--help").out.startswith("用法：")
    monkeypatch.setenv("INLAID_LANG", "en")
    assert typed("--help").out.startswith("usage:")
    assert typed("--help", "--lang", "zh").out.startswith("用法：")
    monkeypatch.setenv("INLAID_LANG", "zh_CN")
    assert spoken_language() == "zh"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    table = np.random.default_rng(1).normal(size=(60, 8)).astype(np.float32)
    table[3] = 0
    words = [f"word{number}" for number in range(58)] + ["cafÃ©", "&amp;"]
    path = tmp_path / "v.inlaid"
    inlaid.save(Vectors.of(words, table), path)
    return path


TABLES = [
    "doctor V",
    "geometry V",
    "similarity V word1 word2",
    "axis V --from word1 word2 --to word5 word6",
    "map V --method pca",
    "text-similarity V word1 word2 --measure rwmd",
]


@pytest.mark.parametrize("words", [line.split() for line in TABLES], ids=TABLES)
def test_tables_are_chinese_and_json_is_english(words: list[str], typed: Any, vectors: Path):
    given = [str(vectors) if word == "V" else word for word in words]
    shown = typed(*given, "--lang", "zh").out
    assert HAN.search(shown)
    assert ENGLISH.findall(CODE.sub(" ", shown)) == []
    in_chinese = typed(*given, "--json", "--lang", "zh").out
    assert in_chinese == typed(*given, "--json", "--lang", "en").out
    assert not HAN.search(in_chinese)
    assert json.loads(in_chinese)


def test_a_training_speaks_chinese_and_its_card_does_not(tmp_path: Path, typed: Any):
    (tmp_path / "text.txt").write_text("the cat sits on the mat\n" * 40, "utf-8")
    out = tmp_path / "v.inlaid"
    words = [
        "train",
        "sgns",
        tmp_path / "text.txt",
        "-o",
        out,
        "--dim",
        "8",
        "--min-count",
        "1",
        "--workers",
        "2",
    ]
    shown = typed(*words, "--lang", "zh").out
    assert "个词 × 8 维，方法 sgns" in shown
    assert "接下来：" in shown
    assert "完成" in typed("info", out, "--lang", "zh").out
    assert not HAN.search(typed("info", out, "--json", "--lang", "zh").out)


def test_a_sentence_in_either_language():
    error = SettingError("{name} is {value}; expected at least 1.", name="n", value=0)
    assert error.in_language("zh") == "n 为 0，应至少为 1。"
    assert str(error) == "n is 0; expected at least 1."
    with speaking("zh"):
        assert str(error) == "n 为 0，应至少为 1。"
        assert translated("reading") == "读取"
    assert said("zh", "layer") == "层"
    nested = Message("error: {problem}", problem=error)
    assert nested.in_language("zh") == "错误：n 为 0，应至少为 1。"


def test_names_in_a_row_have_the_comma_of_the_language():
    found = Message("one of {known}", known=Listed(["cosine", Message("layer")]))
    assert found.in_language("en") == "one of cosine, layer"
    assert found.in_language("zh") == "以下之一：cosine、层"


def test_reasons_of_the_system_are_chinese(tmp_path: Path, typed: Any, vectors: Path):
    absent = tmp_path / "none.toml"
    shown = typed("neighbors", vectors, "word1", "--config", absent, "--lang", "zh", code=2).err
    assert shown == f"错误：无法读取 {absent}：文件或文件夹不存在。\n"
    shown = typed("neighbors", vectors, "word1", "--config", absent, "--lang", "en", code=2).err
    assert shown == f"error: Cannot read {absent}: No such file or directory.\n"


def test_parts_of_a_checkpoint_are_chinese(tmp_path: Path, typed: Any):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "bert"}', "utf-8")
    lines = typed("inspect", path, "--lang", "zh").out.splitlines()[1:]
    assert [line for line in lines if not HAN.search(line)] == []


def test_info_names_what_an_encoding_noticed(tmp_path: Path, typed: Any):
    (tmp_path / "text.txt").write_text("一 二 三\n" * 6 + "四 一\n", "utf-8")
    corpus = tmp_path / "text.corpus"
    typed("corpus", tmp_path / "text.txt", "-o", corpus, "--tokenizer", "whitespace", "--lang", "zh")
    shown = typed("info", corpus, "--lang", "zh").out
    assert "与前面重复的行 5" in shown
    assert "丢弃 低频=1" in shown
    assert "repeated_lines" not in shown
    assert "repeated_lines" in typed("info", corpus, "--json", "--lang", "zh").out


def test_each_thread_speaks_its_own_language():
    found = list[str]()
    with speaking("zh"):
        thread = threading.Thread(target=lambda: found.append(shown_language()))
        thread.start()
        thread.join()
        assert shown_language() == "zh"
    assert found == ["en"]


def test_the_log_is_english(caplog: pytest.LogCaptureFixture):
    with speaking("zh"):
        log(Note("{path} is read as {charset}.", path="a.txt", charset="gb18030"))
    assert caplog.messages == ["a.txt is read as gb18030."]
