"""The word of a list that does not belong: the least similar to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inlaid.errors import SettingError
from inlaid.messages import Message
from inlaid.report import Report, silent
from inlaid.study.analysis import Row, analysis
from inlaid.study.search.queries import note_words, unit_rows
from inlaid.vectors import Vectors


@dataclass(frozen=True)
class Belonging:
    """A word and its mean cosine with the other words of the list."""

    word: str
    mean_cosine: float


@dataclass(frozen=True)
class OddOneOut:
    """The words of a list, the one that belongs least first."""

    words: tuple[Belonging, ...]

    @property
    def word(self) -> str:
        """The word that does not belong."""
        return self.words[0].word

    def rows(self) -> Sequence[Row]:
        shown = [(f"{each.mean_cosine:+.3f}", each.word) for each in self.words]
        answer = Message("{word} does not belong", word=self.word)
        return [answer, (Message("mean cosine with the others"), Message("word")), *shown]

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "words": [vars(each) for each in self.words]}


@analysis
def odd_one_out(vectors: Vectors, words: Sequence[str], *, report: Report = silent) -> OddOneOut:
    """The word that does not belong: the least similar to the others, by its mean cosine with them.

    >>> odd_one_out(vectors, ["breakfast", "cereal", "dinner", "lunch"]).word
    'cereal'

    Args:
        vectors: a file of vectors
        words: at least three words

    Examples:
        inlaid odd-one-out vectors.inlaid apple pear king
        inlaid odd-one-out vectors.inlaid 苹果 梨 国王 --json
    """
    if isinstance(words, str):
        raise SettingError("words is {words!r}; expected a list of at least three words.", words=words)
    if len(words) < 3:
        raise SettingError("Expected at least three words, found {count}.", count=len(words))
    rows = unit_rows(vectors, words)
    note_words(vectors, words, report)
    cosines = rows @ rows.T
    means = (cosines.sum(axis=1) - np.diag(cosines)) / (len(words) - 1)
    order = np.argsort(means, kind="stable").tolist()
    return OddOneOut(tuple(Belonging(words[int(at)], float(means[at])) for at in order))
