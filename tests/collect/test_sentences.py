"""Where sentences end: hand-made cases in both languages, and what must hold for any text."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inlaid.collect import sentences
from inlaid.collect.sentences import spans, split

ENGLISH = [
    "It rained.| We stayed.",
    "Really?| Yes!| Good.",
    "Mr. Smith met Mrs. Jones and Dr. Wu.| They talked.",
    "Dr. He and Prof. An are here.",  # surnames that are also common first words
    "He lives in the U.S. and works.",
    "He joined the U.S. Army in 1942.",
    "He moved to the U.S.| The army followed.",
    "J. K. Rowling wrote it.| So did J. R. R. Tolkien.",
    "Fruit, e.g. apples, i.e. Malus.| Nuts too.",
    "Apples, pears, etc. are fruit.",
    "We sell apples, pears, etc.| The shop is open.",
    "Ali vs. Foreman was in 1974.",
    "See Fig. 3 and No. 5 on pp. 10 and 11.",
    "Will you?| No.| I will not.",
    "Ask Ed.| He ate a fig.| The rest is art.| See fig. 2, ca. 1900, ed. Smith.",
    "It opens at 9 a.m. and closes at 5 p.m.| It is closed on Sunday.",
    "On Jan. 5 it was 3.14 degrees.| On Dec. 24 it snowed.",
    "Version v1.2.3 is out.| Get it.",
    "It grew by .5 percent.| Prices fell 2.5%.",
    "Wait... what?| Nothing...| Nothing at all.",
    "He left…| Then he came back.",
    '"Hi!" she said.| "Hello."| He left.',
    "“Is it?” he asked.| “It is.”| Nobody spoke.",
    "He shouted 'Stop!' and ran.",
    "He ran (really!) to the shop.| (It was late.)| Then he slept.",
    "Visit https://example.com/a.b?c=d.| Then write to a.b@example.com.| Nothing else.",
    "See example.com.| Nothing there.",
    "1. Buy milk.| 2. Go home.| 3. Sleep.",
    "a. First.| b. Second.| iv. Fourth.",
    "She has a Ph.D. from Yale.| Her sister has none.",
    "Acme Inc. makes things.| Acme Ltd. Holdings does not.",
    "He is 45.| 12 men came.",
    "what?| no way.| i went home.| then i slept.",
    "She came; he left: that was all.",
    "Martin Luther King Jr. Day is in January.",
    "No mark at the end",
    "What?!| Yes!!!| Good.",
    "Smith et al. (2003) agree.| Others do not.",
    "He went home . | She stayed .",  # text that was tokenized already
    "A heading\n| and a line.\n|\n| Mr.\n| Smith.",
    "One. \t| Two.\r\n|Three.\u2028|Four.",
]
CHINESE = [
    "今天下雨。|我们没出门。",
    "真的吗？|是的！|好。",
    "真的吗?|我不信!|走吧.|好.",
    "他来了；她走了：就这样，没了。",
    "他想……|然后走了……",
    "他想⋯⋯|然后走了⋯⋯",
    "他说：“你好。”|她笑了。",
    "他說：「你好。」|她笑了。",
    "他問：「真的嗎？」|沒有人回答。",
    "“你好！”她说。|“再见。”|他转身走了。",
    "“你好！”小明问道，“去哪儿？”|没有人回答。",
    "“走吧。”|他知道。",
    "“真的吗？”，他又问了一遍。",
    "他看过《你好，李焕英！》和《谁的青春不迷茫？》两部电影。|很好看。",
    "《K-ON！》是一部动画。|它很有名。",
    "他（真的吗？）走了。|我没走。",
    "他走了。|（真的！）|我没走。",
    "他走了（真的！）。|我没走。",
    "（他走了。）|我没走。",
    "他说『“好。”』|然后走了。",
    "圆周率是3.14。|版本是v1.2.3。",
    "增长2.5%。|下降1.5个百分点。",
    "太好了！！！|真的吗？！|是啊。",
    "1.买牛奶。|2.回家。",
    "1. 买牛奶。|2. 回家。",
    "第一行\n|第二行。\n|第三行",
    "　　段首空格。|第二句。",
    "没有句号",
    "「妄想女友！」的主演。|他演得好。",
    "……他没说完。|走了。",
]
MIXED = [
    "他说Hello. |然后走了。",
    "他说Hello.然后走了。",  # without white space a full stop after Latin letters may be a name
    "我用Node.js。|It works.| 很好。",
    "Yahoo!奇摩是一家公司。|对吗?",
    "作者是J. K. 罗琳。|She is British.",
    "他在U.S. 工作。|很忙。",
    "请看https://example.com/中文?a=b。|谢谢。",
    "联系a.b@example.com。|Thanks!| 再见。",
    "He said “你好。”| Then he left.",
    "真的？|OK。|好吧！|yes。",
]


@pytest.mark.parametrize("case", [*ENGLISH, *CHINESE, *MIXED])
def test_a_sentence_ends_where_it_should(case: str):
    """A bar marks each place where the text is split."""
    assert split(case.replace("|", "")) == [each.strip() for each in case.split("|") if each.strip()]


def without_space(text: str) -> str:
    return "".join(text.split())


MARKS = "".join(
    sorted(
        {*sentences.STRONG, *sentences.WEAK, *sentences.CLOSERS, *sentences.OPENERS, *sentences.CONTINUERS}
    )
)
PIECES = [
    "Mr",
    "U.S.",
    "e.g.",
    "a",
    "J",
    "No",
    "The",
    "the",
    "12",
    "3.14",
    "他",
    "说",
    "道",
    "的",
    "《",
    "\n",
    " ",
    "\t",
    "\x85",
    *MARKS,
]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


@given(TEXTS)
@settings(max_examples=1000, deadline=None)
@example("a. b. c.\x1cA")
def test_nothing_but_white_space_is_lost(text: str):
    assert without_space("".join(split(text))) == without_space(text)


@given(TEXTS)
@settings(max_examples=1000, deadline=None)
def test_sentences_are_neither_empty_nor_padded(text: str):
    assert all(each and each == each.strip() and len(each.splitlines()) == 1 for each in split(text))


@given(TEXTS)
@settings(max_examples=1000, deadline=None)
def test_a_sentence_split_again_is_itself(text: str):
    for each in split(text):
        assert split(each) == [each]


@given(TEXTS)
@settings(deadline=None)
def test_spans_are_the_positions_of_the_sentences(text: str):
    assert [text[start:stop] for start, stop in spans(text)] == split(text)


def test_no_white_space_is_taken_for_a_mark():
    assert all(not unicodedata.category(each).startswith("Z") for each in MARKS)


FEW_MARKS: list[Callable[[int], str]] = [
    lambda n: "." * n,
    lambda n: "." * n + "a",
    lambda n: "a" * n,
    lambda n: "." + " " * n + "a",
    lambda n: "“" * (n // 2) + "。" + "”" * (n // 2) + "好",
    lambda n: ".”" * (n // 2) + "a",
    lambda n: "a.b" * (n // 3) + ". a",
]
PATHOLOGICAL: list[Callable[[int], str]] = [
    *FEW_MARKS,
    lambda n: "(a! " * (n // 4) + ")" * (n // 4),
    lambda n: "J. " * (n // 3),
    lambda n: "！”他" * (n // 3),
    lambda n: " \n" * (n // 2),
    lambda n: "x" + "他!" * (n // 2),
]


@pytest.mark.parametrize("make", PATHOLOGICAL, ids=range(len(PATHOLOGICAL)))
def test_twice_the_text_is_at_most_twice_the_steps(make: Callable[[int], str]):
    """Steps are calls of Python functions; what one of them may look at is bounded or passed over once."""
    once = steps(make(10_000))
    twice = steps(make(20_000))
    assert twice <= 2.1 * once


@pytest.mark.parametrize("make", PATHOLOGICAL, ids=range(len(PATHOLOGICAL)))
def test_the_worst_text_is_split(make: Callable[[int], str]):
    """Steps inside regular expressions are not counted above; one that is quadratic would keep this running
    for hours."""
    text = make(1_000_000 if make in FEW_MARKS else 100_000)
    assert without_space("".join(split(text))) == without_space(text)


def steps(text: str) -> int:
    called = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        split(text)
    finally:
        sys.setprofile(before)
    return called
