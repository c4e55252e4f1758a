"""Subsampled text: what skip-gram and CBOW are trained on, with the noise distribution and the learning rate.

The text is read in spans of about 65,000 tokens. Subsampling turns each into a stream of the words it keeps,
with a window drawn for each. Everything is a function of the settings and of the position in the text, so
that training can be resumed anywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inlaid.encode.corpus import Corpus
from inlaid.errors import SettingError
from inlaid.feed.pairs import need_pairs
from inlaid.kernels import random
from inlaid.kernels.sgns.reference import Schedule
from inlaid.kernels.sgns.stream import Stream, Text, empty_stream, subsample
from inlaid.shapes import Ids, Offsets

SPAN = 1 << 16
"""Tokens of a span: its stream stays in the cache."""
SPANS = 8
"""Spans in a step, a fraction of a second of work."""
LOW_RATE = 0.025
"""The learning rate at which the fewest shared negatives are enough."""
SHARED = 16
"""Shared negatives at a higher learning rate, for each time that it is as high."""
FINAL_RATE = 1e-4
"""The learning rate decays to this fraction of the initial one."""
HELD_OUT_EVERY = 200
MOST_HELD_OUT = 2000
FEWEST_HELD_OUT = 100
"""One sentence in 200 is held out to measure the loss on, but no more than 2,000 sentences, and none where
that makes fewer than 100."""
USUAL_NEGATIVES = 20
"""Up to this number of negatives, any vocabulary will do; Mikolov et al. 2013 advise 2 to 20."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Tokens start to stop of the text, read in this epoch."""

    epoch: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SubsampledText:
    """A corpus as `epochs` passes of training read it."""

    corpus: Corpus
    window: int
    negatives: int
    subsample: float | None
    noise_exponent: float
    learning_rate: float
    epochs: int
    seed: int
    fewest_shared: int = SHARED
    most_shared: int = 64
    """Negatives that the words of a tile share at a low learning rate, and at most. The variance of a step
    grows with the learning rate, and falls with their number: at 0.05 analogies of skip-gram are .02 higher
    with 32 than with 16, at 0.025 they are the same."""

    def __post_init__(self) -> None:
        need_pairs(self.corpus)
        most = max(len(self.corpus.vocabulary), USUAL_NEGATIVES)
        if self.negatives > most:
            raise SettingError(
                "negatives is {negatives:,}, and the vocabulary has {words:,} words. Set negatives to at most"
                " {most:,}; 5 to 20 are usual.",
                negatives=self.negatives,
                words=len(self.corpus.vocabulary),
                most=most,
            )

    @property
    def tokens(self) -> int:
        return len(self.corpus.ids)

    @property
    def total(self) -> int:
        """Tokens of all epochs."""
        return self.tokens * self.epochs

    @property
    def shared_negatives(self) -> int:
        """Negatives of a tile: at least as many as a pair would have, and more at a higher learning rate."""
        times = round(self.learning_rate / LOW_RATE)
        wanted = SHARED * times if times > 1 else self.fewest_shared
        return max(self._asked_for, min(wanted, self.most_shared))

    @property
    def shared_negatives_to_measure(self) -> int:
        """Negatives of a tile that is only measured: the same at every learning rate, so that losses can be
        compared."""
        return max(self._asked_for, self.most_shared)

    @property
    def _asked_for(self) -> int:
        """The setting, in whole multiples that the kernel takes."""
        return -(-self.negatives // self.fewest_shared) * self.fewest_shared

    @cached_property
    def keep(self) -> np.ndarray:
        """(V,) u4: an occurrence of a word is kept if its draw is not above."""
        probability = keep_probability(self.corpus.vocabulary.counts, self.threshold)
        return (probability * 0xFFFFFFFF).astype(np.uint32)

    @property
    def threshold(self) -> float:
        """The subsampling threshold: the setting, or what None stands for."""
        if self.subsample is None:
            return max(1e-4, 1 / len(self.corpus.vocabulary))
        return self.subsample

    @cached_property
    def noise(self) -> np.ndarray:
        """The noise distribution: count ** noise_exponent."""
        return random.alias_table(self.corpus.vocabulary.counts**self.noise_exponent)

    @property
    def held_out_every(self) -> int:
        """Every n-th sentence is never trained on; 0: none is held out."""
        sentences = len(self.corpus.offsets) - 1
        every = max(HELD_OUT_EVERY, sentences // MOST_HELD_OUT)
        return every if sentences // every >= FEWEST_HELD_OUT else 0

    def spans_after(self, done: int) -> list[Span]:
        """The next few spans after `done` tokens, all of one epoch."""
        self.corpus.refuse_changed()
        epoch, start = divmod(done, self.tokens)
        spans: list[Span] = []
        while start < self.tokens and len(spans) < SPANS:
            spans.append(Span(epoch=epoch, start=start, stop=self._end(start)))
            start = spans[-1].stop
        return spans

    def need_kept_pairs(self) -> None:
        """Raise SettingError if subsampling leaves no pair in any epoch; the first span shows one mostly."""
        stream = self.empty_stream()
        for epoch in range(self.epochs):
            for span in self.spans_of(epoch):
                kept = self.read(span, stream)
                if (kept.high[: kept.length] - kept.low[: kept.length] > 1).any():
                    return
        raise SettingError(
            "No pair is left to train on: with subsample {subsample:g}, no sentence that is trained on keeps"
            " two words in any of {epochs} epochs. Raise subsample (0 keeps every word), or add text.",
            subsample=self.threshold,
            epochs=self.epochs,
        )

    def centers_with_contexts(self, words: np.ndarray, done: int, enough: int) -> np.ndarray:
        """How often each of these words was a center with a context in the first `done` tokens of the run,
        counted up to `enough`. Only spans in which they occur are read."""
        wanted = np.zeros(len(self.corpus.vocabulary), bool)
        wanted[words] = True
        found = np.zeros(len(wanted), np.int64)
        spans = [span for span in self.spans_of(0) if wanted[self.corpus.ids[span.start : span.stop]].any()]
        stream = self.empty_stream()
        for epoch in range(self.epochs):
            for span in spans:
                span = dataclasses.replace(span, epoch=epoch)
                if self.done_after(span) > done or (found[words] >= enough).all():
                    return found[words]
                kept = self.read(span, stream)
                has_context = kept.high[: kept.length] - kept.low[: kept.length] > 1
                centers = kept.words[: kept.length][has_context]
                found += np.bincount(centers[wanted[centers]], minlength=len(wanted))
        return found[words]

    def spans_of(self, epoch: int) -> Iterator[Span]:
        """All spans of an epoch, in order."""
        start = 0
        while start < self.tokens:
            span = Span(epoch=epoch, start=start, stop=self._end(start))
            yield span
            start = span.stop

    def done_after(self, span: Span) -> int:
        """Tokens done at the end of a span, over all epochs."""
        return span.epoch * self.tokens + span.stop

    def empty_stream(self) -> Stream:
        """A stream with space for any span."""
        return empty_stream(min(SPAN, self.tokens), self.window)

    def read(self, span: Span, stream: Stream) -> Stream:
        """The stream filled with what subsampling keeps of a span."""
        offsets = self.corpus.offsets
        key = random.key_of(self.seed, span.epoch + 1)
        sentence = int(np.searchsorted(offsets, span.start, "right")) - 1
        ids = self.corpus.ids[span.start : span.stop]
        text = Text(ids, span.start, offsets, self.keep, self.window, self.held_out_every)
        return stream._replace(length=subsample(text, span.start, span.stop, sentence, key, stream))

    def read_held_out(self) -> Stream:
        """A stream of the held-out sentences, with the same windows in every run."""
        ids, offsets = _held_out_sentences(self.corpus, self.held_out_every)
        stream = empty_stream(len(ids), self.window)
        text = Text(ids, 0, offsets, self.keep, self.window, 0)
        return stream._replace(length=subsample(text, 0, len(ids), 0, random.key_of(0, 0), stream))

    def schedule(self, span: Span, clock: float = 0.0) -> Schedule:
        passed = span.epoch * self.tokens
        return Schedule(
            first_learning_rate=self.learning_rate_after(passed + span.start, clock),
            last_learning_rate=self.learning_rate_after(passed + span.stop, clock),
        )

    def learning_rate_after(self, done: int, clock: float = 0.0) -> float:
        """It falls with the tokens done, or with the part of the given time that is over, if that is more."""
        return self.learning_rate * max(1 - max(done / self.total, clock), FINAL_RATE)

    def _end(self, start: int) -> int:
        """The last end of a sentence within SPAN tokens; a longer sentence is cut."""
        offsets = self.corpus.offsets
        end = int(offsets[np.searchsorted(offsets, start + SPAN, "right") - 1])
        return end if end > start else min(start + SPAN, self.tokens)


def keep_probability(counts: np.ndarray, subsample: float) -> np.ndarray:
    """The probability that subsampling keeps an occurrence of each word, as in word2vec's own code."""
    if subsample == 0:
        return np.ones(len(counts))
    share = np.maximum(counts, 1) / counts.sum()
    return np.minimum(1, (np.sqrt(share / subsample) + 1) * subsample / share)


def in_threads(work: Callable[[int], np.ndarray], workers: int) -> list[np.ndarray]:
    """work(0), ..., work(workers - 1), each in a thread of its own; the results in this order."""
    if workers == 1:
        return [work(0)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(workers)))


def _held_out_sentences(corpus: Corpus, every: int) -> tuple[Ids, Offsets]:
    chosen = range(every - 1, len(corpus.offsets) - 1, every)
    parts = [corpus.ids[corpus.offsets[n] : corpus.offsets[n + 1]] for n in chosen]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.concatenate(parts), offsets
