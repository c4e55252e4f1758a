"""The Chinese docs are equals: the terms of the field, one name for each thing, screens in Chinese."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CHINESE = sorted([*ROOT.glob("*.zh.md"), *(DOCS / "zh").glob("*.md")])
GLOSSARY = DOCS / "zh" / "glossary.md"
HAN = re.compile(r"[\u4e00-\u9fff]+")
DIALECT = (
    *("扣分", "骰子", "老词一位都不变", "镶进底子", "n 元组", "词的编号", "自定义词典", "梯度累加", "留出集"),
    *("嵌入世界", "内置小世界", "人造世界", "嵌入表"),
)
"""Turns that no paper has, and second names of things that have one."""
ESTABLISHED = """
词嵌入 嵌入矩阵 词元 下采样 未登录词 余弦相似度 共现矩阵 位置编码 旋转位置编码
自注意力 交叉注意力 多头注意力 分组查询注意力 残差连接 层归一化 权重共享
掩码语言模型 自回归 教师强制 束搜索 早停 预训练 微调 增量训练 验证集 潜空间
n-gram
"""
"""Terms that a reader of Chinese papers looks for."""
SAMPLE = re.compile(r"(?:\b[a-z]+\b[ ,]+){3}[a-z]+")
"""Four English words in a row."""


def _rows(page: Path) -> list[list[str]]:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def _names(term: str) -> list[str]:
    """The Chinese names of a term, without what stands in brackets."""
    return HAN.findall(re.sub(r"（[^）]*）", "", term))


def test_both_glossaries_have_the_same_terms():
    ours = [(row[0], row[1]) for row in _rows(GLOSSARY) if row[0] != "术语"]
    theirs = [(row[1], row[0]) for row in _rows(DOCS / "glossary.md") if row[0] != "term"]
    assert ours == theirs
    assert len(ours) > 60
    assert len({term for term, _ in ours}) == len(ours)


def test_a_term_is_on_the_page_that_the_glossary_names():
    missing = list[str]()
    for term, _, _, page in _rows(GLOSSARY):
        found = re.fullmatch(r"\[.*\]\((.+)\)", page)
        if found is None:
            continue  # the head of a table
        text = (GLOSSARY.parent / found[1]).read_text("utf-8")
        missing += [f"{name}: {found[1]}" for name in _names(term) if name not in text]
    assert not missing


@pytest.mark.parametrize("term", ESTABLISHED.split())
def test_established_terms_are_in_the_glossary_and_beyond(term: str):
    assert any(term in row[0] for row in _rows(GLOSSARY))
    assert any(term in page.read_text("utf-8") for page in CHINESE if page != GLOSSARY)


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_no_page_has_a_dialect_of_its_own(page: Path):
    text = page.read_text("utf-8")
    assert [turn for turn in DIALECT if turn in text] == []


def test_the_catalogue_has_no_dialect_of_its_own():
    text = (ROOT / "inlaid" / "catalogue" / "zh.json").read_text("utf-8")
    assert [turn for turn in DIALECT if turn in text] == []


@pytest.mark.parametrize("index", [DOCS / "zh" / "index.md", DOCS / "index.md"], ids=["zh", "en"])
def test_pages_are_listed_by_their_titles(index: Path):
    """The title up to a colon: what follows it is a subtitle."""
    links = re.findall(r"\[([^\]]+)\]\(([a-z-]+\.md)\)", index.read_text("utf-8"))
    assert len(links) > 30
    wrong = list[tuple[str, str]]()
    for name, page in links:
        title = (index.parent / page).read_text("utf-8").partition("\n")[0].removeprefix("# ")
        if name not in (title, re.split("[:：]", title)[0]):
            wrong.append((name, title))
    assert not wrong


def test_changelogs_have_the_same_sections():
    ours, theirs = (
        re.findall(r"^(?:##|\*\*).*?\n(?=\n)", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for name in ("CHANGELOG.zh.md", "CHANGELOG.md")
    )
    links = [
        [re.findall(r"\]\(docs/(?:zh/)?(.+?)\)", section) for section in sections]
        for sections in (ours, theirs)
    ]
    assert len(ours) > 10
    assert links[0] == links[1]


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.name)
def test_shown_outputs_are_chinese(page: Path):
    """Blocks of text and the lines below a command are what a Chinese terminal shows, except for English text
    that the user gave."""
    shown = re.findall(r"^```(?:text|sh)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in shown for line in block.splitlines()]
    outputs = [line for line in lines if not re.match(r"\s*(\$ |inlaid |    |pip |uv )", line)]
    assert [line for line in outputs if SAMPLE.search(line) and not HAN.search(line)] in ([], *ENGLISH)


ENGLISH = (
    ["The cat sits on the mat."],
    ["  act: 跑 滚轮 / run in the wheel | 吃 瓜子 / eat sunflower seeds", "  act: 晒 太阳 / lie in the sun"],
)
"""Outputs that are English: translations, and the lexicon of both languages."""
