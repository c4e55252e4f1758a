"""Documents -> sentences, Chinese and English alike.

A line end always ends a sentence. Sentence-final punctuation (. ! ? 。 ！ ？ … ⋯) does, with exceptions in
both languages: nothing precedes it; a comma follows; it closes a quotation and the text continues in lower
case or with 她说; it is part of a title in 《》, or of brackets opened inside the sentence. English full
stops may also belong to abbreviations, initials and list numbers. A semicolon (; ；) does not end a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


STRONG = "。！？｡‼⁇⁈⁉"
"""Punctuation that needs no white space after it."""
WEAK = ".!?…⋯"
"""Punctuation that does, unless it follows a Chinese character."""
QUOTES = "」』”’\"'»＂"
BRACKETS = ")]}）】〕］｝"
TITLES = "》〉"
CLOSERS = QUOTES + BRACKETS + TITLES
OPENERS = "([{（【〔［｛「『“‘\"'«＂"
CONTINUERS = frozenset(f",;:，、；：{STRONG}{WEAK}{TITLES}{BRACKETS}」』”’")
"""No sentence begins with these, so the one before has not ended."""

TITLED = _listed(
    "mr mrs ms messrs mme mlle dr prof gen col sen rep gov capt cpt cmdr adm maj lt sgt rev hon pres supt "
    "e.g i.e vs cf viz approx eg ie resp"
)
"""Abbreviations that never end a sentence."""
NUMBERED = _listed(
    "no nos nr fig figs ca vol vols pp p ch sec eq art op pt jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""Abbreviations before a number; elsewhere they are words (No. I will not.)."""
TRAILING = _listed(
    "etc inc ltd co corp bros jr sr st mt ft ave blvd rd univ dept al est esp hist ed eds trans fr"
)
"""Abbreviations that can end a sentence. Like initials and U.S., they do before a common first word."""
ABBREVIATED = TITLED | NUMBERED | TRAILING
LONGEST = 16
"""Characters before a full stop that are searched for an abbreviation."""

_MARK = re.compile(
    rf"([{STRONG}{WEAK}](?:(?<!\.)|(?![A-Za-z0-9]))"  # skips 3.14, v1.2.3, example.com
    rf"[{re.escape(STRONG + WEAK + CLOSERS)}]*)\s*"
)
_FIRST_WORD = re.compile(
    r"(?:A|After|Although|An|And|As|At|But|By|For|From|He|Her|His|How|However|I|If|In|It|Its|On|She|Since"
    r"|That|The|Their|Then|There|These|They|This|Those|Though|We|What|When|Where|Which|While|Who|Why|With"
    r"|You)\b"
    r"(?![.'’-])"
)
_LIST_NUMBER = re.compile(r"[(\[（]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})")
_WORD_BEFORE = re.compile(r"[^A-Za-z]*((?:[A-Za-z]{1,2}\.)+[A-Za-z]{1,2}|[A-Za-z]+)")
"""Ph.D and U.S, but not example.com."""
_SAID = re.compile(r"[^\W\d_A-Za-z]{1,5}?(?:说|說|问|問|喊|(?<![知难難])道)[，。：！,:]|的")


def split(text: str) -> list[str]:
    """The sentences of running text, in order, without the white space around them.

    >>> split("Dr. Wu paid 3.14 yuan. “你好！”她说。然后走了。")
    ['Dr. Wu paid 3.14 yuan.', '“你好！”她说。', '然后走了。']
    """
    return [line[start:stop] for line in text.splitlines() for start, stop in _spans(line)]


def spans(text: str) -> list[tuple[int, int]]:
    """The start and end offset of each sentence of `split`."""
    found: list[tuple[int, int]] = []
    begin = 0
    for line in text.splitlines(keepends=True):
        found += [(begin + start, begin + stop) for start, stop in _spans(line)]
        begin += len(line)
    return found


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """The sentences of one line.

    Each decision depends only on its own sentence and the first words of the next one, so splitting a
    sentence again returns it unchanged.
    """
    end = len(line.rstrip())
    start = len(line) - len(line.lstrip())
    for found in _MARK.finditer(line, start, end):
        after = found.end()
        if after < end:
            mark, stop = found.span(1)
            if _ends(line, start, mark, stop, after):
                yield start, stop
                start = after
    if start < end:
        yield start, end


def _ends(line: str, start: int, mark: int, stop: int, after: int) -> bool:
    """Whether the sentence from `start` ends with the punctuation at mark:stop; `after` is what follows."""
    following = line[after]
    if following in CONTINUERS or mark == start:
        return False
    if stop - mark > 1 and line[stop - 1] in CLOSERS and not _closes(line, start, stop, after):
        return False
    kind = line[mark]
    if kind in STRONG:
        return True
    if stop == after:
        return _chinese(line[mark - 1]) and (_chinese(following) or (kind != "." and not following.islower()))
    if kind in "!?":
        return True
    if kind == "." and "." not in line[mark + 1 : stop]:
        return not _abbreviates(line, start, mark, after)
    return not following.islower()  # an ellipsis: three dots, or one character


def _closes(line: str, start: int, stop: int, after: int) -> bool:
    """Whether the quote or bracket before `stop` also ends the sentence."""
    closer = line[stop - 1]
    if closer in TITLES or line[after].islower():
        return False
    if closer in BRACKETS:
        return line[start] in OPENERS
    return not _SAID.match(line, after)


def _abbreviates(line: str, start: int, stop: int, after: int) -> bool:
    """Whether the full stop at `stop` belongs to the word before it, and the sentence continues."""
    if stop - start <= 6 and _LIST_NUMBER.fullmatch(line, start, stop):
        return True
    near = max(start, stop - LONGEST)
    found = _WORD_BEFORE.fullmatch(line, max(near, line.rfind(" ", near, stop) + 1), stop)
    if not found:
        return False
    word = found[1].lower()
    if len(word) > 1 and "." not in word and word not in ABBREVIATED:
        return False
    if word in NUMBERED:
        return line[after].isdecimal() or line[after].islower()
    return word in TITLED or not _FIRST_WORD.match(line, after)


def _chinese(character: str) -> bool:
    """Chinese characters and punctuation, and scripts that share them, start at U+2E80."""
    return character >= "\u2e80"
