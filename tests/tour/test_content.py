"""The content is whole in both languages: text, code that compiles, and every sentence of the tables."""

from __future__ import annotations

import ast
import string
from pathlib import Path

import pytest

from inlaid import tour as package
from inlaid.messages import Language, catalogue
from inlaid.tour import content
from inlaid.tour.content import Code, Paragraph
from inlaid.tour.models import GENERATIONS

FOLDER = Path(str(package.__file__)).parent
COLUMNS = 76
"""Columns of code, which a terminal of 80 shows indented."""


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_generation_has_a_chapter_that_asks_it(language: Language):
    chapters = {each.name: each for each in content.tour(language).chapters}
    for generation in GENERATIONS:
        asked = [block.code for block in chapters[generation].blocks if isinstance(block, Code)]
        assert any(f'tour.answers(models, "{generation}")' in code for code in asked)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_code_compiles_fits_a_terminal_and_says_what_to_see(language: Language):
    for chapter in content.tour(language).chapters:
        assert chapter.title
        for block in chapter.blocks:
            if isinstance(block, Paragraph):
                assert block.text
                continue
            ast.parse(block.code)
            assert block.see
            assert max(map(len, block.code.splitlines())) <= COLUMNS, block.code


def test_both_languages_have_the_same_blocks():
    zh, en = (content.tour(language).chapters for language in ("zh", "en"))
    assert [each.name for each in zh] == [each.name for each in en]
    assert [[type(block) for block in each.blocks] for each in zh] == [
        [type(block) for block in each.blocks] for each in en
    ]


def test_chinese_text_is_chinese_and_english_is_not():
    for zh, en in zip(content.tour("zh").chapters, content.tour("en").chapters, strict=True):
        pairs = zip(zh.blocks, en.blocks, strict=True)
        for ours, theirs in pairs:
            chinese = ours.text if isinstance(ours, Paragraph) else ours.see
            english = theirs.text if isinstance(theirs, Paragraph) else theirs.see
            assert sum("\u4e00" <= each <= "\u9fff" for each in chinese) > len(chinese) / 4, chinese
            assert sum("\u4e00" <= each <= "\u9fff" for each in english) < len(english) / 10, english


def _messages() -> set[str]:
    """The sentences of the tour's tables."""
    found = set[str]()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
                (sentence,) = node.args
                assert isinstance(sentence, ast.Constant)
                found.add(str(sentence.value))
    return found


def _names(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_sentence_has_a_chinese_one_with_the_same_placeholders():
    chinese = catalogue("zh")
    for sentence in _messages():
        words = "".join(literal for literal, *_ in string.Formatter().parse(sentence))
        if any(map(str.isalpha, words)):
            assert sentence in chinese
            assert _names(sentence) == _names(chinese[sentence])
