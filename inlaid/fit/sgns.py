"""SGNS: skip-gram and CBOW with negative sampling (word2vec).

The vector of a word should score high with the contexts of the word, the words near it in the text, and low
with noise words drawn at random. Training goes through the text and moves the vectors of each pair along the
gradient of a logistic loss. Mikolov et al. 2013, both papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.fit.negative_sampling import NegativeSampling, SampledTraining
from inlaid.jobs.init_from import context_table
from inlaid.jobs.state import State
from inlaid.kernels import random
from inlaid.kernels.sgns.cpu import CBOW_MEAN, CBOW_SUM, SKIPGRAM, Config, train_stream
from inlaid.kernels.sgns.reference import Schedule, Tables
from inlaid.kernels.sgns.softmax import train_softmax
from inlaid.kernels.sgns.stream import Stream
from inlaid.kernels.simd.rows import aligned_table, row_width
from inlaid.report import Report, silent
from inlaid.vectors import Card, Vectors

TILE = {"skipgram": 16, "cbow": 8}
FEWEST_SHARED = {"skipgram": 16, "cbow": 12}
"""Words of a tile, and negatives they share at a low learning rate. CBOW scores each center once, not with
each context, so fewer words may share: with 8 negatives for 8 centers analogies were .009 lower than with
negatives of their own, with 12 they are the same."""
MOST_SHARED = 64
SOFTMAX_LIMIT = 20_000
"""Vocabulary size up to which the exact softmax is practical."""


@dataclass(frozen=True, kw_only=True)
class SGNS(NegativeSampling):
    """word2vec: skip-gram or CBOW with negative sampling. Words in similar contexts get similar vectors."""

    cbow_combine: Literal["mean", "sum"] = "mean"
    """How CBOW combines the vectors of the contexts."""
    loss: Literal["sampled", "softmax"] = "sampled"
    """Negative sampling, or the exact softmax over all words, for small vocabularies."""

    def start(self, data: Corpus, report: Report = silent) -> SGNSTraining:
        """Initial tables; no step taken."""
        return SGNSTraining(self, data)

    def memory_for(self, data: Corpus) -> int:
        return 2 * len(data.vocabulary) * row_width(self.dim) * 4


class SGNSTraining(SampledTraining):
    """Training of SGNS on a corpus: the tables of word vectors and of contexts."""

    def __init__(self, settings: SGNS, corpus: Corpus) -> None:
        size = len(corpus.vocabulary)
        if settings.loss == "softmax" and size > SOFTMAX_LIMIT:
            raise SettingError(
                "loss is softmax, which is for up to {limit:,} words; this vocabulary has {size:,}."
                " Use loss sampled.",
                limit=SOFTMAX_LIMIT,
                size=size,
            )
        text = settings.subsampled(
            corpus, fewest_shared=FEWEST_SHARED[settings.objective], most_shared=MOST_SHARED
        )
        super().__init__(text, settings.dim, settings.workers if settings.loss == "sampled" else 1)
        self.settings = settings
        self.objective = SKIPGRAM
        if settings.objective == "cbow":
            self.objective = CBOW_MEAN if settings.cbow_combine == "mean" else CBOW_SUM
        dim = settings.dim
        self.state = State({"table": aligned_table(size, dim), "contexts": aligned_table(size, dim)})
        # twice the range of word2vec's own code, as in gensim: analogies of CBOW are .004 higher
        random.uniform(random.key_of(settings.seed, 0), self.state["table"][:, :dim], 1 / dim)
        self.frozen = Tables(aligned_table(0, dim), aligned_table(0, dim))
        """The rows of the first words, if they are frozen."""

    def init_from(self, vectors: Vectors, *, freeze: bool, report: Report = silent) -> None:
        """Start the first words from the rows of `vectors`; frozen, these never change."""
        if freeze and self.settings.loss == "softmax":
            raise SettingError(
                "freeze is set, but the exact softmax moves every word. Use loss sampled, or leave out"
                " freeze."
            )
        size, dim = vectors.table.shape
        table = self.state["table"]
        contexts = self.state["contexts"]
        table[:size, :dim] = vectors.table
        known_contexts = context_table(vectors, freeze=freeze, report=report)
        if known_contexts is not None:
            contexts[:size, :dim] = known_contexts
        if freeze:
            self.frozen = Tables(table[:size].copy(), contexts[:size].copy())

    def train_on(self, stream: Stream, schedule: Schedule, shared_negatives: int, sums: np.ndarray) -> None:
        tables = Tables(self.state["table"], self.state["contexts"])
        if self.settings.loss == "softmax":
            train_softmax(stream, tables, schedule, self.objective, sums)
        else:
            tile = TILE[self.settings.objective]
            weight = self.settings.negatives / shared_negatives
            config = Config(self.objective, tile, shared_negatives, weight, self.settings.window)
            train_stream(stream, tables, self.frozen, self.text.noise, schedule, config, sums)

    def result(self) -> Vectors:
        """The vectors as trained so far."""
        table, contexts = (array[:, : self.settings.dim].copy() for array in self.state.values())
        vocabulary = self.text.corpus.vocabulary
        return Vectors(vocabulary.words, table, vocabulary.counts, Card(notes=self.notes()), contexts)
