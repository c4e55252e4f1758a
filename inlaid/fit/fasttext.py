"""FastText: skip-gram and CBOW with subwords; out-of-vocabulary words get vectors too.

The vector of a word is the mean of a row of its own and the rows of its character n-grams, which it shares
with words of similar spelling: inflected forms, compounds, misspellings, and words that were never seen.
Bojanowski et al. 2017.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from inlaid.config import Fraction, Range
from inlaid.encode.corpus import Corpus
from inlaid.encode.ngrams import NGrams, NGramTable, bucket_ids
from inlaid.encode.scripts import scripts_of_words
from inlaid.encode.vocabulary import Vocabulary, Words
from inlaid.errors import SettingError
from inlaid.fit.negative_sampling import NegativeSampling, SampledTraining
from inlaid.jobs.init_from import context_table
from inlaid.jobs.state import State
from inlaid.kernels import random
from inlaid.kernels.fasttext import cpu
from inlaid.kernels.sgns.cpu import SKIPGRAM, Config
from inlaid.kernels.sgns.reference import Schedule
from inlaid.kernels.sgns.stream import Stream
from inlaid.kernels.simd.rows import aligned_table, row_width
from inlaid.report import Report, silent
from inlaid.shapes import LazyTable
from inlaid.vectors import Card, Vectors

TILE = 4
"""Words of a tile: most of the time goes into the rows of n-grams, so that negatives for fewer words cost
little. With 16 SimLex is .01 lower."""
FEWEST_SHARED = {"skipgram": 16, "cbow": 8}
MOST_SHARED = {"skipgram": 64, "cbow": 8}
"""Negatives that the words of a tile share. The mean of a hundred rows starts small and learns slowly, and
more slowly the lower the variance of its steps: analogies of CBOW are .41 with 8, .40 with 16 and 32."""


class Lengths(NamedTuple):
    """The shortest and longest n-grams, in characters."""

    min_n: int
    max_n: int


LENGTHS = Lengths(3, 6)
CHINESE_LENGTHS = Lengths(1, 2)
"""Chinese words have about two characters, and each has a meaning: n-grams from 3 on are little more than
the words themselves. Chosen on one half of the Chinese tasks: docs/fasttext.md has the other half."""


@dataclass(frozen=True, kw_only=True)
class FastText(NegativeSampling):
    """word2vec with subwords: the vector of a word is the mean of its own row and those of its n-grams."""

    noise_exponent: Fraction = 0.5
    """Exponent of the noise distribution: a noise word is drawn with probability proportional to its count to
    this power."""
    min_n: Annotated[int, Range(1, 100)] | None = None
    """Minimum length of n-grams in characters; < and > mark the ends of a word and count too. Default: 3, or
    1 for text that is mostly Chinese."""
    max_n: Annotated[int, Range(1, 100)] | None = None
    """Maximum length of n-grams. Default: 6, or 2 for text that is mostly Chinese."""
    buckets: Annotated[int, Range(1, (1 << 31) - 1)] = 2_000_000
    """Hash buckets of n-grams; only those that occur take memory."""
    position_weights: bool = False
    """CBOW learns a weight for each position of the window and each dimension (Mikolov et al. 2018)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_n is not None and self.max_n is not None and self.min_n > self.max_n:
            raise SettingError(
                "min_n is {min_n} and max_n {max_n}. Make min_n at most max_n.",
                min_n=self.min_n,
                max_n=self.max_n,
            )
        if self.position_weights and self.objective != "cbow":
            raise SettingError(
                "position_weights is for objective cbow: skip-gram has one context at a time, and nothing to"
                " weight."
            )

    def lengths(self, words: Vocabulary) -> Lengths:
        """The lengths of n-grams; those that are not set suit the words."""
        if self.min_n is not None and self.max_n is not None:
            return Lengths(self.min_n, self.max_n)
        usual = CHINESE_LENGTHS if scripts_of_words(words).mostly_han else LENGTHS
        if self.min_n is not None:
            return Lengths(self.min_n, max(usual.max_n, self.min_n))
        if self.max_n is not None:
            return Lengths(min(usual.min_n, self.max_n), self.max_n)
        return usual

    def for_corpus(self, data: Corpus) -> FastText:
        """The settings with the lengths of n-grams that suit the text."""
        return dataclasses.replace(self, **self.lengths(data.vocabulary)._asdict())

    def start(self, data: Corpus, report: Report = silent) -> FastTextTraining:
        """Initial tables; no step taken."""
        return FastTextTraining(self, data)

    def memory_for(self, data: Corpus) -> int:
        bags = Bags.of(data.vocabulary.words, self.lengths(data.vocabulary), self.buckets)
        rows = 2 * len(data.vocabulary) + len(bags.kept)
        return rows * row_width(self.dim) * 4


@dataclass(frozen=True, eq=False)
class Bags:
    """The rows that each word is the mean of: its own, then those of its n-grams, which follow all words' own
    rows in the table."""

    bounds: np.ndarray
    ids: np.ndarray
    """Word w has rows ids[bounds[w]:bounds[w + 1]]."""
    kept: np.ndarray
    """The buckets that occur, in rising order."""

    @classmethod
    def of(cls, words: Words, lengths: Lengths, buckets: int) -> Bags:
        found, starts = bucket_ids(
            words.blob, words.offsets, min_n=lengths.min_n, max_n=lengths.max_n, buckets=buckets
        )
        kept, places = np.unique(found, return_inverse=True)
        bounds = starts + np.arange(len(starts))
        own = np.arange(len(words), dtype=np.int32)
        ids = np.insert((len(words) + places).astype(np.int32), starts[:-1], own)
        return cls(bounds, ids, kept)

    def without(self, frozen: np.ndarray) -> Bags:
        """The bags without frozen rows; `frozen` (rows,) bool."""
        free = ~frozen[self.ids]
        bounds = np.concatenate([[0], np.cumsum(free)])[self.bounds]
        return Bags(bounds, self.ids[free], self.kept)


