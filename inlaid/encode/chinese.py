"""Chinese word segmentation, with words of a user's dictionary."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a regular-expression class."""
SEGMENTED = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002a6df\U0002a700-\U0002ebef\U0002f800-\U0002fa1f]+"
)
"""Text of the characters that rjieba makes words of: without 々, 〇 and the rarest extensions."""

SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高郑梁谢宋唐许邓冯韩曹曾彭萧肖蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢姜崔钟谭"
    "陆汪范廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔汤"
)
GIVEN_NAMES = "明红刚华强丽芳军伟平燕敏静杰涛兰英玲娟勇艳霞波斌超鹏辉琴玉云亮虎宝花梅青莉"
NOT_BEFORE_NAMES = "于任何余曾付万方白高"
"""Surnames that are common words, too: 对于小明 is no 于小明."""
LONGER = (
    "小红书",
    "小红人",
    "小黄人",
    "小黄车",
    "小黄鸭",
    "小丁当",
    "小田原",
    "小田急",
    "小田切",
    "小平岛",
    "老孙头",
)
"""Words that start like a nickname and are not in the dictionary of rjieba: 小红 / 书 would break them."""
NAME_FREQUENCY = 100
"""Enough for 小明 / 说 to win over 小 / 明说. Any frequency from 30 to 1,000 gives the same F1."""
LONGER_FREQUENCY = 1
"""Enough for 陈小江 to win over 陈 / 小江. These are many: more would change how other words compete."""

Segmenter = Callable[[str], list[str]]


class Entry(NamedTuple):
    """A word of a dictionary, and how often it occurs in text of 60 million words."""

    word: str
    frequency: int | None = None
    """None: as jieba suggests, just enough for the word to be cut out where it stands alone."""

    def __str__(self) -> str:
        return self.word if self.frequency is None else f"{self.word} {self.frequency}"


def nicknames() -> Iterator[str]:
    """小王, 老王, 小明: words in everyday text that are not in the dictionary of rjieba."""
    for surname in SURNAMES:
        yield f"小{surname}"
        yield f"老{surname}"
    for name in GIVEN_NAMES:
        yield f"小{name}"


def words_with_nicknames() -> Iterator[str]:
    """刘小明, 陈小江, 小红书: longer words that nicknames would break."""
    for surname in SURNAMES:
        if surname not in NOT_BEFORE_NAMES:
            yield from (f"{surname}小{name}" for name in GIVEN_NAMES + SURNAMES)
    yield from LONGER


def names() -> Iterator[tuple[str, int]]:
    """What is added to the dictionary of rjieba, with frequencies."""
    yield from ((name, NAME_FREQUENCY) for name in nicknames())
    yield from ((name, LONGER_FREQUENCY) for name in words_with_nicknames())


@functools.lru_cache(maxsize=8)
def segmenter(dictionary: tuple[Entry, ...] = (), *, force: bool = False, hmm: bool = True) -> Segmenter:
    """A function that segments a run of Chinese characters into words.

    It gives what jieba gives with `nicknames` and the dictionary added to its own: words compete by
    frequency, so 研究 in the dictionary leaves 研究生 whole. With `force` the run is first cut into the
    fewest pieces that words of the dictionary allow, and only what is between them is segmented: each of
    them is one token, unless two overlap. Without `hmm` no word is made that is in no dictionary.

    >>> segmenter()("小明说他喜欢")
    ['小明', '说', '他', '喜欢']
    >>> segmenter((Entry("研究"),), force=True)("研究生")
    ['研究', '生']
    """
    words = tuple(entry for entry in dictionary if SEGMENTED.fullmatch(entry.word))
    segment = _jieba(() if force else words).cut
    if not hmm:
        segment = functools.partial(segment, hmm=False)
    if not words or not force:
        return segment
    match = _matcher(words).cut
    known = frozenset(entry.word for entry in words)
    return lambda run: list(_segment_between(match(run, hmm=False), known, segment))


def _segment_between(pieces: list[str], known: frozenset[str], segment: Segmenter) -> Iterator[str]:
    """Dictionary words as they are; everything between two of them is segmented together."""
    for is_known, group in itertools.groupby(pieces, known.__contains__):
        if is_known:
            yield from group
        else:
            yield from segment("".join(group))


@functools.lru_cache(maxsize=4)
def _jieba(words: tuple[Entry, ...]):
    """rjieba with more words. An instance of our own: words added to the shared one would change what others
    in the process get from it."""
    import rjieba  # importing it reads a dictionary of 5 MB, so only when there is Chinese text

    jieba = rjieba.Jieba()
    for name, frequency in names():
        if not jieba.has_word(name):
            jieba.add_word(name, frequency, "nr")
    for word, frequency in words:
        jieba.add_word(word, frequency, None)
    return jieba


def _matcher(words: tuple[Entry, ...]):
    import rjieba

    matcher = rjieba.Jieba.empty()
    for entry in words:
        matcher.add_word(entry.word, 1000, "n")  # all equally likely, so the fewest pieces win
    return matcher
