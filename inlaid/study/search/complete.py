"""Known words that begin with what was typed: letters, characters of either script, or pinyin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inlaid.collect.pinyin import CHINESE, shown_pinyin
from inlaid.config import Positive, check
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis, plain
from inlaid.suggestions import Completion, How, completions
from inlaid.vectors import Vectors

FOUND_BY: dict[How, Message] = {
    "spelling": Message("spelling"),
    "script": Message("script"),
    "pinyin": Message("pinyin"),
    "abbreviation": Message("abbreviation"),
}


@dataclass(frozen=True, kw_only=True)
class CompleteSettings:
    """How many words are listed."""

    n: Positive = 10
    """How many words to return."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Completions:
    """The words that begin with what was typed."""

    typed: str
    words: tuple[Completion, ...]

    def rows(self) -> Sequence[Row]:
        if not self.words:
            return [Message("no word begins with '{typed}'", typed=self.typed)]
        shown = [
            (each.word, shown_pinyin(each.word) if CHINESE.search(each.word) else "", FOUND_BY[each.how])
            for each in self.words
        ]
        return [(Message("word"), Message("pinyin"), Message("found by")), *shown]

    def to_dict(self) -> dict[str, Any]:
        return plain(self)


@analysis
def complete(
    vectors: Vectors, typed: str, settings: CompleteSettings | None = None, *, report: Report = silent
) -> Completions:
    """The words that begin with what was typed; Chinese ones are found by pinyin, too, in either script.

    Letters are those of the words, or of their pinyin, whole or abbreviated: pingguo, pingg, pg. The 50,000
    most frequent words are searched.

    >>> [each.word for each in complete(vectors, "pingg").words]

    Args:
        vectors: a file of vectors
        typed: the beginning of a word

    Examples:
        inlaid complete vectors.inlaid pingg
        inlaid complete vectors.inlaid 苹 -n 5 --json
    """
    settings = settings or CompleteSettings()
    return Completions(typed, tuple(completions(typed, vectors.words, settings.n)))