class FastTextTraining(SampledTraining):
    """Training of FastText on a corpus: rows of words and n-grams, contexts, and weights of positions."""

    def __init__(self, settings: FastText, corpus: Corpus) -> None:
        size = len(corpus.vocabulary)
        dim = settings.dim
        text = settings.subsampled(
            corpus,
            fewest_shared=FEWEST_SHARED[settings.objective],
            most_shared=MOST_SHARED[settings.objective],
        )
        super().__init__(text, dim, settings.workers)
        self.settings = settings
        self.lengths = settings.lengths(corpus.vocabulary)
        self.bags = Bags.of(corpus.vocabulary.words, self.lengths, settings.buckets)
        self.trained_bags = self.bags
        """The bags without frozen rows."""
        self.objective = SKIPGRAM
        if settings.objective == "cbow":
            self.objective = cpu.CBOW_POSITIONS if settings.position_weights else cpu.CBOW
        tables = {
            "table": aligned_table(size + len(self.bags.kept), dim),
            "contexts": aligned_table(size, dim),
            "position_weights": aligned_table(2 * settings.window + 1, dim),
        }
        self.state = State(tables)
        self.state["position_weights"][:, :dim] = 1
        random.uniform(random.key_of(settings.seed, 0), self.state["table"][:, :dim], 1 / dim)
        self.frozen_contexts = aligned_table(0, dim)

    def init_from(self, vectors: Vectors, *, freeze: bool, report: Report = silent) -> None:
        """Start the first words and their n-grams from the rows of `vectors`; frozen, these never change."""
        ngrams = self._ngrams_of(vectors)
        size = len(vectors)
        words = len(self.text.corpus.vocabulary)
        dim = self.settings.dim
        table = self.state["table"]
        contexts = self.state["contexts"]
        table[:size, :dim] = _rows_of(ngrams.own, np.arange(size))
        known = np.ones(len(self.bags.kept), bool)
        rows = self.bags.kept
        if ngrams.kept is not None:
            known = np.isin(self.bags.kept, ngrams.kept)
            rows = np.searchsorted(ngrams.kept, self.bags.kept)
        table[words + np.flatnonzero(known), :dim] = _rows_of(ngrams.buckets, rows[known])
        known_contexts = context_table(vectors, freeze=freeze, report=report)
        if known_contexts is not None:
            contexts[:size, :dim] = known_contexts
        if freeze:
            self.trained_bags = self.bags.without(np.concatenate([np.arange(words) < size, known]))
            self.frozen_contexts = contexts[:size].copy()

    def _ngrams_of(self, earlier: Vectors) -> NGrams:
        ngrams = earlier.subwords
        if not isinstance(ngrams, NGrams):
            raise SettingError(
                "The earlier vectors have no n-grams, so fasttext cannot start from them. Use sgns."
            )
        for name, found, expected in (
            ("min_n", ngrams.min_n, self.lengths.min_n),
            ("max_n", ngrams.max_n, self.lengths.max_n),
            ("buckets", ngrams.size, self.settings.buckets),
        ):
            if found != expected:
                raise SettingError(
                    "The earlier vectors have {name} {found}, and {name} is {expected} here."
                    " Set {name} to {found}.",
                    name=name,
                    found=found,
                    expected=expected,
                )
        return ngrams

    def train_on(self, stream: Stream, schedule: Schedule, shared_negatives: int, sums: np.ndarray) -> None:
        tables = cpu.SubwordTables(
            rows=self.state["table"],
            contexts=self.state["contexts"],
            position_weights=self.state["position_weights"],
            frozen_contexts=self.frozen_contexts,
        )
        bags = cpu.Bags(self.bags.bounds, self.bags.ids, self.trained_bags.bounds, self.trained_bags.ids)
        weight = self.settings.negatives / shared_negatives
        config = Config(self.objective, TILE, shared_negatives, weight, self.settings.window)
        cpu.train_stream(stream, tables, bags, self.text.noise, schedule, config, sums)

    def result(self) -> Vectors:
        """The vectors as trained so far."""
        vocabulary = self.text.corpus.vocabulary
        settings = self.settings
        size = len(vocabulary)
        table, contexts = (self.state[name][:, : settings.dim].copy() for name in ("table", "contexts"))
        ngrams = NGrams(
            own=table[:size],
            buckets=table[size:],
            size=settings.buckets,
            min_n=self.lengths.min_n,
            max_n=self.lengths.max_n,
            kept=self.bags.kept,
        )
        mixed = NGramTable.of(vocabulary.words, ngrams)
        card = Card(notes=self.notes())
        return Vectors(vocabulary.words, mixed, vocabulary.counts, card, contexts, ngrams)


def _rows_of(table: np.ndarray | LazyTable, ids: np.ndarray) -> np.ndarray:
    return table[ids] if isinstance(table, np.ndarray) else table.rows(ids)
