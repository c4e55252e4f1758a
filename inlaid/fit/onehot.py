"""One-hot: one axis a word, so that every pair of words is equally far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inlaid.config import Positive, check
from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.report import Report, silent
from inlaid.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class OneHot:
    """The vector of a word is 1 on its own axis and 0 on all others."""

    max_words: Positive = 20_000
    """Refuse larger vocabularies: the table has a row and a column for each word."""

    def __post_init__(self) -> None:
        check(self)

    def fit(self, corpus: Corpus, report: Report = silent) -> Vectors:
        size = len(corpus.vocabulary)
        if size > self.max_words:
            raise SettingError(
                f"One-hot vectors of {size:,} words need {size * size * 4 / 1e9:.1f} GB. "
                f"Raise min_count, or max_words (now {self.max_words:,})."
            )
        return Vectors(corpus.vocabulary.words, np.eye(size, dtype=np.float32), corpus.vocabulary.counts)
