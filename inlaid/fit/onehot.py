"""One-hot: one axis per word, so that every pair of words is equally far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inlaid.config import Positive, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.jobs.training import Abilities, OneStep
from inlaid.report import Report, silent
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class OneHot:
    """The vector of a word is 1 on its own axis and 0 on all others."""

    abilities: ClassVar = Abilities()

    max_words: Positive = 20_000
    """Refuse larger vocabularies: the table has a row and a column for each word."""

    def __post_init__(self) -> None:
        check(self)

    def start(self, data: Corpus, report: Report = silent) -> OneStep:
        size = len(data.vocabulary)
        if size > self.max_words:
            raise SettingError(
                "One-hot vectors of {size:,} words need {gigabytes:.1f} GB. Raise min_count, or max_words "
                "(now {max_words:,}).",
                size=size,
                gigabytes=self.memory_for(data) / 1e9,
                max_words=self.max_words,
            )
        vocabulary = data.vocabulary
        return OneStep(lambda: Vectors(vocabulary.words, np.eye(size, dtype=np.float32), vocabulary.counts))

    def memory_for(self, data: Corpus) -> int:
        return len(data.vocabulary) ** 2 * 4
